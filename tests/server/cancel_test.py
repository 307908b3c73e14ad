"""Cancelling, wherever a piece is and whoever wants it: nothing goes on for nobody, and nobody else notices."""
import socket
import time

import pytest
from support import PATIENCE, RATE, end_abruptly, error_of, eventually, read_answer, request_bytes, serving, wav_of

LONG = 300.0  # seconds of music that nobody waits for


@pytest.fixture(scope="module")
def busy():
    """One piece at a time: what comes second waits."""
    with serving("--max-rows", 2, "--max-queue", 20, "--resume-timeout", "0.1") as server:
        yield server


@pytest.fixture(scope="module")
def roomy():
    with serving("--write-timeout", 1, "--resume-timeout", "0.1") as server:
        yield server


def waiting(server):
    return [job for job in server.get("/v1/jobs").json()["data"] if job["state"] == "queued"]


def ended(server, job, state="cancelled"):
    server.events(job)
    job = server.job(job)
    assert job["state"] == state, job
    return job


def test_waiting(busy):
    running = busy.started(duration=LONG)
    second, third = busy.submit(duration=LONG), busy.submit(duration=0.2)
    assert busy.job(third)["place"] == 1
    answer = busy.delete(second["urls"]["cancel"]).json()
    assert answer["state"] == "cancelled" and answer["started"] is None
    eventually(lambda: busy.job(third)["place"] == 0, "the line moves up")
    assert busy.job(running)["state"] == "running"
    busy.cancel(running)
    assert busy.finished(third)
    busy.still()


def test_running(roomy):
    job = roomy.started(duration=LONG)
    answer = roomy.delete(job["urls"]["cancel"]).json()
    assert answer["state"] == "cancelled" and answer["ended"] is not None and answer["takes"][0]["state"] == "cancelled"
    assert roomy.events(job)[-1]["event"] == "cancelled"
    error_of(roomy.get(job["urls"]["audio"], status=None), 409)
    error_of(roomy.get(job["urls"]["stream"], status=None), 409)
    # Twice is no mistake.
    assert roomy.delete(job["urls"]["cancel"]).json()["state"] == "cancelled"
    roomy.still()
    # What was never finished is no take.
    error_of(roomy.get(f"/v1/takes/{job['takes'][0]['id']}", status=None), 404)


def test_at_any_moment(roomy):
    # From before the prompt is read to after the last frame is decoded: at so many parts of the time that a piece takes.
    begin = time.monotonic()
    roomy.make(duration=1.0, prompt="measured")
    took = time.monotonic() - begin
    states = set()
    for part in range(16):
        job = roomy.submit(duration=1.0, prompt=f"never heard of {part}")
        time.sleep(took * part / 14)
        roomy.delete(job["urls"]["cancel"])
        roomy.events(job)
        states.add(roomy.job(job)["state"])
    assert states <= {"cancelled", "finished"} and "cancelled" in states
    roomy.still()


def test_takes_of_a_job(busy):
    job = busy.started(duration=LONG, takes=3)
    ended(busy, busy.cancel(job))
    assert {take["state"] for take in busy.job(job)["takes"]} == {"cancelled"}
    busy.still()


def test_while_an_upload_is_prepared(roomy):
    from support import make_wav
    sent = roomy.post("/v1/uploads", status=201, content=make_wav(3.0)).json()
    for _ in range(3):
        job = roomy.submit(duration=20.0, **{"continue": {"upload": sent["id"]}})
        assert roomy.delete(job["urls"]["cancel"]).json()["state"] == "cancelled"
    roomy.still()


STREAMING = [("/v1/audio/speech", {"input": "x", "duration": LONG, "response_format": "wav"}), ("/v1/audio/speech", {"input": "x", "duration": LONG}),
             ("/v1/audio/speech", {"input": "x", "duration": LONG, "stream_format": "sse"}), ("/generate", {"prompt": "x", "duration": LONG}),
             ("/v1/huggingface/text-to-audio", {"inputs": "x", "parameters": {"duration": LONG}})]


def reset(connection):
    end_abruptly(connection)


def close(connection):
    connection.close()


def half_close(connection):
    # No more will be asked, but is anybody still there to listen? Who waits for sound keeps both ways open.
    connection.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("path,body", STREAMING, ids=["wav", "mp3", "sse", "generate", "huggingface"])
@pytest.mark.parametrize("leave", [reset, close, half_close])
def test_who_hangs_up_ends_their_own_piece(roomy, path, body, leave):
    # A neighbour's piece goes on, and is the same as ever.
    neighbour = roomy.submit(duration=1.0, seed=77, prompt="a neighbour")
    connection = roomy.raw(request_bytes("POST", path, body=body))
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    job = [line.split(b": ")[1].decode() for line in head.split(b"\r\n") if line.lower().startswith(b"x-job-id")][0]
    leave(connection)
    ended(roomy, job)
    connection.close()
    sound = roomy.get(roomy.finished(neighbour)["urls"]["audio"]).content
    assert sound == roomy.get(roomy.make(duration=1.0, seed=77, prompt="a neighbour")["urls"]["audio"]).content
    roomy.still()


@pytest.mark.parametrize("path,body", [*STREAMING[1:4], ("/v1/huggingface/text-to-audio", {"inputs": "x", "parameters": {"duration": LONG}})],
                         ids=["mp3", "sse", "generate", "huggingface"])
