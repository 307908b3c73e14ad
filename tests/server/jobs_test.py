"""Jobs: taken in, followed, ended; their events; lists."""
import pytest
from support import ENDS, PROMPT, error_of, eventually, serving, sse


def test_life_of_a_job(server):
    answer = server.post("/v1/jobs", {"prompt": PROMPT, "duration": 1.0, "seed": 5, "title": "evening"}, status=202)
    job = answer.json()
    assert answer.headers["location"] == job["urls"]["self"] == f"/v1/jobs/{job['id']}"
    assert job["object"] == "job" and job["state"] in ("queued", "running") and job["prompt"] == PROMPT
    assert job["duration"] == 1.0 and job["seed"] == 5 and job["model"] == "demo" and job["title"] == "evening" and job["error"] is None
    assert set(job["urls"]) == {"self", "events", "audio", "stream", "peaks", "cancel"}
    assert len(job["takes"]) == 1 and set(job["takes"][0]["audio"]) == {"wav", "flac", "mp3", "m4a", "ogg"}
    done = server.finished(job)
    assert done["progress"] == 1.0 and done["eta_seconds"] == 0 and done["place"] is None
    assert done["created"] <= done["started"] <= done["ended"]
    assert done["takes"][0]["state"] == "finished" and done["takes"][0]["seconds"] == pytest.approx(1.0)


def test_every_link_of_a_job_works(server, piece):
    for name, link in piece["urls"].items():
        assert server.get(link).content, name
    take = piece["takes"][0]
    for link in [*take["audio"].values(), take["peaks"], take["stream"]]:
        assert server.get(link).content, link


def test_ids_cannot_be_guessed(server):
    ids = [server.submit(duration=0.02)["id"] for _ in range(5)]
    assert len(set(ids)) == 5
    for one in ids:
        # At least 128 bits of something that looks like chance: no common beginning beyond the word in front.
        tail = one.split("-", 1)[-1]
        assert len(tail) >= 20
    assert len({one.split("-", 1)[-1][:4] for one in ids}) == 5


def test_progress_and_eta(server):
    job = server.submit(duration=6.0)
    events = server.events(job)
    names = [event["event"] for event in events]
    assert names[0] == "queued" and names.index("started") < names.index("finished") == len(names) - 1
    assert "progress" in names
    progress = [event["data"]["progress"] for event in events if event["event"] == "progress"]
    assert progress == sorted(progress) and all(0 < value <= 1 for value in progress)
    etas = [event["data"]["eta_seconds"] for event in events if event["event"] == "progress"]
    assert all(eta >= 0 for eta in etas) and etas[-1] < max(etas[0], 0.5)


def test_events_are_numbered_and_resume(server, piece):
    events = server.events(piece)
    numbers = [int(event["id"]) for event in events]
    assert numbers == sorted(set(numbers)) and numbers[0] >= 1
    for i in range(len(numbers) - 1):
        assert server.events(piece, last=numbers[i]) == events[i + 1:]
    # Nothing is left to be told: a browser does not come back after this.
    assert server.get(f"/v1/jobs/{piece['id']}/events", status=204, headers={"Last-Event-ID": str(numbers[-1])}).content == b""


def test_events_of_a_broken_connection_go_on(server):
    job = server.submit(duration=4.0)
    seen = []
    while not seen or seen[-1]["event"] not in ENDS:
        last = seen[-1]["id"] if seen else None
        headers = {"Last-Event-ID": last} if last else {}
        with server.client.stream("GET", f"/v1/jobs/{job['id']}/events", headers=headers) as answer:
            for event in sse(answer.iter_lines()):
                seen.append(event)
                break  # and hang up
    numbers = [int(event["id"]) for event in seen]
    assert numbers == sorted(set(numbers))
    # Passing ones may be dropped when many have come; what matters is told to both.
    kept = [event for event in server.events(job) if event["event"] in ("started", "take", "finished")]
    assert [event for event in seen if event["event"] in ("started", "take", "finished")] == kept


@pytest.mark.parametrize("last", ["x", "-1", "1.5"])
def test_last_event_id_must_be_a_number(server, piece, last):
    error_of(server.get(f"/v1/jobs/{piece['id']}/events", status=None, headers={"Last-Event-ID": last}), 422)


def test_events_may_be_watched_by_many(server):
    job = server.submit(duration=2.0)
    streams = [server.client.stream("GET", f"/v1/jobs/{job['id']}/events") for _ in range(5)]
    opened = [stream.__enter__() for stream in streams]
    try:
        ends = [[event["event"] for event in sse(answer.iter_lines())][-1] for answer in opened]
    finally:
        for stream in streams:
            stream.__exit__(None, None, None)
    assert ends == ["finished"] * 5


