"""Who may speak to the server: keys, names of hosts, origins of pages; what it tells nobody; paths that clients make up."""
import os
import re
import subprocess

import pytest
from support import BINARY, DEMO, environment, error_of, request_bytes, serving

KEY, OTHER = "the-first-key-of-this-test", "the-second-key-of-this-test"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "keys"
    path.write_text(f"# who may\nstudio: {KEY}\n\nphone: {OTHER}\n")
    path.chmod(0o600)
    with serving("--api-key-file", path) as server:
        yield server


def routes(server, **more):
    for path, methods in server.get("/openapi.json", **more).json()["paths"].items():
        for method in methods:
            if method in ("get", "post", "put", "patch", "delete", "head"):
                yield method.upper(), re.sub(r"\{[^}]*\}", "none", path.replace("{ext}", "wav"))


def test_health_needs_no_key(guarded):
    guarded.get("/health")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong-key-of-this-test"}, {"X-Api-Key": "wrong"}, {"Authorization": KEY},
                                     {"Authorization": f"Basic {KEY}"}, {"Authorization": "Bearer"}, {"Authorization": f"Bearer {KEY[:-1]}"},
                                     {"Authorization": f"Bearer {KEY}x"}, {"Authorization": f"Bearer {KEY.upper()}"}, {"Cookie": f"key={KEY}"}],
                         ids=range(10))
def test_everything_else_needs_one(guarded, server, headers):
    for method, path in routes(server):
        if path in ("/health", "/v1/health"):
            continue
        answer = guarded.call(method, path, headers=headers)
        assert answer.status_code == 401, (method, path, answer.status_code)
        assert answer.headers["www-authenticate"].startswith("Bearer")
        if method != "HEAD":
            error_of(answer, 401)
            assert KEY not in answer.text
    # Nor is it told which routes there are.
    error_of(guarded.get("/nothing", status=None, headers=headers), 401)
    assert guarded.get(f"/v1/models?key={KEY}&api_key={KEY}", status=None).status_code == 401


@pytest.mark.parametrize("headers", [{"Authorization": f"Bearer {KEY}"}, {"Authorization": f"bearer {OTHER}"}, {"X-Api-Key": OTHER}])
def test_with_a_key(guarded, headers):
    guarded.get("/v1/models", headers=headers)
    guarded.get("/metrics", headers=headers)
    guarded.post("/generate", {"prompt": "x", "duration": 0.1}, headers=headers)


@pytest.mark.parametrize("path", ["/v1/stream", "/v1/live"])
def test_sockets_need_one_too(guarded, path):
    import websockets.exceptions
    with pytest.raises(websockets.exceptions.InvalidStatus) as caught:
        guarded.socket(path)
    assert caught.value.response.status_code == 401
    with guarded.socket(path, headers={"Authorization": f"Bearer {KEY}"}) as stream:
        stream.say("ping")
        assert stream.next()["status"] == 400


def test_clients_do_not_see_each_others_lists(guarded):
    first, second = {"X-Api-Key": KEY}, {"X-Api-Key": OTHER}
    job = guarded.post("/v1/jobs", {"prompt": "x", "duration": 0.1}, status=202, headers=first).json()
    assert job["id"] in guarded.get("/v1/jobs", headers=first).text
    assert job["id"] not in guarded.get("/v1/jobs", headers=second).text


def test_keys_are_not_told(guarded):
    headers = {"Authorization": f"Bearer {KEY}"}
    guarded.get("/v1/models", headers=headers)
    guarded.get("/v1/models", status=401, headers={"Authorization": "Bearer a-key-that-is-wrong-here"})
    for path in ("/props", "/metrics", "/v1/models", "/openapi.json"):
        assert KEY not in guarded.get(path, headers=headers).text
    log = guarded.log()
    assert KEY not in log and OTHER not in log and "a-key-that-is-wrong-here" not in log
    assert "key:studio" in log  # but whose it was


@pytest.mark.parametrize("text", ["", "# nothing\n", "short: abc\n", f"a: {KEY}\nb: {KEY}\n"])
def test_key_files_that_are_refused(tmp_path, text):
    path = tmp_path / "keys"
    path.write_text(text)
    result = run("--api-key-file", path, home=tmp_path)
    assert result.returncode != 0 and KEY not in result.stderr and result.stderr.startswith("continuo: ")


