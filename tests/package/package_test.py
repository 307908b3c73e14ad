"""The installed program and the Debian package: what is in them, and that the program runs from there without the build folder."""
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import unittest

from cli.support import BINARY, ROOT, TIMEOUT, TINY_CHECKPOINT, environment

BUILD = os.path.dirname(BINARY)
DEMO = "share/continuo/models/demo.gguf"
TOOLS = ("cpack", "dpkg-deb", "dpkg-shlibdeps", "file")


def cached(name):
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search(rf"^{name}:\w+=(.*)$", file.read(), re.MULTILINE)
    return found.group(1) if found else ""


def brings_ggml():
    """Whether the program was linked with the copy below .deps/, which the package then holds."""
    return ".deps/" in subprocess.run(["ldd", BINARY], check=True, capture_output=True, text=True).stdout


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names)


def why_not():
    if not os.path.exists(os.path.join(BUILD, "CMakeCache.txt")):
        return "the program is not in a build folder"
    return "the program is instrumented, nobody installs that" if cached("CONTINUO_SANITIZE") else ""


@unittest.skipIf(why_not(), why_not())
class Installed(unittest.TestCase):
    """What `cmake --install` makes."""

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="continuo-package-")
        cls.addClassCleanup(holder.cleanup)
        cls.home = os.path.join(holder.name, "home")
        os.mkdir(cls.home)
        cls.prefix = cls.make(holder.name)

    @classmethod
    def make(cls, folder):
        prefix = os.path.join(folder, "somewhere else")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True, timeout=TIMEOUT)
        return prefix

    def run_it(self, *words):
        program = os.path.join(self.prefix, "bin", "continuo")
        result = subprocess.run([program, *words], cwd=self.home, env=environment(self.home), capture_output=True, text=True,
                                timeout=TIMEOUT)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def expected(self):
        files = ["bin/continuo", "share/doc/continuo/copyright", "share/doc/continuo/demo-model.md",
                 "share/doc/continuo/CHANGELOG.md", "share/man/man1/continuo.1"]
        if brings_ggml():
            files.append("lib/continuo/libggml-base.so.0")
        if os.path.exists(os.path.join(ROOT, "models", "demo.gguf")):
            files.append(DEMO)
        return sorted(files)

    def test_files(self):
        self.assertEqual(files_below(self.prefix), self.expected())
        self.assertTrue(os.access(os.path.join(self.prefix, "bin", "continuo"), os.X_OK))

    def test_runs(self):
        self.assertRegex(self.run_it("--version"), r"^continuo \d+\.\d+\.\d+\n$")

    def test_finds_the_models_beside_it(self):
        models = os.path.join(self.prefix, "share", "continuo", "models")
        os.makedirs(models, exist_ok=True)
        tiny = os.path.join(models, "tiny.gguf")
        self.addCleanup(os.remove, tiny)
        self.run_it("convert", TINY_CHECKPOINT, "-o", tiny)
        listed = {model["name"]: model for model in json.loads(self.run_it("models", "--json"))["models"]}
        self.assertEqual(os.path.realpath(listed["tiny"]["path"]), os.path.realpath(tiny))
        if DEMO in self.expected():
            self.assertNotIn("problem", listed["demo"])
        self.run_it("generate", "x", "-m", "tiny", "-d", "0.1", "-o", os.path.join(self.home, "x.wav"))

    def test_needs_nothing_of_the_source_folder(self):
        for name in self.expected():
            with open(os.path.join(self.prefix, name), "rb") as file:
                self.assertNotIn(ROOT.encode(), file.read(), name)


@unittest.skipIf(why_not(), why_not())
@unittest.skipUnless(all(map(shutil.which, TOOLS)), "needs " + ", ".join(TOOLS))
class Package(Installed):
    """What `make deb` makes, unpacked."""

    @classmethod
    def make(cls, folder):
        config = os.path.join(BUILD, "CPackConfig.cmake")
        subprocess.run(["cpack", "--config", config, "-B", folder], check=True, capture_output=True, timeout=TIMEOUT, cwd=folder,
                       umask=0o077)
        packages = [name for name in os.listdir(folder) if name.endswith(".deb")]
        assert len(packages) == 1, packages
        cls.package = os.path.join(folder, packages[0])
        root = os.path.join(folder, "root")
        subprocess.run(["dpkg-deb", "-x", cls.package, root], check=True)
        assert os.listdir(root) == ["usr"]
        return os.path.join(root, "usr")

    def expected(self):
        compressed = {name: name + ".gz" for name in ("share/doc/continuo/CHANGELOG.md", "share/man/man1/continuo.1")}
        return sorted(compressed.get(name, name) for name in super().expected())

    def field(self, name):
        return subprocess.run(["dpkg-deb", "-f", self.package, name], check=True, capture_output=True, text=True).stdout.strip()

    def test_everyone_may_read_it(self):
        listing = subprocess.run(["dpkg-deb", "-c", self.package], check=True, capture_output=True, text=True).stdout.splitlines()
        for line in listing:
            self.assertRegex(line, r"^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--) root/root ")

    def test_fields(self):
        version, architecture = self.field("Version"), self.field("Architecture")
        self.assertEqual(os.path.basename(self.package), f"continuo_{version}_{architecture}.deb")
        self.assertEqual(f"continuo {version}\n", self.run_it("--version"))
        self.assertEqual(self.field("Maintainer"), "continuo authors")
        self.assertEqual(self.field("Section"), "sound")
        if platform.machine() == "x86_64":
            self.assertEqual(architecture, "amd64")

    def test_dependencies(self):
        """The libraries that the program names are in packages it depends on, or in its own. FFmpeg's are recommended, in the
        version of the headers, which is the one that the program opens."""
        depends = re.findall(r"(?:^|, )([a-z0-9.+-]+)", self.field("Depends"))
        for start in ("libc6", "libcurl", "libebur128", "libfmt", "libsentencepiece", "libssl", "libtomlplusplus", "libyaml-cpp", "libzip"):
            self.assertTrue(any(name.startswith(start) for name in depends), f"{start} in {depends}")
        self.assertNotEqual(any("ggml" in name for name in depends), brings_ggml(), depends)
        self.assertFalse(any(name.startswith("libav") for name in depends), depends)
        recommended = re.findall(r"(?:^|, )([a-z0-9-]+)", self.field("Recommends"))
        for library in ("libavformat", "libavcodec", "libswresample", "libavutil"):
            version = subprocess.run(["pkg-config", "--modversion", library], check=True, capture_output=True, text=True).stdout
            self.assertIn(library + version.split(".")[0], recommended)
