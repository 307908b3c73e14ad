"""POST /v1/audio/speech by its bytes; openai_test.py asks it through the official clients."""
import json

import pytest
from support import PROMPT, RATE, Wav, check_sound, decode, error_of, read_answer, request_bytes, sse, wav_of

ASK = {"model": "demo", "input": PROMPT, "voice": "alloy", "duration": 0.5, "seed": 3}


def speech(server, status=200, **fields):
    return server.post("/v1/audio/speech", {**ASK, **fields}, status=status)


def test_wav_says_its_size_from_the_first_byte(server):
    with server.client.stream("POST", "/v1/audio/speech", json={**ASK, "duration": 6.0, "response_format": "wav"}) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"] == "audio/wav"
        length = int(answer.headers["content-length"])
        assert "transfer-encoding" not in answer.headers
        parts = answer.iter_raw()
        first = next(parts)
        wav = Wav(first)
        assert wav.told == length and wav.frames == 6 * RATE and wav.rate == RATE and wav.channels == 1 and wav.bits == 16
        assert len(first) < length  # it was still being made
        body = first + b"".join(parts)
    assert len(body) == length
    wav_of(body)


def test_headers_tell_the_sound_and_the_piece(server):
    answer = speech(server, response_format="wav", sample_rate=48000)
    assert (answer.headers["x-sample-rate"], answer.headers["x-channels"], answer.headers["x-bit-depth"]) == ("48000", "1", "16")
    assert answer.headers["x-seed"] == "3" and answer.headers["x-audio-seconds"] == "0.500" and answer.headers["x-model"] == "demo"
    assert server.job(answer.headers["x-job-id"])["state"] == "finished"


def test_pcm_is_24_khz_mono_16_bits(server):
    answer = speech(server, response_format="pcm")
    assert answer.headers["x-sample-rate"] == "24000" and answer.headers["x-channels"] == "1" and answer.headers["x-bit-depth"] == "16"
    assert int(answer.headers["content-length"]) == len(answer.content) == 24000  # half a second of two bytes a sample
    assert any(answer.content)


def test_pcm_at_a_rate_that_was_asked_for(server):
    answer = speech(server, response_format="pcm", sample_rate=32000)
    assert answer.headers["x-sample-rate"] == "32000" and len(answer.content) == 32000
    # The same samples as in the WAV of the same seed.
    assert wav_of(speech(server, response_format="wav").content).data == answer.content


@pytest.mark.parametrize("word,media,suffix,rate", [
    ("mp3", "audio/mpeg", ".mp3", 32000), ("opus", "audio/ogg", ".ogg", 48000), ("aac", "audio/mp4", ".m4a", 32000),
    ("flac", "audio/flac", ".flac", 32000), ("wav", "audio/wav", ".wav", 32000), (None, "audio/mpeg", ".mp3", 32000)])
def test_every_format_decodes(server, tmp_path, word, media, suffix, rate):
    answer = speech(server, **({} if word is None else {"response_format": word}))
    if word == "aac":
        assert answer.headers["content-type"] in ("audio/aac", media)
    else:
        assert answer.headers["content-type"].split(";")[0] == media
    found = check_sound(answer.content, suffix, tmp_path)
    assert found["sample_rate"] == rate and found["channels"] == 1
    # Streamed lossy formats may have some padding of their codec.
    assert 0.5 <= found["seconds"] < 0.62 if word != "flac" and word != "wav" else found["samples"] == 16000
    assert found["levels"][0]["rms"] > 0.001


def test_same_seed_same_bytes(server):
    for word in ("wav", "flac", "mp3", "opus"):
        first, again = speech(server, response_format=word), speech(server, response_format=word)
        assert first.content == again.content, word
    assert speech(server, response_format="wav", temperature=1.5, seed=4).content != speech(server, response_format="wav", temperature=1.5).content


def test_seed_is_told_when_it_was_drawn(server):
    ask = {name: value for name, value in ASK.items() if name != "seed"}
    answer = server.post("/v1/audio/speech", {**ask, "response_format": "wav"})
    seed = int(answer.headers["x-seed"])
    assert speech(server, response_format="wav", seed=seed).content == answer.content
    # As text for languages whose numbers have 53 bits.
    assert speech(server, response_format="wav", seed=str(seed)).content == answer.content


