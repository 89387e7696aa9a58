# Installs into a temporary folder, moves that folder, and from there builds and runs an example: through pkg-config,
# and through find_package against the shared and the static library.
set -eu
if [ -n "$DROVE_SANITIZE" ]; then
    echo "skip: a library with a sanitizer is not for installing"
    exit 77
fi
example=$DROVE_SOURCE_DIR/examples/first_run.c
cmake --install "$DROVE_BUILD_DIR" --prefix "$PWD/first" >install.log
mv first moved
prefix=$PWD/moved
libdir=$(dirname "$(find "$prefix" -name libdrove.a)")

for file in bin/drove include/drove/drove.h share/man/man1/drove.1 share/bash-completion/completions/drove; do
    [ -s "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
version=$("$prefix/bin/drove" --version)
case $version in *[0-9].[0-9]*) ;; *) echo "strange version: $version"; exit 1 ;; esac

# Modules of devices are found from where the program, or the shared library, lies now.
for module in "$DROVE_BUILD_DIR"/lib/drove/drove_*.so; do
    [ -e "$module" ] || continue
    [ -s "$libdir/drove/$(basename "$module")" ] || { echo "not installed: $(basename "$module")"; exit 1; }
    env -u DROVE_MODULE_PATH "$prefix/bin/drove" info >info.txt
    if grep -F "$(basename "$module") is not installed" info.txt; then
        echo "the installed program does not find it"
        exit 1
    fi
done

export PKG_CONFIG_PATH=$libdir/pkgconfig
pkg-config --exists --print-errors drove
# shellcheck disable=SC2046
"$DROVE_CC" "$example" -o by_pkg_config $(pkg-config --cflags --libs drove)
LD_LIBRARY_PATH=$libdir ./by_pkg_config >by_pkg_config.txt
grep -q . by_pkg_config.txt

# The static library, where what it needs can be linked: hwloc wants libudev-dev, which Debian's package of drove brings.
if pkg-config --exists libudev; then
    # shellcheck disable=SC2046
    "$DROVE_CC" "$example" -o by_static $(pkg-config --cflags drove) "$libdir/libdrove.a" \
        $(pkg-config --static --libs drove | sed 's/-ldrove\b//')
    ./by_static >by_static.txt
    grep -q . by_static.txt
else
    echo "skip: no libudev-dev, without which the static library cannot be linked by pkg-config"
fi

mkdir consumer
cat >consumer/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(drove $(pkg-config --modversion drove) REQUIRED)
add_executable(with_shared $example)
target_link_libraries(with_shared PRIVATE drove::drove)
add_executable(with_static $example)
target_link_libraries(with_static PRIVATE drove::drove_static)
END
cmake -S consumer -B consumer/build -DCMAKE_C_COMPILER="$DROVE_CC" -DCMAKE_PREFIX_PATH="$prefix" >configure.log
cmake --build consumer/build >build.log
consumer/build/with_shared >with_shared.txt
consumer/build/with_static >with_static.txt
grep -q . with_shared.txt
grep -q . with_static.txt
if ldd consumer/build/with_static | grep libdrove; then
    echo "with_static needs the shared library"
    exit 1
fi

# The headers alone satisfy a C++ compiler, too.
if command -v c++ >/dev/null; then
    echo '#include <drove/drove.h>
    int main() { return drove_status_exit(DROVE_OK); }' >plus.cpp
    c++ -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -fsyntax-only plus.cpp
fi
