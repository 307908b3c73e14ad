# `cmake --install` and `make deb`: the program, what it needs that Debian lacks, the demo model if it is there, the manual, the
# licences. The program finds share/continuo/models by its place relative to bin/ (src/weights/installed.cpp), and lib/continuo by its
# run path; so the tree works wherever it lies, and these two folders have fixed names.
include(GNUInstallDirs)

install(TARGETS continuo RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_SOURCE_DIR}/models/demo.gguf DESTINATION share/continuo/models OPTIONAL)
install(FILES ${CMAKE_SOURCE_DIR}/docs/continuo.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/packaging/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${CMAKE_SOURCE_DIR}/training/MODEL_CARD.md DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME demo-model.md)

# A ggml of the system is found without us; the copy below .deps/ goes along, under the name that the program asks for.
get_target_property(ggml_file ggml::ggml-base IMPORTED_LOCATION_RELEASE)
if(ggml_file MATCHES "/\\.deps/")
  install(FILES $<TARGET_FILE:ggml::ggml-base> DESTINATION lib/continuo RENAME $<TARGET_SONAME_FILE_NAME:ggml::ggml-base>)
  set_target_properties(continuo PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/continuo")
  get_filename_component(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${ggml_file} DIRECTORY)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME continuo)
set(CPACK_PACKAGE_VENDOR "continuo authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "music from text, on your own machine")
set(CPACK_PACKAGE_DESCRIPTION "continuo turns a line of text into music. It runs MusicGen models on the
CPU, without Python, and sends nothing anywhere. It also continues recordings,
follows the melody of one, and converts and downloads published checkpoints.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/tidy_package.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "continuo authors")
set(CPACK_DEBIAN_PACKAGE_SECTION sound)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# ALSA and FFmpeg are opened when they are needed, FFmpeg in the major version of these headers (src/audio/ffmpeg.cpp), which dpkg-shlibdeps cannot see.
set(ffmpeg_packages "")
foreach(library libavformat libavcodec libswresample libavutil)
  string(REGEX MATCH "^[0-9]+" major "${ffmpeg_${library}_VERSION}")
  set(package "${library}${major}")
  if(library MATCHES "^lib(avformat|avcodec)$")
    string(APPEND package " | ${library}-extra${major}")
  endif()
  list(APPEND ffmpeg_packages "${package}")
endforeach()
list(JOIN ffmpeg_packages ", " ffmpeg_packages)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "${ffmpeg_packages}, libasound2, ca-certificates")
include(CPack)
