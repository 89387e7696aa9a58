# drove watch: a run and a sweep as lines and in a terminal, what ends it, and the page by HTTP.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

python3 "$DROVE_SOURCE_DIR/tests/cli/report_page.py" make
has_terminal=true
has_pseudo_terminal || has_terminal=false
# WORDS ARGUMENT...: the frames in frames.txt, the last one in screen.txt, the status.  Ctrl-C ends what has shown three
# whole frames, the last of them with all WORDS, a regular expression; where WORDS is empty, it ends by itself.
in_terminal() {
    python3 - "$@" <<'PY'
import os, pty, re, select, signal, sys, time
words, arguments = sys.argv[1], sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(os.environ["DROVE"], ["drove"] + arguments)
said, until, is_told = b"", time.time() + 250, False
while time.time() < until:
    if not select.select([fd], [], [], 1)[0]:
        continue
    try:
        part = os.read(fd, 65536)
    except OSError:  # the other end is closed
        break
    if not part:
        break
    said += part
    whole = said.decode("utf-8", "replace").split("\033[J")[:-1]
    if words and not is_told and len(whole) >= 3 and re.search(words, whole[-1], re.S):
        os.kill(pid, signal.SIGINT)
        is_told = True
else:
    os.kill(pid, signal.SIGKILL)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
text = said.decode("utf-8").replace("\r\n", "\n")
frames = text.split("\033[J")
open("frames.txt", "w").write(str(len(frames)))
open("screen.txt", "w").write(frames[-1])
open("status.txt", "w").write(str(status))
for line in frames[-1].split("\n"):
    assert len(line.strip("\r")) <= 80, line
PY
}
export DROVE

# A run that goes on, seen as lines: each evaluation once, and the end.
"$DROVE" train synth:digits?n=2000 --defaults classic --model mlp:16 --until seconds=200 --eval-every 20 --lr 0.02 --threads 1 --out live --quiet &
train=$!
trap 'kill $train 2>/dev/null || :' EXIT
# NUMBER FILE PATTERN: waits for as many lines.
wait_for_lines() {
    local n
    for _ in $(seq 2000); do
        n=$(grep -cs "$3" "$2") || n=${n:-0}
        [ "$n" -lt "$1" ] || return 0
        sleep 0.05
    done
    fail "expected $1 lines of $3: $(cat "$2")"
}
wait_for_lines 2 live/log.jsonl .
if $has_terminal; then
    in_terminal '^live: running.* left.* best ' watch live --every 0.1
    [ "$(cat status.txt)" = 130 ] && [ "$(cat frames.txt)" -ge 3 ] || fail "Ctrl-C: $(cat status.txt frames.txt screen.txt)"
    grep -q '^live: running$' screen.txt && grep -q 'left$' screen.txt && grep -q ' best ' screen.txt || fail "$(cat screen.txt)"
    kill -0 $train || fail "the watch has ended the run"
fi
"$DROVE" watch live --every 0.1 >out.txt 2>err.txt &
watch=$!
wait_for_lines 1 out.txt '^epochs '
wait_for_lines $(($(grep -c '^epochs ' out.txt) + 2)) out.txt '^epochs '
kill -INT $train
wait $train && fail "expected status 130" || [ $? = 130 ]
trap - EXIT
wait $watch || fail "the watch: status $?: $(cat err.txt)"
[ "$(grep -c '^epochs ' out.txt)" = "$(wc -l <live/log.jsonl)" ] || fail "expected a line for each evaluation: $(wc -l <live/log.jsonl) $(cat out.txt)"
[ "$(tail -n 1 out.txt)" = 'live: interrupted' ] && [ ! -s err.txt ] || fail "$(tail -n 2 out.txt; cat err.txt)"

# A line end in a name is shown as ?, and hides nothing of its line.
name=$(printf 'a\nb')
cp -r live "$name"
run_for 0 watch "$name"
[ "$(tail -n 1 out.txt)" = 'a?b: interrupted' ] || fail "$(tail -n 2 out.txt)"

