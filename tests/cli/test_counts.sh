# Counts beyond 2^31 and 2^32: rows of a file on disk, examples and batches of a run; a line of 1 GB.
# ctest: timeout=1500
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
export PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 77; }

awk 'BEGIN { print "y,u"; for (i = 0; i < 256; i++) print i % 2 "," i % 7 / 7 - 0.5 }' >one.csv
run_for 0 data convert 'csv:one.csv?label=y&scale=none' 'quant:small.quant?precision=D8'

# A file of so many rows that is mostly a hole: zeros of class 0, but for the last 1,000 rows.
cat >hole.py <<'END'
import json, os, struct, sys
sys.path.insert(0, os.environ["DROVE_SOURCE_DIR"] + "/tests/cli")
import seal
source, path, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
BLOCK, LAST = 1 << 14, 1000  # rows

def block(n, n_last):  # n rows, of which the last n_last are of class 1
    value = bytes((n - n_last) * 64) + (bytes([100]) + bytes(63)) * n_last
    return seal.checksum(value + bytes((n - n_last) * 4) + struct.pack("<i", 1) * n_last)

with open(source, "rb") as f:
    n = struct.unpack("<Q", f.read(8))[0]
    header = json.loads(f.read(n))
whole, left = divmod(rows, BLOCK)
sums = struct.pack("<Q", block(BLOCK, 0)) * whole + struct.pack("<Q", block(left, min(left, LAST)))
meta = header["__metadata__"]
meta["n_rows"] = meta["source_stored"] = str(rows)
meta["block_rows"] = str(BLOCK)
header["value"].update(shape=[rows, 64], data_offsets=[0, rows * 64])
header["target"].update(shape=[rows], data_offsets=[rows * 64, rows * 68])
header["block_checksum"].update(shape=[whole + 1], data_offsets=[rows * 68, rows * 68 + len(sums)])
of_tensors = {name: int(text, 16) for name, text in json.loads(meta["checksums"]).items()}
of_tensors["block_checksum"] = seal.checksum(sums)  # the others are not looked at by blocks
with open(path, "wb") as f:
    f.write(seal.head(header, of_tensors))
    begin = f.tell()
    f.truncate(begin + rows * 68)
    f.seek(begin + (rows - LAST) * 64)
    f.write((bytes([100]) + bytes(63)) * LAST)
    f.seek(begin + rows * 64 + (rows - LAST) * 4)
    f.write(struct.pack("<i", 1) * LAST + sums)
END
on_disk="--test none --model logistic --threads 1 --batch 4096 --until updates=20 --quiet --json"
for rows in 2147484648 4294967295; do
    if ! python3 hole.py small.quant big.quant $rows 2>err.txt; then
        echo "skip: no file of $((rows * 68 / 1000000000)) GB with a hole can be made here: $(tail -n 1 err.txt)"
        break
    fi
    # shellcheck disable=SC2086
    run_for 0 train --data 'quant:big.quant?window=8MiB' $on_disk --out none
    awk -v rows=$rows '/^  "examples":/ { examples = $2 + 0 } /^  "epochs":/ { epochs = $2 + 0 }
        END { d = epochs * rows / examples - 1; exit !(examples >= 50000 && d < 1e-3 && d > -1e-3) }' out.txt ||
        fail "$rows rows: $(grep -E '^  "(examples|epochs)"' out.txt)"
    if [ -n "${DROVE_TEST_LONG-}" ]; then # all of them, in one epoch
        # shellcheck disable=SC2086
        run_for 0 train --data 'quant:big.quant?window=1GiB' ${on_disk/updates=20/epochs=1} --precision D8M8 \
            --out none
        grep -q "^  \"examples\": $rows,$" out.txt || fail "$rows rows: $(grep '^  "examples"' out.txt)"
        break
    fi
