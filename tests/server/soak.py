#!/usr/bin/env python3
"""A quarter of an hour of everything at once, with faults: `make soak`, or soak.py [--seconds 900] [--seed 1] [--clients 8].

So many clients ask one server for random things: pieces in every way there is, sound in every format, lists, uploads, takes. At random they
hang up in the middle, cancel, send garbage, read slowly, or break a WebSocket and come back. At the end, and at each minute's pause:

- every job that was taken in ended exactly once (its events have one end), and those that nobody disturbed ended well;
- nothing runs or waits, all pages of keys and values are free, no stream and no connection is left;
- memory does not grow: the resident size of the second half's pauses stays within a tenth (and 16 MB) of where the first half left it;
- no answer was an error that nothing had provoked, and none was a 500.

Prints a summary; the exit status is 0 only if all of it holds. The choices follow from the seed, the timing does not.
"""
import argparse
import collections
import random
import sys
import threading
import time

import httpx
import websockets.exceptions
from support import ENDS, PROMPT, Server, end_abruptly, eventually, make_wav, request_bytes, sse

FORMATS = ["wav", "flac", "mp3", "m4a", "ogg"]
PROMPTS = [PROMPT, "calm piano", "slow jazz with a soft saxophone", "hard techno at 140 beats", "a choir in a cathedral", ""]


class Soak:
    def __init__(self, server, arguments):
        self.server = server
        self.until = time.monotonic() + arguments.seconds
        self.lock = threading.Lock()
        self.jobs = {}  # id -> whether it must end well
        self.counts = collections.Counter()
        self.wrong = []
        self.resident = []
        self.pausing = threading.Event()
        self.waiting = 0

    def note(self, what):
        with self.lock:
            self.counts[what] += 1

    def complain(self, what):
        with self.lock:
            self.wrong.append(what)

    def took(self, job, undisturbed):
        with self.lock:
            self.jobs[job] = undisturbed

    def disturbed(self, job):
        self.took(job, False)


