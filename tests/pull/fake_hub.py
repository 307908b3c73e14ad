"""A hub of models on this machine: two listeners on the loopback interface, one plays the hub and one its content network.

It serves repositories out of memory by the protocol of the hub: /api/models/... lists, /OWNER/NAME/resolve/REVISION/FILE sends small
files by a redirect within the hub and large ones by a redirect to the other host. Tests plant faults, which strike when the bytes
of a file (or the listing) are asked for, and read afterwards what was asked. The official client is run against it, too
(official_client_test.py), so that a test against it says something about the real one.
"""
import collections
import dataclasses
import hashlib
import http.server
import json
import re
import ssl
import sys
import threading
import urllib.parse

LARGE = 100_000  # bytes from which a file goes through the content network, as "LFS" files do
LISTING = "listing"  # as the name of a file for fault()
PIECE = 16_384


@dataclasses.dataclass
class Request:
    """What came in: host is "hub" or "cdn"; token that of the Authorization header, if any."""
    host: str
    method: str
    path: str
    range: str
    token: str

    @property
    def file(self):
        return self.path.split("?")[0].rsplit("/", 1)[-1]


@dataclasses.dataclass
class Fault:
    """What goes wrong with one request, or with `times` of them.

    status, retry_after: an answer instead of the content.   drop_after: the connection breaks after that many bytes.
    stall_after: nothing more comes after that many bytes, the connection stays.   pace: seconds to wait after each piece.
    ignore_range: always the whole file.   wrong_range: another piece than asked for.   flip: one byte is another one.
    longer, shorter: bytes more or fewer than announced.   redirect: a location.   body: content of a listing.
    """
    status: int = 0
    retry_after: str = ""
    drop_after: int = -1
    stall_after: int = -1
    pace: float = 0
    ignore_range: bool = False
    wrong_range: bool = False
    flip: bool = False
    longer: int = 0
    shorter: int = 0
    redirect: str = ""
    body: bytes = b""
    times: int = 1_000_000


