"""What the server's tests share: a `continuo serve` of their own, on a free port of this machine, with nobody's settings and a folder
that goes with it; and small readers of what it sends."""
import base64
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import httpx
import websockets.exceptions
import websockets.sync.client
from prometheus_client.parser import text_string_to_metric_families

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.abspath(os.environ.get("CONTINUO_BINARY", os.path.join(ROOT, "build", "continuo")))
DEMO = os.path.join(ROOT, "models", "demo.gguf")
RATE = 32000  # of the demo model's sound; it is mono
PATIENCE = 60.0  # seconds; for machines that do much else. Nothing waits so long when all is well.
PROMPT = "warm lofi beat with a soft electric piano"  # other seeds are other music from the first frame
ENDS = ("finished", "failed", "cancelled")

running_servers = []  # for the report of a failing test
_started_once = None


def environment(home):
    """Ours without anything that configures continuo, says where home is, or sends requests to a proxy."""
    ours = ("CONTINUO_", "XDG_", "HF_", "OPENAI_")
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(ours) and not name.lower().endswith("_proxy")}
    return {**clean, "HOME": home}


def eventually(condition, what, seconds=PATIENCE):
    """What the condition says once it says something true. There are things that only asking again can tell."""
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < until, f"not within {seconds:g} s: {what}"
        time.sleep(0.01)


def data_of_a_first_start():
    """A data folder in which the work of a first start is done (the server reads some hundred prompts, so that it can compare). Copied for
    each server: its tests are about what comes after."""
    global _started_once
    if _started_once is None:
        holder = tempfile.TemporaryDirectory(prefix="continuo-server-")
        folder = os.path.join(holder.name, "data")
        first = Server(data=folder)
        try:
            first.start()
            eventually(lambda: first.call("GET", "/v1/prompts/similar", params={"prompt": "x"}).status_code == 200, "prompts can be compared", 5 * PATIENCE)
            assert first.stop() == 0
        finally:
            first.clean()
        _started_once = holder
    return os.path.join(_started_once.name, "data")


