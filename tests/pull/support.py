"""What the tests of `continuo pull` share: a fake hub with the tiny golden checkpoint in it, and the program pointed at that hub."""
import json
import os
import signal
import struct
import subprocess
import time

from cli.support import BINARY, Case, TIMEOUT, TINY_CHECKPOINT, environment
from pull.fake_hub import FakeHub, Repository

ID = "somebody/tiny-music"
WEIGHTS = "model.safetensors"
CARD = b"---\nlicense: cc-by-nc-4.0\ntags:\n- musicgen\n---\n# Tiny music\n"
# What a repository holds besides, and nobody needs.
DECOYS = {"pytorch_model.bin": b"P" * 200_000, "flax_model.msgpack": b"F" * 200_000, ".gitattributes": b"*.bin filter=lfs\n",
          "state_dict.bin": b"S" * 200_000, "compression_state_dict.bin": b"C" * 200_000, "model.fp16.safetensors": b"H" * 200_000}


def checkpoint():
    """The tiny golden checkpoint's files."""
    files = {}
    for name in sorted(os.listdir(TINY_CHECKPOINT)):
        with open(os.path.join(TINY_CHECKPOINT, name), "rb") as file:
            files[name] = file.read()
    return files


def published(**more):
    """The checkpoint as it would stand on the hub."""
    return Repository({**checkpoint(), "README.md": CARD, **DECOYS}, **more)


def sharded(files):
    """The same checkpoint with its tensors in two files and an index."""
    files = dict(files)
    data = files.pop(WEIGHTS)
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    body = data[8 + length:]
    names = sorted(header)
    weight_map = {}
    for number, part in enumerate((names[::2], names[1::2]), 1):
        shard = f"model-{number:05}-of-00002.safetensors"
        entries, blobs, at = {}, [], 0
        for name in part:
            first, last = header[name]["data_offsets"]
            entries[name] = {**header[name], "data_offsets": [at, at + last - first]}
            blobs.append(body[first:last])
            at += last - first
            weight_map[name] = shard
        text = json.dumps(entries).encode()
        files[shard] = struct.pack("<Q", len(text)) + text + b"".join(blobs)
    files["model.safetensors.index.json"] = json.dumps({"metadata": {}, "weight_map": weight_map}).encode()
    return files


class PullCase(Case):
    """Each test has a hub of its own, self.hub, with one repository, self.repository."""

    def setUp(self):
        super().setUp()
        self.hub = FakeHub()
        self.addCleanup(self.hub.__exit__)
        self.repository = self.hub.repositories[ID] = published()
        self.models = os.path.join(self.home, ".local", "share", "continuo", "models")
        self.cache = os.path.join(self.home, ".cache", "continuo", "hub")

    def variables(self, **more):
        return {"HF_ENDPOINT": self.hub.url, "no_proxy": "*", "NO_PROXY": "*", **more}

    def pull(self, *words, name=ID, **variables):
        """The finished process, whatever came of it."""
        return self.run_it("pull", name, *words, **self.variables(**variables))

    def pulled(self, *words, name=ID, **variables):
        """Expects success; returns the finished process."""
        result = self.pull(*words, name=name, **variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def not_pulled(self, *words, says, status=1, name=ID, **variables):
        """Expects that exit status, and an error line that says so as the last; nothing is installed."""
        result = self.pull(*words, name=name, **variables)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        last = result.stderr.splitlines()[-1]
        self.assertTrue(last.startswith("continuo: "), result.stderr)
        self.assertRegex(last, says)
        self.assertEqual(self.installed(), [])
        return result

    def start_pull(self, *words, **variables):
        return subprocess.Popen([BINARY, "pull", ID, *words], cwd=self.folder,
                                env=environment(self.home, **self.variables(**variables)), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def interrupt(self, process, number=signal.SIGINT):
        process.send_signal(number)
        output, errors = process.communicate(timeout=TIMEOUT)
        return process.returncode, output, errors

    def installed(self):
        return sorted(os.listdir(self.models)) if os.path.isdir(self.models) else []

    def cached(self):
        """Files of the download folder, by name, with their sizes."""
        found = {}
        for folder, _, names in os.walk(self.cache):
            for name in names:
                found[name] = os.path.getsize(os.path.join(folder, name))
        return found

    def part_of(self, file):
        """Path of the unfinished file."""
        return os.path.join(self.cache, ID, self.repository.commit, file + ".part")

    def wait_for(self, condition, what):
        deadline = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def ranges(self, file=WEIGHTS):
        """The Range headers with which the file's bytes were asked for."""
        return [request.range for request in self.hub.asked(file)]
