"""The sound of jobs: formats and finishing by query, ranges, while it is made, as a stream for players, as an outline."""
import re

import pytest
from support import RATE, Wav, check_sound, error_of, wav_of


def sound(server, job, ending="wav", status=200, headers=None, **query):
    return server.get(f"/v1/jobs/{job['id']}/audio.{ending}", status=status, params=query, headers=headers)


@pytest.mark.parametrize("ending,media", [("wav", "audio/wav"), ("flac", "audio/flac"), ("mp3", "audio/mpeg"), ("m4a", "audio/mp4"), ("ogg", "audio/ogg")])
def test_formats(server, piece, tmp_path, ending, media):
    answer = sound(server, piece, ending)
    assert answer.headers["content-type"].split(";")[0] == media
    assert int(answer.headers["content-length"]) == len(answer.content)
    found = check_sound(answer.content, "." + ending, tmp_path)
    rate = 48000 if ending == "ogg" else RATE
    assert found["sample_rate"] == rate and found["channels"] == 1
    # Made as a file: its length is exact, as far as the format can say it.
    assert found["seconds"] == pytest.approx(1.0, abs=0.05)
    assert answer.headers["x-sample-rate"] == str(rate) and answer.headers["x-channels"] == "1"
    assert sound(server, piece, ending).content == answer.content


def test_wav_is_read_by_another(server, piece, tmp_path):
    import wave
    path = tmp_path / "piece.wav"
    path.write_bytes(sound(server, piece).content)
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth(), file.getnframes()) == (RATE, 1, 2, RATE)


@pytest.mark.parametrize("rate", [32000, 44100, 48000])
@pytest.mark.parametrize("channels", [1, 2])
def test_rate_and_channels(server, piece, rate, channels):
    wav = wav_of(sound(server, piece, rate=rate, channels=channels).content)
    assert (wav.rate, wav.channels, wav.frames) == (rate, channels, rate)


@pytest.mark.parametrize("bits,kind", [(16, 1), (24, 1), (32, 3)])
def test_bits(server, piece, bits, kind):
    answer = sound(server, piece, bits=bits)
    wav = wav_of(answer.content)
    assert (wav.bits, wav.kind, wav.frames) == (bits, kind, RATE) and answer.headers["x-bit-depth"] == str(bits)


def test_bitrate(server, piece):
    assert len(sound(server, piece, "mp3", bitrate=64000).content) < len(sound(server, piece, "mp3", bitrate=256000).content)


def test_loudness(server, piece, tmp_path):
    loud = check_sound(sound(server, piece, loudness=-10).content, ".wav", tmp_path)["levels"][0]["rms"]
    soft = check_sound(sound(server, piece, loudness=-30).content, ".wav", tmp_path)["levels"][0]["rms"]
    assert loud > 4 * soft


def test_fades_and_loop(server, piece):
    plain = wav_of(sound(server, piece).content).data
    faded = wav_of(sound(server, piece, fade_in=0.2, fade_out=0.2).content).data
    assert len(faded) == len(plain) and faded != plain
    # The middle is as it was; the ends are silent.
    middle = slice(RATE - 2000, RATE + 2000)
    assert faded[middle] == plain[middle] and faded[:2] == b"\0\0"
    loop = wav_of(sound(server, piece, loop=1).content)
    assert loop.data != plain and 0 < loop.frames <= RATE


def test_download_has_a_name(server, piece):
    plain = sound(server, piece).headers.get("content-disposition", "inline")
    assert plain.startswith("inline")
    name = sound(server, piece, download=1).headers["content-disposition"]
    assert name.startswith("attachment") and "for readers.wav" in name


@pytest.mark.parametrize("query", [
    {"rate": 22050}, {"rate": "x"}, {"channels": 3}, {"bits": 8}, {"bitrate": 128000}, {"loudness": 5}, {"fade_in": -1}, {"fade_out": "x"},
    {"loop": "perhaps"}, {"take": 2}, {"take": "x"}, {"quality": 9}, {"download": "maybe"}, {"gate": 10}, {"loop": 1, "fade_in": 1}])
def test_query_that_is_refused(server, piece, query):
    error_of(sound(server, piece, status=None, **query), 422)


