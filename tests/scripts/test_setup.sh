# scripts/setup: quiet where nothing is missing; elsewhere names each missing package once, and what it says on failure.
set -eu
setup=$DROVE_SOURCE_DIR/scripts/setup
fail() {
    echo "$*" >&2
    cat out.txt err.txt >&2
    exit 1
}
# STATUS FOLDER ARGUMENT...: runs it with the programs of this folder alone.
run_in() {
    local expected=$1 folder=$2 status=0
    shift 2
    PATH=$PWD/$folder "$setup" "$@" >out.txt 2>err.txt || status=$?
    [ $status = "$expected" ] || fail "setup $* in $folder: expected status $expected, found $status"
    if grep -E 'not found|  | $' out.txt err.txt; then fail "setup $* in $folder: untidy"; fi
}
# FOLDER PROGRAM...: a folder with links to them.
programs() {
    local folder=$1 program path
    shift
    mkdir "$folder"
    for program in sh bash cat cut env grep head id ls mktemp rm sed tail test true uname tr "$@"; do
        path=$(type -P "$program") && ln -s "$path" "$folder/"
    done
}
# FOLDER: an apt-get that writes down what it is asked for and does what apt.sh says.
fake_apt() {
    printf '#!/bin/sh\necho "$*" >>"%s/asked.txt"\n. "%s/apt.sh"\n' "$PWD" "$PWD" >"$1/apt-get"
    chmod +x "$1/apt-get"
}
echo 'echo "E: Unable to locate package"; exit 100' >apt.sh

# This machine can evidently build.
programs whole dirname cc gcc as ld cmake ninja pkg-config protoc-c
fake_apt whole
run_in 0 whole
grep -qx 'setup: everything is installed' out.txt || grep -q 'going on without' err.txt || fail "setup here"
for wrong in --unknown '--all --test' 'all'; do
    # shellcheck disable=SC2086
    run_in 2 whole $wrong
    grep -qx 'usage: scripts/setup .*' err.txt || fail "no usage"
done

# Without pkg-config: packages, and how much they are, in one line; then everything is there.
programs bare cc gcc as ld cmake ninja protoc-c ln
fake_apt bare
cat >apt.sh <<END
case "\$*" in
*print-uris*) echo "Need to get 90.5 MB of archives."; echo "After this operation, 364 MB of additional disk space will be used." ;;
*install*) ln -sf "$(type -P pkg-config)" "$PWD/bare/" ;;
esac
END
rm bare/id # a link: the fake one must not be written through it
printf '#!/bin/sh\necho 0\n' >bare/id && chmod +x bare/id # or apt-get would be called through sudo
run_in 0 bare
grep -qE '^setup: installing \(90.5 MB to download, 364 MB of disk\) pkg-config libhwloc-dev .*libzstd-dev' out.txt || fail "what is installed"
grep -qE '^-y .* install pkg-config libhwloc-dev ' asked.txt || fail "asked for: $(cat asked.txt)"
[ ! -s err.txt ] && [ "$(tail -n 1 out.txt)" = 'setup: done' ] || fail "the end"
sed -n 's/^setup: installing ([^)]*) //p' out.txt | tr ' ' '\n' | sort | uniq -d >twice.txt
[ ! -s twice.txt ] || fail "named twice: $(cat twice.txt)"

# A needed package that cannot be installed; one that is only useful.
rm bare/pkg-config
echo 'case "$*" in *print-uris*) echo "E: Unable to locate package libhwloc-dev"; exit 100 ;; esac' >apt.sh
run_in 1 bare
grep -qx 'E: Unable to locate package libhwloc-dev' err.txt || fail "no reason"
grep -q '^setup: could not install pkg-config libhwloc-dev ' err.txt || fail "no packages"
cat >bare/pkg-config <<END
#!/bin/sh
[ "\$2" != libzstd ]
END
chmod +x bare/pkg-config
run_in 0 bare
grep -q '^setup: going on without libzstd-dev: E: Unable to locate' err.txt || fail "not gone on"

# No way to install: one line, with each package once; an error only if a needed one is missing.
printf '#!/bin/sh\necho 1000\n' >bare/id
for_whom='not root, and no sudo without a password: as root, apt-get install'
run_in 0 bare
[ "$(cat err.txt)" = "setup: $for_whom libzstd-dev" ] || fail "a user"
rm bare/apt-get bare/pkg-config
run_in 1 bare
grep -q '^setup: no apt-get here: .* pkg-config libhwloc-dev ' err.txt && [ "$(cat out.txt err.txt | wc -l)" = 1 ] || fail "no apt-get"

# Each level has all packages of those before it.  Nothing but a shell is there.
programs empty
: >before.txt
for level in '' --all --test --long; do
    # shellcheck disable=SC2086
    run_in 1 empty $level
    sed 's/.*hold: //' err.txt | tr ' ' '\n' | sort >now.txt
    [ -z "$(uniq -d now.txt)" ] || fail "named twice: $(uniq -d now.txt)"
    comm -23 before.txt now.txt >lost.txt
    [ ! -s lost.txt ] || fail "missing in level $level: $(cat lost.txt)"
    [ "$(wc -l <now.txt)" -gt "$(wc -l <before.txt)" ] || fail "level $level is no more than the one before"
    mv now.txt before.txt
done
