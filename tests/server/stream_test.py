"""The WebSocket /v1/stream: sound while it is made, held back by acknowledgements, gone on with after a broken connection."""
import os
import re
import subprocess
import time

import pytest
from support import ENDS, PATIENCE, PROMPT, RATE, ROOT, environment, error_of, eventually, serving, wav_of
from openai_test import NODE, needs_node

START = {"prompt": PROMPT, "duration": 1.0, "seed": 3}


def whole(server, **fields):
    """The same piece as a job makes it."""
    return wav_of(server.get(server.make(**{**START, **fields})["urls"]["audio"]).content).data


def test_stream(server):
    with server.socket("/v1/stream") as stream:
        stream.say("start", **START)
        ready = stream.next()
        assert ready["type"] == "ready" and ready["token"] and ready["offset"] == 0 and ready["model"] == "demo"
        assert (ready["sample_rate"], ready["channels"], ready["format"], ready["frames"]) == (RATE, 1, "pcm16", RATE)
        assert ready["seed"] == 3 and ready["prompt"] == PROMPT and ready["resume_seconds"] > 0
        done = stream.until("done")
        assert done["bytes"] == len(stream.sound) == 2 * RATE and done["seconds"] == pytest.approx(1.0)
        kinds = [message["type"] for message in stream.heard]
        assert "queued" in kinds and "started" in kinds and kinds.index("queued") < kinds.index("started")
        assert stream.closed()[0] == 1000
    assert stream.sound == whole(server)


def test_sound_comes_before_the_end(server):
    with server.socket("/v1/stream") as stream:
        stream.say("start", **{**START, "duration": 8.0})
        job = stream.until("ready")["job"]
        stream.sounded(1)
        assert server.job(job)["state"] == "running"
        stream.until("done")
        assert len(stream.sound) == 8 * 2 * RATE


@pytest.mark.parametrize("format,sample,size", [("pcm16", 48000, 2), ("f32", 32000, 4), ("f32", 44100, 4), ("pcm16", 24000, 2)])
@pytest.mark.parametrize("channels", [1, 2])
def test_formats(server, format, sample, size, channels):
    with server.socket("/v1/stream") as stream:
        stream.say("start", **{**START, "duration": 0.5}, format=format, sample_rate=sample, channels=channels)
        ready = stream.until("ready")
        assert (ready["sample_rate"], ready["channels"], ready["format"]) == (sample, channels, format)
        assert ready["frames"] == sample // 2
        stream.until("done")
        assert len(stream.sound) == sample // 2 * size * channels


def test_acknowledgements_hold_it_back(server):
    window = 16 * 1024
    with server.socket("/v1/stream") as stream:
        stream.say("start", **{**START, "duration": 2.0}, window=window)
        assert stream.until("ready")["window"] == window
        stream.sounded(window)
        # Not a byte more comes, while others talk with the server: a ping is answered, the piece is made to its end.
        job = stream.heard[0]["job"]
        server.events(job)
        stream.say("ping", id="are you there")
        assert stream.until("pong")["id"] == "are you there" and len(stream.sound) == window
        while len(stream.sound) < 2 * 2 * RATE:
            stream.say("ack", offset=len(stream.sound))
            stream.sounded(min(len(stream.sound) + window, 2 * 2 * RATE))
        stream.until("done")
    assert stream.sound == whole(server, duration=2.0)


def test_broken_connection_is_resumed(server):
    with server.socket("/v1/stream") as stream:
        stream.say("start", **{**START, "duration": 3.0})
        token = stream.until("ready")["token"]
        stream.sounded(20000)
        stream.break_off()
        first = stream.sound[:20000]
    with server.socket("/v1/stream") as again:
        again.say("resume", token=token, offset=20000)
        ready = again.until("ready")
        assert ready["offset"] == 20000 and ready["token"] == token
        again.until("done")
    assert first + again.sound == whole(server, duration=3.0)


def test_a_take_over_outlives_the_time_of_the_one_before(serve):
    """The old connection is not missed yet when the client is back; its end must not end the piece."""
    server = serve("--resume-timeout", "0.3")
    with server.socket("/v1/stream") as first, server.socket("/v1/stream") as second:
        first.say("start", **{**START, "duration": 120.0}, window=16384)
        ready = first.until("ready")
        first.sounded(16384)
        second.say("resume", token=ready["token"], offset=0)
        second.until("ready")
        first.closed()
        second.sounded(16384)
        time.sleep(1.0)  # three times what a piece without a listener is kept
        second.say("ping", id="still there")
        second.until("pong")
        assert server.job(ready["job"])["state"] in ("running", "finished")
        second.say("cancel")