# Runs that are not whole: killed, crashed, one evaluation, hostile names.
touch -d '10 minutes ago' one/log.jsonl one/run.json
run_for 0 watch one
grep -q '^one: no process is at work on it' out.txt || fail "$(cat out.txt)"
run_for 0 watch sweep
[ "$(grep -c '^sweep/runs/' out.txt)" = 30 ] && grep -q '^  30 of 30 runs, 25 reached, 2 missed, 3 crashed$' out.txt || fail "$(cat out.txt)"
# A long log: each evaluation once.
cp -r live long && rm long/summary.json
python3 -c '
import json
record = json.loads(open("live/log.jsonl").readline())
with open("long/log.jsonl", "w") as f:
    for i in range(20000): f.write(json.dumps(dict(record, epochs=float(i), updates=i, loss=1.0002 / (i + 1.0), test_loss=None)) + "\n")'
touch -d '10 minutes ago' long/log.jsonl long/run.json
run_for 0 watch long
[ "$(grep -c '^epochs ' out.txt)" = 20000 ] || fail "expected 20000 lines, found $(grep -c '^epochs ' out.txt)"

# The same in a terminal.
if $has_terminal; then
    # The numbers of the last frame are those of the log; stars where there is no UTF-8.
    LC_ALL=C in_terminal '' watch live
    [ "$(cat status.txt)" = 0 ] && grep -q '\*\*' screen.txt || fail "$(cat screen.txt)"
    python3 - <<'PY' || fail "$(cat screen.txt)"
