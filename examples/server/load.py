"""load.py PORT FEATURES [REQUESTS [CONNECTIONS [ROWS]]]: asks examples/server/predict_server.c that many times, over
connections that stay open, and prints one JSON object: requests/s, and the shares of the server's time."""
import http.client
import json
import random
import sys
import threading
import time

port, n_features = int(sys.argv[1]), int(sys.argv[2])
n_requests, n_connections, n_rows = (int(sys.argv[i]) if len(sys.argv) > i else usual
                                     for i, usual in ((3, 2000), (4, 4), (5, 1)))
draw = random.Random(1)
body = json.dumps({"rows": [[draw.random() for _ in range(n_features)] for _ in range(n_rows)]})
answers, failed = set(), []


def figures():
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/figures")
    return json.loads(connection.getresponse().read())


def ask(n):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        for _ in range(n):
            connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answers.add(answer.read())
            if answer.status != 200:
                failed.append(answer.status)
    except OSError as error:
        failed.append(str(error))


before, begun = figures(), time.monotonic()
threads = [threading.Thread(target=ask, args=(n_requests // n_connections,)) for _ in range(n_connections)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
seconds, after = time.monotonic() - begun, figures()
gone = {name: after[name] - before[name] for name in after}
print(json.dumps({"requests": gone["requests"], "failed": len(failed), "different_answers": len(answers),
                  "requests_per_s": round(gone["requests"] / seconds),
                  "predictor_us": round(1e6 * gone["predictor_s"] / max(1, gone["requests"]), 2),
                  "handler_us": round(1e6 * gone["handler_s"] / max(1, gone["requests"]), 2),
                  "predictor_share_of_handler": round(gone["predictor_s"] / max(1e-9, gone["handler_s"]), 3)}))
sys.exit(1 if failed else 0)
