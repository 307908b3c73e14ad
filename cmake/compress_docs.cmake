# Run by CPack before it packs: Debian has manuals and change logs compressed, without a time stamp.
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/continuo.1 ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/CHANGELOG.md)
if(pages)
  execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