def test_settings_matter(server):
    # Hot enough that the dice decide.
    hot = {"response_format": "wav", "temperature": 1.5, "top_k": 250}
    plain = speech(server, **hot).content
    for change in [{"temperature": 0.5}, {"top_k": 10}, {"top_p": 0.5}, {"guidance_scale": 1.0}, {"instructions": "fast"}]:
        assert speech(server, **{**hot, **change}).content != plain, change


def test_model_may_be_left_out(server):
    answer = server.post("/v1/audio/speech", {"input": "x", "duration": 0.1, "response_format": "wav"})
    assert answer.headers["x-model"] == "demo"


def test_events(server):
    with server.client.stream("POST", "/v1/audio/speech", json={**ASK, "response_format": "wav", "stream_format": "sse"}) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
        events = list(sse(answer.iter_lines()))
    assert [event["event"] for event in events[:-1]] == ["speech.audio.delta"] * (len(events) - 1)
    assert all(event["data"]["type"] == event["event"] for event in events)
    assert events[-1]["event"] == "speech.audio.done"
    usage = events[-1]["data"]["usage"]
    assert usage["input_tokens"] > 0 and usage["output_tokens"] == 25 and usage["total_tokens"] == sum(
        usage[name] for name in ("input_tokens", "output_tokens"))
    sound = b"".join(decode(event["data"]["audio"]) for event in events[:-1])
    assert sound == speech(server, response_format="wav").content


def test_events_by_the_bytes(server):
    # As a client without a library reads them.
    with server.raw(request_bytes("POST", "/v1/audio/speech", body={**ASK, "stream_format": "sse", "response_format": "pcm"})) as connection:
        status, headers, body = read_answer(connection)
    assert status == 200 and headers["transfer-encoding"] == "chunked" and "cut" not in headers
    text = body.decode()
    assert text.endswith("\n\n")
    for block in text.strip().split("\n\n"):
        event, data = block.split("\n")
        assert event.startswith("event: speech.audio.") and json.loads(data.removeprefix("data: "))["type"] == event.removeprefix("event: ")


@pytest.mark.parametrize("change,param,code", [
    ({"input": None}, "input", "missing_field"),
    ({"input": 7}, "input", "invalid_type"),
    ({"input": ["a"]}, "input", "invalid_type"),
    ({"model": "tts-1"}, "model", "model_not_found"),
    ({"voice": 7}, "voice", None),
    ({"response_format": "ogg"}, "response_format", None),
    ({"response_format": "WAV"}, "response_format", None),
    ({"stream_format": "websocket"}, "stream_format", None),
    ({"speed": 1.5}, "speed", "unsupported"),
    ({"speed": 9}, "speed", None),
    ({"n": 2}, "n", "unsupported"),
    ({"duration": 0}, "duration", None),
    ({"duration": -1}, "duration", None),
    ({"duration": 1e9}, "duration", None),
    ({"duration": "1"}, "duration", "invalid_type"),
    ({"duration": 0.001}, "duration", "out_of_range"),
    ({"temperature": -1}, "temperature", None),
    ({"top_p": 1.5}, "top_p", None),
    ({"top_k": -1}, "top_k", None),
    ({"top_k": 1.5}, "top_k", None),
    ({"guidance_scale": -1}, "guidance_scale", None),
    ({"seed": -1}, "seed", None),
    ({"seed": 2**64}, "seed", None),
    ({"seed": "x"}, "seed", None),
    ({"sample_rate": 22050}, "sample_rate", None),
    ({"response_format": "opus", "sample_rate": 44100}, "sample_rate", None),
    ({"response_format": "mp3", "sample_rate": 24000}, "sample_rate", None),
    ({"languge": "en"}, "languge", "unknown_field"),
    ({"takes": 2}, "takes", "unknown_field"),
    ({"instructions": "y" * 5000}, "instructions", None),
    ({"input": "y" * 5000}, "input", None),
], ids=lambda value: str(value)[:40] if isinstance(value, dict) else "")
def test_refused(server, change, param, code):
    fields = {**ASK, **change}
    answer = server.post("/v1/audio/speech", {name: value for name, value in fields.items() if value is not None}, status=None)
    # OpenAI's clients know 400, not 422.
    error_of(answer, 404 if code == "model_not_found" else 400, code, param)


def test_neutral_values_are_taken(server):
    speech(server, speed=1.0, n=1, voice={"id": "made"}, stream_format="audio", response_format="wav")
    speech(server, temperature=1, top_k=250, top_p=0, response_format="wav", instructions="")
