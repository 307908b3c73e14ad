"""Webhooks: told once a job has ended, to hosts that the operator lists and no others."""
import http.server
import json
import queue
import threading

import pytest
from support import error_of, serving


@pytest.fixture
def receiver():
    """A server of this machine: what it was told, and what it shall answer."""
    told = queue.Queue()
    answers = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.put((self.path, dict(self.headers), json.loads(body)))
            status = answers.get_nowait() if not answers.empty() else 200
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    listening.told, listening.answers = told, answers
    listening.url = f"http://127.0.0.1:{listening.server_port}"
    yield listening
    listening.shutdown()
    thread.join()
    listening.server_close()


@pytest.fixture
def hooked(receiver):
    with serving("--webhook-host", f"127.0.0.1:{receiver.server_port}") as server:
        yield server


def test_finished_and_cancelled_jobs_are_told(hooked, receiver):
    job = hooked.make(duration=0.2, webhook=receiver.url + "/done?secret=1")
    path, headers, told = receiver.told.get(timeout=60)
    assert path == "/done?secret=1" and headers["Content-Type"] == "application/json"
    assert told["id"] == job["id"] and told["state"] == "finished" and told["urls"] == job["urls"]
    job = hooked.started(duration=300, webhook=receiver.url + "/done")
    hooked.cancel(job)
    assert receiver.told.get(timeout=60)[2]["state"] == "cancelled"
    assert receiver.told.empty()
    # An address is a secret where it has one.
    assert "secret=1" not in hooked.log()


def test_no_redirect_is_followed(hooked, receiver):
    receiver.answers.put(302)
    hooked.make(duration=0.1, webhook=receiver.url + "/moved")
    assert receiver.told.get(timeout=60)[0] == "/moved"
    hooked.make(duration=0.1, webhook=receiver.url + "/next")
    assert receiver.told.get(timeout=60)[0] == "/next"


def test_told_again_after_a_failure(hooked, receiver):
    receiver.answers.put(500)
    job = hooked.make(duration=0.1, webhook=receiver.url + "/again")
    first, second = receiver.told.get(timeout=60), receiver.told.get(timeout=60)
    assert first[2]["id"] == second[2]["id"] == job["id"]


def test_nobody_listens(serve):
    # The job is no worse for it.
    server = serve("--webhook-host", "127.0.0.1:9")
    assert server.make(duration=0.1, webhook="http://127.0.0.1:9/")["state"] == "finished"


@pytest.mark.parametrize("url", [
    "http://localhost:{port}/", "http://127.0.0.1/", "http://127.0.0.1:{other}/", "https://example.org/", "http://127.0.0.1.example.org:{port}/",
    "http://127.0.0.1:{port}@example.org/", "http://user@127.0.0.1:{port}/", "http://[::1]:{port}/", "http://2130706433:{port}/",
    "http://0x7f.1:{port}/", "ftp://127.0.0.1:{port}/", "file:///etc/passwd", "127.0.0.1:{port}", "//127.0.0.1:{port}/", "",
    "http://127.0.0.1:{port}/\r\nX: y", "http://127.0.0.1:{port}\\@example.org/", "http://127.0.0.1:{port}#@example.org/", "javascript:x"])
def test_refused(hooked, receiver, url):
    fields = {"prompt": "x", "duration": 0.1, "webhook": url.format(port=receiver.server_port, other=receiver.server_port + 1)}
    answer = hooked.post("/v1/jobs", fields, status=None)
    if url == "":
        assert answer.status_code in (202, 422)
        return
    error_of(answer, 422, param="webhook")
    assert receiver.told.empty()


def test_none_listed_none_called(serve):
    server = serve()
    error_of(server.post("/v1/jobs", {"prompt": "x", "webhook": "http://127.0.0.1:9/"}, status=None), 422, "webhook_not_allowed")