class Server:
    """One process. Options beyond those that keep tests quick replace them."""

    DEFAULTS = {"--port": "0", "--log-format": "json", "--requests-per-minute": "0", "--grace": "0"}

    def __init__(self, *options, data=None, model=DEMO):
        self._holder = tempfile.TemporaryDirectory(prefix="continuo-server-")
        self.home = os.path.join(self._holder.name, "home")
        os.mkdir(self.home)
        self.data = data or os.path.join(self._holder.name, "data")
        if data is None and model == DEMO:
            shutil.copytree(data_of_a_first_start(), self.data)
        self.model = model
        self.options = [str(option) for option in options]
        self.process = None
        self.lines = []
        self.port = None
        self.client = None

    def command(self):
        words = [BINARY, "serve", "-m", self.model, "--data", self.data]
        for name, value in self.DEFAULTS.items():
            if name not in self.options:
                words += [name, value]
        return words + self.options

    def start(self, on_address=None):
        """Returns when it is ready. on_address is called when its port is known, which is before."""
        assert self.process is None
        self.lines = []
        self.process = subprocess.Popen(self.command(), cwd=self._holder.name, env=environment(self.home), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        running_servers.append(self)
        known, ready = threading.Event(), threading.Event()
        self._reader = threading.Thread(target=self._read_log, args=(self.process.stderr, known, ready), daemon=True)
        self._reader.start()
        assert known.wait(PATIENCE) and self.port, "the server told no address:\n" + self.log()
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False)
        if on_address is not None:
            on_address()
        assert ready.wait(PATIENCE) and self.process.poll() is None, "the server is not ready:\n" + self.log()
        return self

    def _read_log(self, stream, known, ready):
        with stream:
            for line in stream:
                line = line.decode("utf-8", "replace").rstrip("\n")
                self.lines.append(line)
                if not known.is_set():
                    found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
                    if found:
                        self.port = int(found.group(1))
                        known.set()
                if '"message":"ready"' in line:
                    ready.set()
        known.set()  # its end, too, is an answer
        ready.set()

    def log(self):
        return "\n".join(self.lines)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def socket_url(self, path):
        return f"ws://127.0.0.1:{self.port}{path}"

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=PATIENCE):
        """The exit status."""
        status = self.process.wait(seconds)
        self._reader.join(PATIENCE)
        self._forget()
        return status

    def stop(self):
        """Ends it in order if it still runs; by force if it does not."""
        if self.process is None:
            return 0
        self.process.terminate()
        try:
            return self.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("the server did not stop when it was told to:\n" + self.log()) from None

    def kill(self):
        self.process.kill()
        self.wait()

    def _forget(self):
        if self.client is not None:
            self.client.close()
        self.process = None
        if self in running_servers:
            running_servers.remove(self)

    def clean(self):
        if self.process is not None:
            self.kill()
        self._holder.cleanup()

    # Requests.

    def call(self, method, path, body=None, status=None, **more):
        """The answer, of the status that is expected."""
        if body is not None:
            more["json"] = body
        answer = self.client.request(method, path, **more)
        if status is not None:
            assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text[:500]}"
        return answer

    def get(self, path, status=200, **more):
        return self.call("GET", path, status=status, **more)

    def post(self, path, body=None, status=200, **more):
        return self.call("POST", path, body, status=status, **more)

    def delete(self, path, status=200):
        return self.call("DELETE", path, status=status)

    def submit(self, **fields):
        """A job that was taken in."""
        return self.post("/v1/jobs", {"prompt": PROMPT, "duration": 0.5, "seed": 1, **fields}, status=202).json()

    def job(self, job):
        return self.get(f"/v1/jobs/{id_of(job)}").json()

    def events(self, job, last=None, until=ENDS):
        """The events from `last` on, up to one of these names."""
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        found = []
        with self.client.stream("GET", f"/v1/jobs/{id_of(job)}/events", headers=headers) as answer:
            assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
            for event in sse(answer.iter_lines()):
                found.append(event)
                if event["event"] in until and event["event"] not in ENDS:
                    break  # after an end the stream ends by itself
        return found

    def finished(self, job):
        """The job once it has ended, which must be well."""
        self.events(job)
        job = self.job(job)
        assert job["state"] == "finished", job
        return job

    def make(self, **fields):
        return self.finished(self.submit(**fields))

    def started(self, **fields):
        """A job that runs."""
        job = self.submit(**fields)
        self.events(job, until=("started", *ENDS))
        job = self.job(job)
        assert job["state"] == "running", job
        return job

    def cancel(self, job):
        """Cancels it and waits for its end."""
        self.client.delete(f"/v1/jobs/{id_of(job)}")
        self.events(job)
        return self.job(job)

    def metrics(self):
        return read_metrics(self.get("/metrics").text)

    def still(self):
        """Waits until nothing runs or waits and all memory for keys and values is back."""
        def quiet():
            now = self.metrics()
            return (now.value("continuo_requests_running") == 0 and now.value("continuo_requests_waiting") == 0
                    and now.value("continuo_rows_active") == 0 and now)
        now = eventually(quiet, "nothing runs")
        assert now.value("continuo_kv_cache_usage_ratio") == 0
        return now

    def raw(self, data=b"", timeout=PATIENCE):
        """A connection on which these bytes were sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        if data:
            connection.sendall(data)
        return connection

    def raw_answer(self, data):
        """(status, headers with lower-case names, body) of the answer to these bytes."""
        with self.raw(data) as connection:
            return read_answer(connection)

    def socket(self, path, **more):
        """A WebSocket on one of the two routes."""
        return Socket(self, path, **more)


class Socket:
    """A WebSocket: what it heard in order, and the sound of it joined together."""

    def __init__(self, server, path, headers=None, max_queue=16):
        self._connecting = websockets.sync.client.connect(server.socket_url(path), additional_headers=headers, compression=None, proxy=None,
                                                          max_size=None, max_queue=max_queue, ping_interval=None, close_timeout=5)
        self.connection = self._connecting.__enter__()
        self.sound = b""
        self.heard = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connecting.__exit__(None, None, None)

    def say(self, type, **fields):
        self.connection.send(json.dumps({"type": type, **fields}))

    def next(self):
        """The next message: {"type": ...}, or {"type": "sound"} for samples."""
        message = self.connection.recv(timeout=PATIENCE)
        if isinstance(message, bytes):
            self.sound += message
            return {"type": "sound", "bytes": len(message)}
        message = json.loads(message)
        self.heard.append(message)
        return message

    def until(self, *types):
        """The first message of these types; what comes before it is kept."""
        while True:
            message = self.next()
            if message["type"] in types:
                return message
            assert message["type"] != "error", message

    def until_error(self):
        while True:
            message = self.next()
            if message["type"] == "error":
                return message

    def sounded(self, size):
        while len(self.sound) < size:
            message = self.next()
            assert message["type"] != "error", message

    def closed(self):
        """The code and the reason with which the server closes."""
        try:
            while True:
                self.next()
        except websockets.exceptions.ConnectionClosed as end:
            return (end.rcvd.code, end.rcvd.reason) if end.rcvd else (None, None)

    def break_off(self):
        """Ends the connection without a word."""
        end_abruptly(self.connection.socket)


@contextlib.contextmanager
def serving(*options, **more):
    """A server that stops in order at the end; by force after an error."""
    server = Server(*options, **more)
    try:
        server.start()
        yield server
        if server.process is not None:
            assert server.stop() == 0, server.log()
    except Exception as error:
        error.add_note(f"the server's log ends with:\n{server.log()[-3000:]}")
        raise
    finally:
        server.clean()


def id_of(thing):
    return thing if isinstance(thing, str) else thing["id"]


def sse(lines):
    """Events of a stream: {"id", "event", "data"}. Comments are left out."""
    event = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line == "":
            if event:
                yield event
            event = {}
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        event[name] = json.loads(value) if name == "data" else value


def read_answer(connection):
    """The whole answer on a connection, by nothing but its bytes. Chunks are joined; "cut" stands among the headers if it broke off."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            raise AssertionError(f"no whole head: {data[:200]!r}")
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    first, *fields = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    try:
        while not whole(headers, body):
            part = connection.recv(65536)
            if not part:
                headers["cut"] = "yes"
                break
            body += part
    except ConnectionError:
        headers["cut"] = "yes"
    if headers.get("transfer-encoding") == "chunked":
        body = dechunk(body)
    return int(first.split()[1]), headers, body


