# On this machine, which can evidently build, setup finds nothing to do, calls no package manager and is quick.
set -eu
mkdir fake
printf '#!/bin/sh\necho "apt-get called: $*" >&2\nexit 1\n' >fake/apt-get
chmod +x fake/apt-get
if ! PATH=$PWD/fake:$PATH "$DROVE_SOURCE_DIR/scripts/setup" >out.txt 2>err.txt; then
    cat out.txt err.txt
    exit 1
fi
cat out.txt
if "$DROVE_SOURCE_DIR/scripts/setup" --unknown 2>/dev/null; then exit 1; fi

# A machine without pkg-config: setup names what is missing and asks apt-get for it.
mkdir bare
for tool in sh cat ls cut uname id env cc gcc as ld cmake ninja protoc-c dirname; do
    path=$(command -v $tool) && ln -s "$path" bare/
done
ln -s "$PWD/fake/apt-get" bare/
if [ "$(id -u)" = 0 ]; then
    if PATH=$PWD/bare "$DROVE_SOURCE_DIR/scripts/setup" >out.txt 2>err.txt; then
        echo "setup succeeded without pkg-config"
        exit 1
    fi
    grep -q 'missing:.* pkg-config .*libhwloc-dev' out.txt
    grep -q 'apt-get called: install .*pkg-config' err.txt
fi
