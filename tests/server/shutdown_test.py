"""The end of a server, in order and without: SIGTERM with its grace, a second one, kill -9; and the next start."""
import os
import shutil
import signal
import subprocess
import time

import pytest
from support import DEMO, RATE, Server, environment, error_of, eventually, make_wav, request_bytes, read_answer, serving, sse, wav_of


@pytest.fixture
def server_of():
    """Servers that are stopped by force if a test did not end them."""
    made = []

    def make(*options, **more):
        made.append(Server(*options, **more))
        return made[-1].start()
    yield make
    for server in made:
        server.clean()


@pytest.fixture(scope="module")
def music():
    """The bytes of pieces that nothing disturbed."""
    with serving() as server:
        def make(**fields):
            job = server.make(**fields)
            return [server.get(take["audio"]["wav"]).content for take in job["takes"]]
        yield make


def stopping(server):
    """Waits until it has heard the signal."""
    eventually(lambda: any('"message":"stopping"' in line for line in server.lines), "it is stopping")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_with_nothing_to_do(server_of, number):
    server = server_of()
    server.signal(number)
    assert server.wait(20) == 0


def test_an_idle_socket_does_not_hold_it_up(server_of):
    server = server_of()
    with server.socket("/v1/stream") as idle:  # says nothing at all
        server.signal(signal.SIGTERM)
        assert server.wait(20) == 0
        idle.closed()


def test_running_jobs_have_their_grace(server_of, music):
    server = server_of("--grace", 120)
    job = server.started(duration=3.0, seed=5)
    server.signal(signal.SIGTERM)
    stopping(server)
    # The connection that was open may be told of its end; new work is refused, looking is not.
    for path, body in [("/v1/jobs", {"prompt": "x"}), ("/v1/audio/speech", {"input": "x"}), ("/generate", {"prompt": "x"}),
                       ("/v1/batches", {"prompts": ["x"]}), ("/v1/huggingface/text-to-audio", {"inputs": "x"})]:
        error_of(server.post(path, body, status=None), 503)
    assert server.get("/health", status=None).status_code == 503
    assert server.job(job)["state"] in ("running", "finished")
    assert server.wait() == 0
    server.start()
    sound = server.get(f"/v1/takes/{job['takes'][0]['id']}/audio.wav").content
    assert wav_of(sound).frames == 3 * RATE and sound == music(duration=3.0, seed=5)[0]
    assert server.stop() == 0


def test_streams_end_within_the_grace(server_of):
    server = server_of("--grace", 120)
    with server.client.stream("POST", "/v1/audio/speech", json={"input": "x", "duration": 3.0, "response_format": "wav"}) as answer:
        parts = answer.iter_raw()
        body = next(parts)
        server.signal(signal.SIGTERM)
        body += b"".join(parts)
    wav_of(body)
    assert server.wait() == 0


def test_the_rest_ends_with_an_error(server_of):
    server = server_of("--grace", "0.2")
    job = server.started(duration=300)
    watching = server.client.stream("GET", job["urls"]["events"])
    events = watching.__enter__()
    speaking = server.client.stream("POST", "/v1/audio/speech", json={"input": "x", "duration": 300, "stream_format": "sse", "response_format": "pcm"})
    speech = speaking.__enter__()
    plain = server.raw(request_bytes("POST", "/generate", body={"prompt": "x", "duration": 300}))
    assert plain.recv(12) == b"HTTP/1.1 200"
    live, stream = server.socket("/v1/live"), server.socket("/v1/stream")
    live.say("start", prompt="x")
    stream.say("start", prompt="x", duration=300)
    live.sounded(1)
    stream.sounded(1)
    server.signal(signal.SIGTERM)
    last = list(sse(events.iter_lines()))[-1]
    assert last["event"] == "failed" and "stopping" in str(last["data"])
    last = list(sse(speech.iter_lines()))[-1]
    assert last["event"] == "speech.audio.error" and last["data"]["error"]["message"]
    _, headers, _ = read_rest(plain)
    assert headers.get("cut") == "yes"
    for socket in (live, stream):
        error = socket.until_error()
        assert error["status"] in (409, 503)
        assert socket.closed()[0] in (1001, 1008, 1011, 1012, 1013)
    watching.__exit__(None, None, None)
    speaking.__exit__(None, None, None)
    assert server.wait() == 0


def read_rest(connection):
    """As read_answer, of an answer whose first 12 bytes were read."""
    class Again:
        def __init__(self):
            self.first = b"HTTP/1.1 200"

        def recv(self, size):
            first, self.first = self.first, b""
            return first or connection.recv(size)
    return read_answer(Again())


def test_second_signal_ends_it_at_once(server_of):
    server = server_of("--grace", 600)
    server.started(duration=300)
    server.signal(signal.SIGTERM)
    stopping(server)
    begin = time.monotonic()
    server.signal(signal.SIGTERM)
    status = server.wait(20)
    assert status != 0 and time.monotonic() - begin < 10


def test_signal_while_loading(server_of):
    server = Server()
    try:
        server.process = subprocess.Popen(server.command(), cwd=server.home, env=environment(server.home), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.PIPE)
        assert b"listening" in server.process.stderr.readline()
        server.process.terminate()
        server.process.stderr.close()
        assert server.process.wait(30) in (0, -signal.SIGTERM)
        server.process = None
    finally:
        server.clean()


