"""What the command-line tests share: running the program in an empty folder of its own, with nobody's settings; reading its files."""
import ast
import json
import os
import struct
import subprocess
import tempfile
import unittest
import wave

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.abspath(os.environ.get("CONTINUO_BINARY", os.path.join(ROOT, "build", "continuo")))
TINY_CHECKPOINT = os.path.join(ROOT, "tests", "goldens", "tiny-a", "model")
DEMO = os.path.join(ROOT, "models", "demo.gguf")
TIMEOUT = 300

_shared = None
_converted = {}


def environment(home, **more):
    """Ours without anything that configures continuo or says where home is."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CONTINUO_", "XDG_", "HF_"))}
    clean["HOME"] = home
    clean.update(more)
    return clean


def golden(name):
    """The folder of a golden model."""
    return os.path.join(ROOT, "tests", "goldens", name)


def golden_model(name):
    """A golden checkpoint as a model file, converted once for all tests."""
    global _shared
    if _shared is None:
        _shared = tempfile.TemporaryDirectory(prefix="continuo-cli-")
    if name not in _converted:
        path = os.path.join(_shared.name, name + ".gguf")
        subprocess.run([BINARY, "convert", os.path.join(golden(name), "model"), "-o", path], check=True, capture_output=True,
                       timeout=TIMEOUT, env=environment(_shared.name))
        _converted[name] = path
    return _converted[name]


def tiny_model():
    return golden_model("tiny-a")


class Case(unittest.TestCase):
    """Each test runs in an empty folder, self.folder."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="continuo-cli-")
        self.addCleanup(holder.cleanup)
        self.home = os.path.join(holder.name, "home")
        self.folder = os.path.join(holder.name, "work")
        os.mkdir(self.home)
        os.mkdir(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def files(self):
        return sorted(os.listdir(self.folder))

    def start(self, *words, **variables):
        return subprocess.Popen([BINARY, *words], cwd=self.folder, env=environment(self.home, **variables), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_it(self, *words, **variables):
        return subprocess.run([BINARY, *words], cwd=self.folder, env=environment(self.home, **variables), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=TIMEOUT)

    def ok(self, *words, **variables):
        """Runs it, expects success, returns its standard output."""
        result = self.run_it(*words, **variables)
        self.assertEqual(result.returncode, 0, f"{words}\n{result.stderr}")
        return result.stdout

    def generate(self, *words, **variables):
        return self.ok("generate", *words, "-m", tiny_model(), **variables)

    def json(self, *words, **variables):
        """The one JSON object that the command prints."""
        output = self.ok(*words, "--json", **variables)
        self.assertEqual(output.count("\n"), 1, output)
        value = json.loads(output)
        self.assertIsInstance(value, dict)
        return value

    def refused(self, status, words, says, **variables):
        """Expects that exit status, one line on standard error that says so, an empty standard output and no new file."""
        before = self.files()
        result = self.run_it(*words, **variables)
        self.assertEqual(result.returncode, status, f"{words}: {result.stderr}")
        self.assertEqual(result.stdout, "", words)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("continuo: "), lines[0])
        self.assertRegex(lines[0], says)
        self.assertEqual(self.files(), before)


def read_npy(path):
    """(shape, flat list) of an int64 or float32 array, by a reader that is not ours."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    length = struct.unpack_from("<H", data, 8)[0]
    header = ast.literal_eval(data[10:10 + length].decode("ascii"))
    assert header["fortran_order"] is False
    letter = {"<i8": "q", "<f4": "f"}[header["descr"]]
    body = data[10 + length:]
    count = len(body) // struct.calcsize(letter)
    return header["shape"], list(struct.unpack(f"<{count}{letter}", body))


def write_npy(shape, values, letter="q"):
    """The bytes of an NPY file."""
    descr = {"q": "<i8", "i": "<i4", "f": "<f4"}[letter]
    header = str({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode("ascii")
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}{letter}", *values)


def read_pcm16(path):
    """(rate, channels, samples) by Python's own reader."""
    with wave.open(path, "rb") as file:
        assert file.getsampwidth() == 2
        frames = file.getnframes()
        samples = struct.unpack(f"<{frames * file.getnchannels()}h", file.readframes(frames))
        return file.getframerate(), file.getnchannels(), samples


def write_wav(samples, rate, channels=1, letter="f"):
    """The bytes of a WAV file: samples [frames, channels] as 32-bit floats ("f") or 16-bit integers ("h")."""
    width = struct.calcsize(letter)
    body = struct.pack(f"<{len(samples)}{letter}", *samples)
    form = struct.pack("<HHIIHH", 3 if letter == "f" else 1, channels, rate, rate * channels * width, channels * width, 8 * width)
    chunks = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(chunks)) + chunks


def read_float_wav(path):
    """(rate, channels, samples) of what --bits 32f writes."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] == b"RIFF" and data[8:12] == b"WAVE"
    at, form = 12, None
    while at + 8 <= len(data):
        name, size = data[at:at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if name == b"fmt ":
            form = struct.unpack_from("<HHI", data, at + 8)
        if name == b"data":
            assert form[0] == 3
            return form[2], form[1], struct.unpack_from(f"<{size // 4}f", data, at + 8)
        at += 8 + size + size % 2
    raise AssertionError("no samples")