class Client(threading.Thread):
    """One client: its choices are its own."""

    def __init__(self, soak, seed):
        super().__init__(daemon=True)
        self.soak = soak
        self.random = random.Random(seed)
        self.http = httpx.Client(base_url=soak.server.url, timeout=120, trust_env=False)
        self.mine = []

    def run(self):
        actions = [self.job, self.job, self.job_cancelled, self.batch, self.speech, self.speech_left, self.speech_events, self.generate, self.hugging_face,
                   self.stream, self.stream_broken, self.live, self.sound, self.sound_left, self.slow, self.garbage, self.upload, self.takes, self.look]
        while time.monotonic() < self.soak.until:
            if self.soak.pausing.is_set():
                with self.soak.lock:
                    self.soak.waiting += 1
                while self.soak.pausing.is_set():
                    time.sleep(0.05)
                with self.soak.lock:
                    self.soak.waiting -= 1
            action = self.random.choice(actions)
            try:
                action()
                self.soak.note(action.__name__)
            except Exception as error:  # whatever went wrong, the others go on
                self.soak.complain(f"{action.__name__}: {type(error).__name__}: {str(error)[:300]}")
                if self.soak.server.process is None or self.soak.server.process.poll() is not None:
                    return
        self.http.close()

    def request(self, **more):
        fields = {"prompt": self.random.choice(PROMPTS), "duration": round(self.random.uniform(0.02, 2.0), 2), **more}
        if self.random.random() < 0.3:
            fields["guidance_scale"] = 1
        if self.random.random() < 0.2:
            fields["strategy"] = "greedy"
        if self.random.random() < 0.2:
            fields["takes"] = self.random.randint(1, 3)
        if self.random.random() < 0.2:
            fields["keep"] = False
        return fields

    def ask(self, method, path, expected, **more):
        """The answer, of a status that is expected; a full queue always is."""
        answer = self.http.request(method, path, **more)
        if answer.status_code == 429:
            self.soak.note("queue full")
            if "retry-after" not in answer.headers:
                self.soak.complain(f"429 of {path} without Retry-After")
            return None
        if answer.status_code not in expected:
            self.soak.complain(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
            return None
        return answer

    def submit(self, undisturbed, **more):
        answer = self.ask("POST", "/v1/jobs", [202], json=self.request(**more))
        if answer is None:
            return None
        job = answer.json()["id"]
        self.soak.took(job, undisturbed)
        self.mine.append(job)
        del self.mine[:-20]
        return job

    def job(self):
        if self.random.random() < 0.2:
            segments = [{"prompt": self.random.choice(PROMPTS), "duration": 0.3} for _ in range(self.random.randint(1, 3))]
            answer = self.ask("POST", "/v1/jobs", [202], json={"segments": segments})
            job = answer.json()["id"] if answer else None
            if job:
                self.soak.took(job, True)
        else:
            job = self.submit(True)
        if job and self.random.random() < 0.5:
            with self.http.stream("GET", f"/v1/jobs/{job}/events") as answer:
                for event in sse(answer.iter_lines()):
                    if event["event"] not in ENDS and self.random.random() < 0.2:
                        return  # the watcher goes, the job stays

    def job_cancelled(self):
        job = self.submit(False, duration=self.random.choice([0.5, 30.0, 300.0]))
        if job:
            time.sleep(self.random.uniform(0, 0.5))
            for _ in range(self.random.randint(1, 2)):
                self.ask("DELETE", f"/v1/jobs/{job}", [200])

    def batch(self):
        body = {"prompts": [self.random.choice(PROMPTS) for _ in range(self.random.randint(1, 3))], "duration": 0.3}
        answer = self.ask("POST", "/v1/batches", [202], json=body)
        if answer is None:
            return
        cancelled = self.random.random() < 0.4
        for job in answer.json()["jobs"]:
            self.soak.took(job["id"], not cancelled)
        if cancelled:
            self.ask("DELETE", f"/v1/batches/{answer.json()['id']}", [200])

    def speech_body(self, **more):
        return {"input": self.random.choice(PROMPTS), "duration": 0.5, "response_format": self.random.choice(["wav", "mp3", "opus", "aac", "flac", "pcm"]), **more}

    def speech(self):
        answer = self.ask("POST", "/v1/audio/speech", [200], json=self.speech_body())
        if answer is not None:
            self.soak.took(answer.headers["x-job-id"], True)

    def speech_left(self):
        connection = self.soak.server.raw(request_bytes("POST", "/v1/audio/speech", body=self.speech_body(duration=300.0)))
        time.sleep(self.random.uniform(0, 0.5))
        end_abruptly(connection) if self.random.random() < 0.5 else connection.close()

    def speech_events(self):
        with self.http.stream("POST", "/v1/audio/speech", json=self.speech_body(stream_format="sse")) as answer:
            if answer.status_code == 429:
                return
            last = [event["event"] for event in sse(answer.iter_lines())][-1]
        if last != "speech.audio.done":
            self.soak.complain(f"events of speech ended with {last}")

    def generate(self):
        accept = self.random.choice(["*/*", "application/json", "audio/mpeg"])
        answer = self.ask("POST", "/generate", [200], json={"prompt": self.random.choice(PROMPTS), "duration": 0.4, "use_cache": self.random.random() < 0.5},
                          headers={"Accept": accept})
        if answer is not None:
            self.soak.took(answer.json()["job_id"] if accept == "application/json" else answer.headers["x-job-id"], True)

    def hugging_face(self):
        self.ask("POST", "/models/demo", [200], json={"inputs": "x", "parameters": {"duration": 0.3}}, headers={"Accept": self.random.choice(["*/*", "application/json"])})

    def listen(self, socket, size):
        """False: it was told that the queue is full."""
        while len(socket.sound) < size:
            message = socket.next()
            if message["type"] == "error":
                if message["status"] != 429:
                    self.soak.complain(f"a socket was told {message}")
                return False
            if message["type"] == "done":
                return True
        return True

    def stream(self):
        with self.soak.server.socket("/v1/stream") as socket:
            socket.say("start", prompt=self.random.choice(PROMPTS), duration=0.6)
            self.listen(socket, 1 << 40)

    def stream_broken(self):
        with self.soak.server.socket("/v1/stream") as socket:
            socket.say("start", prompt=self.random.choice(PROMPTS), duration=2.0)
            if not self.listen(socket, 10000):
                return
            token = next(message["token"] for message in socket.heard if message["type"] == "ready")
            socket.break_off()
        if self.random.random() < 0.5:
            try:
                with self.soak.server.socket("/v1/stream") as socket:
                    socket.say("resume", token=token, offset=min(10000, len(socket.sound) or 10000))
                    message = socket.next()
                    if message["type"] == "error" and message["status"] not in (404, 422):
                        self.soak.complain(f"resume: {message}")
            except websockets.exceptions.ConnectionClosed:
                pass

    def live(self):
        with self.soak.server.socket("/v1/live") as socket:
            socket.say("start", prompt=self.random.choice(PROMPTS))
            if self.listen(socket, 32000):
                socket.say("change", prompt=self.random.choice(PROMPTS), temperature=1.1)
                self.listen(socket, 64000)
                if self.random.random() < 0.5:
                    socket.say("cancel")
                else:
                    socket.break_off()

    def sound(self):
        if self.mine:
            job = self.random.choice(self.mine)
            path = self.random.choice([f"audio.{self.random.choice(FORMATS)}", "peaks", "stream.m3u8"])
            self.ask("GET", f"/v1/jobs/{job}/{path}", [200, 206, 409, 410, 416], headers={"Range": "bytes=0-999"} if self.random.random() < 0.3 else {})

    def sound_left(self):
        if self.mine:
            connection = self.soak.server.raw(request_bytes("GET", f"/v1/jobs/{self.random.choice(self.mine)}/audio.{self.random.choice(FORMATS)}"))
            time.sleep(self.random.uniform(0, 0.2))
            end_abruptly(connection)

    def slow(self):
        job = self.submit(True, duration=2.0)
        if job:
            with self.soak.server.raw(request_bytes("GET", f"/v1/jobs/{job}/audio.wav?rate=48000&channels=2", Connection="close")) as connection:
                while connection.recv(65536):
                    time.sleep(0.02)

    def garbage(self):
        size = self.random.randint(0, 3000)
        data = self.random.randbytes(size)
        kind = self.random.randint(0, 3)
        if kind == 0:
            with self.soak.server.raw(data + b"\r\n\r\n") as connection:
                connection.settimeout(1)
                try:
                    connection.recv(100)
                except OSError:
                    pass
        elif kind == 1:
            path = self.random.choice(["/v1/jobs", "/generate", "/v1/audio/speech", "/v1/batches", "/v1/huggingface/text-to-audio", "/v1/prompts/similar"])
            self.ask("POST", path, [400, 413, 415, 422], content=data, headers={"Content-Type": "application/json"})
        elif kind == 2:
            self.ask("POST", "/v1/uploads", [415, 422], content=b"RIFF" + data)
        else:
            with self.soak.server.socket(self.random.choice(["/v1/stream", "/v1/live"])) as socket:
                socket.connection.send(data if self.random.random() < 0.5 else data.hex())
                if socket.next()["type"] != "error":
                    self.soak.complain("garbage was taken")

    def upload(self):
        answer = self.ask("POST", "/v1/uploads", [201], content=make_wav(0.5))
        if answer is None:
            return
        upload = answer.json()["id"]
        if self.random.random() < 0.6:
            job = self.ask("POST", "/v1/jobs", [202], json={"prompt": "x", "duration": 1.0, "continue": {"upload": upload}})
            if job is not None:
                self.soak.took(job.json()["id"], True)
        self.ask("DELETE", f"/v1/uploads/{upload}", [204])

    def takes(self):
        answer = self.ask("GET", "/v1/takes", [200], params={"limit": 5, **self.random.choice([{}, {"q": "jazz"}, {"deleted": "true"}])})
        for take in answer.json()["data"][:1] if answer is not None else []:
            path = f"/v1/takes/{take['id']}"
            self.ask("PATCH", path, [200, 404], json={"rating": self.random.randint(0, 5)})
            self.ask("GET", path + self.random.choice(["", "/settings", "/peaks", "/audio.mp3"]), [200, 404])
            self.ask("DELETE", path + self.random.choice(["", "?forever=true"]), [200, 404, 409])

    def look(self):
        for path in ("/health", "/metrics", "/props", "/v1/models", "/v1/jobs", "/v1/scenes", "/openapi.json", "/v1/retention/plan"):
            self.ask("GET", path, [200])


def check(soak, server):
    """At a pause: nobody asks for anything, so nothing may be left."""
    def ended():
        return all(server.get(f"/v1/jobs/{job}", status=None).json().get("state", "gone") in (*ENDS, "gone") for job in list(soak.jobs))
    try:
        eventually(ended, "all jobs have ended", 300)
        now = server.still()
        for name, most in (("continuo_streams", 0), ("continuo_http_connections", 1 + soak.clients)):
            eventually(lambda name=name, most=most: server.metrics().value(name) <= most, f"{name} is at most {most}")
    except AssertionError as error:
        soak.complain(f"at a pause: {error}")
        return
    soak.resident.append(now.value("continuo_process_resident_memory_bytes"))
    for job, undisturbed in list(soak.jobs.items()):
        del soak.jobs[job]
        answer = server.get(f"/v1/jobs/{job}", status=None)
        if answer.status_code == 410:
            soak.note("forgotten")
            continue
        state = answer.json()["state"]
        soak.note(f"jobs {state}")
        if undisturbed and state != "finished":
            soak.complain(f"a job that nobody disturbed: {answer.text[:300]}")
        ends = [event["event"] for event in server.events(job) if event["event"] in ENDS]
        if ends != [state]:
            soak.complain(f"ends of a job that {state}: {ends}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--pause", type=float, default=60, help="seconds between the pauses in which everything is counted")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    server = Server("--resume-timeout", "1", "--write-timeout", "5", "--max-jobs-kept", "100000", "--max-rows", "16", "--max-queue", "20",
                    "--max-renditions", "64M")
    try:
        server.start()
        soak = Soak(server, arguments)
        soak.clients = arguments.clients
        clients = [Client(soak, arguments.seed * 1000 + number) for number in range(arguments.clients)]
        for client in clients:
            client.start()
        while time.monotonic() < soak.until and server.process.poll() is None:
            time.sleep(max(0.0, min(arguments.pause, soak.until - time.monotonic())))
            soak.pausing.set()
            # Each comes to the end of what it does.
            eventually(lambda: soak.waiting == sum(client.is_alive() for client in clients), "the clients pause", 300)
            check(soak, server)
            print(f"soak: {sum(soak.counts.values())} actions, {len(soak.wrong)} wrong, "
                  f"{soak.resident[-1] / 1e6 if soak.resident else 0:.1f} MB", flush=True)
            soak.pausing.clear()
        for client in clients:
            client.join(300)
        if server.process.poll() is not None:
            soak.complain(f"the server ended with status {server.process.poll()}")
        else:
            check(soak, server)
            if server.stop() != 0:
                soak.complain("the server did not end in order")
        log = [line for line in server.lines if '"level":"error"' in line]
        if log:
            soak.complain(f"errors in the log: {log[:3]}")
    finally:
        server.clean()
    half = len(soak.resident) // 2
    if len(soak.resident) >= 6:
        before, after = max(soak.resident[1:half + 1]), max(soak.resident[half + 1:])
        if after > 1.1 * before + 16e6:
            soak.complain(f"memory grew from {before / 1e6:.1f} to {after / 1e6:.1f} MB")
    for name, count in sorted(soak.counts.items()):
        print(f"{count:7} {name}")
    print("resident MB: " + " ".join(f"{value / 1e6:.1f}" for value in soak.resident))
    for what, count in collections.Counter(soak.wrong).most_common(30):
        print(f"WRONG {count} x {what}")
    print(f"soak: {'all is well' if not soak.wrong else str(len(soak.wrong)) + ' things went wrong'}")
    return 0 if not soak.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
