"""What every route has in common, and those that say what the server is: health, properties, models, the description."""
import re
import socket

import pytest
from support import Server, error_of, read_answer, request_bytes, serving


@pytest.mark.parametrize("path", ["/health", "/v1/health"])
def test_health(server, path):
    assert server.get(path).json()["status"] == "ok"


def test_health_while_loading():
    # Whoever asks from the moment the port is open hears 503, as long as it takes, and then 200.
    server = Server()
    seen = []
    try:
        server.start(on_address=lambda: seen.append(server.get("/health", status=None)))
        early = seen[0]
        if early.status_code != 200:  # it may have been quick
            assert early.status_code == 503 and early.json()["status"] == "loading"
        assert server.stop() == 0
    finally:
        server.clean()


def test_props_tell_defaults_and_limits():
    with serving("--max-queue", 3, "--max-seconds", 20, "--max-takes", 2) as server:
        props = server.get("/props").json()
    text = str(props)
    assert props["limits"]["queue"] == 3 and props["limits"]["seconds"] == 20 and props["limits"]["takes"] == 2
    assert props["version"] and "demo" in text


def test_models(server):
    models = server.get("/v1/models").json()
    assert models["object"] == "list" and [model["id"] for model in models["data"]] == ["demo"]
    assert models["data"][0]["object"] == "model"
    model = server.get("/v1/models/demo").json()
    assert model["id"] == "demo" and model["object"] == "model" and isinstance(model["created"], int) and model["owned_by"]
    error_of(server.get("/v1/models/none", status=None), 404)


def test_description(server):
    description = server.get("/openapi.json").json()
    assert description["openapi"].startswith("3.")
    paths = description["paths"]
    for path in ["/v1/audio/speech", "/v1/jobs", "/v1/jobs/{id}", "/v1/jobs/{id}/events", "/v1/batches", "/v1/uploads", "/generate",
                 "/v1/takes", "/v1/takes/{id}", "/v1/prompts/similar", "/v1/retention", "/v1/scenes", "/health", "/metrics", "/props",
                 "/v1/models"]:
        assert path in paths, path


def test_every_described_route_exists(server):
    # With an id that nobody has: anything but "there is nothing here" and "not by this method".
    for path, methods in server.get("/openapi.json").json()["paths"].items():
        there = re.sub(r"\{[^}]*\}", "none", path.replace("{ext}", "wav"))
        for method in methods:
            if method in ("parameters", "summary", "description", "servers"):
                continue
            answer = server.call(method.upper(), there, content=b"")
            assert answer.status_code != 405, (method, path)
            if answer.status_code == 404 and method != "head":
                assert "openapi.json" not in answer.text, (method, path)


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/", "/v1/jobs/", "/nothing", "/v1/jobs/x/y/z", "/v1/jobs//audio.wav"])
def test_unknown_address(server, path):
    error_of(server.get(path, status=None), 404)


@pytest.mark.parametrize("method,path,allowed", [
    ("GET", "/generate", {"POST"}),
    ("GET", "/v1/audio/speech", {"POST"}),
    ("DELETE", "/v1/jobs", {"GET", "HEAD", "POST"}),
    ("POST", "/health", {"GET", "HEAD"}),
    ("PUT", "/v1/uploads", {"POST"}),
    ("PATCH", "/v1/jobs/x", {"GET", "HEAD", "DELETE"}),
    ("DELETE", "/v1/retention", {"GET", "HEAD", "PUT"}),
])
def test_wrong_method(server, method, path, allowed):
    answer = server.call(method, path)
    error_of(answer, 405, "method_not_allowed")
    assert {word.strip() for word in answer.headers["allow"].split(",")} == allowed


def test_headers_of_every_answer(server):
    seen = set()
    for path in ["/health", "/nothing", "/props"]:
        answer = server.get(path, status=None)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] and answer.headers["date"]
        assert "access-control-allow-origin" not in answer.headers
        seen.add(answer.headers["x-request-id"])
    assert len(seen) == 3


