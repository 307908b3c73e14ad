"""`continuo pull` when all goes well: what is downloaded, what is installed, what is said."""
import json
import os
import subprocess

from cli.support import BINARY, TINY_CHECKPOINT, environment, golden
from pull.fake_hub import Repository
from pull.support import DECOYS, ID, PullCase, WEIGHTS, checkpoint, published, sharded

OTHER = "another/tiny-music"


class Installing(PullCase):
    def test_a_model_is_installed_and_plays(self):
        result = self.pulled()
        self.assertEqual(self.installed(), ["tiny-music.gguf"])
        self.assertEqual(self.cached(), {})
        self.assertFalse(os.path.exists(os.path.join(self.cache, "somebody")))
        self.assertIn(os.path.join(self.models, "tiny-music.gguf"), result.stdout)
        self.assertIn("continuo generate", result.stdout)
        self.assertIn("-m tiny-music", result.stdout)
        self.assertRegex(result.stderr, r"CC-BY-NC-4\.0: no commercial use")
        self.ok("generate", "x", "-m", "tiny-music", "-d", "0.1", "-o", "a.wav")
        self.assertRegex(self.ok("models"), r"tiny-music .*CC-BY-NC-4\.0")

    def test_it_is_what_convert_makes_of_the_same_files(self):
        self.pulled()
        self.ok("convert", TINY_CHECKPOINT, "-o", "same.gguf", "--license", "CC-BY-NC-4.0", "--name", "tiny-music",
                "--source", f"{ID}@{self.repository.commit}")
        with open(os.path.join(self.models, "tiny-music.gguf"), "rb") as file:
            self.assertEqual(file.read(), self.bytes_of("same.gguf"))

    def test_only_what_is_needed_is_asked_for(self):
        self.pulled()
        files = {request.file for request in self.hub.requests}
        self.assertEqual(files & set(DECOYS), set())
        self.assertEqual({request.file for request in self.hub.requests if request.host == "cdn"}, {WEIGHTS, "spiece.model"})
        self.assertTrue(all(request.method == "GET" for request in self.hub.requests))
        first_weights = [request.file for request in self.hub.requests].index(WEIGHTS)
        self.assertNotIn("config.json", [request.file for request in self.hub.requests[first_weights:]])

    def test_shards(self):
        self.hub.repositories[ID] = Repository(sharded(self.repository.files))
        self.pulled()
        self.ok("generate", "x", "-m", "tiny-music", "-d", "0.1", "-o", "a.wav")

    def test_json(self):
        value = json.loads(self.pulled("--json").stdout)
        path = os.path.join(self.models, "tiny-music.gguf")
        needed = sum(len(data) for name, data in self.repository.files.items() if name not in DECOYS)
        self.assertEqual(value, {"name": "tiny-music", "path": path, "bytes": os.path.getsize(path), "license": "CC-BY-NC-4.0",
                                 "source": f"{ID}@{self.repository.commit}", "downloaded_bytes": needed, "was_there": False})

    def test_type_name_folder_and_keep(self):
        self.pulled("--type", "f16", "--name", "small one", "--models", self.path("m"), "--keep")
        self.assertEqual(os.listdir(self.path("m")), ["small one.gguf"])
        self.assertLess(os.path.getsize(self.path("m/small one.gguf")), 500_000 + 250_000)
        self.assertIn(WEIGHTS, self.cached())
        self.hub.requests.clear()
        self.pulled()  # from what was kept
        self.assertEqual(self.hub.asked(WEIGHTS), [])
        self.assertEqual(self.installed(), ["tiny-music.gguf"])

    def test_the_folder_of_the_environment(self):
        self.pulled(CONTINUO_MODELS=self.path("m") + ":" + self.path("n"), XDG_CACHE_HOME=self.path("c"))
        self.assertEqual(self.files(), ["c", "m"])

    def test_a_second_time_nothing_is_fetched(self):
        self.pulled()
        self.hub.requests.clear()
        result = self.pulled()
        self.assertEqual(len(self.hub.requests), 1)
        self.assertIn("installed already", result.stdout)

    def test_a_new_commit_or_another_type_replaces_it(self):
        self.pulled()
        size = os.path.getsize(os.path.join(self.models, "tiny-music.gguf"))
        self.pulled("--type", "f16")
        self.assertLess(os.path.getsize(os.path.join(self.models, "tiny-music.gguf")), size)
        self.repository.files["README.md"] += b"news\n"
        value = json.loads(self.pulled("--json").stdout)
        self.assertFalse(value["was_there"])
        self.assertEqual(self.installed(), ["tiny-music.gguf"])

    def test_a_model_from_elsewhere_is_not_replaced(self):
        self.pulled()
        self.hub.repositories[OTHER] = published()
        result = self.pull(name=OTHER)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"came from elsewhere \(somebody/tiny-music@.*--name")
        self.pulled("--name", "other", name=OTHER)
        self.assertEqual(self.installed(), ["other.gguf", "tiny-music.gguf"])

    def test_a_licence_that_is_not_said(self):
        self.hub.repositories[ID] = Repository(checkpoint(), license_name="")
        self.assertIn("does not say its licence", self.pulled().stderr)

    def test_progress_is_for_terminals(self):
        result = self.pulled()
        self.assertNotIn("\r", result.stderr)
        master, slave = os.openpty()
        subprocess.run([BINARY, "pull", ID, "--name", "again"], cwd=self.folder, env=environment(self.home, **self.variables()),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave, check=True, timeout=60)
        os.close(slave)
        shown = os.read(master, 100_000).decode()
        os.close(master)
        self.assertRegex(shown, r"\r\[#*-*\] downloading, .* of .*: \d+%")
        self.assertTrue(shown.rstrip("\n").endswith("\r\x1b[K"), repr(shown[-60:]))