def test_who_hangs_up_while_waiting(busy, path, body):
    running = busy.started(duration=LONG)
    connection = busy.raw(request_bytes("POST", path, body=body))
    eventually(lambda: waiting(busy), "it waits")
    end_abruptly(connection)
    eventually(lambda: not waiting(busy), "it no longer waits")
    assert busy.job(running)["state"] == "running"
    busy.cancel(running)
    busy.still()


def test_json_answer_of_hugging_face(roomy):
    # Nothing is sent before the end, so that only the connection itself can tell.
    connection = roomy.raw(request_bytes("POST", "/v1/huggingface/text-to-audio", body={"inputs": "x", "parameters": {"duration": LONG}}, Accept="application/json"))
    eventually(lambda: roomy.metrics().value("continuo_requests_running") == 1, "it runs")
    end_abruptly(connection)
    roomy.still()


def test_nobody_takes_the_sound(roomy):
    # The peer neither reads nor closes, as when a cable is pulled.
    body = {"input": "x", "duration": 600, "response_format": "wav", "sample_rate": 48000}
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", roomy.port))
    connection.sendall(request_bytes("POST", "/v1/audio/speech", body=body))
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(64)
    job = [line.split(b": ")[1].decode() for line in head.split(b"\r\n") if line.lower().startswith(b"x-job-id")][0]
    ended(roomy, job)
    connection.close()
    roomy.still()


def test_jobs_are_nobodys_connection(roomy):
    # Whoever watched or listened may go; the job stays.
    job = roomy.started(duration=3.0)
    for path in (job["urls"]["events"], job["urls"]["audio"], job["urls"]["stream"], f"/v1/jobs/{job['id']}/audio.mp3"):
        connection = roomy.raw(request_bytes("GET", path))
        connection.recv(1)
        end_abruptly(connection)
    assert wav_of(roomy.get(roomy.finished(job)["urls"]["audio"]).content).frames == 3 * RATE


def test_generate_with_json_is_a_job(roomy):
    connection = roomy.raw(request_bytes("POST", "/generate", body={"prompt": "x", "duration": 1.0}, Accept="application/json"))
    _, _, body = read_answer(connection)
    end_abruptly(connection)
    import json
    roomy.finished(json.loads(body)["job_id"])


def test_job_of_a_stream_may_be_cancelled_by_its_id(roomy):
    # After the first byte: the body breaks off, and does not look like an end.
    with roomy.raw(request_bytes("POST", "/v1/audio/speech", body=STREAMING[0][1])) as connection:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1)
        job = [line.split(b": ")[1].decode() for line in head.split(b"\r\n") if line.lower().startswith(b"x-job-id")][0]
        told = int([line.split(b": ")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")][0])
        roomy.delete(f"/v1/jobs/{job}")
        got = 0
        try:
            while part := connection.recv(65536):
                got += len(part)
        except ConnectionError:
            pass
        assert got < told
    # In chunks: the last one is missing.
    with roomy.raw(request_bytes("POST", "/v1/audio/speech", body=STREAMING[1][1])) as connection:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1)
        job = [line.split(b": ")[1].decode() for line in head.split(b"\r\n") if line.lower().startswith(b"x-job-id")][0]
        roomy.delete(f"/v1/jobs/{job}")
        body = b""
        try:
            while part := connection.recv(65536):
                body += part
        except ConnectionError:
            pass
        assert not body.endswith(b"0\r\n\r\n")
    # As events: an error, and then the end.
    with roomy.raw(request_bytes("POST", "/v1/audio/speech", body=STREAMING[2][1])) as connection:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1)
        job = [line.split(b": ")[1].decode() for line in head.split(b"\r\n") if line.lower().startswith(b"x-job-id")][0]
        roomy.delete(f"/v1/jobs/{job}")
        body = b""
        while not body.endswith(b"0\r\n\r\n"):
            part = connection.recv(65536)
            assert part
            body += part
        assert b"event: speech.audio.error" in body and b"speech.audio.done" not in body
    roomy.still()


def test_before_the_first_byte_it_is_an_error(busy):
    running = busy.started(duration=LONG)
    with busy.raw(request_bytes("POST", "/v1/audio/speech", body={"input": "x", "duration": 1.0})) as connection:
        eventually(lambda: waiting(busy), "it waits")
        (job,) = waiting(busy)
        busy.delete(f"/v1/jobs/{job['id']}")
        status, _, body = read_answer(connection)
        assert status == 409 and b"cancelled" in body
    busy.cancel(running)
    busy.still()


def test_stream_and_live(roomy):
    for path, more in (("/v1/stream", {"duration": LONG}), ("/v1/live", {})):
        for leave in ("cancel", "break", "close"):
            with roomy.socket(path) as stream:
                stream.say("start", prompt="x", **more)
                stream.until("ready")
                stream.sounded(1)
                if leave == "cancel":
                    stream.say("cancel")
                    stream.closed()
                elif leave == "break":
                    stream.break_off()
            roomy.still()


def test_waiting_stream(busy):
    running = busy.started(duration=LONG)
    with busy.socket("/v1/stream") as stream:
        stream.say("start", prompt="x", duration=LONG)
        stream.until("queued")
        stream.say("cancel")
        assert stream.until_error()["status"] == 409
    busy.cancel(running)
    busy.still()
