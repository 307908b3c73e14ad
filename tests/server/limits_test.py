"""Everything that is limited, at its limit and beyond it."""
import pytest
from support import error_of, eventually, make_wav, read_answer, request_bytes, serving

ASK = {"prompt": "x", "duration": 0.1}


def test_queue_full(serve):
    server = serve("--max-rows", 2, "--max-queue", 2)
    running = server.started(duration=300)
    waiting = [server.submit(duration=0.1) for _ in range(2)]
    assert [server.job(job)["place"] for job in waiting] == [0, 1]
    # Step times are learned from steps, so the first figures are rough.
    eventually(lambda: server.job(running)["progress"] > 0.1, "it has learned how long a step takes")
    for path, body in [("/v1/jobs", ASK), ("/v1/audio/speech", {"input": "x", "duration": 0.1}), ("/generate", ASK),
                       ("/v1/huggingface/text-to-audio", {"inputs": "x"}), ("/v1/batches", {"prompts": ["x"], "duration": 0.1})]:
        before = server.job(running)["eta_seconds"]
        answer = server.post(path, body, status=None)
        error = error_of(answer, 429, "queue_full")
        assert "queue full" in error["message"]
        # The remaining work is known: the running piece has to end first, which takes a while. How fast the machine is changes meanwhile.
        least, most = sorted((before, server.job(running)["eta_seconds"]))
        assert least - max(least / 2, 5) <= int(answer.headers["retry-after"]) <= most + max(most / 2, 5)
    server.cancel(running)
    for job in waiting:
        server.finished(job)
    server.finished(server.submit(duration=0.1))


def test_queue_of_none_runs_what_can_run(serve):
    server = serve("--max-rows", 4, "--max-queue", 0)
    jobs = [server.started(duration=300) for _ in range(2)]
    error_of(server.post("/v1/jobs", ASK, status=None), 429, "queue_full")
    for job in jobs:
        server.cancel(job)
    server.make(duration=0.1)


def test_takes_count_as_pieces(serve):
    server = serve("--max-rows", 2, "--max-queue", 2)
    running = server.started(duration=300)
    error_of(server.post("/v1/jobs", {**ASK, "takes": 3}, status=None), 429, "queue_full")
    server.submit(duration=0.1, takes=2)
    server.cancel(running)


def test_rows(serve):
    server = serve("--max-rows", 1)
    error_of(server.post("/v1/jobs", ASK, status=None), 422, "does_not_fit")
    server.make(duration=0.1, guidance_scale=1)


def test_waiting_pieces_run_in_order(serve):
    server = serve("--max-rows", 2)
    running = server.started(duration=300)
    jobs = [server.submit(duration=0.2) for _ in range(4)]
    assert [server.job(job)["place"] for job in jobs] == [0, 1, 2, 3]
    # All at one moment: step times are learned while the first one runs.
    listed = {job["id"]: job for job in server.get("/v1/jobs").json()["data"]}
    etas = [listed[job["id"]]["eta_seconds"] for job in jobs]
    assert etas == sorted(etas)
    server.cancel(running)
    started = [server.finished(job)["started"] for job in jobs]
    assert started == sorted(started)


@pytest.mark.parametrize("option,value,path,body,param", [
    ("--max-seconds", 2, "/v1/jobs", {"prompt": "x", "duration": 2.5}, "duration"),
    ("--max-seconds", 2, "/generate", {"prompt": "x", "duration": 2.5}, "duration"),
    ("--max-seconds", 2, "/v1/jobs", {"segments": [{"prompt": "x", "duration": 1.5}, {"prompt": "x", "duration": 1.5}]}, "segments"),
    ("--max-takes", 2, "/v1/jobs", {"prompt": "x", "takes": 3}, "takes"),
    ("--max-segments", 2, "/v1/jobs", {"segments": [{"prompt": "x", "duration": 0.1}] * 3}, "segments"),
    ("--max-batch", 2, "/v1/batches", {"prompts": ["x"] * 3}, "prompts"),
    ("--max-prompt-bytes", 20, "/v1/jobs", {"prompt": "x" * 21}, "prompt"),
    ("--max-prompt-bytes", 20, "/v1/jobs", {"prompt": "é" * 11}, "prompt"),
    ("--max-prompt-bytes", 20, "/generate", {"text_prompt": "x" * 21}, "text_prompt"),
    ("--max-prompt-bytes", 20, "/v1/huggingface/text-to-audio", {"inputs": "x" * 21}, "inputs"),
])
def test_of_requests(serve, option, value, path, body, param):
    server = serve(option, value)
    error = error_of(server.post(path, body, status=None), 422, param=param)
    assert str(value) in error["message"]


