#!/bin/bash
# The server of examples/server: predictions over HTTP are those of `drove predict`, from several connections at once;
# what is not a prediction is refused; it ends by a signal.
set -eu
server=$DROVE_BUILD_DIR/examples/example_predict_server
[ -x "$server" ] || { echo "libmicrohttpd was not there when the examples were built: skipped"; exit 77; }
command -v curl >/dev/null && command -v python3 >/dev/null || { echo "no curl or python3 here: skipped"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }

printf 'a,b,y\n0.1,0.9,no\n0.9,0.2,yes\n0.3,0.8,no\n0.8,0.1,yes\n0.2,0.7,no\n0.7,0.3,yes\n' >rows.csv
"$DROVE" train --data 'csv:rows.csv?label=y' --test none --model mlp:8 --until epochs=30 --defaults classic --lr 0.1 \
    --batch 2 --out model --quiet >/dev/null
"$DROVE" predict model 'csv:rows.csv?label=y' --format csv >wanted.csv

serve() { # MODEL
    "$server" "$1" 0 3 >server.txt 2>&1 &
    pid=$!
    trap 'kill $pid 2>/dev/null || true' EXIT
    for _ in $(seq 100); do
        grep -q '^http' server.txt && break
        sleep 0.1
    done
    url=$(sed -n 's/,.*//p' server.txt)
    port=$(echo "$url" | sed 's/.*:\([0-9]*\)\/.*/\1/')
}
serve model

plain() { curl --silent --max-time 20 --output answer.json --write-out '%{http_code}' "$@"; }
ask() { plain -H 'Content-Type: application/json; charset=utf-8' "$@"; }
rows='{"rows": [[0.1,0.9],[0.9,0.2],[0.3,0.8],[0.8,0.1],[0.2,0.7],[0.7,0.3]]}'
[ "$(ask -d "$rows" "$url")" = 200 ] || fail "predict: $(cat answer.json)"
python3 - <<'END' || fail "other predictions: $(cat answer.json wanted.csv)"
import csv, json
got = json.load(open("answer.json"))
rows = list(csv.DictReader(open("wanted.csv")))
assert len(rows) == len(got["outputs"]) == 6 and got["classes"] == ["no", "yes"]
for row, out in zip(rows, got["outputs"]):
    for name, value in zip(got["classes"], out):
        assert abs(float(row["p_" + name]) - value) < 1e-5, (row, out)
END
[ "$(ask -d '{"rows": [[0.1]]}' "$url")" = 400 ] || fail "a short row: $(cat answer.json)"
[ "$(ask -d '{"rows": [[1e39, 0]]}' "$url")" = 400 ] || fail "not finite: $(cat answer.json)"
[ "$(ask -d '{"rows": ' "$url")" = 400 ] || fail "no JSON: $(cat answer.json)"
[ "$(plain -d "$rows" "$url")" = 415 ] || fail "a form: $(cat answer.json)"
for host in evil.example "localhost:$port.evil.example" 127.0.0.1.evil.example; do
    [ "$(ask -H "Host: $host" -d "$rows" "$url")" = 403 ] || fail "$host: $(cat answer.json)"
done
[ "$(ask -H 'Host: LocalHost' -d "$rows" "$url")" = 200 ] || fail "LocalHost: $(cat answer.json)"
[ "$(ask "$url")" = 405 ] || fail "GET: $(cat answer.json)"
[ "$(ask -d x "${url%predict}other")" = 404 ] || fail "other: $(cat answer.json)"
head -c 3000000 /dev/zero >large
ask --data-binary @large "$url" >code.txt 2>/dev/null && fail "3 MB were taken: $(cat code.txt)"
[ "$(ask -d "$rows" "$url")" = 200 ] || fail "after it: $(cat answer.json)"

# A number that is not finite keeps its place.
kill -TERM $pid && wait $pid
printf 'a,b,y\n0.1,0.9,2.5\n0.9,0.2,1.25\n0.3,0.8,3.5\n0.8,0.1,1.5\n0.2,0.7,2.75\n0.7,0.3,1.75\n' >values.csv
"$DROVE" train --data 'csv:values.csv?label=y' --test none --model linear --until epochs=30 --defaults classic --lr 0.1 \
    --batch 2 --out linear --quiet >/dev/null
serve linear
[ "$(ask -d '{"rows": [[3e38, -3e38], [0.1, 0.9]]}' "$url")" = 200 ] || fail "not finite: $(cat answer.json)"
grep -qE '^\{"outputs":\[\[null\],\[[-0-9.e]+\]\]\}$' answer.json || fail "not finite: $(cat answer.json)"
kill -TERM $pid && wait $pid
serve model

python3 "$DROVE_SOURCE_DIR/examples/server/load.py" "$port" 2 600 6 >load.json || fail "load: $(cat load.json)"
grep -q '"requests": 600, "failed": 0, "different_answers": 1,' load.json || fail "load: $(cat load.json)"
cat load.json
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 0 ] || fail "status $status: $(cat server.txt)"
trap - EXIT
