# The cache: what lies in it, that a file fits before it is written, and that it does not grow for ever.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
export XDG_CACHE_HOME=$PWD/cache
cached() { "$DROVE" cache --json | grep -c '"file"' || true; }
large() { # ROWS: of about 41 MB, with memory for less
    run train "synth:logistic?n=$1&d=50" --test none --memory 60MiB --out none --until updates=1
}

[ "$(cached)" = 0 ] || fail "a new cache: $("$DROVE" cache)"
# No disk has room for it: nothing is written, and the line says what was expected and found.
run_for 1 train 'synth:logistic?n=4294967295&d=1000' --out none --until epochs=1
grep -qE '^drove: .*/cache/drove: expected room for 1.72e\+04 GB, found .* GB' err.txt || fail "$(cat err.txt)"
[ "$(wc -l <err.txt)" = 1 ] && [ "$(cached)" = 0 ] || fail "$(cat err.txt; "$DROVE" cache)"

export DROVE_CACHE_LIMIT=100MiB
for n in 200000 200001; do
    large $n
    [ "$status" = 0 ] || fail "$(cat err.txt)"
    grep -q 'about 0.0.* GB written to .* first, which later runs use (drove cache lists and clears them)' err.txt || fail "$(cat err.txt)"
    touch -d "$((n - 100000)) seconds ago" cache/drove/*.rows # the first was used last
done
[ "$(cached)" = 2 ] || fail "$("$DROVE" cache)"
before=$(cd cache/drove && echo *.rows)
large 200002 # the one that was used longest ago makes room
[ "$status" = 0 ] && grep -q 'GB of older files removed from the cache for it' err.txt || fail "$(cat err.txt)"
[ "$(cached)" = 2 ] && [ "$before" != "$(cd cache/drove && echo *.rows)" ] || fail "$("$DROVE" cache)"
DROVE_CACHE_LIMIT=1MiB large 200003
[ "$status" = 1 ] && grep -q 'expected room for .* (DROVE_CACHE_LIMIT)$' err.txt || fail "$(cat err.txt)"
DROVE_CACHE_LIMIT=much large 200003
[ "$status" = 2 ] && grep -q 'DROVE_CACHE_LIMIT: expected a whole number' err.txt || fail "$(cat err.txt)"

# What drove may not remove counts, and nothing is removed for what does not fit.
head -c 90000000 /dev/zero >cache/drove/program.bin
large 200004
[ "$status" = 1 ] && [ "$(cached)" = 3 ] || fail "$(cat err.txt; "$DROVE" cache)"
rm cache/drove/program.bin

run_for 0 cache
grep -qE '^2 files, [0-9.]+ MB in .*/cache/drove$' out.txt || fail "$(cat out.txt)"
run_for 0 cache --clear
grep -qE '^[1-9][0-9.]* MB removed$' out.txt && [ "$(cached)" = 0 ] || fail "$(cat out.txt)"
run_for 0 cache --clear --json
[ "$(cat out.txt)" = '{"removed_bytes": 0}' ] || fail "$(cat out.txt)"
XDG_CACHE_HOME='' HOME='' run_for 2 cache --clear
echo "the cache is bounded"