def whole(headers, body):
    if "content-length" in headers:
        return len(body) >= int(headers["content-length"])
    if headers.get("transfer-encoding") == "chunked":
        return body.endswith(b"0\r\n\r\n")
    return False


def dechunk(data):
    body = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        body += data[:length]
        data = data[length + 2:]
    return body


def request_bytes(method, path, host="localhost", body=None, **headers):
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
    payload = b""
    if body is not None:
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines += ["Content-Type: application/json", f"Content-Length: {len(payload)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + payload


def error_of(answer, status, code=None, param=...):
    """The error of an answer, which must have this status and be of the documented form."""
    assert answer.status_code == status, f"{answer.status_code} {answer.text[:500]}"
    assert answer.headers["content-type"].startswith("application/json"), answer.headers
    body = answer.json()
    assert set(body) == {"error"}, body
    error = body["error"]
    assert set(error) == {"message", "type", "param", "code"}, error
    assert error["message"] and isinstance(error["message"], str)
    kinds = {401: "authentication_error", 404: "not_found", 410: "not_found", 429: "rate_limit_error"}
    assert error["type"] == kinds.get(status, "server_error" if status >= 500 else "invalid_request_error"), error
    if code is not None:
        assert error["code"] == code, error
    if param is not ...:
        assert error["param"] == param, error
    return error


class Metrics:
    def __init__(self, families):
        self.families = families
        self.samples = {}
        for family in families.values():
            for sample in family.samples:
                self.samples.setdefault(sample.name, []).append(sample)

    def value(self, name, **labels):
        """The sum of the samples of this name that have these labels."""
        assert name in self.samples, f"no {name} among {sorted(self.samples)}"
        return sum(sample.value for sample in self.samples[name] if labels.items() <= sample.labels.items())

    def count(self, name, **labels):
        """The same, nothing if there is none yet."""
        return self.value(name, **labels) if name in self.samples else 0


def read_metrics(text):
    return Metrics({family.name: family for family in text_string_to_metric_families(text)})


class Wav:
    """A WAV file, by its bytes. Sizes in its head must be true."""

    def __init__(self, data):
        assert data[:4] == b"RIFF" and data[8:12] == b"WAVE", data[:16]
        self.told = struct.unpack_from("<I", data, 4)[0] + 8
        at = 12
        while True:
            name, size = data[at:at + 4], struct.unpack_from("<I", data, at + 4)[0]
            if name == b"fmt ":
                self.kind, self.channels, self.rate, _, self.frame_bytes, self.bits = struct.unpack_from("<HHIIHH", data, at + 8)
                if self.kind == 0xFFFE:
                    self.kind = struct.unpack_from("<H", data, at + 32)[0]
            if name == b"data":
                self.data_bytes = size
                self.head_bytes = at + 8
                break
            at += 8 + size + size % 2
        self.data = data[self.head_bytes:self.head_bytes + self.data_bytes]
        self.frames = self.data_bytes // self.frame_bytes

    def check_sizes(self, data):
        assert self.told == len(data) and self.head_bytes + self.data_bytes + self.data_bytes % 2 <= len(data)
        return self


def wav_of(data):
    return Wav(data).check_sizes(data)


def make_wav(seconds, rate=RATE, channels=1, frequency=440.0):
    """A tone, as the bytes of a WAV file."""
    import math
    frames = int(seconds * rate)
    body = b"".join(struct.pack("<h", int(8000 * math.sin(2 * math.pi * frequency * i / rate))) * channels for i in range(frames))
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + len(body)) + b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(body)) + body


def check_sound(data, suffix, folder):
    """What `continuo check` says of these bytes: any format that FFmpeg reads, decoded to its end."""
    path = os.path.join(folder, "sound" + suffix)
    with open(path, "wb") as file:
        file.write(data)
    result = subprocess.run([BINARY, "check", path, "--json"], capture_output=True, text=True, timeout=PATIENCE, env=environment(str(folder)))
    assert result.returncode in (0, 1) and result.stdout, result.stderr
    return json.loads(result.stdout)


def decode(text):
    return base64.b64decode(text, validate=True)


def end_abruptly(connection):
    """Closes so that the other side gets a reset instead of an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


SIGTERM = signal.SIGTERM
