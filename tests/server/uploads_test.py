"""POST /v1/uploads: sound as a body or in a form, known by its bytes alone, capped before it is decoded."""
import os
import struct

import pytest
from support import RATE, ROOT, error_of, eventually, make_wav, serving

MEDIA = os.path.join(ROOT, "tests", "media")


def media(name):
    with open(os.path.join(MEDIA, name), "rb") as file:
        return file.read()


def send(server, data, status=201, **more):
    answer = server.post("/v1/uploads", status=None, content=data, **more)
    assert answer.status_code == status, answer.text
    return answer


def test_upload(server):
    answer = send(server, make_wav(0.5))
    upload = answer.json()
    assert answer.headers["location"] == f"/v1/uploads/{upload['id']}"
    assert upload["object"] == "upload" and upload["seconds"] == pytest.approx(0.5)
    assert (upload["sample_rate"], upload["channels"], upload["bytes"]) == (RATE, 1, len(make_wav(0.5)))
    assert server.get(f"/v1/uploads/{upload['id']}").json() == upload
    server.delete(f"/v1/uploads/{upload['id']}", status=204)
    error_of(server.get(f"/v1/uploads/{upload['id']}", status=None), 410)
    error_of(server.delete(f"/v1/uploads/{upload['id']}", status=None), 410)
    error_of(server.get("/v1/uploads/none", status=None), 404)
    error_of(server.delete("/v1/uploads/none", status=None), 404)


@pytest.mark.parametrize("name", ["tone.flac", "tone.mp3", "tone.m4a", "tone.ogg", "tone.opus", "film.mkv", "surround.flac"])
@pytest.mark.parametrize("kind", ["audio/wav", "application/octet-stream", None])
def test_known_by_its_bytes(server, name, kind):
    headers = {} if kind is None else {"Content-Type": kind}
    assert send(server, media(name), headers=headers).json()["seconds"] > 0


def test_form(server):
    answer = server.post("/v1/uploads", status=201, files={"file": ("../../name.wav", make_wav(0.3), "audio/wav")})
    assert answer.json()["seconds"] == pytest.approx(0.3)
    error_of(server.post("/v1/uploads", status=None, files={"sound": ("a.wav", make_wav(0.3), "audio/wav")}), 422)


@pytest.mark.parametrize("form", [
    b"", b"--b", b"--b\r\n", b"--b--\r\n", b"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx",
    b"--other\r\n\r\nx\r\n--other--\r\n", b"--b\r\nno header\r\n\r\nx\r\n--b--\r\n"])
def test_forms_that_are_none(server, form):
    answer = server.post("/v1/uploads", status=None, content=form, headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert answer.status_code in (400, 415, 422), answer.text
    error_of(answer, answer.status_code)


def test_form_without_a_boundary(server):
    assert server.post("/v1/uploads", status=None, content=b"x", headers={"Content-Type": "multipart/form-data"}).status_code == 400


@pytest.mark.parametrize("data", [
    b"x", b"\0" * 1000, b"RIFF", b"RIFF\xff\xff\xff\xffWAVE", b"ID3" + b"\0" * 500, b"OggS" + b"\xff" * 500, b"fLaC" + b"\0" * 100,
    b"#EXTM3U\nfile:///etc/passwd\n", b"ffconcat version 1.0\nfile /etc/passwd\n", b"<html>" * 100, os.urandom(0) + bytes(range(256)) * 40,
    b"GIF89a" + b"\0" * 100], ids=range(12))
def test_garbage(server, data):
    answer = server.post("/v1/uploads", status=None, content=data)
    error_of(answer, 415)


def test_nothing(server):
    error_of(server.post("/v1/uploads", status=None, content=b""), 422)


@pytest.mark.parametrize("name", ["tone.flac", "tone.mp3", "tone.m4a", "tone.ogg"])
def test_broken_files_never_break_the_server(server, name):
    whole = media(name)
    for cut in range(1, len(whole), max(1, len(whole) // 12)):
        assert send_any(server, whole[:cut]) in (201, 415, 422)
    for at in range(0, len(whole), max(1, len(whole) // 12)):
        assert send_any(server, whole[:at] + b"\xff\xff\xff\xff" + whole[at + 4:]) in (201, 415, 422, 413)


def send_any(server, data):
    answer = server.post("/v1/uploads", status=None, content=data)
    if answer.status_code == 201:
        server.delete(f"/v1/uploads/{answer.json()['id']}", status=204)
    return answer.status_code


def test_wav_that_promises_more_than_it_has(server):
    data = bytearray(make_wav(0.2))
    struct.pack_into("<I", data, 40, 0xFFFFFF00)
    answer = server.post("/v1/uploads", status=None, content=bytes(data))
    if answer.status_code == 201:
        assert answer.json()["seconds"] == pytest.approx(0.2, abs=0.01)
    else:
        error_of(answer, answer.status_code)


def test_limits():
    with serving("--max-upload", "200K", "--max-upload-seconds", 2, "--max-uploads", 2, "--upload-keep", 1) as server:
        error_of(server.post("/v1/uploads", status=None, content=b"\0" * 300_000), 413)
        # Small in bytes, long in seconds: a tone of 8 kHz.
        error_of(server.post("/v1/uploads", status=None, content=make_wav(3.0, rate=8000)), 413)
        first = send(server, make_wav(0.5)).json()
        eventually(lambda: server.get(f"/v1/uploads/{first['id']}", status=None).status_code == 410, "the upload expires")
    with serving("--max-uploads", 2) as server:
        ids = [send(server, make_wav(0.1)).json()["id"] for _ in range(2)]
        error_of(server.post("/v1/uploads", status=None, content=make_wav(0.1)), 429)
        server.delete(f"/v1/uploads/{ids[0]}", status=204)
        send(server, make_wav(0.1))


def test_chunked_upload(server):
    def parts():
        data = make_wav(0.5)
        for at in range(0, len(data), 1000):
            yield data[at:at + 1000]
    assert send(server, parts()).json()["seconds"] == pytest.approx(0.5)


def test_uploads_outlive_a_restart(serve):
    server = serve()
    upload = send(server, make_wav(0.5)).json()
    assert server.stop() == 0
    server.start()
    assert server.get(f"/v1/uploads/{upload['id']}").json()["seconds"] == pytest.approx(0.5)
