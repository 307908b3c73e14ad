"""POST /generate in both of its dialects, and the Hugging Face shape."""
import pytest
from support import PROMPT, RATE, check_sound, decode, error_of, eventually, wav_of

FIRST = {"prompt": PROMPT, "duration": 0.5}
SECOND = {"text_prompt": PROMPT, "duration": 0.5}


@pytest.mark.parametrize("fields", [FIRST, SECOND, {**FIRST, "use_cache": False}, {**SECOND, "temperature": 0.9, "top_p": 0.9},
                                    {**SECOND, "decoding_strategy": "greedy"}, {**SECOND, "decoding_strategy": "sampling"}])
def test_sound(server, fields):
    answer = server.post("/generate", fields)
    assert answer.headers["content-type"] == "audio/wav" and wav_of(answer.content).frames == RATE // 2
    assert answer.headers["x-job-id"] and int(answer.headers["x-seed"]) >= 0


@pytest.mark.parametrize("accept", ["*/*", "audio/*", "", "text/html, */*;q=0.1", "audio/wav", "audio/x-wav", "application/json;q=0", "text/json"])
def test_sound_unless_json_is_named(server, accept):
    answer = server.post("/generate", {**FIRST, "duration": 0.1}, headers={"Accept": accept})
    assert answer.headers["content-type"] == "audio/wav"


@pytest.mark.parametrize("accept", ["application/json", "application/json, */*", "Application/JSON; charset=utf-8", "text/plain, application/json;q=0.5"])
def test_json_when_it_is_named(server, accept):
    answer = server.post("/generate", {**FIRST, "seed": 5}, headers={"Accept": accept})
    body = answer.json()
    assert body["status"] == "accepted" and body["audio_url"].startswith("/v1/jobs/") and "similar" not in body
    assert wav_of(server.get(body["audio_url"]).content).frames == RATE // 2


@pytest.mark.parametrize("accept,media,suffix", [("audio/mpeg", "audio/mpeg", ".mp3"), ("audio/flac", "audio/flac", ".flac"), ("audio/ogg", "audio/ogg", ".ogg"),
                                                ("audio/mpeg;q=0.2, audio/flac", "audio/flac", ".flac")])
def test_other_sounds_by_accept(server, tmp_path, accept, media, suffix):
    answer = server.post("/generate", FIRST, headers={"Accept": accept})
    assert answer.headers["content-type"].split(";")[0] == media
    assert 0.5 <= check_sound(answer.content, suffix, tmp_path)["seconds"] < 0.62


def test_both_dialects_make_the_same(server):
    first = server.post("/generate", {**FIRST, "seed": 5})
    second = server.post("/generate", {**SECOND, "seed": 5})
    assert first.content == second.content
    assert server.post("/generate", {**SECOND, "seed": 5, "temperature": 3.0}).content != first.content


def test_similar_prompts_are_offered(serve):
    server = serve()
    earlier = server.make(prompt="slow jazz with a soft saxophone", duration=0.3)
    take = earlier["takes"][0]["id"]
    ask = {"prompt": "slow jazz, soft saxophone", "duration": 0.3, "use_cache": True}

    def known():
        answer = server.get("/v1/prompts/similar", params={"prompt": ask["prompt"]}, status=None)
        return answer.status_code == 200 and answer.json()["similar"]
    eventually(known, "the earlier prompt is in the index")
    body = server.post("/generate", ask, headers={"Accept": "application/json"}).json()
    assert body["status"] == "cached"
    assert body["similar"][0] == body["suggestion"] and body["similar"][0]["prompt"] == "slow jazz with a soft saxophone"
    assert take in body["similar"][0]["takes"] and 0.5 < body["similar"][0]["similarity"] <= 1
    # A suggestion replaces nothing: the job is there as well.
    assert server.finished(body["job_id"])["prompt"] == ask["prompt"]
    # Without use_cache nobody asks.
    body = server.post("/generate", {**ask, "use_cache": False}, headers={"Accept": "application/json"}).json()
    assert body["status"] == "accepted"


