# Instead of the whole program: the layers base and compute and their tests, for a compiler whose machine has none of the
# libraries. Of those they need headers only ({fmt}'s, tl::expected's), and GoogleTest, from Debian's package
# of sources (googletest).

# A folder of their own: the host's /usr/include as a whole would hide the target's C library.
find_path(host_headers fmt/format.h PATHS /usr/include REQUIRED NO_CMAKE_FIND_ROOT_PATH)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/headers)
foreach(library fmt tl)
  file(CREATE_LINK ${host_headers}/${library} ${CMAKE_BINARY_DIR}/headers/${library} SYMBOLIC)
endforeach()
add_library(fmt::fmt INTERFACE IMPORTED)
target_include_directories(fmt::fmt SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/headers)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)

find_package(Threads REQUIRED)
find_path(googletest_sources googletest/CMakeLists.txt PATHS /usr/src/googletest REQUIRED NO_CMAKE_FIND_ROOT_PATH)
set(BUILD_GMOCK OFF)
set(INSTALL_GTEST OFF)
add_subdirectory(${googletest_sources} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL SYSTEM)
foreach(library gtest gtest_main)
  target_compile_options(${library} PRIVATE -w)  # not our code
endforeach()

include(continuo_layer)
continuo_layer(base LIBS fmt::fmt Threads::Threads)
continuo_layer(compute LIBS continuo_base)

# On a processor of the target that lacks what the vectorised kernels want, nothing of them may run.
if(CONTINUO_TESTS AND CONTINUO_OLDER_PROCESSOR)
  add_test(NAME OlderProcessor.RunsThePortableKernels
           COMMAND ${CONTINUO_OLDER_PROCESSOR} $<TARGET_FILE:compute_tests>)
  add_test(NAME OlderProcessor.HasNoOthers
           COMMAND ${CONTINUO_OLDER_PROCESSOR} $<TARGET_FILE:compute_tests> --gtest_filter=*neon*)
  set_tests_properties(OlderProcessor.HasNoOthers PROPERTIES PASS_REGULAR_EXPRESSION "Running 0 tests")
endif()
