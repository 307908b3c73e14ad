# ggml: the system's if there is one, else the copy that scripts/setup.sh put under deps/ (a wheel that carries headers, libraries
# and a CMake config in lib64, where CMAKE_PREFIX_PATH alone does not look on Debian).
if(NOT ggml_DIR AND EXISTS ${CMAKE_SOURCE_DIR}/.deps/ggml/libggml/lib64/cmake/ggml)
  set(ggml_DIR ${CMAKE_SOURCE_DIR}/.deps/ggml/libggml/lib64/cmake/ggml)
endif()
find_package(ggml REQUIRED)