def run(*options, home):
    return subprocess.run([BINARY, "serve", "-m", DEMO, "--port", "0", "--data", os.path.join(home, "data"), *map(str, options)],
                          capture_output=True, text=True, timeout=60, env=environment(str(home)), stdin=subprocess.DEVNULL)


def test_another_address_needs_a_key(tmp_path):
    result = run("--host", "0.0.0.0", home=tmp_path)
    assert result.returncode != 0 and "--api-key-file" in result.stderr and "--expose-without-key" in result.stderr


@pytest.mark.parametrize("options", [("--port", "70000"), ("--max-queue", "-1"), ("--max-seconds", "x"), ("--origin", "*"), ("--origin", "https://a/b"),
                                     ("--host-name", "http://x"), ("--webhook-host", "http://x/"), ("--log-level", "loud"), ("--scenes", "/none"),
                                     ("--api-key-file", "/none"), ("--host", "256.1.1.1"), ("--data", "/proc/none"), ("--kv", "q2")])
def test_options_that_are_refused(tmp_path, options):
    result = run(*options, home=tmp_path)
    assert result.returncode != 0 and result.stderr.strip(), result


@pytest.mark.parametrize("host,status", [
    ("localhost", 200), ("localhost:1234", 200), ("127.0.0.1", 200), ("127.0.0.1:8080", 200), ("[::1]", 200), ("LOCALHOST.", 200),
    ("evil.example", 403), ("evil.example:8080", 403), ("localhost.evil.example", 403), ("127.0.0.1.evil.example", 403), ("", 403),
    ("192.168.0.9", 403), ("a b", 403), ("localhost@evil.example", 403)])
@pytest.mark.parametrize("path", ["/health", "/v1/jobs", "/nothing", "/metrics"])
def test_host_header(server, host, status, path):
    got, _, body = server.raw_answer(request_bytes("GET", path, host=host))
    if status == 403:
        assert got in (400, 403) and b"error" in body
    else:
        assert got in (200, 404)


