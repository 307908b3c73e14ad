"""What a request can say beside a prompt and a length: relays, what is continued, a melody, other settings; and batches."""
import json

import pytest
from support import PROMPT, RATE, error_of, make_wav, wav_of


def upload(server, data, **headers):
    return server.post("/v1/uploads", status=201, content=data, headers={"Content-Type": "audio/wav", **headers}).json()


def audio(server, job):
    return server.get(job["urls"]["audio"]).content


def submit(server, status=202, **fields):
    return server.post("/v1/jobs", fields, status=status).json()


def test_relay(server):
    segments = [{"prompt": PROMPT, "duration": 0.5}, {"prompt": "loud drums", "duration": 1.5, "join": "continue"}]
    job = server.finished(submit(server, segments=segments, seed=1))
    assert job["duration"] == pytest.approx(2.0)
    relay = wav_of(audio(server, job))
    assert relay.frames == 2 * RATE
    # The second prompt changes the second part alone.
    other = server.finished(submit(server, segments=[segments[0], {"prompt": "slow ambient pad", "duration": 1.5}], seed=1))
    there = wav_of(audio(server, other))
    assert there.data != relay.data and there.data[:RATE // 4] == relay.data[:RATE // 4]


def test_relay_with_a_crossfade(server):
    segments = [{"prompt": "calm piano", "duration": 1.0}, {"prompt": "loud drums", "duration": 1.0, "join": "crossfade"}]
    job = server.finished(submit(server, segments=segments, crossfade=0.2, seed=1))
    assert wav_of(audio(server, job)).frames == pytest.approx(job["duration"] * RATE, abs=700)


@pytest.mark.parametrize("fields,param", [
    ({"segments": []}, "segments"),
    ({"segments": "x"}, "segments"),
    ({"segments": [{"prompt": "x"}]}, "segments[0].duration"),
    ({"segments": [{"prompt": "x", "duration": 1, "jion": "continue"}]}, "segments[0].jion"),
    ({"segments": [{"prompt": "x", "duration": 1, "join": "crossfade"}]}, "segments[0].join"),
    ({"segments": [{"prompt": "x", "duration": 1}, {"prompt": "y", "duration": 1, "join": "cut"}]}, "segments[1].join"),
    ({"segments": [{"prompt": "x", "duration": 1}], "prompt": "y"}, "prompt"),
    ({"segments": [{"prompt": "x", "duration": 1}], "duration": 3}, "duration"),
    ({"segments": [{"prompt": "x", "duration": 1}], "crossfade": 0.5}, "crossfade"),
    ({"segments": [{"prompt": "x", "duration": 400}, {"prompt": "x", "duration": 400}]}, "segments"),
    ({"segments": [{"prompt": "x", "duration": 0.1}] * 33}, "segments"),
])
def test_relay_that_is_refused(server, fields, param):
    error_of(server.post("/v1/jobs", fields, status=None), 422, param=param)


def test_continuation(server, piece):
    given = server.get(piece["urls"]["audio"]).content
    sent = upload(server, given)
    job = server.finished(submit(server, prompt="on it goes", duration=1.5, seed=4, **{"continue": {"upload": sent["id"]}}))
    made = wav_of(audio(server, job))
    assert made.frames == 1.5 * RATE
    # It begins with what was given; the joint is a little earlier than its end.
    start = wav_of(given)
    assert made.data[:RATE] == start.data[:RATE]
    assert made.data[2 * RATE:] != start.data[:RATE]
    # Only the last part of it.
    job = server.finished(submit(server, prompt="on it goes", duration=1.0, seed=4, **{"continue": {"upload": sent["id"], "last": 0.5}}))
    made = wav_of(audio(server, job))
    assert made.data[:RATE // 2] == start.data[RATE:RATE + RATE // 2]


def test_continuation_of_another_rate(server):
    sent = upload(server, make_wav(1.0, rate=44100, channels=2))
    assert sent["sample_rate"] == 44100 and sent["channels"] == 2 and sent["seconds"] == pytest.approx(1.0)
    job = server.finished(submit(server, prompt="x", duration=1.4, **{"continue": {"upload": sent["id"]}}))
    assert wav_of(audio(server, job)).frames == pytest.approx(1.4 * RATE, abs=1)


def test_continuation_that_is_refused(server):
    sent = upload(server, make_wav(1.0))
    for given, words in [({"upload": sent["id"]}, {"duration": 0.5}), ({"upload": "none"}, {}), ({"upload": "../../etc/passwd"}, {}),
                         ({"upload": "/etc/passwd"}, {}), ({}, {}), ({"upload": 7}, {}), ({"upload": sent["id"], "last": -1}, {}),
                         ({"upload": sent["id"], "first": 1}, {}), ("x", {})]:
        answer = server.post("/v1/jobs", {"prompt": "x", "duration": 2.0, **words, "continue": given}, status=None)
        assert answer.status_code in (404, 422), (given, answer.text)
        error_of(answer, answer.status_code)


def test_melody_is_refused_by_a_model_that_has_none(server):
    sent = upload(server, make_wav(1.0))
    answer = server.post("/v1/jobs", {"prompt": "x", "duration": 0.5, "melody": {"upload": sent["id"]}}, status=None)
    error = error_of(answer, 422, "unsupported", "melody")
    assert "melody" in error["message"] and "demo" in error["message"]


def test_upload_stays_for_its_job(serve):
    # Deleted while the job that uses it still waits.
    server = serve("--max-rows", 2)
    first = server.started(duration=300)
    sent = upload(server, make_wav(0.5))
    job = submit(server, prompt="x", duration=1.0, **{"continue": {"upload": sent["id"]}})
    server.delete(f"/v1/uploads/{sent['id']}", status=204)
    error_of(server.get(f"/v1/uploads/{sent['id']}", status=None), 410)
    server.cancel(first)
    assert server.finished(job)["state"] == "finished"


def test_greedy_needs_no_seed(server):
    first = server.finished(submit(server, prompt="x", duration=0.3, strategy="greedy", seed=1))
    second = server.finished(submit(server, prompt="x", duration=0.3, strategy="greedy", seed=2))
    assert audio(server, first) == audio(server, second)


@pytest.mark.parametrize("strategy", ["beam", "beam_search"])
def test_beam_search_is_refused(server, strategy):
    error = error_of(server.post("/v1/jobs", {"prompt": "x", "strategy": strategy}, status=None), 422, "unsupported", "strategy")
    assert "beam" in error["message"]


@pytest.mark.parametrize("fields,param", [
    ({}, "prompt"), ({"prompt": 1}, "prompt"), ({"prompt": "x", "promt": "y"}, "promt"), ({"prompt": "x", "duration": 601}, "duration"),
    ({"prompt": "x", "duration": None, "seed": []}, "seed"), ({"prompt": "x", "takes": 0}, "takes"), ({"prompt": "x", "takes": 9}, "takes"),
    ({"prompt": "x", "format": "aiff"}, "format"), ({"prompt": "x", "bits": 12}, "bits"), ({"prompt": "x", "format": "flac", "bits": 32}, "bits"),
    ({"prompt": "x", "format": "mp3", "bits": 16}, "bits"), ({"prompt": "x", "bitrate": 128000}, "bitrate"),
    ({"prompt": "x", "sample_rate": 1}, "sample_rate"), ({"prompt": "x", "format": "ogg", "sample_rate": 44100}, "sample_rate"),
    ({"prompt": "x", "channels": 0}, "channels"), ({"prompt": "x", "loudness": 3}, "loudness"), ({"prompt": "x", "fade_in": -1}, "fade_in"),
    ({"prompt": "x", "loop": "yes"}, "loop"), ({"prompt": "x", "loop": True, "fade_out": 1}, "loop"), ({"prompt": "x", "gate": 1}, "gate"),
    ({"prompt": "x", "title": "a\nb"}, "title"), ({"prompt": "x", "title": "t" * 300}, "title"), ({"prompt": "x", "keep": "no"}, "keep"),
    ({"prompt": "x", "priority": "first"}, "priority"), ({"prompt": "x", "strategy": "random"}, "strategy"),
    ({"prompt": "x", "temperature": "hot"}, "temperature"), ({"prompt": "x", "temperature": 101}, "temperature"),
    ({"prompt": "x", "top_k": 10**6}, "top_k"), ({"prompt": "x", "top_p": -0.1}, "top_p"), ({"prompt": "x", "guidance_scale": 101}, "guidance_scale"),
    ({"prompt": "x", "model": "none"}, "model"), ({"prompt": "x", "webhook": "https://example.org/"}, "webhook"),
    ({"prompt": "x" * 4097}, "prompt"),
], ids=lambda value: str(value)[:50] if isinstance(value, dict) else "")
def test_refused(server, fields, param):
    answer = server.post("/v1/jobs", fields, status=None)
    error_of(answer, 404 if param == "model" else 422, param=param)


@pytest.mark.parametrize("body,status", [
    (b"", 400), (b"{", 400), (b"[]", 422), (b"null", 422), (b'"x"', 422), (b'{"prompt": "x", "prompt": "y"}', 400), (b'{"prompt": "\xff"}', 400),
    (b'{"prompt": NaN}', 400), (b'{"prompt": "x", "duration": 1e999}', 400), (b"[" * 1000 + b"]" * 1000, 400), (b'{"prompt": "x"} x', 400),
    (b'{"prompt": "\\ud800"}', 400)], ids=range(12))
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/audio/speech", "/generate", "/v1/batches", "/v1/huggingface/text-to-audio"])
def test_bodies_that_are_no_request(server, path, body, status):
    answer = server.post(path, status=None, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (status, 400), answer.text
    error_of(answer, answer.status_code)


@pytest.mark.parametrize("media", ["text/plain", "audio/wav", "multipart/form-data; boundary=x"])
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/audio/speech", "/generate", "/v1/batches", "/v1/huggingface/text-to-audio"])
def test_bodies_of_another_kind(server, path, media):
    # A page of another site can send some of these without asking first. (What curl -d sends unless told otherwise is taken.)
    name = {"/v1/audio/speech": "input", "/v1/huggingface/text-to-audio": "inputs", "/v1/batches": "prompts"}.get(path, "prompt")
    value = ["x"] if name == "prompts" else "x"
    answer = server.post(path, status=None, content=json.dumps({name: value}).encode(), headers={"Content-Type": media})
    error_of(answer, 415)


def test_did_you_mean(server):
    assert "duration" in error_of(server.post("/v1/jobs", {"prompt": "x", "duraton": 1}, status=None), 422, "unknown_field", "duraton")["message"]


def test_batch(server):
    batch = server.post("/v1/batches", {"prompts": ["calm piano", "loud drums"], "duration": 0.3, "seed": 8}, status=202).json()
    assert batch["object"] == "batch" and [job["prompt"] for job in batch["jobs"]] == ["calm piano", "loud drums"]
    assert all(job["batch"] == batch["id"] and job["seed"] == 8 for job in batch["jobs"])
    jobs = [server.finished(job) for job in batch["jobs"]]
    again = server.get(f"/v1/batches/{batch['id']}").json()
    assert [job["id"] for job in again["jobs"]] == [job["id"] for job in jobs] and {job["state"] for job in again["jobs"]} == {"finished"}
    alone = server.make(prompt="loud drums", duration=0.3, seed=8)
    assert audio(server, jobs[1]) == audio(server, alone)


def test_batch_of_whole_requests(server):
    batch = server.post("/v1/batches", {"requests": [{"prompt": "a", "duration": 0.2}, {"prompt": "b", "duration": 0.4, "takes": 2}]}, status=202)
    assert batch.headers["location"] == f"/v1/batches/{batch.json()['id']}"
    jobs = [server.finished(job) for job in batch.json()["jobs"]]
    assert [job["duration"] for job in jobs] == pytest.approx([0.2, 0.4]) and [len(job["takes"]) for job in jobs] == [1, 2]


@pytest.mark.parametrize("fields,param", [
    ({}, "prompts"), ({"prompts": []}, "prompts"), ({"prompts": "x"}, "prompts"), ({"prompts": ["x", 7]}, "prompts[1]"),
    ({"prompts": ["x"], "requests": [{"prompt": "x"}]}, "requests"), ({"prompts": ["x"], "prompt": "y"}, "prompt"),
    ({"prompts": ["x"] * 33}, "prompts"), ({"requests": [{"prompt": "x"}, {"duration": 1}]}, "requests[1].prompt"),
    ({"requests": [{"prompt": "x", "duraton": 1}]}, "requests[0].duraton"), ({"prompts": ["x"], "duration": -1}, "duration")])
def test_batch_that_is_refused(server, fields, param):
    error_of(server.post("/v1/batches", fields, status=None), 422, param=param)


def test_batch_is_cancelled_whole(server):
    batch = server.post("/v1/batches", {"prompts": ["a", "b", "c"], "duration": 300}, status=202).json()
    ended = server.delete(f"/v1/batches/{batch['id']}").json()
    assert {job["state"] for job in ended["jobs"]} == {"cancelled"}
    server.still()


def test_batch_is_taken_whole_or_not_at_all(serve):
    server = serve("--max-rows", 2, "--max-queue", 2)
    running = server.started(duration=300)
    before = len(server.get("/v1/jobs").json()["data"])
    error_of(server.post("/v1/batches", {"prompts": ["a", "b", "c"], "duration": 0.1}, status=None), 429, "queue_full")
    assert len(server.get("/v1/jobs").json()["data"]) == before
    batch = server.post("/v1/batches", {"prompts": ["a", "b"], "duration": 0.1}, status=202).json()
    server.cancel(running)
    for job in batch["jobs"]:
        server.finished(job)


def test_unknown_batch(server):
    error_of(server.get("/v1/batches/batch-none", status=None), 404)
    error_of(server.call("DELETE", "/v1/batches/batch-none"), 404)
