#!/usr/bin/env python3
"""Load figures of `continuo serve`: so many clients at once, each asking for one piece after the other and reading it as it comes.

    server_load.py [--clients 1,4,20] [--pieces 3] [--seconds 10] [--model demo] [--format wav] [--json]

For each number of clients a server of its own is started. The table has the time from the request to the first byte of sound (median and
95th percentile, over all pieces), how many seconds of music were made in a second, and the most memory that the server had, all as seen
from outside: by the clock of the clients and by the system's count of the process. One piece is made before, so that nothing is measured
that only a first request pays. A request that is refused because the queue is full comes back after the time that the answer says, and its
wait counts. Python's standard library only.
"""
import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BINARY = os.path.abspath(os.environ.get("CONTINUO_BINARY", os.path.join(ROOT, "build", "continuo")))
PROMPT = "warm lofi beat with a soft electric piano"


class Server:
    def __init__(self, model, queue):
        self.folder = tempfile.TemporaryDirectory(prefix="continuo-load-")
        self.process = subprocess.Popen(
            [BINARY, "serve", "-m", model, "--port", "0", "--data", os.path.join(self.folder.name, "data"), "--log-format", "json",
             "--max-queue", str(queue), "--requests-per-minute", "0", "--grace", "0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.port = None
        for line in self.process.stderr:
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("message") == "ready":
                self.port = int(event["url"].rsplit(":", 1)[1])
                break
        if self.port is None:
            self.process.wait()
            sys.exit("server_load: the server did not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def peak_bytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def settle(self):
        """Waits for the work of a first start: the index of prompts."""
        while self.get("/v1/prompts/similar?prompt=x")[0] == 503:
            time.sleep(0.2)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


def ask(port, seconds, seed, word):
    """(seconds to the first byte, seconds to the last) of a piece."""
    begin = time.monotonic()
    body = json.dumps({"input": PROMPT, "voice": "none", "response_format": word, "duration": seconds, "seed": seed})
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        connection.request("POST", "/v1/audio/speech", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 429:
            break
        answer.read()
        connection.close()
        time.sleep(int(answer.headers["Retry-After"]))
    if answer.status != 200:
        raise RuntimeError(f"status {answer.status}: {answer.read()[:300]!r}")
    first = answer.read(1)
    heard = time.monotonic() - begin
    if not first:
        raise RuntimeError("an answer without sound")
    while answer.read(65536):
        pass
    connection.close()
    return heard, time.monotonic() - begin


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def measure(clients, arguments):
    server = Server(arguments.model, max(10, clients))
    try:
        server.settle()
        ask(server.port, 1.0, 0, arguments.format)
        times, errors = [], []

        def client(number):
            try:
                for piece in range(arguments.pieces):
                    times.append(ask(server.port, arguments.seconds, 1 + number * arguments.pieces + piece, arguments.format))
            except Exception as error:  # a thread has nobody else to tell
                errors.append(error)
        threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - begin
        if errors:
            raise errors[0]
        first = [heard for heard, _ in times]
        return {"clients": clients, "pieces": len(times), "first_p50": percentile(first, 0.5), "first_p95": percentile(first, 0.95),
                "throughput": len(times) * arguments.seconds / took, "peak_bytes": server.peak_bytes()}
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", default="1,4,20")
    parser.add_argument("--pieces", type=int, default=3, help="of each client, one after the other")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a piece")
    parser.add_argument("--model", default=os.path.join(ROOT, "models", "demo.gguf"))
    parser.add_argument("--format", default="wav")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not arguments.json:
        print("| Clients | Pieces | First sound, p50 | p95 | Music per second | Peak memory |")
        print("|---:|---:|---:|---:|---:|---:|", flush=True)
    for clients in map(int, arguments.clients.split(",")):
        row = measure(clients, arguments)
        if arguments.json:
            print(json.dumps(row), flush=True)
        else:
            print(f"| {row['clients']} | {row['pieces']} | {row['first_p50']:.2f} s | {row['first_p95']:.2f} s | {row['throughput']:.1f} s "
                  f"| {row['peak_bytes'] / 1e6:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