@pytest.mark.parametrize("fields,param", [
    ({}, None), ({"duration": 1}, None), ({"prompt": 7}, "prompt"), ({**FIRST, "text_prompt": "y"}, None), ({**FIRST, "temperature": 1}, None),
    ({**SECOND, "use_cache": True}, None), ({**FIRST, "use_cache": "yes"}, "use_cache"), ({**FIRST, "duration": 0}, "duration"),
    ({**SECOND, "decoding_strategy": "beam_search"}, "decoding_strategy"), ({**SECOND, "decoding_strategy": "x"}, "decoding_strategy"),
    ({**SECOND, "top_k": 5}, "top_k"), ({**FIRST, "n": 2}, "n"), ({**FIRST, "duration": 10**6}, "duration"), ({**SECOND, "top_p": 2}, "top_p")])
def test_refused(server, fields, param):
    error = error_of(server.post("/generate", fields, status=None), 422)
    if param:
        assert error["param"] == param
    if fields.get("decoding_strategy") == "beam_search":
        assert error["code"] == "unsupported" and "beam" in error["message"]


PATHS = ["/v1/huggingface/text-to-audio", "/models/demo", "/v1/models/demo/text-to-audio"]


@pytest.mark.parametrize("path", PATHS)
def test_hugging_face(server, path):
    ask = {"inputs": PROMPT, "parameters": {"duration": 0.5, "seed": 6}}
    sound = server.post(path, ask)
    assert sound.headers["content-type"] == "audio/wav" and wav_of(sound.content).frames == RATE // 2
    answer = server.post(path, ask, headers={"Accept": "application/json"}).json()
    assert answer["sampling_rate"] == RATE and decode(answer["audio"]) == sound.content


def test_hugging_face_parameters(server):
    def ask(**parameters):
        return server.post(PATHS[0], {"inputs": "x", "parameters": {"seed": 6, **parameters}}).content
    # Tokens are steps of the decoder: the last codebook is three behind the first.
    assert wav_of(ask(max_new_tokens=28)).frames == 25 * RATE // 50
    assert ask(generation_parameters={"max_new_tokens": 28, "do_sample": True}) == ask(max_new_tokens=28)
    assert ask(max_new_tokens=28, do_sample=False) != ask(max_new_tokens=28)
    assert ask(max_new_tokens=28, temperature=0.4, top_k=20, top_p=0.9, guidance_scale=2) != ask(max_new_tokens=28)
    assert ask(max_new_tokens=28, num_beams=1, use_cache=True, typical_p=1.0) == ask(max_new_tokens=28)
    server.post(PATHS[0], {"inputs": ["x"], "parameters": {"duration": 0.1}, "options": {"wait_for_model": True}})


@pytest.mark.parametrize("fields", [
    {}, {"inputs": 7}, {"inputs": ["a", "b"]}, {"inputs": []}, {"inputs": "x", "parameters": 5}, {"inputs": "x", "parameters": {"num_beams": 4}},
    {"inputs": "x", "parameters": {"typical_p": 0.5}}, {"inputs": "x", "parameters": {"max_length": 50}}, {"inputs": "x", "parameters": {"max_new_tokens": 0}},
    {"inputs": "x", "parameters": {"max_new_tokens": 50, "duration": 1}}, {"inputs": "x", "parameters": {"other": 1}}, {"inputs": "x", "other": 1},
    {"inputs": "x", "options": {"other": 1}}, {"inputs": "x", "parameters": {"generation_parameters": {"num_beams": 2}}}])
def test_hugging_face_refused(server, fields):
    error_of(server.post(PATHS[0], fields, status=None), 422)


def test_hugging_face_unknown_model(server):
    error_of(server.post("/models/none", {"inputs": "x"}, status=None), 404, "model_not_found")
    error_of(server.post("/models/..%2f..%2fetc%2fpasswd", {"inputs": "x"}, status=None), 404)
