"""The machine's flags: the command line wins over the environment, and that over the configuration file."""
import os
import shutil

from cli.support import Case, tiny_model


class Settings(Case):
    def config(self, text):
        folder = os.path.join(self.home, ".config", "continuo")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.toml"), "w", encoding="utf-8") as file:
            file.write(text)

    def threads(self, *words, **variables):
        return self.json("generate", "x", "-m", tiny_model(), "-d", "0.1", "-o", "a.wav", *words, **variables)["threads"]

    def test_precedence(self):
        self.config("threads = 3\n")
        self.assertEqual(self.threads(), 3)
        self.assertEqual(self.threads(CONTINUO_THREADS="2"), 2)
        self.assertEqual(self.threads("--threads", "1", CONTINUO_THREADS="2"), 1)

    def test_xdg_config_home(self):
        os.makedirs(self.path("config/continuo"))
        with open(self.path("config/continuo/config.toml"), "w", encoding="utf-8") as file:
            file.write("threads = 4")
        self.assertEqual(self.threads(XDG_CONFIG_HOME=self.path("config")), 4)

    def test_models_folder(self):
        os.mkdir(self.path("mine"))
        shutil.copy(tiny_model(), self.path("mine/small.gguf"))
        words = ("generate", "x", "-m", "small", "-d", "0.1", "-o", "a.wav")
        self.ok(*words, CONTINUO_MODELS=self.path("mine"))
        self.ok(*words, CONTINUO_MODELS="/no/such:" + self.path("mine"))
        self.config(f'models = "{self.path("mine")}"\n')
        self.ok(*words)
        self.refused(1, (*words, "--models", "/no/such"), r"small")  # the command line's folder takes the place of the file's

    def cached(self, *words, folder="cache", **variables):
        """(sound, {file: bytes} in the folder, which need not be there)"""
        self.ok("generate", "soft piano", "-m", tiny_model(), "-d", "0.2", "--seed", "4", "-o", "a.wav", *words, **variables)
        names = os.listdir(self.path(folder)) if os.path.isdir(self.path(folder)) else []
        return self.bytes_of("a.wav"), {name: self.bytes_of(os.path.join(folder, name)) for name in names}

    def test_the_cache_is_off_unless_a_folder_is_named(self):
        sound, kept = self.cached()
        self.assertEqual((kept, self.files(), os.listdir(self.home)), ({}, ["a.wav"], []))
        self.assertEqual(self.cached("--cache", "cache")[0], sound)
        for more in ({"CONTINUO_CACHE": self.path("other")}, {}):
            if not more:
                self.config(f'cache = "{self.path("other")}"\n')
            self.assertEqual(len(self.cached(folder="other", **more)[1]), 1)
            shutil.rmtree(self.path("other"))
            self.assertEqual(self.cached("--cache", "", folder="other", **more), (sound, {}))
        self.refused(2, ("generate", "x", "-m", tiny_model(), "--cache", "~/x"), r"--cache: only a shell")

    def test_the_cache_survives_restarts_and_damage(self):
        sound, kept = self.cached("--cache", "cache")
        (name, data), = kept.items()
        self.assertIn(b"soft piano", data)
        self.assertEqual([os.stat(self.path(path)).st_mode & 0o777 for path in ("cache", "cache/" + name)], [0o700, 0o600])
        os.utime(self.path("cache/" + name), (1, 1))
        self.assertEqual(self.cached("--cache", "cache"), (sound, kept))
        self.assertGreater(os.stat(self.path("cache/" + name)).st_mtime, 1)  # it was used
        for damaged in (data[:-1], b"", data[:100] + bytes([data[100] ^ 1]) + data[101:]):
            self.write("cache/" + name, damaged)
            self.assertEqual(self.cached("--cache", "cache"), (sound, kept))
        self.write("file", b"")
        result = self.run_it("generate", "soft piano", "-m", tiny_model(), "-d", "0.2", "--seed", "4", "-o", "a.wav", "--cache", "file")
        self.assertEqual((result.returncode, self.bytes_of("a.wav")), (0, sound))
        self.assertRegex(result.stderr, r"warning: prompts cannot be remembered")

    def test_mistakes_name_their_place(self):
        words = ("generate", "x", "-m", tiny_model(), "-d", "0.1")
        self.refused(2, words, r"CONTINUO_THREADS .*from 1 to 1024", CONTINUO_THREADS="many")
        self.refused(2, words, r"CONTINUO_MEMORY .*such as 650M", CONTINUO_MEMORY="much")
        self.refused(1, words, r"--memory\).*weights", CONTINUO_MEMORY="10M")
        for text, says in (("threads = 2\nport =\n", r"config\.toml, line 2"), ("\n\nthread = 2\n", r"line 3.*thread"),
                           ("threads = 0\n", r"config\.toml, line 1 .*from 1 to 1024"), ("threads = true\n", r"line 1"),
                           ("threads = 2\nthreads = 3\n", r"line 2")):
            self.config(text)
            result = self.run_it(*words)
            self.assertIn(result.returncode, (1, 2), text)
            self.assertRegex(result.stderr, says)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertEqual(self.files(), [])
        self.assertTrue(self.ok("--version"))  # needs no configuration
        self.assertTrue(self.ok("generate", "--help"))
