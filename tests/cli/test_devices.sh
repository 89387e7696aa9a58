# Devices, as a user meets them: the program needs none and no library of one, lists what there is or why there is
# nothing, and measures them.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
export XDG_CACHE_HOME=$PWD/../device-cache # programs that a driver has compiled stay for the next time

# Neither the program nor the library is linked with OpenCL or CUDA.  Where oneDNN is used, it may need the loader of
# OpenCL for itself, as Debian's does; nothing else may.
devices='opencl|clblast|cuda|cublas|nvidia'
for file in "$DROVE" "$DROVE_BUILD_DIR/src/libdrove.so"; do
    readelf -d "$file" | grep NEEDED >needs.txt
    grep -q libc "needs.txt" || fail "$file: readelf printed nothing useful"
    if grep -iE "$devices" needs.txt; then fail "$file is linked with a library of devices"; fi
    ldd "$file" | awk '$2 == "=>" && $1 !~ /^libdnnl/ { print $3 }' | while read -r library; do
        case $library in *[Oo]pen[Cc][Ll]*) continue ;; esac
        if readelf -d "$library" | grep NEEDED | grep -iE "$devices"; then fail "$file needs $library, which needs this"; fi
    done
done

# With no module, it trains; the devices are gone and it says why; --measure measures the host.
mkdir none
small="--data synth:digits?n=300&n_test=100 --model mlp:16 --seed 3"
# shellcheck disable=SC2086
DROVE_MODULE_PATH=$PWD/none run_for 0 train $small --until updates=20 --quiet --json
grep -q '"outcome": *"finished"' out.txt || fail "no run without modules: $(cat out.txt)"
# shellcheck disable=SC2086
DROVE_MODULE_PATH=$PWD/none run_for 0 info --measure $small
for kind in opencl cuda; do
    grep -qE "^(devices|) +$kind +none: .*drove_$kind\.so" out.txt || fail "no reason for $kind: $(cat out.txt)"
done
grep -qE '^ +batch +1 +16 +128$' out.txt || fail "expected three batch sizes of 300 examples: $(cat out.txt)"
grep -qE '^ +host( +[0-9.e+]+){3}$' out.txt || fail "the host was not measured: $(cat out.txt)"
printf 'no library\n' >none/drove_cuda.so
DROVE_MODULE_PATH=$PWD/none run_for 0 info
grep -qE ' cuda +none: .*/none/drove_cuda\.so: ' out.txt || fail "no reason for a broken module: $(cat out.txt)"

# What cannot be measured is refused.
run_for 2 info --measure --precision D8M8 --model logistic
run_for 2 info --measure --data synth:nothing

# The processor and a GPU train one model; the GPU is the stand-in of tests/cuda/.
stand_in=$DROVE_BUILD_DIR/tests/stand-in
# shellcheck disable=SC2086
DROVE_MODULE_PATH=$stand_in run_for 0 train $small --strategy hogbatch --workers cpu:0+cuda:0 --batch 8 \
    --until epochs=20 --quiet --json
grep -qE '"name": *"cuda:0"' out.txt || fail "no worker cuda:0 in the summary: $(cat out.txt)"
grep -qE '"examples": *6000\b' out.txt || fail "expected 20 epochs of 300 examples: $(cat out.txt)"
# shellcheck disable=SC2086
DROVE_MODULE_PATH=$stand_in run_for 2 train $small --strategy hogbatch --workers cuda:1 --until epochs=1 --quiet
grep -q 'cuda:0 (stand-in for a GPU)' err.txt || fail "which devices exist was not said: $(cat err.txt)"

# As built: every device is known by kind, index, name and memory, or its kind says why not.
command -v python3 >/dev/null || { echo "no python3 to read JSON with: skipped"; exit 77; }
# A driver's own compiler keeps what it has allocated: no affair of the leak checker.
# shellcheck disable=SC2086
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 run_for 0 info --measure $small --json
python3 - <<'END'
import json
info = json.load(open("out.txt"))
kinds = {kind["kind"]: kind for kind in info["device_kinds"]}
assert {"opencl", "cuda"} <= set(kinds), kinds
for name, kind in kinds.items():
    mine = [device for device in info["devices"] if device["kind"] == name]
    assert [device["index"] for device in mine] == list(range(kind["n_devices"])), mine
    assert kind["n_devices"] > 0 or name not in ("opencl", "cuda") or kind["reason"], kind
    for device in mine:
        assert device["reason"] or (device["name"] and device["memory_bytes"] > 0 and device["units"] > 0), device
        print("device: %s:%d %s" % (name, device["index"], device["name"]))
speed = info["speed"]
assert speed["batches"] == [1, 16, 128] and speed["model"] == "mlp:16", speed
assert speed["devices"][0]["device"] == "host" and len(speed["devices"]) == 1 + len(info["devices"]), speed
for device in speed["devices"]:
    rates = device["examples_per_s"]
    assert device["reason"] or all(rate > 0 for rate in rates), device
assert all(rate > 0 for rate in speed["devices"][0]["examples_per_s"]), speed
END
