"""The hub's own client downloads the same repository from the same fake hub, and gets the same files: the fake is faithful."""
import os
import subprocess
import sys
import unittest

from cli.support import ROOT, environment
from pull.fake_hub import sha256
from pull.support import CARD, DECOYS, ID, PullCase, WEIGHTS

CLIENT = os.path.join(ROOT, ".deps", "hub-client")  # scripts/setup.sh tests
TOKEN = "hf_FakeTokenOfTheTests"
PROGRAM = """
import sys
from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import HfHubHTTPError
constants.DOWNLOAD_CHUNK_SIZE = 50_000  # 10 MB: our files would come in one piece, and it would never resume
try:
    info = HfApi().model_info(sys.argv[1], files_metadata=True)
    print(info.sha, info.card_data.license)
    snapshot_download(sys.argv[1], local_dir=sys.argv[2], revision=sys.argv[3])
except HfHubHTTPError as error:
    sys.exit(type(error).__name__)
"""


def client_problem():
    """Why the client cannot be used; empty if it can."""
    result = subprocess.run([sys.executable, "-c", "import huggingface_hub"], capture_output=True, text=True, timeout=120,
                            env={**os.environ, "PYTHONPATH": CLIENT})
    if not os.path.isdir(CLIENT):
        return "the hub's client is not in .deps/hub-client; scripts/setup.sh tests brings it"
    return result.stderr.strip().splitlines()[-1] if result.returncode != 0 else ""


class OfficialClient(PullCase):
    @classmethod
    def setUpClass(cls):
        problem = client_problem()
        if problem:
            raise unittest.SkipTest(problem)

    def client(self, revision="main", **variables):
        variables = self.variables(PYTHONPATH=CLIENT, HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_PROGRESS_BARS="1",
                                   HF_HUB_DISABLE_XET="1", **variables)
        return subprocess.run([sys.executable, "-c", PROGRAM, ID, self.path("copy"), revision], cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              env=environment(self.home, **variables))

    def copy(self):
        found = {}
        for name in os.listdir(self.path("copy")):
            path = self.path(os.path.join("copy", name))
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[name] = file.read()
        return found

    def test_it_gets_the_same_files_as_we(self):
        result = self.client()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.split(), [self.repository.commit, "cc-by-nc-4.0"])
        theirs = self.copy()
        self.assertEqual({name: sha256(data) for name, data in theirs.items()},
                         {name: sha256(data) for name, data in self.repository.files.items()})
        self.pulled("--keep")
        ours = {}
        folder = os.path.dirname(self.part_of(WEIGHTS))
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                ours[name] = file.read()
        self.assertEqual(ours, {name: data for name, data in theirs.items() if name not in DECOYS})
        self.assertEqual(ours["README.md"], CARD)

    def test_its_copy_converts_to_what_we_installed(self):
        self.assertEqual(self.client().returncode, 0)
        self.pulled()
        self.ok("convert", "copy", "-o", "a.gguf", "--name", "tiny-music", "--source", f"{ID}@{self.repository.commit}")
        with open(os.path.join(self.models, "tiny-music.gguf"), "rb") as file:
            self.assertEqual(file.read(), self.bytes_of("a.gguf"))

    def test_it_sends_its_token_to_the_same_places(self):
        self.repository.token = TOKEN
        self.assertEqual(self.client(HF_TOKEN=TOKEN).returncode, 0)
        theirs = {(request.host, request.token) for request in self.hub.requests}
        self.hub.requests.clear()
        self.pulled(HF_TOKEN=TOKEN)
        self.assertEqual({(request.host, request.token) for request in self.hub.requests}, theirs)
        self.assertEqual(theirs, {("hub", TOKEN), ("cdn", "")})

    def test_it_understands_the_refusals(self):
        self.assertIn("RevisionNotFoundError", self.client(revision="v9").stderr)
        self.repository.gated = True
        self.assertIn("GatedRepoError", self.client().stderr)
        self.hub.repositories.clear()
        self.assertIn("RepositoryNotFoundError", self.client().stderr)

    def test_it_survives_a_broken_connection_as_we_do(self):
        self.hub.fault(WEIGHTS, drop_after=300_000, times=1)
        self.assertEqual(self.client().returncode, 0)
        theirs = self.ranges()
        self.hub.requests.clear()
        self.hub.fault(WEIGHTS, drop_after=300_000, times=1)
        self.pulled()
        self.assertEqual(self.ranges(), ["", "bytes=300000-"])
        self.assertEqual(theirs, self.ranges())

    def test_the_names_of_the_two_hosts_differ(self):
        # The client, unlike us, tells hosts apart by their names alone and not by their ports.
        self.assertNotEqual(self.hub.url.rsplit(":", 1)[0], self.hub.cdn_url.rsplit(":", 1)[0])

    def test_it_refuses_what_has_the_wrong_length(self):
        self.hub.fault(WEIGHTS, longer=1000)
        self.assertIn("should be of size 685992 but has size 686992", self.client().stderr)
        self.not_pulled(says="more than")
