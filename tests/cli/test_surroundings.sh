# Hostile surroundings: another locale, no HOME, no /proc, limits of control groups, read-only folders, clocks that
# jump, file systems without locks and links, times before 1970.  docs/inside/trust.md has what is promised.
# ctest: slow: starts the program in each of many surroundings; without HOME it measures convolutions each time
# shellcheck disable=SC2086,SC2206
# ctest: timeout=600
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
lib=$DROVE_BUILD_DIR/tests/faults/libdrove_surroundings.so
small="--data table.csv --label kind --test none --model mlp:8 --threads 1 --quiet"
work=$PWD

skipped() { echo "skip: $*"; }

awk 'BEGIN { print "a,b,kind"
    for (i = 0; i < 200; i++) print i % 7 "." i % 10 "," i % 11 ".25," (i % 3 ? "x" : "y") }' >table.csv
run_for 0 train $small --until epochs=3 --save-every epochs=1 --out usual
usual() { cmp usual/model.safetensors "$1/model.safetensors" || fail "$1: another model"; }

# ENVIRONMENT...: the program with this in its environment; sets $status.
run_with() {
    local words=()
    while [ "$1" != -- ]; do words+=("$1") && shift; done
    shift
    status=0
    env "${words[@]}" "$DROVE" "$@" >out.txt 2>err.txt || status=$?
}
ends() { # STATUS WHAT
    [ "$status" = "$1" ] || fail "$2: expected status $1, found $status: $(cat err.txt)"
}

# ---- a locale with a decimal comma (in a program with the library: tests/system/test_locale.c) ----
if command -v localedef >/dev/null && mkdir -p locales &&
    localedef -i de_DE -f UTF-8 ./locales/de_DE.UTF-8 2>/dev/null; then
    leaks="ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0" # the C library keeps the parts of LOCPATH
    run_with "$leaks" LOCPATH="$work/locales" LC_ALL=de_DE.UTF-8 -- \
        train --defaults classic $small --until epochs=3 --lr 0.125 --save-every epochs=1 --json --out comma
    ends 0 "decimal comma"
    ! grep -qE '[0-9],[0-9]' out.txt || fail "a decimal comma in the summary"
    run_with LC_ALL=C -- train --defaults classic $small --until epochs=3 --lr 0.125 --save-every epochs=1 --out point
    cmp point/model.safetensors comma/model.safetensors || fail "decimal comma: another model"
    for place in C de_DE.UTF-8; do
        run_with "$leaks" LOCPATH="$work/locales" LC_ALL=$place -- predict comma --data table.csv --proba
        ends 0 "decimal comma: predict"
        mv out.txt "predicted.$place"
    done
    cmp predicted.C predicted.de_DE.UTF-8 || fail "decimal comma: other predictions"
else
    skipped "no localedef: the program with a decimal comma"
fi

# ---- no HOME, or one that is no folder or not writable ----
for home in -uHOME HOME= HOME="$work/table.csv/none" HOME=/proc HOME=relative; do
    run_with -uXDG_CACHE_HOME -uXDG_CONFIG_HOME "$home" -- train --defaults classic --model cifar-quick --batch 8 \
        --data 'synth:images?size=12&classes=2&n=32' --test none --threads 1 --until updates=2 --quiet --out none
    ends 0 "$home"
    run_with -uXDG_CONFIG_HOME "$home" -- dmgc D8M8
    ends 0 "$home: dmgc"
done
[ ! -e relative ] || fail "HOME=relative: expected nothing to be written below it"

