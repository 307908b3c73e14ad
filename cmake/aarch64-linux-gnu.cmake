# Cross compiler for ARM64 (Debian: g++-aarch64-linux-gnu). Tests run under QEMU's user-mode emulation (qemu-user-static), as on an
# Arm Neoverse N1: it has what the NEON kernels want, the dot product of ARMv8.2, and none of the later extensions.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;/usr/aarch64-linux-gnu;-cpu;neoverse-n1)
set(CONTINUO_OLDER_PROCESSOR qemu-aarch64-static;-L;/usr/aarch64-linux-gnu;-cpu;cortex-a72)  # without the dot product