def test_default_length_gives_way(serve):
    server = serve("--max-seconds", 1)
    assert server.finished(server.post("/v1/jobs", {"prompt": "x"}, status=202).json())["duration"] == 1.0


def test_body(serve):
    server = serve("--max-body", "2K")
    large = {"prompt": "x" * 3000}
    for path in ("/v1/jobs", "/v1/batches", "/generate", "/v1/audio/speech", "/v1/huggingface/text-to-audio", "/v1/prompts/similar"):
        error_of(server.post(path, large, status=None), 413)
    # In chunks nobody knows before.
    error_of(server.post("/v1/jobs", status=None, content=iter([b"x" * 1000] * 5), headers={"Content-Type": "application/json"}), 413)
    # Announced, never sent: refused at once.
    with server.raw(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n") as connection:
        assert read_answer(connection)[0] == 413
    with server.raw(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n") as connection:
        assert read_answer(connection)[0] == 413
    # Sound has a limit of its own.
    server.post("/v1/uploads", status=201, content=make_wav(0.5))
    server.make(duration=0.1)


def test_requests_a_minute():
    with serving("--requests-per-minute", 3) as server:
        for _ in range(3):
            server.post("/v1/jobs", {**ASK, "duration": 0.02}, status=202)
        answer = server.post("/v1/jobs", ASK, status=None)
        error_of(answer, 429, "rate_limit")
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        error_of(server.post("/generate", ASK, status=None), 429, "rate_limit")
        # Looking costs nothing.
        for path in ("/health", "/v1/jobs", "/v1/takes", "/metrics"):
            server.get(path)
        assert server.metrics().value("continuo_requests_rejected_total", reason="rate") == 2


def test_requests_a_minute_are_each_clients_own(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("one: the-key-of-the-first-client\ntwo: the-key-of-the-second-client\n")
    keys.chmod(0o600)
    with serving("--requests-per-minute", 1, "--api-key-file", keys) as server:
        first, second = ({"Authorization": f"Bearer the-key-of-the-{word}-client"} for word in ("first", "second"))
        server.post("/v1/jobs", {**ASK, "duration": 0.02}, status=202, headers=first)
        error_of(server.post("/v1/jobs", ASK, status=None, headers=first), 429, "rate_limit")
        server.post("/v1/jobs", {**ASK, "duration": 0.02}, status=202, headers=second)


def first_bytes(connection):
    """Of the answer: b"" if the connection was closed instead."""
    try:
        return connection.recv(12)
    except ConnectionError:
        return b""


def test_connections():
    with serving("--max-connections", 5) as server:
        server.client.close()
        held = [server.raw(request_bytes("GET", "/health")) for _ in range(9)]
        answers = [first_bytes(connection) for connection in held]
        # As many as there is room for are answered; the others are told so, or closed.
        assert 4 <= answers.count(b"HTTP/1.1 200") <= 5 and set(answers) <= {b"HTTP/1.1 200", b"HTTP/1.1 503", b""}, answers
        for connection in held:
            connection.close()

        def answered():
            with server.raw(request_bytes("GET", "/health", Connection="close")) as connection:
                return first_bytes(connection) == b"HTTP/1.1 200"
        eventually(answered, "there is room again")


def test_bodies_that_are_announced_and_never_come_take_nothing_from_others(serve):
    server = serve()
    silent = [server.raw(f"POST /v1/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: {64 << 20}\r\n\r\n".encode()) for _ in range(8)]
    server.make(duration=0.1)
    for connection in silent:
        connection.close()


def test_live_rows(serve):
    server = serve("--max-rows", 2)
    with server.socket("/v1/live") as first, server.socket("/v1/live") as second:
        first.say("start", prompt="x")
        first.until("started")
        first.sounded(1000)
        second.say("start", prompt="x")
        assert second.until_error()["status"] == 429


def test_connections_of_one_client():
    with serving("--max-connections-per-client", 2) as server:
        server.client.close()
        held = [server.raw(request_bytes("GET", "/health")) for _ in range(2)]
        assert [read_answer(connection)[0] for connection in held] == [200] * 2
        with server.raw(request_bytes("GET", "/health")) as third:
            assert first_bytes(third) in (b"", b"HTTP/1.1 503", b"HTTP/1.1 429")
        for connection in held:
            connection.close()


def test_memory_that_does_not_suffice(serve):
    # A piece that can never fit is refused with its number; one that fits is made.
    server = serve("--memory", "120M", "--kv", "f32")
    answer = server.post("/v1/jobs", {"prompt": "x", "duration": 600}, status=None)
    if answer.status_code == 202:  # keys and values of the demo model are small
        server.cancel(answer.json())
    else:
        error_of(answer, 422)
    server.make(duration=0.1)
