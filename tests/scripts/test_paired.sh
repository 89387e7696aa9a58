# bench/run/paired.py with programs that only report a speed: ratios, intervals, verdicts, and what was not compared.
set -eu
command -v python3 >/dev/null || { echo "skip: no python3"; exit 77; }
paired=$DROVE_SOURCE_DIR/bench/run/paired.py
fail() {
    echo "$*"
    cat out.txt err.txt
    exit 1
}
program() { # NAME EXAMPLES_PER_S
    printf '#!/bin/sh\necho '\''{"examples_per_s": %s}'\''\n' "$2" >"$1"
    chmod +x "$1"
}
compared() { # STATUS ARGUMENT...
    wanted=$1 status=0
    shift
    python3 "$paired" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" = "$wanted" ] || fail "$*: expected status $wanted, found $status"
}
says() { # TEXT FILE
    grep -qF -- "$1" "$2" || fail "expected \"$1\" in $2"
}
program ./old 100
program ./new 90
printf '#!/bin/sh\ncase "$*" in *"--batch 16 "*) echo no >&2; exit 3 ;; esac\nexec ./old\n' >half
chmod +x half
one='step, batch 1,'

compared 0 ./old ./new --pairs 6 --only "$one"
says 'slower, interval below 0.98: step, batch 1, one thread: 0.900 to 0.900' out.txt
compared 0 ./new ./old --pairs 6 --only "$one"
says 'slower, interval below 0.98: none of 1' out.txt
compared 0 ./old ./old --pairs 6 --only "$one"
says '1.000 to 1.000' out.txt
for pairs in 1 2 5; do
    compared 0 ./old ./new --pairs "$pairs" --only "$one"
    says 0.900 out.txt
    says 'no verdict: an interval needs 6 pairs' out.txt
done
compared 1 ./old ./half --pairs 6 --only 'step, batch 1'
says 'slower, interval below 0.98: none of 1' out.txt
says 'not compared: step, batch 16, one thread (failed)' out.txt
says 'status 3: no' err.txt
compared 1 ./old ./half --pairs 6 --only 'step, batch 16'
says 'no verdict: no case was compared' out.txt
compared 2 ./old ./new --pairs 0
says 'expected 1 or more, found 0' err.txt
compared 2 ./old ./new --only 'no such case'
says "expected a part of a case's name" err.txt

# One program as both: each run counts where it stands.
cat >turns <<'END'
#!/bin/sh
n=$(($(cat n) + 1))
echo $n >n
echo "{\"examples_per_s\": $n}"
END
chmod +x turns
echo 0 >n
compared 0 ./turns ./turns --pairs 2 --only "$one"
says ' 1.150 ' out.txt # 3 / 2 and 4 / 5, after one run that does not count

# The interval by the binomial distribution.
python3 - "$paired" <<'END'
import importlib.util, sys
spec = importlib.util.spec_from_file_location("paired", sys.argv[1])
paired = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(paired)
for n, ends in (5, None), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (12, (3, 10)), (20, (6, 15)):
    found = paired.interval_of_median(list(range(n, 0, -1)))
    assert found == ends, (n, found, ends)
END
echo "ratios, intervals and verdicts"
