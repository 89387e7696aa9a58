# Weight decay brings weights without a gradient below the normal range: no worker keeps them there, and all hosts of a
# method agree bit for bit.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
command -v python3 >/dev/null || { echo "no python3 to read a model file with: skipped"; exit 77; }
case $(uname -m) in x86_64 | aarch64) ;; *) echo "no switch for denormals on $(uname -m): skipped"; exit 77 ;; esac

# Features 3 to 40 are zero everywhere: their weights shrink by 5 % an update, 1920 times.
awk 'BEGIN {
    srand(1)
    for (i = 0; i < 64; i++) { a = rand() - 0.5; b = rand() - 0.5; print (a > b ? 1 : -1), "1:" a, "2:" b, "40:0" }
}' >flat.svm
train() {
    run_for 0 train --data libsvm:flat.svm --model mlp:8 --batch 4 --rule sgd --lr 0.1 --weight-decay 0.5 \
        --until epochs=120 --eval-every 120 --save-every never --quiet "$@"
}
train --threads 1 --out one
train --threads 2 --strategy sync --out threads
train --workers procs:2 --strategy sync --out procs
python3 - <<'PY' || fail "expected weights near the range's end, and none below"
import array, json, struct
for run in ("one", "threads", "procs"):
    data = open(run + "/model.safetensors", "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    n_small = n_denormals = 0
    for name, tensor in json.loads(data[8:8 + n]).items():
        if name == "__metadata__" or tensor["dtype"] != "F32": continue
        begin, end = tensor["data_offsets"]
        values = array.array("f", data[8 + n + begin:8 + n + end])
        n_small += sum(abs(x) < 2.0 ** -100 for x in values)  # a decay below the range is none
        n_denormals += sum(0.0 < abs(x) < 2.0 ** -126 for x in values)
    assert n_denormals == 0, (run, n_denormals)
    assert run != "one" or n_small >= 8 * 38, (run, n_small)
PY
cmp threads/model.safetensors procs/model.safetensors || fail "threads and processes: expected the same bits"
echo "no denormal parameter"
