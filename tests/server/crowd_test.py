"""Many at once: two hundred connections over four running jobs, readers of every speed."""
import concurrent.futures
import json

import pytest
from support import RATE, eventually, read_answer, request_bytes, serving, wav_of

SECONDS = 6.0


@pytest.fixture(scope="module")
def server():
    with serving() as running:
        yield running


def test_two_hundred_connections_over_four_jobs(server):
    jobs = [server.started(duration=SECONDS, seed=60 + i, prompt=f"number {i}") for i in range(4)]
    connections = []
    kinds = ["events", "audio.wav", "audio.mp3", "peaks", "idle"]
    for i in range(200):
        job, kind = jobs[i % 4], kinds[i // 4 % 5]
        path = "/health" if kind == "idle" else f"/v1/jobs/{job['id']}/{kind}"
        connections.append((i % 4, kind, server.raw(request_bytes("GET", path))))
    # The sound answers last until the pieces are done, but what was short may have been answered; its connections stay open all the same.
    eventually(lambda: server.metrics().value("continuo_http_connections") >= 200, "all are connected")
    # All are answered, each whole, whoever reads when.
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda entry: read_answer(entry[2]), connections))
    for _, _, connection in connections:
        connection.close()
    sounds = [server.get(server.finished(job)["urls"]["audio"]).content for job in jobs]
    streams = {}
    for (number, kind, _), (status, headers, body) in zip(connections, answers):
        assert status == 200 and "cut" not in headers, (kind, status)
        if kind == "audio.wav":
            assert body == sounds[number]
        elif kind == "events":
            assert b"event: finished" in body
        elif kind == "audio.mp3":
            assert streams.setdefault(number, body) == body
        elif kind == "peaks":
            assert json.loads(body)["bins"] == 1000
    # The same music as when nobody listens.
    assert sounds[0] == server.get(server.make(duration=SECONDS, seed=60, prompt="number 0")["urls"]["audio"]).content
    eventually(lambda: server.metrics().value("continuo_http_connections") <= 2, "all connections are gone")
    server.still()


def test_slow_reader_beside_fast_ones(server):
    # One takes a kilobyte and then nothing; the others' answers come at once, and the slow one gets all of it in the end.
    job = server.started(duration=SECONDS, seed=70)
    slow = server.raw(request_bytes("GET", job["urls"]["audio"] + "?rate=48000&channels=2&bits=32"))
    slow.recv(1024)
    fast = server.raw(request_bytes("GET", job["urls"]["audio"]))
    assert wav_of(read_answer(fast)[2]).frames == SECONDS * RATE
    other = server.make(duration=0.5)
    assert server.get(other["urls"]["audio"]).content
    rest = 0
    slow.settimeout(60)
    while rest < SECONDS * 48000 * 8 - 2048:
        part = slow.recv(1 << 20)
        assert part
        rest += len(part)
    slow.close()
    fast.close()


def test_many_small_requests_at_once(server):
    def ask(i):
        connection = server.raw(request_bytes("GET", ["/health", "/v1/models", "/props", "/metrics", "/v1/jobs?limit=1"][i % 5], Connection="close"))
        with connection:
            return read_answer(connection)[0]
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        assert set(pool.map(ask, range(400))) == {200}


def test_same_piece_asked_for_by_many(server):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        bodies = set(pool.map(lambda _: server.post("/v1/audio/speech", {"input": "x", "duration": 0.4, "seed": 1, "response_format": "wav"}).content, range(8)))
    assert len(bodies) == 1