done
if [ -e big.quant ] && python3 hole.py small.quant big.quant 4294967296; then
    # shellcheck disable=SC2086
    run_for 2 train --data 'quant:big.quant?window=8MiB' $on_disk --out none
    [ "$(wc -l <err.txt)" = 1 ] || fail "2^32 rows: expected one line: $(cat err.txt)"
    grep -q '4294967295' err.txt || fail "2^32 rows: expected the limit: $(cat err.txt)"
fi
rm -f big.quant
for data in 'synth:logistic?n=4294967296&d=1' 'synth:digits?n=18446744073709551616'; do
    # shellcheck disable=SC2086
    run_for 2 train --data "$data" $on_disk --out none
    [ "$(wc -l <err.txt)" = 1 ] || fail "$data: expected one line: $(cat err.txt)"
done

# ---- a line of 1 GB is not read to its end ----
truncate -s 1G line.csv
if [ -z "$DROVE_SANITIZE" ]; then
    peak=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$DROVE" train line.csv --label kind)
    [ "$peak" -lt 300000 ] || fail "a line of 1 GB took $peak KiB"
fi
rm line.csv

# ---- a run that has trained for so long that examples, batches and updates are beyond 2^32 ----

# Takes a saved state on by so many epochs: counters and traces.
cat >later.py <<'END'
import json, os, struct, sys
sys.path.insert(0, os.environ["DROVE_SOURCE_DIR"] + "/tests/cli")
import seal
path, epochs, rows, batch = sys.argv[1], int(sys.argv[2]), 256, 8
with open(path, "rb") as f:
    n = struct.unpack("<Q", f.read(8))[0]
    header, data = json.loads(f.read(n)), None
    data = bytearray(f.read())
meta = header["__metadata__"]
def add(name, at, amount):
    begin = header[name]["data_offsets"][0] + 8 * at
    value = struct.unpack_from("<Q", data, begin)[0]
    struct.pack_into("<Q", data, begin, value + amount)
batches = epochs * rows // batch
is_by_rows = "hogbatch" in meta["strategy"]
add("counters", 0, epochs * rows if is_by_rows else batches)  # handed out
add("counters", 1, batches)                             # updates
add("worker.0.trace", 0, epochs * rows)                 # examples
add("worker.0.trace", 1, batches)                       # updates
add("worker.0.trace", 2, batches)                       # steps
add("counters", 5, epochs)                              # the next evaluation
with open(path, "wb") as f:
    f.write(seal.whole(header, bytes(data)))
END
awk 'BEGIN { for (i = 1; i <= 256; i++) print i % 2 ? "+1" : "-1", i ":1" }' >counted.svm
for strategy in sequential hogwild sync easgd hogbatch; do
    for epochs in 16777215 900000000000; do
        rm -rf run
        run_for 0 train --data counted.svm --model svm --test none --strategy $strategy --threads 1 --batch 8 \
            --lr 0.01 --until epochs=2 --save-every epochs=1 --quiet --out run
        python3 later.py run/state.safetensors $epochs
        status=0
        timeout 60 "$DROVE" train --resume run --until epochs=$((epochs + 4)) --quiet --json >out.txt 2>err.txt ||
            status=$?
        [ "$status" = 0 ] || fail "$strategy after $epochs epochs: status $status: $(cat err.txt)"
        for word in "\"examples\": $(((epochs + 4) * 256))," "\"updates\": $(((epochs + 4) * 32))," \
            '"outcome": "finished",'; do
            grep -q "^  $word$" out.txt || fail "$strategy after $epochs epochs: expected $word, found $(
                grep -E '^  "(examples|updates|outcome)"' out.txt)"
        done
        # Two more epochs have used each example twice more: four times 0.01 / 8 each.
        case $strategy in easgd | hogbatch) continue ;; esac
        awk '/^  "loss":/ { d = $2 - 0.995; exit !(d < 1e-6 && d > -1e-6) }' out.txt ||
            fail "$strategy after $epochs epochs: $(grep '^  "loss"' out.txt)"
    done
done
echo "counts beyond 32 bits"