import json, re
log = [json.loads(x) for x in open("live/log.jsonl")]
text = open("screen.txt").read()
assert text.startswith("live: interrupted\n"), text
assert "  loss %.4g, " % log[-1]["loss"] in text
key = "test_loss" if log[0]["test_loss"] is not None else "loss"
best = min(log, key=lambda r: r[key])
assert " best %.4g (%s) at epoch %.4g\n" % (best[key], key, best["epochs"]) in text
rows = re.findall(r"^ *(\S*) \|(.*)$", text, re.M)
assert len(rows) == 11, len(rows)
top, bottom = max(r["loss"] for r in log), min(r["loss"] for r in log)
assert rows[0][0] == "%.4g" % top and rows[-1][0] == "%.4g" % bottom, (rows[0], rows[-1], top, bottom)
assert rows[0][1][0] == "*", "the first loss is the highest"
PY
    if locale -a 2>/dev/null | grep -qi '^C\.utf'; then
        LC_ALL=C.UTF-8 in_terminal '' watch live
        python3 -c 'import sys; t = open("screen.txt").read(); sys.exit(not any("\u2801" <= c <= "\u28ff" for c in t))' || fail "no Braille: $(cat screen.txt)"
    fi

    for folder in hostile/*; do in_terminal '' watch "$folder"; done
    grep -q ': crashed$' screen.txt && ! grep -q "$(printf '\302\205')" screen.txt || fail "$(cat -v screen.txt)"
    in_terminal '' watch sweep
    grep -q 'all runs are done' screen.txt && grep -q 'best so far' screen.txt || fail "$(cat screen.txt)"
    # Of a long log the frame has the ends, where no label is too wide.
    in_terminal '' watch long
    grep -q '^  epochs 2e+04, updates 2e+04' screen.txt && grep -q ' best 5.001e-05 (loss) at epoch 2e+04' screen.txt || fail "$(cat screen.txt)"
fi

# A pipe in place of a log is refused at once.
rm long/log.jsonl && mkfifo long/log.jsonl
run_for 2 watch long
grep -qx 'drove: long/log.jsonl: expected a regular file, found a pipe' err.txt || fail "$(cat err.txt)"
run_for 2 watch nowhere
grep -q '^drove: nowhere: expected the folder of a run' err.txt || fail "$(cat err.txt)"
run_for 2 watch sweep --every 0
run_for 2 watch sweep one
run_for 2 watch sweep --http 70000
run_for 2 watch sweep --bind-address 127.0.0.1

# By HTTP.
run watch nowhere --http 0
if grep -q 'this build has no HTTP server' err.txt; then
    echo "no HTTP server in this build"
    exit 0
fi
[ "$status" = 2 ] || fail "a folder of no run: $status"
run_for 2 watch sweep --http 0 --bind-address here
mkdir going && cp live/run.json going && head -n 2 live/log.jsonl >going/log.jsonl
"$DROVE" watch going sweep --http 0 >http.txt 2>http.err &
server=$!
trap 'kill $server 2>/dev/null || :' EXIT
for _ in $(seq 200); do [ -s http.txt ] && break; sleep 0.05; done
python3 - "$(cat http.txt)" <<'PY' || fail "by HTTP: $(cat http.txt http.err)"
import http.client, os, re, socket, subprocess, sys, threading, time
port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n?", sys.argv[1]).group(1))

def ask(method, path="/", **headers):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, path, body="x=1" if method == "POST" else None, headers=headers)
    answer = c.getresponse()
    return answer, answer.read().decode("utf-8")

def slow():
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
    return s

# A request that takes its time, a byte a second, ends after ten.
late, late_took = slow(), []
def trickle():
    begin = time.monotonic()
    try:
        while time.monotonic() - begin < 60:
            late.sendall(b"x")
            late.settimeout(1)
            try:
                if late.recv(1) == b"": break
            except TimeoutError: pass
    except OSError: pass
    late_took.append(time.monotonic() - begin)
trickling = threading.Thread(target=trickle)
trickling.start()

answer, page = ask("GET")
assert answer.status == 200 and answer.getheader("Content-Type").startswith("text/html")
assert "default-src 'none'" in answer.getheader("Content-Security-Policy")
assert "31 runs" in page and "<script>" in page
answer, again = ask("GET")
assert again == page
with open("going/log.jsonl", "a") as f:
    f.write(open("live/log.jsonl").readlines()[2])
assert ask("GET")[1] != page, "a new evaluation is not shown"
answer, none = ask("HEAD")
assert answer.status == 200 and none == ""
for method in "POST", "PUT", "DELETE", "OPTIONS":
    answer, said = ask(method)
    assert answer.status == 405 and answer.getheader("Allow") == "GET, HEAD", (method, answer.status)
for path in "/x", "/../http.txt", "//", "/%2e%2e/http.txt":
    assert ask("GET", path)[0].status == 404, path
for host in ("evil.example", "localhost:%d.evil.example" % port, "localhost.evil.example", "127.0.0.1.evil.example", "127.1",
             "[::1].evil.example", "[::1", "1" * 100, ""):
    assert ask("GET", Host=host)[0].status == 403, host
for host in "localhost", "localhost:%d" % port, "LocalHost:%d" % port, "127.0.0.1:1", "127.1.2.3", "[::1]:%d" % port:
    assert ask("GET", Host=host)[0].status == 200, host
idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]  # they do not shut others out
assert ask("GET")[0].status == 200
for one in idle:
    one.close()
trickling.join()
assert 9 < late_took[0] < 30, late_took
# Nor do as many as there are places, and more, each of which sends a byte now and then.
many = [slow() for _ in range(250)]
over, ended = threading.Event(), set()
def trickle_all():
    while not over.wait(0.5):
        for one in many:
            try: one.send(b"x")
            except OSError: ended.add(one)
trickling = threading.Thread(target=trickle_all)
trickling.start()
took = []
try:
    for _ in range(4):
        time.sleep(1)
        begin = time.monotonic()
        assert ask("GET")[0].status == 200
        took.append(time.monotonic() - begin)
finally:
    over.set()
trickling.join()
assert max(took) < 5 and sorted(took)[1] < 2, took
assert 0 < len(ended) < 250, len(ended)
for one in many:
    one.close()
if os.path.exists("/proc/net/tcp"):
    listening = [x.split()[1] for x in open("/proc/net/tcp") if x.split()[3] == "0A" and x.split()[1].endswith(":%04X" % port)]
    assert listening == ["0100007F:%04X" % port], listening
else:
    print("skip: /proc is not mounted, which lists the ports that listen")
taken = subprocess.run([os.environ["DROVE"], "watch", "sweep", "--http", str(port)], capture_output=True, text=True)
assert taken.returncode == 2 and "in use by another program" in taken.stderr and taken.stderr.count("\n") == 1, taken
PY
kill -INT $server
wait $server && fail "expected status 130" || [ $? = 130 ]
trap - EXIT