# ---- namespaces of mounts: /proc and /sys hidden; all read-only but --out ----
spaces=()
for words in "unshare --mount" "unshare --user --map-root-user --mount"; do
    [ ${#spaces[@]} -gt 0 ] || [ -n "$DROVE_SANITIZE" ] || ! $words sh -c 'mount -t tmpfs none /sys' 2>/dev/null || spaces=($words)
done
inside() { # SCRIPT: in a namespace of its own; sets $status
    status=0
    "${spaces[@]}" sh -ec "$1" >out.txt 2>err.txt || status=$?
}
if [ ${#spaces[@]} -gt 0 ]; then
    hide='mount -t tmpfs none /sys; mount -t tmpfs none /proc;'
    inside "$hide $DROVE train --defaults classic $small --until epochs=3 --save-every epochs=1 --out hidden"
    ends 0 "no /proc"
    usual hidden
    for how in "--threads 2 --strategy hogwild" "--workers procs:2 --strategy sync" \
        "--workers procs:2 --strategy hogwild"; do
        inside "$hide $DROVE train --defaults classic ${small/--threads 1/} $how --until epochs=2 --out none"
        ends 0 "no /proc: $how"
    done
    inside "$hide $DROVE data convert table.csv?label=kind rows:hidden.rows &&
        $DROVE train --defaults classic --data rows:hidden.rows --memory 64MiB --test none --model logistic \
            --threads 1 --until epochs=1 --quiet --out none"
    ends 0 "no /proc: rows"
    inside "$hide $DROVE tune table.csv --label kind --budget trials=2 --epochs 1 --model logistic --threads 1 --quiet \
        --out tuned"
    ends 0 "no /proc: tune"
    # PoCL, where it is, would end the process: its devices are left out.
    inside "$hide $DROVE info"
    ends 0 "no /sys: info"
    ! grep -q 'opencl:[0-9] .*Portable Computing' out.txt || fail "no /sys: expected no device of PoCL"
    # A worker process that stops is found without /proc as well, and is the one that is ended.
    if [ -r "/proc/$$/task/$$/children" ]; then
        "${spaces[@]}" sh -ec "$hide exec $DROVE train --defaults classic ${small/--threads 1/} --workers procs:2 \
            --strategy hogwild --timeout 1 --until seconds=5 --out none --json" >out.txt 2>err.txt &
        parent=$! victim=
        for _ in $(seq 600); do
            read -r victim _ <"/proc/$parent/task/$parent/children" 2>/dev/null || true
            [ -z "$victim" ] || [ "$(cat "/proc/$victim/comm")" != drove-0 ] || break
            sleep 0.05
        done
        sleep 0.5
        kill -STOP "$victim"
        status=0
        wait $parent || status=$?
        ends 0 "no /proc: a stopped process"
        grep -q '"lost": "did nothing for' out.txt || fail "no /proc: expected a lost worker"
    fi

    readonly_all='mount --make-rprivate / 2>/dev/null || true; mkdir -p writable; mount -t tmpfs none writable;
        mount -o remount,bind,ro /; ! touch unwritable 2>/dev/null;'
    inside "$readonly_all cp -r usual/. writable/; true"
    if [ $status = 0 ]; then
        inside "$readonly_all cd writable; export HOME=/nowhere TMPDIR=/nowhere; unset XDG_CACHE_HOME XDG_CONFIG_HOME;
            $DROVE train --defaults classic ${small/table.csv/../table.csv} --until epochs=3 --save-every epochs=1 \
                --out run &&
            cmp run/model.safetensors ../usual/model.safetensors &&
            $DROVE predict run --data ../table.csv --out p.csv && $DROVE train --resume run --until epochs=4 --quiet"
        ends 0 "read-only but --out"
        inside "$readonly_all $DROVE train --defaults classic $small --until epochs=1 --out refused"
        ends 2 "read-only --out"
        [ "$(wc -l <err.txt)" = 1 ] || fail "read-only --out: expected one line: $(cat err.txt)"
        grep -q 'refused.*Read-only file system' err.txt || fail "read-only --out: $(cat err.txt)"
        inside "$readonly_all $DROVE train --resume usual --until epochs=4 --quiet"
        [ "$status" != 0 ] || fail "read-only --resume: expected a failure"
        [ "$(wc -l <err.txt)" = 1 ] || fail "read-only --resume: expected one line: $(cat err.txt)"
        cp -r usual before
        inside "$readonly_all $DROVE train --defaults classic $small --until epochs=1 --out none"
        ends 0 "read-only, --out none"
    else
        skipped "no folder can be made read-only here: $(head -n 1 err.txt)"
    fi
else
    # A sanitizer itself needs /proc.
    skipped "no namespaces of mounts here${DROVE_SANITIZE:+ with a sanitizer}: /proc hidden, read-only folders"
fi

# ---- limits of control groups (recorded trees: tests/unit/base/test_group.c) ----
group=
for folder in /sys/fs/cgroup/cpu "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup 2>/dev/null)"; do
    if [ -z "$group" ] && mkdir "$folder/drove-test-$$" 2>/dev/null; then
        group=$folder/drove-test-$$
        if [ -e "$group/cpu.cfs_quota_us" ] && echo 100000 >"$group/cpu.cfs_quota_us" 2>/dev/null; then break; fi
        if [ -e "$group/cpu.max" ] && echo '100000 100000' >"$group/cpu.max" 2>/dev/null; then break; fi
        rmdir "$group"
        group=
    fi
done
if [ -n "$group" ]; then
    status=0
    sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" "$DROVE" train --defaults classic \
        ${small/--threads 1/--threads all} --until epochs=1 --json >out.txt 2>err.txt || status=$?
    for _ in $(seq 50); do ! rmdir "$group" 2>/dev/null || break; sleep 0.1; done
    ends 0 "a quota of one processor"
    [ "$(grep -c '"name": "thread:' out.txt)" = 1 ] || fail "a quota of one processor: --threads all is not one"
else
    skipped "no control group with a quota of processors can be made here"
fi
if command -v taskset >/dev/null; then
    status=0
    taskset -c 0 "$DROVE" train --defaults classic ${small/--threads 1/--threads all} --until epochs=1 --json \
        >out.txt 2>err.txt || status=$?
    ends 0 "one processor by affinity"
    [ "$(grep -c '"name": "thread:' out.txt)" = 1 ] || fail "one processor by affinity: --threads all is not one"
fi

# ---- the clock of the day decides nothing of a run; watch compares it with the times of files ----
found=$(cd "$DROVE_SOURCE_DIR" && grep -rlE 'CLOCK_REALTIME|gettimeofday|[^_a-z]time\(NULL\)' src cli |
    LC_ALL=C sort | tr '\n' ' ')
[ "$found" = 'src/bench/calibrate.c src/study/watch.c src/trace/events.c ' ] || fail "the clock of the day is read in: $found"

if [ ! -e "$lib" ]; then
    skipped "built without DROVE_FAULTS: clocks that jump, file systems without locks and links"
else
    for word in clock=0 clock=-86400000 clock=253402300800 jumps=31536000 jumps=-31536000; do
        rm -rf run
        run_with LD_PRELOAD="$lib" DROVE_SURROUNDINGS=$word -- \
            train --defaults classic $small --until epochs=3 --save-every epochs=1 --json --out run
        ends 0 "$word"
        usual run
        awk '/^  "train_s":/ { exit !($2 > 0 && $2 < 60) }' out.txt || fail "$word: $(grep train_s out.txt)"
        for how in "--threads 2 --strategy mutex" "--workers procs:2 --strategy softsync"; do
            SECONDS=0
            run_with LD_PRELOAD="$lib" DROVE_SURROUNDINGS=$word -- train --defaults classic ${small/--threads 1/} $how \
                --until seconds=0.3 --timeout 5 --json --out none
            ends 0 "$word: $how"
            [ $SECONDS -le 30 ] || fail "$word: $how: took $SECONDS s"
            awk '/^  "train_s":/ { exit !($2 >= 0.3 && $2 < 20) }' out.txt ||
                fail "$word: $how: $(grep train_s out.txt)"
        done
    done

    # ---- file systems: an answer that is lost, no second names, no locks ----
    for word in stale nolink stale,nolink noflock=37 noflock=95 noflock=37,stale,nolink; do
        rm -rf run data.csv
        run_with LD_PRELOAD="$lib" DROVE_SURROUNDINGS=$word -- \
            train --defaults classic ${small/--quiet/} --until epochs=2 --save-every epochs=1 --out run
        ends 0 "$word"
        case $word in noflock*)
            grep -q 'no locks in this file system' err.txt || fail "$word: no word about locks: $(cat err.txt)" ;;
        esac
        run_with LD_PRELOAD="$lib" DROVE_SURROUNDINGS=$word -- train --resume run --until epochs=3 --quiet
        ends 0 "$word: resumed"
        usual run
        [ -z "$(find run -name '*.tmp.*')" ] || fail "$word: left $(find run -name '*.tmp.*')"
        run_with LD_PRELOAD="$lib" DROVE_SURROUNDINGS=$word -- data convert 'table.csv?label=kind' csv:data.csv
        ends 0 "$word: convert"
        [ "$(wc -l <data.csv)" -ge 200 ] || fail "$word: expected the whole file"
    done
fi

# ---- times before 1970 ----
touch -d '1931-05-05 12:00:00 UTC' table.csv
run_for 0 train $small --until epochs=3 --save-every epochs=1 --out old
usual old
run_for 0 data convert 'table.csv?label=kind' rows:old.rows
touch -d '1931-05-05 12:00:00.25 UTC' old.rows
run_for 0 train --data rows:old.rows --memory 64MiB --test none --model logistic --threads 1 --until epochs=2 --quiet \
    --save-every epochs=1 --out oldrows
run_for 0 train --resume oldrows --until epochs=3 --quiet
if command -v python3 >/dev/null && command -v tar >/dev/null; then
    mkdir -p pictures
    python3 - <<'END'
import struct, zlib
def part(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
for i in range(8):
    rows = b"".join(b"\0" + bytes((9 * i + k + r) % 256 for k in range(8)) for r in range(8))
    with open(f"pictures/{i}.png", "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
                + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))
    with open(f"pictures/{i}.cls", "w") as f:
        f.write(str(i % 2))
END
    for format in gnu pax; do
        tar --sort=name --format=$format --mtime '1931-05-05 12:00:00 UTC' -C pictures -cf "$format.tar" .
        run data info "webdataset:$format.tar?size=8&channels=1"
        if grep -q 'PNG' err.txt; then skipped "a build without PNG: archives of 1931"; break; fi
        [ "$status" = 0 ] || fail "an archive of 1931, $format: $(cat err.txt)"
    done
fi
echo "surroundings as promised"
