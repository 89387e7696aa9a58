# drove bench: the list, the benchmarks by name, refusals in one line.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

run_for 0 list benches
cp out.txt list.txt
run_for 0 bench
cmp list.txt out.txt
grep -q '^memory ' out.txt

run_for 0 bench memory --threads 3 --seconds 0.001 --bytes 1MiB
[ ! -s err.txt ] || fail "bench memory: $(cat err.txt)"
for words in 'read 1' 'read 2' 'read 3' 'triad 1' 'triad 2' 'triad 3'; do
    grep -Eq "^${words% *} +${words#* } .*[0-9]\.[0-9]$" out.txt || fail "expected a line of $words: $(cat out.txt)"
done
LC_ALL=C grep -nE '^.{81,}$' out.txt && fail "wider than 80 columns"

status=0
"$DROVE" bench memory --seconds 0.001 --bytes 64KiB --threads 1 >/dev/full 2>err.txt || status=$?
[ "$status" = 1 ] || fail "bench >/dev/full: expected status 1, found $status"
replay "$expected/bench.txt"