def test_takes(server):
    job = server.make(duration=0.5, takes=3, seed=11, temperature=1.5, top_k=250)
    assert [take["number"] for take in job["takes"]] == [1, 2, 3]
    assert len({take["id"] for take in job["takes"]}) == 3
    sounds = [server.get(take["audio"]["wav"]).content for take in job["takes"]]
    assert len(set(sounds)) == 3 and len({len(sound) for sound in sounds}) == 1
    events = [event for event in server.events(job) if event["event"] == "take"]
    assert len(events) == 3
    # A take is the same whether it was made among others or alone.
    alone = server.make(duration=0.5, take=2, seed=11, temperature=1.5, top_k=250)
    assert server.get(alone["urls"]["audio"]).content == sounds[1]
    error_of(server.get(f"/v1/jobs/{job['id']}/audio.wav?take=4", status=None), 422)
    error_of(server.get(f"/v1/jobs/{job['id']}/audio.wav?take=0", status=None), 422)


def test_same_seed_same_bytes(server):
    first, again = server.make(seed=21), server.make(seed=21)
    assert first["id"] != again["id"]
    assert server.get(first["urls"]["audio"]).content == server.get(again["urls"]["audio"]).content
    assert server.get(server.make(seed=22, temperature=1.5)["urls"]["audio"]).content != server.get(server.make(seed=21, temperature=1.5)["urls"]["audio"]).content


def test_same_music_beside_others(server):
    alone = server.get(server.make(seed=23, duration=1.0)["urls"]["audio"]).content
    together = [server.submit(seed=23 if i == 2 else 100 + i, prompt=PROMPT if i == 2 else f"other {i}", duration=1.0) for i in range(5)]
    jobs = [server.finished(job) for job in together]
    assert server.get(jobs[2]["urls"]["audio"]).content == alone


def test_seed_is_drawn_and_told(server):
    job = server.post("/v1/jobs", {"prompt": "x", "duration": 0.2}, status=202).json()
    other = server.post("/v1/jobs", {"prompt": "x", "duration": 0.2}, status=202).json()
    assert job["seed"] != other["seed"]
    same = server.make(prompt="x", duration=0.2, seed=job["seed"])
    assert server.get(server.finished(job)["urls"]["audio"]).content == server.get(same["urls"]["audio"]).content


def test_output_settings_are_those_of_the_plain_link(server):
    job = server.make(format="flac", sample_rate=48000, channels=2, bits=24)
    assert job["urls"]["audio"].endswith("/audio.flac")
    answer = server.get(job["urls"]["audio"])
    assert (answer.headers["x-sample-rate"], answer.headers["x-channels"], answer.headers["x-bit-depth"]) == ("48000", "2", "24")


def test_list(serve):
    server = serve()
    assert server.get("/v1/jobs").json() == {"object": "list", "data": []}
    ids = [server.make(duration=0.1)["id"] for _ in range(3)]
    listed = server.get("/v1/jobs").json()
    assert [job["id"] for job in listed["data"]] == ids[::-1]
    assert [job["id"] for job in server.get("/v1/jobs?limit=1").json()["data"]] == ids[:1:-1]
    for limit in ("0", "-1", "x", "100000"):
        error_of(server.get(f"/v1/jobs?limit={limit}", status=None), 422, param="limit")


@pytest.mark.parametrize("method,path", [
    ("GET", ""), ("DELETE", ""), ("GET", "/events"), ("GET", "/audio.wav"), ("HEAD", "/audio.wav"), ("GET", "/stream.m3u8"),
    ("GET", "/peaks"), ("GET", "/segments/0.m4s"), ("GET", "/segments/init.mp4")])
@pytest.mark.parametrize("job", ["job-none", "none", "job-" + "a" * 100, "%00", "é"])
def test_unknown_job(server, method, path, job):
    answer = server.call(method, f"/v1/jobs/{job}{path}")
    assert answer.status_code == 404
    if method != "HEAD":
        error_of(answer, 404)


def test_expired_job_is_gone():
    with serving("--job-keep", 1) as server:
        job = server.make(duration=0.1)
        eventually(lambda: server.get(f"/v1/jobs/{job['id']}", status=None).status_code == 410, "the job is forgotten")
        for path in ("", "/events", "/audio.wav", "/peaks", "/stream.m3u8", "/segments/0.m4s"):
            error_of(server.get(f"/v1/jobs/{job['id']}{path}", status=None), 410)
        error_of(server.call("DELETE", f"/v1/jobs/{job['id']}"), 410)
        assert server.get("/v1/jobs").json()["data"] == []
        # What it made is among the takes.
        assert server.get(f"/v1/takes/{job['takes'][0]['id']}").json()["job"] == job["id"]


def test_only_so_many_jobs_are_kept():
    with serving("--max-jobs-kept", 2) as server:
        jobs = [server.make(duration=0.1)["id"] for _ in range(4)]
        statuses = [server.get(f"/v1/jobs/{job}", status=None).status_code for job in jobs]
        assert statuses == [410, 410, 200, 200]


def test_ended_job_cannot_be_cancelled_any_more(server, piece):
    assert server.delete(piece["urls"]["cancel"]).json()["state"] == "finished"
    assert server.get(piece["urls"]["audio"]).content