def test_no_host_header(server):
    assert server.raw_answer(b"GET /health HTTP/1.1\r\n\r\n")[0] in (400, 403)
    assert server.raw_answer(b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")[0] in (400, 403)
    # An address in the request line counts as little.
    assert server.raw_answer(b"GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n")[0] in (400, 403, 404)


def test_names_that_are_listed(serve):
    server = serve("--host-name", "music.example, other.example")
    for host, status in [("music.example", 200), ("music.example:80", 200), ("other.example", 200), ("third.example", 403), ("localhost", 200)]:
        assert server.raw_answer(request_bytes("GET", "/health", host=host))[0] == status, host


def test_no_cors_unless_listed(server):
    for method, path in [("GET", "/health"), ("POST", "/generate"), ("OPTIONS", "/v1/jobs"), ("GET", "/v1/stream")]:
        answer = server.call(method, path, headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"})
        assert answer.status_code == 403, (method, path)
        assert not [name for name in answer.headers if name.startswith("access-control")]
    error_of(server.get("/health", status=None, headers={"Origin": "null"}), 403)
    # A page that this server itself serves has its own address.
    server.get("/health", headers={"Origin": server.url, "Host": f"127.0.0.1:{server.port}"})


def test_listed_origins(serve):
    server = serve("--origin", "https://music.example")
    good = {"Origin": "https://music.example"}
    answer = server.get("/health", headers=good)
    assert answer.headers["access-control-allow-origin"] == "https://music.example" and "origin" in answer.headers["vary"].lower()
    assert "access-control-allow-credentials" not in answer.headers
    answer = server.call("OPTIONS", "/v1/jobs", headers={**good, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type, authorization"})
    assert answer.status_code in (200, 204) and "POST" in answer.headers["access-control-allow-methods"]
    assert {"content-type", "authorization"} <= {word.strip().lower() for word in answer.headers["access-control-allow-headers"].split(",")}
    # What stands in the headers of sound can be read by the page.
    exposed = server.get("/health", headers=good).headers["access-control-expose-headers"].lower()
    assert exposed == "*" or "x-seed" in exposed
    # Errors can be read, too.
    assert server.get("/v1/jobs/none", status=404, headers=good).headers["access-control-allow-origin"] == "https://music.example"
    for origin in ("https://evil.example", "http://music.example", "https://music.example:444", "https://music.example.evil.example", "null"):
        assert server.get("/health", status=None, headers={"Origin": origin}).status_code == 403, origin


@pytest.mark.parametrize("path", ["/v1/stream", "/v1/live"])
def test_sockets_of_other_pages(server, path):
    import websockets.exceptions
    with pytest.raises(websockets.exceptions.InvalidStatus) as caught:
        server.socket(path, headers={"Origin": "https://evil.example"})
    assert caught.value.response.status_code == 403


def test_prompts_are_not_logged_unless_asked_for():
    secret = "words-that-belong-to-somebody"
    with serving() as server:
        server.make(prompt=secret, title=secret + "-title", duration=0.1)
        server.get("/v1/takes", params={"q": secret})
        server.get("/v1/prompts/similar", params={"prompt": secret}, status=None)
        server.post("/v1/jobs", {"prompt": secret, "duration": -1}, status=422)
        with server.socket("/v1/stream") as stream:
            stream.say("start", prompt=secret, duration=0.1)
            stream.until("done")
    assert secret not in server.log()
    with serving("--log-prompts") as server:
        server.make(prompt=secret, duration=0.1)
    assert secret in server.log()


def test_log_has_a_line_for_each_request(server):
    answer = server.get("/v1/models", headers={"X-Request-Id": "look-for-this-one"})
    from support import eventually
    line = eventually(lambda: [line for line in server.lines if "look-for-this-one" in line], "the line is written")[0]
    import json
    fields = json.loads(line)
    assert fields["route"] == "/v1/models" and fields["status"] == 200 and fields["bytes"] == len(answer.content) and fields["client"] == "ip:127.0.0.1"


def test_nothing_breaks_a_line_of_the_log(server):
    before = len(server.lines)
    server.get("/v1/jobs/a%0Ab%1b[31m", status=404)
    server.call("BREW", "/x%0d%0a{\"level\":\"error\"}")
    server.get("/v1/models", headers={"X-Request-Id": "mark-the-end"})
    from support import eventually
    eventually(lambda: any("mark-the-end" in line for line in server.lines), "the line is written")
    import json
    for line in server.lines[before:]:
        json.loads(line)
        assert "\x1b" not in line


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd", "//etc/passwd", "/etc/passwd", "/./health/../props/../etc",
                                  "/v1/jobs/..%2f..%2f..%2fetc%2fpasswd/audio.wav", "/v1/jobs/..%2F..%2Fserver.db/audio.wav", "/v1/takes/..%2f..%2flibrary/audio.wav",
                                  "/v1/takes/%2fetc%2fpasswd/peaks", "/v1/uploads/..%2f..%2fx", "/v1/uploads/%2e%2e", "/v1/jobs/x/segments/..%2f..%2f..%2fetc%2fpasswd",
                                  "/v1/jobs/x%00.wav/audio.wav", "/v1/models/..%2f..%2fetc", "/openapi.json/../../x", "/v1/batches/..%2f.."])
def test_no_path_of_a_client_is_opened(server, path):
    status, _, body = server.raw_answer(request_bytes("GET", path))
    assert status in (400, 403, 404, 405), (path, status, body[:100])
    assert b"root:" not in body


def test_no_path_in_a_field_is_opened(server, tmp_path):
    # A pipe would hang whoever opens it.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for value in (str(pipe), f"../../..{pipe}", f"file://{pipe}", "/etc/passwd"):
        for body in ({"prompt": "x", "continue": {"upload": value}}, {"prompt": "x", "melody": {"upload": value}}, {"prompt": "x", "model": value},
                     {"prompt": "x", "webhook": value}, {"prompt": "x", "format": value}):
            assert server.post("/v1/jobs", body, status=None).status_code in (404, 422), body
        error_of(server.post("/models/" + value.replace("/", "%2f"), {"inputs": "x"}, status=None), 404)
    # As a title it is a word like any; the file that is downloaded has a harmless name.
    job = server.make(duration=0.1, title="../../etc/passwd")
    name = server.get(job["urls"]["audio"], params={"download": 1}).headers["content-disposition"]
    assert ".." not in name and "/" not in name.replace("filename*=UTF-8''", "")