class Revisions(PullCase):
    def test_branches_tags_and_commits(self):
        self.hub.refs[ID, "refs/pr/1"] = self.repository.commit
        for number, revision in enumerate(("main", "refs/pr/1", self.repository.commit)):
            self.pulled("--name", f"model-{number}", name=f"{ID}@{revision}")
        commits = {request.path.split("/")[4] for request in self.hub.requests if "/resolve/" in request.path}
        self.assertEqual(commits, {self.repository.commit})  # files are always those of one commit

    def test_unknown_ones(self):
        self.not_pulled(name=f"{ID}@v9", says=r"no revision 'v9'")

    def test_names_that_cannot_be(self):
        for name in ("tiny", "", "/", "a/", "/b", "a/b/c", "../b", "a/..", "a/.b", "a b/c", "a/b@", "a/b@x\ny", "a/" + "b" * 97,
                     "https://example.org/a/b", "-a/b"):
            result = self.run_it("pull", "--", name, **self.variables())
            self.assertEqual(result.returncode, 2, name)
        self.assertEqual(self.hub.requests, [])

    def test_wrong_usage(self):
        for words in ((), (ID, ID), (ID, "--type", "f12"), (ID, "--name", "a/b"), (ID, "--name", ""), (ID, "--name", ".."),
                      (ID, "--tries", "0"), (ID, "--timeout", "-1")):
            self.refused(2, ("pull", *words), r".", **self.variables())
        for endpoint in ("ftp://127.0.0.1", "nonsense", "http://user:word@127.0.0.1", "http://127.0.0.1/?x", "http://"):
            self.refused(2, ("pull", ID), r"HF_ENDPOINT", HF_ENDPOINT=endpoint)
        self.assertEqual(self.hub.requests, [])


