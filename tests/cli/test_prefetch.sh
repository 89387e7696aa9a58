# --prefetch: what is asked, what is in force, and that the registers (plain files here) are put back however it ends.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
small="--data synth:digits?n=500&n_test=100 --model mlp:16 --threads 1 --bind compact"
until="--until updates=5 --json"

# Every processor's register has bit 5 set, which is none of ours.
n_processors=$(getconf _NPROCESSORS_CONF)
make_registers() {
    rm -rf cpu
    for n in $(seq 0 $((n_processors - 1))); do
        mkdir -p "cpu/$n"
        head -c 420 /dev/zero >"cpu/$n/msr"
        printf '\040\0\0\0\0\0\0\0' >>"cpu/$n/msr"
    done
}
registers() { for n in $(seq 0 $((n_processors - 1))); do od -An -tx1 -j420 "cpu/$n/msr"; done | sort -u; }
are_back() { [ "$(registers)" = ' 20 00 00 00 00 00 00 00' ] || fail "$1: not put back: $(registers)"; }
is_off() { registers | grep -q '^ 2f 00'; }
says() { # ASKED IN_FORCE
    grep -q "\"prefetch\": \"$1\"" out.txt || fail "expected prefetch $1: $(grep prefetch out.txt)"
    grep -q "\"prefetch_hardware\": \"$2\"" out.txt || fail "$1: expected $2: $(grep prefetch out.txt)"
}

export DROVE_TEST_MSR_FOLDER=$PWD/cpu
make_registers
# shellcheck disable=SC2086
{
    for word in on hardware; do
        run_for 0 train $small $until --prefetch $word
        says $word on
    done
    for word in off hints; do
        run_for 0 train $small $until --prefetch $word --bind none
        says $word off
        ! grep -q prefetch err.txt || fail "$word: unexpected words: $(cat err.txt)"
        are_back "--prefetch $word"
    done
    run_for 3 train --data 'synth:digits?n=500&n_test=100' --model linear --lr 100 --until epochs=200 --prefetch off --quiet
    are_back "a crashed run"
    run_for 2 train $small --prefetch of
    are_back "a refused run"

    # The device is not there, or not for us: one line, and the run goes on.
    mv cpu absent
    run_for 0 train $small $until --prefetch off
    says off unknown
    [ "$(grep -c prefetch err.txt)" = 1 ] || fail "expected one line: $(cat err.txt)"
    grep -q -- '--prefetch off: processor [0-9]*: cannot open .*cpu/[0-9]*/msr: No such file or directory; .* as they are' \
        err.txt || fail "expected processor and reason: $(cat err.txt)"
    mv absent cpu

    # On this machine, where it has no such devices.
    if ! ls /dev/cpu/*/msr >/dev/null 2>&1; then
        status=0
        env -u DROVE_TEST_MSR_FOLDER "$DROVE" train $small $until --prefetch off >out.txt 2>err.txt || status=$?
        [ "$status" = 0 ] || fail "expected status 0, found $status: $(cat err.txt)"
        says off unknown
        grep -q -- '^drove: --prefetch off: .*; the prefetchers stay as they are$' err.txt || fail "$(cat err.txt)"
    fi
}

# Stopped in order by the program's own handlers, and by a signal that it has none for.
waits_for_off() { for _ in $(seq 600); do { grep -qs epoch err.txt && is_off; } && return; sleep 0.1; done; fail "never off"; }
for signal in INT TERM HUP; do
    rm -f out.txt err.txt
    # shellcheck disable=SC2086
    "$DROVE" train $small --until seconds=100 --json --prefetch off >out.txt 2>err.txt &
    pid=$!
    waits_for_off
    kill -"$signal" $pid
    status=0
    wait $pid || status=$?
    [ "$status" = $((128 + $(kill -l "$signal"))) ] || fail "SIG$signal: found status $status"
    are_back "SIG$signal"
    [ "$signal" = HUP ] || says off off
done

# Two signals: the second leaves at once, without the end of the run.
rm -f err.txt
"$DROVE" train --data 'synth:digits?n=20000&n_test=10' --model mlp:1024,1024,1024 --threads 1 --bind compact --isa ref \
    --batch 20000 --eval-examples 10 --prefetch off >out.txt 2>err.txt &
pid=$!
waits_for_off
while kill -TERM $pid 2>/dev/null; do sleep 0.2; done # two that come close to each other are one
status=0
wait $pid || status=$?
[ "$status" = 143 ] || fail "second SIGTERM: expected 143, found $status"
[ ! -s out.txt ] || fail "second SIGTERM: expected no summary"
are_back "second SIGTERM"