def test_resumed_from_the_start_and_after_the_end(server):
    with server.socket("/v1/stream") as stream:
        stream.say("start", **START)
        token = stream.until("ready")["token"]
        stream.until("done")
    with server.socket("/v1/stream") as again:
        again.say("resume", token=token, offset=0)
        again.until("done")
        assert again.sound == stream.sound
    with server.socket("/v1/stream") as again:
        again.say("resume", token=token, offset=2 * RATE)
        assert again.until("done")["bytes"] == 2 * RATE and again.sound == b""


def test_second_listener_takes_over(server):
    with server.socket("/v1/stream") as first:
        first.say("start", **{**START, "duration": 300}, window=16384)
        ready = first.until("ready")
        first.sounded(16384)
        with server.socket("/v1/stream") as second:
            second.say("resume", token=ready["token"], offset=0)
            second.sounded(16384)
            assert first.closed()[0] != 1000
            second.say("cancel")
            assert second.until("error")["error"]["code"] in ("cancelled", "job_cancelled")
    server.events(ready["job"])
    assert server.job(ready["job"])["state"] == "cancelled"


def test_nobody_comes_back(serve):
    server = serve("--resume-timeout", "0.2")
    with server.socket("/v1/stream") as stream:
        stream.say("start", **{**START, "duration": 300})
        ready = stream.until("ready")
        stream.sounded(1)
        stream.break_off()
    server.events(ready["job"])
    assert server.job(ready["job"])["state"] == "cancelled"
    with server.socket("/v1/stream") as again:
        again.say("resume", token=ready["token"], offset=0)
        assert again.until("error")["status"] == 404
    server.still()


def test_closing_in_order_leaves_it_too(serve):
    server = serve("--resume-timeout", "0.2")
    with server.socket("/v1/stream") as stream:
        stream.say("start", **{**START, "duration": 300})
        ready = stream.until("ready")
    server.events(ready["job"])
    assert server.job(ready["job"])["state"] == "cancelled"


def test_slow_reader_beside_a_fast_one(server):
    # One takes nothing at all; the other's music comes at its own pace, and a third is not held up either.
    slow = server.socket("/v1/stream", max_queue=1)
    with slow:
        slow.say("start", **{**START, "duration": 60.0, "sample_rate": 48000, "channels": 2, "format": "f32"})
        job = slow.until("ready")["job"]
        slow.sounded(1)
        with server.socket("/v1/stream") as fast:
            fast.say("start", **{**START, "duration": 2.0})
            fast.until("done")
            assert len(fast.sound) == 2 * 2 * RATE
        assert fast.sound == whole(server, duration=2.0)
        assert server.job(job)["state"] == "running"
        server.cancel(job)


@pytest.mark.parametrize("message,status,param", [
    ({"type": "start"}, 422, "prompt"), ({"prompt": "x"}, 422, "type"), ({"type": "begin"}, 422, "type"), ({"type": "start", "prompt": 5}, 422, "prompt"),
    ({"type": "start", "prompt": "x", "takes": 2}, 422, "takes"), ({"type": "start", "prompt": "x", "format": "mp3"}, 422, "format"),
    ({"type": "start", "prompt": "x", "window": 1}, 422, "window"), ({"type": "start", "prompt": "x", "sample_rate": 22050}, 422, "sample_rate"),
    ({"type": "start", "prompt": "x", "loudness": -14}, 422, "loudness"), ({"type": "start", "prompt": "x", "model": "none"}, 404, "model"),
    ({"type": "start", "prompt": "x", "duration": 1e6}, 422, "duration"), ({"type": "resume", "token": "none", "offset": 0}, 404, "token"),
    ({"type": "resume", "token": "../x", "offset": 0}, 422, "token"), ({"type": "resume", "offset": 0}, 422, "token"),
    ({"type": "resume", "token": "a"}, 422, "offset"), ({"type": "ack", "offset": 0}, 400, "type"), ({"type": "cancel"}, 400, "type"),
    ({"type": "change", "prompt": "x"}, 400, "type"), ({"type": "start", "prompt": "x", "extra": 1}, 422, "extra")])
