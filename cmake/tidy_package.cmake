# Run by CPack before it packs. Debian has manuals and change logs compressed, without a time stamp, and folders open to everyone, whatever
# the umask of who packs.
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/continuo.1 ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/CHANGELOG.md)
if(pages)
  execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
file(CHMOD_RECURSE ${CPACK_TEMPORARY_INSTALL_DIRECTORY} DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