def test_request_id_comes_back_if_it_is_harmless(server):
    assert server.get("/health", headers={"X-Request-Id": "abc-123"}).headers["x-request-id"] == "abc-123"
    for bad in ["a b\"c", "x" * 1000, "<script>"]:
        assert server.get("/health", headers={"X-Request-Id": bad}).headers["x-request-id"] != bad


def test_head(server):
    answer = server.call("HEAD", "/health", status=200)
    assert answer.content == b"" and int(answer.headers["content-length"]) > 0


def test_connection_is_kept(server):
    with server.raw() as connection:
        for _ in range(3):
            connection.sendall(request_bytes("GET", "/health"))
            status, headers, _ = read_answer(connection)
            assert status == 200 and headers["connection"] == "keep-alive"


def test_requests_in_one_packet_are_answered_in_order(server):
    with server.raw(request_bytes("GET", "/health") + request_bytes("GET", "/nothing", Connection="close")) as connection:
        data = b""
        while part := connection.recv(65536):
            data += part
    assert re.findall(rb"HTTP/1\.1 (\d+)", data) == [b"200", b"404"]


@pytest.mark.parametrize("data,status", [
    (b"nonsense\r\n\r\n", 400),
    (b"GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n", 400),
    (b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET /a%2 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET relative HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 20000 + b"\r\n\r\n", 431),
    (b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
], ids=["words", "version", "percent", "percent-end", "relative", "long", "chunk", "tls"])
def test_what_is_not_http(server, data, status):
    got, headers, body = server.raw_answer(data)
    assert got == status and b'"error"' in body, (got, body)
    server.get("/health")


def test_two_lengths_are_refused(server):
    # A front that counts one of them and a server that counts the other would disagree where the next request begins.
    data = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 30\r\n\r\n{}" + b" " * 28
    assert server.raw_answer(data)[0] == 400
    data = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert server.raw_answer(data)[0] == 400


def test_head_that_does_not_come():
    with serving("--header-timeout", "0.3") as server:
        with server.raw(b"GET /health HTTP/1.1\r\nHost:") as connection:
            status, headers, body = read_answer(connection)
            assert status == 408 and b"timeout" in body and headers["connection"] == "close"
        # A connection on which nothing comes is closed without a word.
        with server.raw() as connection:
            assert connection.recv(100) == b""


def test_body_that_does_not_come():
    with serving("--body-timeout", "0.3") as server:
        with server.raw(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{") as connection:
            status, _, body = read_answer(connection)
            assert status == 408 and b"body" in body


def test_idle_connection_ends():
    with serving("--idle-timeout", "0.3") as server:
        with server.raw(request_bytes("GET", "/health")) as connection:
            assert read_answer(connection)[0] == 200
            assert connection.recv(100) == b""


def test_expect_continue(server):
    with server.raw(b"POST /v1/prompts/similar HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\nExpect: 100-continue\r\n\r\n") as connection:
        assert connection.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b'{"x": "12345"')
        assert read_answer(connection)[0] == 400


def test_http_1_0_gets_an_end_instead_of_chunks(server, piece):
    status, headers, body = server.raw_answer(f"GET /v1/jobs/{piece['id']}/events HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
    assert status == 200 and "transfer-encoding" not in headers and b"event: finished" in body


def test_one_port_one_server(server):
    other = Server("--port", server.port)
    try:
        with pytest.raises(AssertionError):
            other.start()
        assert other.process is None or other.process.wait(30) != 0
        assert "port" in other.log()
    finally:
        other.clean()


def test_one_folder_one_server(server):
    other = Server(data=server.data)
    try:
        with pytest.raises(AssertionError):
            other.start()
        assert other.process is None or other.process.wait(30) != 0
    finally:
        other.clean()


def test_listens_on_its_address_only(server):
    # Another address of this machine's own: all of 127.0.0.0/8 leads here, and one socket for all addresses would answer.
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.2", server.port)) != 0