class WhatTheHubSays(PullCase):
    def test_paths_are_never_followed(self):
        self.repository.strange_names = ["../../../../evil.json", "/etc/evil", "..", "sub/model.safetensors", "a\x00b", "\x1b[31mred",
                                         "model-0000x-of-00002.safetensors", "config.json/../../x", "README.md\n"]
        result = self.pulled()
        self.assertFalse([request for request in self.hub.requests if "evil" in request.path])
        self.assertNotIn("\x1b", result.stdout + result.stderr)

    def test_a_mirror_without_sizes_and_hashes_is_asked_for_each_file(self):
        self.repository.bare = True
        self.pulled()
        heads = [request for request in self.hub.requests if request.method == "HEAD"]
        self.assertEqual({request.host for request in heads}, {"hub"})
        self.assertIn(WEIGHTS, {request.file for request in heads})

    def test_other_models_are_refused_before_their_weights_come(self):
        self.repository.files["config.json"] = b'{"model_type": "llama"}'
        self.not_pulled(says="llama")
        self.assertEqual(self.hub.asked(WEIGHTS), [])

    def test_repositories_without_a_model(self):
        for files, says in (({"README.md": b"x"}, "no MusicGen checkpoint"), ({"config.json": b"{}"}, "no MusicGen checkpoint"),
                            ({"model.safetensors": b"x"}, "no MusicGen checkpoint"),
                            ({"config.json": b"{}", "model.safetensors.index.json": b"{}"}, "no MusicGen checkpoint"),
                            ({"state_dict.bin": b"x", "compression_state_dict.bin": b"x"}, "audiocraft")):
            self.hub.repositories[ID] = Repository(files)
            self.not_pulled(says=says)
        self.assertEqual(self.cached(), {})

    def test_audiocraft_needs_a_text_encoder_from_elsewhere(self):
        self.hub.repositories[ID] = Repository({"state_dict.bin": b"S" * 10, "compression_state_dict.bin": b"C" * 200_000,
                                                "README.md": b"x"})
        self.not_pulled(says="--t5 DIR")
        self.assertEqual(len(self.hub.requests), 1)
        self.not_pulled("--t5", golden("audiocraft/t5"), says=r"state_dict\.bin.*the download is kept in")
        self.assertEqual(sorted(self.cached()), ["README.md", "compression_state_dict.bin", "state_dict.bin"])

    def test_files_of_no_bytes(self):
        self.repository.files["LICENSE"] = b""
        self.repository.files["generation_config.json"] = b"{}"
        self.pulled()

    def test_a_file_that_is_listed_twice_is_fetched_once(self):
        self.hub.repositories[ID] = Repository(sharded(self.repository.files))
        self.hub.repositories[ID].strange_names = ["model-00001-of-00002.safetensors", "config.json"]
        self.pulled()
        self.assertEqual(len(self.hub.asked("model-00001-of-00002.safetensors")), 1)

    def test_a_million_files(self):
        for entry, says in ((b'{"rfilename":"a"}', "no end"), (b"{}", "more than 400000 values")):
            self.hub.heal()
            self.hub.fault("listing", body=b'{"sha": "%s", "siblings": [%s]}' % (b"0" * 40, b",".join([entry] * 1_000_000)))
            self.not_pulled(says=says)
        names = b",".join(b'{"rfilename":"%d"}' % i for i in range(20_001))
        self.hub.heal()
        self.hub.fault("listing", body=b'{"sha": "%s", "siblings": [%s]}' % (b"0" * 40, names))
        self.not_pulled(says="does not list its files")

    def test_weights_that_are_none(self):
        self.repository.files[WEIGHTS] = b"x" * 100_000
        self.not_pulled(says=r"model\.safetensors.*the download is kept in")

    def test_answers_that_are_none(self):
        for body, says in ((b"<html>", "JSON"), (b"[]", "JSON"), (b"{}", "commit"), (b"[" * 100_000, "nested"), (b'{"sha": 5}', "commit"),
                           (b'{"sha": "../../../../../../../../../../../../../x"}', "commit"),
                           (b'{"sha": "%s"}' % (b"0" * 40), "files"), (b'{"sha": "%s", "siblings": {}}' % (b"0" * 40), "files"),
                           (b'{"sha": "%s", "siblings": [3, null, {}, {"rfilename": 5}]}' % (b"0" * 40), "no MusicGen checkpoint")):
            self.hub.heal()
            self.hub.fault("listing", body=body)
            self.not_pulled(says=says)

    def test_a_list_without_end(self):
        self.hub.fault("listing", longer=17 << 20)
        self.not_pulled(says="no end")