@pytest.mark.parametrize("ending", ["exe", "wave", "wav.bak", "pcm", "WAV"])
def test_unknown_format(server, piece, ending):
    assert sound(server, piece, ending, status=None).status_code in (404, 422)


def test_what_a_format_cannot(server, piece):
    error_of(sound(server, piece, "flac", status=None, bits=32), 422)
    error_of(sound(server, piece, "ogg", status=None, rate=44100), 422)
    error_of(sound(server, piece, "mp3", status=None, bits=16), 422)


@pytest.mark.parametrize("ending", ["wav", "flac", "mp3"])
def test_ranges(server, piece, ending):
    whole = sound(server, piece, ending)
    body, size = whole.content, len(whole.content)
    assert whole.headers["accept-ranges"] == "bytes"
    for value, start, end in [("bytes=0-0", 0, 1), ("bytes=0-99", 0, 100), ("bytes=100-", 100, size), ("bytes=-50", size - 50, size),
                              (f"bytes=10-{size * 2}", 10, size), (f"bytes=-{size * 2}", 0, size)]:
        part = sound(server, piece, ending, status=206, headers={"Range": value})
        assert part.content == body[start:end], value
        assert part.headers["content-range"] == f"bytes {start}-{end - 1}/{size}"
        assert int(part.headers["content-length"]) == end - start


def test_ranges_that_cannot_be(server, piece):
    size = len(sound(server, piece).content)
    for value in (f"bytes={size}-", f"bytes={size + 5}-{size + 9}", "bytes=-0"):
        answer = sound(server, piece, status=416, headers={"Range": value})
        assert answer.headers["content-range"] == f"bytes */{size}"
        error_of(answer, 416)
    # What is no range is no wish.
    for value in ("bytes=5-2", "bytes=x", "seconds=0-1", "bytes=0-1,5-9", ""):
        assert len(sound(server, piece, headers={"Range": value}).content) == size, value


def test_tags(server, piece):
    tag = sound(server, piece).headers["etag"]
    assert sound(server, piece, status=304, headers={"If-None-Match": tag}).content == b""
    assert sound(server, piece, status=304, headers={"If-None-Match": f'"x", W/{tag}'}).content == b""
    assert sound(server, piece, "flac").headers["etag"] != tag
    assert sound(server, piece, rate=48000).headers["etag"] != tag
    assert sound(server, piece, status=206, headers={"Range": "bytes=0-9", "If-Range": tag}).content
    assert len(sound(server, piece, status=200, headers={"Range": "bytes=0-9", "If-Range": '"other"'}).content) > 10


@pytest.mark.parametrize("ending", ["wav", "mp3"])
def test_head(server, piece, ending):
    whole = sound(server, piece, ending)
    head = server.call("HEAD", f"/v1/jobs/{piece['id']}/audio.{ending}", status=200)
    assert head.content == b""
    for name in ("content-length", "content-type", "etag", "accept-ranges", "x-sample-rate"):
        assert head.headers[name] == whole.headers[name]


def test_wav_while_it_is_made(server):
    job = server.started(duration=8.0)
    with server.client.stream("GET", job["urls"]["audio"]) as answer:
        parts = answer.iter_raw()
        first = next(parts)
        wav = Wav(first)
        assert wav.frames == 8 * RATE and wav.told == int(answer.headers["content-length"])
        assert server.job(job)["state"] == "running"
        body = first + b"".join(parts)
    wav_of(body)
    job = server.finished(job)
    assert server.get(job["urls"]["audio"]).content == body


def test_range_while_it_is_made(server):
    job = server.started(duration=6.0)
    size = 44 + 6 * RATE * 2
    # Of what is not there yet: the answer waits for it.
    late = sound(server, job, status=206, headers={"Range": "bytes=-1000"})
    assert late.headers["content-range"].endswith(f"/{size}")
    early = sound(server, job, status=206, headers={"Range": "bytes=0-43"})
    job = server.finished(job)
    whole = sound(server, job).content
    assert len(whole) == size and whole[-1000:] == late.content and whole[:44] == early.content