def test_interrupted_by_a_stop_goes_on_after_it(server_of, music):
    server = server_of("--grace", 0)
    job = server.started(duration=4.0, seed=31)
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    server.start()
    again = server.finished(job["id"])
    assert again["seed"] == 31 and server.get(again["urls"]["audio"]).content == music(duration=4.0, seed=31)[0]
    assert server.stop() == 0


def test_kill_and_restart(server_of, music):
    """Everything that was taken in comes to its end under its id, as the music it would have been."""
    server = server_of("--max-rows", 4)
    given = server.post("/v1/uploads", status=201, content=make_wav(1.0)).json()["id"]
    running = server.started(duration=4.0, seed=41, title="running")
    takes = server.started(duration=2.0, seed=42, takes=2)
    waiting = server.submit(duration=1.0, seed=43, prompt="waits")
    continued = server.submit(duration=2.0, seed=44, **{"continue": {"upload": given}})
    batch = server.post("/v1/batches", {"prompts": ["one", "two"], "duration": 0.5, "seed": 45}, status=202).json()
    server.kill()
    server.start()
    assert server.finished(running)["title"] == "running"
    undisturbed = music(duration=4.0, seed=41)[0]
    assert server.get(running["urls"]["audio"]).content == undisturbed
    job = server.finished(takes)
    assert [take["id"] for take in job["takes"]] == [take["id"] for take in takes["takes"]]
    assert [server.get(take["audio"]["wav"]).content for take in job["takes"]] == music(duration=2.0, seed=42, takes=2)
    assert server.get(server.finished(waiting)["urls"]["audio"]).content == music(duration=1.0, seed=43, prompt="waits")[0]
    assert wav_of(server.get(server.finished(continued)["urls"]["audio"]).content).frames == 2 * RATE
    assert [server.finished(job)["prompt"] for job in batch["jobs"]] == ["one", "two"]
    assert [job["state"] for job in server.get(f"/v1/batches/{batch['id']}").json()["jobs"]] == ["finished"] * 2
    eventually(lambda: len(server.get("/v1/takes").json()["data"]) == 7, "all takes are in the library")
    server.still()
    assert server.stop() == 0
    # Only once.
    server.start()
    assert len(server.get("/v1/takes").json()["data"]) == 7 and server.metrics().value("continuo_requests_running") == 0


def test_killed_again_and_again(server_of, music):
    server = server_of()
    job = server.started(duration=3.0, seed=51)
    for _ in range(3):
        server.kill()
        server.start()
        server.events(job, until=("started", "progress", "finished"))
    assert server.get(server.finished(job)["urls"]["audio"]).content == music(duration=3.0, seed=51)[0]
    eventually(lambda: len(server.get("/v1/takes").json()["data"]) == 1, "the take is in the library")


def test_killed_while_loading(server_of):
    server = server_of()
    job = server.submit(duration=2.0)
    server.kill()
    for _ in range(2):
        with pytest.raises(InterruptedError):
            def leave():
                server.process.kill()
                raise InterruptedError
            server.start(on_address=leave)
        server.wait()
    server.start()
    assert server.finished(job)


def test_events_go_on_over_a_restart(server_of):
    server = server_of()
    job = server.started(duration=3.0)
    last = int(server.events(job, until=("started",))[-1]["id"])
    server.kill()
    server.start()
    events = server.events(job, last=last)
    assert events[-1]["event"] == "finished" and all(int(event["id"]) > last for event in events)


def test_streamed_pieces_do_not_come_back(server_of):
    server = server_of()
    with server.raw(request_bytes("POST", "/v1/audio/speech", body={"input": "x", "duration": 300})) as connection:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1)
        job = [line.split(b": ")[1].decode() for line in head.split(b"\r\n") if line.lower().startswith(b"x-job-id")][0]
        server.kill()
    server.start()
    error_of(server.get(f"/v1/jobs/{job}", status=None), 404)
    server.still()


def test_model_that_is_gone(server_of, tmp_path):
    # Then a job cannot be finished, and says why.
    model = tmp_path / "other.gguf"
    shutil.copyfile(DEMO, model)
    data = str(tmp_path / "data")
    server = server_of(model=str(model), data=data)
    job = server.started(duration=300)
    assert job["model"] == "other"
    server.kill()
    os.remove(model)
    server = server_of(data=data)
    server.events(job)
    job = server.job(job)
    assert job["state"] == "failed" and "other" in job["error"]["message"]
    assert server.metrics().value("continuo_requests_running") == 0


def test_ended_and_cancelled_jobs_do_not_come_back(server_of):
    server = server_of()
    done, cancelled = server.make(duration=0.2), server.cancel(server.started(duration=300))
    eventually(lambda: server.get(f"/v1/takes/{done['takes'][0]['id']}", status=None).status_code == 200, "the take is written")
    server.kill()
    server.start()
    for job in (done, cancelled):
        assert server.get(f"/v1/jobs/{job['id']}", status=None).status_code in (404, 410)
    assert server.get(f"/v1/takes/{done['takes'][0]['id']}/audio.wav").content
    server.still()