class Repository:
    """Files by name, as of one commit."""

    def __init__(self, files, license_name="cc-by-nc-4.0", token="", gated=False):
        self.files = dict(files)
        self.license_name = license_name
        self.token = token  # a private one opens to it only
        self.gated = gated  # nobody has been let in
        self.sizes = {}  # announced instead of the true ones
        self.strange_names = []  # listed besides the files
        self.bare = False  # a mirror that does not tell sizes and hashes
        self.parameters = None

    @property
    def commit(self):
        summary = "".join(f"{name} {hashlib.sha256(data).hexdigest()}\n" for name, data in sorted(self.files.items()))
        return hashlib.sha1(summary.encode()).hexdigest()

    def size(self, name):
        return self.sizes.get(name, len(self.files[name]))

    def is_large(self, name):
        return len(self.files[name]) >= LARGE

    def etag(self, name):
        return sha256(self.files[name]) if self.is_large(name) else git_blob(self.files[name])

    def pointer(self, name):
        """What git keeps in a large file's place."""
        return f"version 1\noid sha256:{sha256(self.files[name])}\nsize {self.size(name)}\n".encode()

    def sibling(self, name, blobs):
        entry = {"rfilename": name}
        if blobs and not self.bare:
            entry["size"] = self.size(name)
            entry["blobId"] = git_blob(self.pointer(name) if self.is_large(name) else self.files[name])
            if self.is_large(name):
                entry["lfs"] = {"sha256": sha256(self.files[name]), "size": self.size(name), "pointerSize": len(self.pointer(name))}
        return entry

    def tree(self):
        entries = []
        for name in sorted(self.files):
            blob = self.sibling(name, True)
            entry = {"type": "file", "oid": blob["blobId"], "size": blob["size"], "path": name}
            if "lfs" in blob:
                entry["lfs"] = {"oid": blob["lfs"]["sha256"], "size": blob["size"], "pointerSize": blob["lfs"]["pointerSize"]}
            entries.append(entry)
        return json.dumps(entries).encode()

    def listing(self, identity, blobs):
        siblings = [self.sibling(name, blobs) for name in sorted(self.files)]
        for name in self.strange_names:
            siblings.append({"rfilename": name, "size": 10, "blobId": git_blob(b"0123456789")})
        card = {"license": self.license_name} if self.license_name else {}
        listing = {"_id": "0", "id": identity, "modelId": identity, "author": identity.split("/")[0], "sha": self.commit,
                   "lastModified": "2026-01-01T00:00:00.000Z", "createdAt": "2026-01-01T00:00:00.000Z", "private": bool(self.token),
                   "gated": "manual" if self.gated else False, "disabled": False, "downloads": 0, "likes": 0,
                   "tags": ["musicgen"] + [f"license:{value}" for value in card.values()], "cardData": card, "siblings": siblings}
        if self.parameters is not None:
            listing["safetensors"] = {"parameters": {"F32": self.parameters}, "total": self.parameters}
        return json.dumps(listing).encode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def git_blob(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class FakeHub:
    """Use as a context manager: the listeners are closed and every connection is cut at the end."""

    def __init__(self, certificate=None):
        self.repositories = {}
        self.refs = {}  # (identity, revision) -> commit; "main" and the commit itself need none
        self.requests = []
        self.faults = collections.defaultdict(list)
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self.servers = {host: self._server(host, certificate) for host in ("hub", "cdn")}
        scheme = "https" if certificate else "http"
        self.url = f"{scheme}://127.0.0.1:{self.servers['hub'].server_port}"
        # Another name for the same machine: the official client tells hosts apart by name, we by name and port.
        self.cdn_url = f"{scheme}://localhost:{self.servers['cdn'].server_port}"

    def _server(self, host, certificate):
        hub = self

        class HostHandler(Handler):
            pass

        HostHandler.hub, HostHandler.host = hub, host
        server = Server(("127.0.0.1", 0), HostHandler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.set()
        for server in self.servers.values():
            server.shutdown()
            server.server_close()

    def fault(self, file, **what):
        with self.lock:
            self.faults[file].append(Fault(**what))

    def heal(self):
        with self.lock:
            self.faults.clear()

    def take_fault(self, file):
        with self.lock:
            waiting = self.faults[file]
            while waiting and waiting[0].times == 0:
                waiting.pop(0)
            if not waiting:
                return Fault()
            waiting[0].times -= 1
            return waiting[0]

    def asked(self, file, method="GET"):
        """Requests that reached the bytes of the file (redirects to them left out)."""
        return [request for request in list(self.requests)
                if request.file == file and request.method == method and "/resolve/" not in request.path]


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):  # a client that went away, also in the middle of a handshake
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20
    hub = None
    host = ""

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        authorization = self.headers.get("Authorization", "")
        self.hub.requests.append(Request(self.host, self.command, self.path, self.headers.get("Range", ""),
                                         authorization.removeprefix("Bearer ")))
        try:
            self.route(urllib.parse.urlsplit(self.path))
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError, TimeoutError):
            self.close_connection = True

    def route(self, url):
        parts = [urllib.parse.unquote(part) for part in url.path.strip("/").split("/")]
        if self.host == "cdn":
            if not url.query.startswith("signature="):
                return self.refuse(403, "", "not signed")
            return self.send_file(self.hub.repositories["/".join(parts[:2])], parts[2])
        if parts[:2] == ["api", "models"] and len(parts) == 6 and parts[4] == "revision":
            return self.send_listing("/".join(parts[2:4]), parts[5], "blobs=true" in url.query)
        if parts[:2] == ["api", "models"] and len(parts) == 4:
            return self.send_listing("/".join(parts[2:4]), "main", "blobs=true" in url.query)
        if parts[:2] == ["api", "models"] and len(parts) == 6 and parts[4] == "tree":
            repository = self.open_repository("/".join(parts[2:4]), parts[5])
            return repository and self.send_bytes(repository.tree(), Fault(), {"Content-Type": "application/json"})
        if parts[:3] == ["api", "resolve-cache", "models"] and len(parts) == 7:
            repository = self.open_repository("/".join(parts[3:5]), parts[5])
            return repository and self.send_file(repository, parts[6])
        if len(parts) == 5 and parts[2] == "resolve":
            return self.redirect_to_file("/".join(parts[:2]), parts[3], parts[4])
        return self.refuse(404, "EntryNotFound", "no such page")

    def open_repository(self, identity, revision):
        """The repository, or None after a refusal, worded as the hub does it."""
        repository = self.hub.repositories.get(identity)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token and not token.startswith("hf_"):
            return self.refuse(401, "", "Invalid credentials in Authorization header")
        if repository is None or (repository.token and repository.token != token):
            status = 404 if token else 401
            return self.refuse(status, "RepoNotFound", "Repository not found" if token else "Invalid username or password.")
        if revision not in ("main", repository.commit) and self.hub.refs.get((identity, revision)) != repository.commit:
            return self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return repository

    def send_listing(self, identity, revision, blobs):
        repository = self.open_repository(identity, revision)
        if repository is None:
            return
        fault = self.hub.take_fault(LISTING)
        if self.strikes(fault):
            return
        self.send_bytes(fault.body or repository.listing(identity, blobs), fault, {"Content-Type": "application/json"})

    def redirect_to_file(self, identity, revision, name):
        repository = self.open_repository(identity, revision)
        if repository is None:
            return
        if name not in repository.files:
            self.refuse(404, "EntryNotFound", "Entry not found")
            return
        if repository.gated:
            self.refuse(403 if self.headers.get("Authorization") else 401, "GatedRepo", "Access to this model is restricted.")
            return
        path = urllib.parse.quote(f"{identity}/{name}")
        location = f"/api/resolve-cache/models/{identity}/{repository.commit}/{urllib.parse.quote(name)}"
        if repository.is_large(name):
            location = f"{self.hub.cdn_url}/{path}?signature=secret"
        self.start(302 if repository.is_large(name) else 307, {
            "Location": location, "X-Repo-Commit": repository.commit, "X-Linked-Size": str(repository.size(name)),
            "X-Linked-ETag": f'"{repository.etag(name)}"', "Accept-Ranges": "bytes", "Content-Length": "0"})

    def strikes(self, fault):
        """Answers for a fault that needs no content."""
        if fault.redirect:
            self.start(302, {"Location": fault.redirect, "Content-Length": "0"})
        elif fault.status:
            self.refuse(fault.status, "", "fault", {"Retry-After": fault.retry_after} if fault.retry_after else {})
        return bool(fault.redirect or fault.status)

    def send_file(self, repository, name):
        data = repository.files[name]
        fault = self.hub.take_fault(name) if self.command == "GET" else Fault()
        if self.strikes(fault):
            return
        headers = {"Content-Type": "application/octet-stream", "ETag": f'"{repository.etag(name)}"', "Accept-Ranges": "bytes",
                   "X-Repo-Commit": repository.commit}
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if match and not fault.ignore_range:
            first = int(match[1])
            last = min(int(match[2] or len(data)), len(data) - 1)
            if first > last:
                self.start(416, {"Content-Range": f"bytes */{len(data)}", "Content-Length": "0"})
                return
            if fault.wrong_range:
                first = first // 2
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            self.send_bytes(data[first:last + 1], fault, headers, 206)
            return
        self.send_bytes(data, fault, headers)

    def send_bytes(self, data, fault, headers, status=200):
        if fault.flip:
            middle = len(data) // 2
            data = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:]
        data = data[:len(data) - fault.shorter] + bytes(fault.longer)
        self.start(status, {**headers, "Content-Length": str(len(data))})
        if self.command == "HEAD":
            return
        limit = max(fault.drop_after, fault.stall_after)
        end = len(data) if limit < 0 else min(limit, len(data))
        for at in range(0, end, PIECE):
            self.wfile.write(data[at:min(at + PIECE, end)])
            self.wfile.flush()
            if fault.pace and self.hub.closing.wait(fault.pace):
                break
        if fault.stall_after >= 0:
            self.hub.closing.wait(self.timeout)
        if limit >= 0:
            self.close_connection = True

    def start(self, status, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def refuse(self, status, code, message, more=None):
        body = json.dumps({"error": message}).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), "X-Error-Message": message, **(more or {})}
        if code:
            headers["X-Error-Code"] = code
        self.start(status, headers)
        if self.command != "HEAD":
            self.wfile.write(body)