@pytest.mark.parametrize("ending", ["flac", "mp3", "m4a", "ogg"])
def test_others_while_they_are_made(server, tmp_path, ending):
    job = server.started(duration=4.0)
    with server.client.stream("GET", f"/v1/jobs/{job['id']}/audio.{ending}") as answer:
        assert answer.status_code == 200
        body = answer.read()
    found = check_sound(body, "." + ending, tmp_path)
    assert 4.0 <= found["seconds"] < 4.15, found["seconds"]


def test_sound_is_waited_for(serve):
    # A link may be opened while its job still waits in line.
    server = serve("--max-rows", 2)
    first = server.started(duration=2.0)
    second = server.submit(duration=0.5)
    assert server.job(second)["state"] == "queued" and server.job(second)["place"] == 0
    assert wav_of(sound(server, second).content).frames == RATE // 2
    server.finished(first)


def test_stream_for_players(server, piece, tmp_path):
    answer = server.get(piece["urls"]["stream"])
    assert answer.headers["content-type"] in ("application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl")
    lines = answer.text.splitlines()
    assert lines[0] == "#EXTM3U" and lines[-1] == "#EXT-X-ENDLIST"
    base = f"/v1/jobs/{piece['id']}/"
    init = re.search(r'#EXT-X-MAP:URI="([^"]+)"', answer.text).group(1)
    segments = [line for line in lines if line and not line.startswith("#")]
    seconds = [float(line.removeprefix("#EXTINF:").split(",")[0]) for line in lines if line.startswith("#EXTINF:")]
    assert len(segments) == len(seconds) and sum(seconds) == pytest.approx(1.0, abs=0.15)
    assert max(seconds) <= float(re.search(r"#EXT-X-TARGETDURATION:(\d+)", answer.text).group(1)) + 0.5
    body = b"".join(server.get(base + name).content for name in [init, *segments])
    assert check_sound(body, ".mp4", tmp_path)["seconds"] == pytest.approx(1.0, abs=0.15)
    error_of(server.get(base + "segments/999.m4s", status=None), 404)
    error_of(server.get(base + "segments/x.m4s", status=None), 404)


def test_stream_of_a_running_job(server, tmp_path):
    job = server.started(duration=8.0)
    text = server.get(job["urls"]["stream"]).text
    assert "#EXTM3U" in text
    if "#EXT-X-ENDLIST" not in text:
        assert server.job(job)["state"] in ("running", "finished") and "#EXT-X-PLAYLIST-TYPE:EVENT" in text
    server.finished(job)
    last = server.get(job["urls"]["stream"]).text
    while "#EXT-X-ENDLIST" not in last:  # the encoder is a moment behind
        last = server.get(job["urls"]["stream"]).text
    names = [line for line in last.splitlines() if line and not line.startswith("#")]
    # What was listed while it was made still stands, and begins the list.
    early = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert early and names[:len(early)] == early
    init = re.search(r'#EXT-X-MAP:URI="([^"]+)"', last).group(1)
    body = b"".join(server.get(f"/v1/jobs/{job['id']}/{name}").content for name in [init, *names])
    assert check_sound(body, ".mp4", tmp_path)["seconds"] == pytest.approx(8.0, abs=0.15)


def test_peaks(server, piece):
    peaks = server.get(piece["urls"]["peaks"], params={"bins": 50}).json()
    assert peaks["bins"] == 50 and len(peaks["min"]) == len(peaks["max"]) == 50 and peaks["complete"] is True
    assert peaks["duration"] == pytest.approx(1.0)
    assert all(-1 <= low <= high <= 1 for low, high in zip(peaks["min"], peaks["max"])) and max(peaks["max"]) > 0.01
    assert server.get(piece["urls"]["peaks"]).json()["bins"] == 1000
    for bins in ("0", "-1", "x", "10000000"):
        error_of(server.get(piece["urls"]["peaks"], status=None, params={"bins": bins}), 422)


def test_peaks_of_a_running_job(server):
    job = server.started(duration=4.0)
    early = server.get(job["urls"]["peaks"], params={"bins": 20}).json()
    assert early["duration"] == pytest.approx(4.0) and early["bins"] == 20
    server.finished(job)
    late = server.get(job["urls"]["peaks"], params={"bins": 20}).json()
    assert late["complete"] is True and early["complete"] in (False, True)
    if not early["complete"]:
        assert len(early["max"]) <= 20