def test_first_messages_that_are_refused(server, message, status, param):
    with server.socket("/v1/stream") as stream:
        stream.say(**message) if "type" in message else stream.connection.send('{"prompt": "x"}')
        error = stream.next()
        assert error["type"] == "error" and error["status"] == status and error["error"]["param"] == param and error["error"]["message"]
        assert stream.closed()[0] == 1008


@pytest.mark.parametrize("message", ["", "x", "[]", "{", '{"type": "start", "type": "start"}', "[" * 500, b"\0\1\2"])
def test_messages_that_are_none(server, message):
    with server.socket("/v1/stream") as stream:
        stream.connection.send(message)
        error = stream.next()
        assert error["type"] == "error" and error["status"] in (400, 422)
        assert stream.closed()[0] == 1008


def test_message_that_is_too_large(server):
    with server.socket("/v1/stream") as stream:
        try:
            stream.connection.send('{"type": "start", "prompt": "' + "x" * (2 << 20) + '"}')
            message = stream.next()
            assert message["type"] == "error" and message["status"] in (413, 422)
        except Exception:  # or the connection is closed for it
            pass
    server.get("/health")


def test_out_of_order(server):
    with server.socket("/v1/stream") as stream:
        stream.say("start", **{**START, "duration": 300})
        job = stream.until("ready")["job"]
        stream.say("start", **START)
        assert stream.until_error()["status"] == 400
    server.events(job)
    assert server.job(job)["state"] == "cancelled"


def test_acknowledging_what_was_not_sent(server):
    with server.socket("/v1/stream") as stream:
        stream.say("start", **{**START, "duration": 300})
        stream.until("ready")
        stream.say("ack", offset=10**9)
        assert stream.until_error()["error"]["param"] == "offset"


def test_no_first_message(server):
    with server.socket("/v1/stream") as stream:
        error = stream.next()
        assert error["type"] == "error" and error["status"] == 408


@pytest.mark.parametrize("path", ["/v1/stream", "/v1/live"])
def test_not_a_websocket(server, path):
    answer = server.get(path, status=None)
    error_of(answer, 426)
    assert answer.headers["upgrade"].lower() == "websocket"


@pytest.mark.parametrize("path", ["/v1/stream", "/v1/live"])
def test_queue_full(serve, path):
    server = serve("--max-rows", 2, "--max-queue", 0)
    running = server.started(duration=300)
    with server.socket(path) as stream:
        stream.say("start", prompt="x")
        error = stream.until_error()
        assert error["status"] == 429 and error["error"]["code"] == "queue_full"
        assert stream.closed() == (1013, "queue_full")
    server.cancel(running)


def test_slow_and_half_open_peers_are_given_up():
    # The other end vanished: nothing is taken, and no end is told. --write-timeout is what there is for it.
    with serving("--write-timeout", "0.5", "--resume-timeout", "0.1") as server:
        stream = server.socket("/v1/stream", max_queue=1)
        stream.say("start", **{**START, "duration": 120.0, "sample_rate": 48000, "channels": 2, "format": "f32"})
        job = stream.until("ready")["job"]
        server.events(job)
        assert server.job(job)["state"] in ENDS
        eventually(lambda: server.metrics().value("continuo_streams") == 0, "the stream is given up")
        stream.break_off()


@needs_node
def test_client_of_the_protocol_page(server, tmp_path):
    # The 40 lines of docs/examples, as they stand there.
    script = os.path.join(ROOT, "docs", "examples", "stream.mjs")
    with open(script, encoding="utf-8") as file:
        assert len(file.readlines()) <= 50
    made = tmp_path / "made.wav"
    result = subprocess.run([NODE, script, server.socket_url("/v1/stream"), PROMPT, "1", str(made)], capture_output=True, text=True, timeout=2 * PATIENCE,
                            cwd=tmp_path, env=environment(str(tmp_path)))
    assert result.returncode == 0, result.stderr
    seed = int(re.search(r"seed (\d+)", result.stdout).group(1))
    assert wav_of(made.read_bytes()).data == whole(server, seed=seed)
    result = subprocess.run([NODE, script, server.socket_url("/v1/stream"), PROMPT, "-1", str(made)], capture_output=True, text=True,
                            timeout=2 * PATIENCE, cwd=tmp_path, env=environment(str(tmp_path)))
    assert result.returncode == 1 and "duration" in result.stderr
