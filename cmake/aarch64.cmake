# Cross-compiling for AArch64 from another Debian machine; what is built runs there under qemu-user (CTest does so by
# itself).  scripts/test-aarch64 installs nothing, but unpacks the arm64 libraries into DROVE_AARCH64_ROOT; preset aarch64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc CACHE STRING "Compiler")

set(DROVE_AARCH64_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root CACHE PATH "Folder with the arm64 libraries")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DROVE_AARCH64_ROOT)
get_filename_component(drove_root ${DROVE_AARCH64_ROOT} ABSOLUTE)
set(CMAKE_SYSROOT ${drove_root})
set(CMAKE_FIND_ROOT_PATH ${drove_root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${drove_root})
set(ENV{PKG_CONFIG_LIBDIR} ${drove_root}/usr/lib/aarch64-linux-gnu/pkgconfig:${drove_root}/usr/share/pkgconfig)

set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;${drove_root}")
