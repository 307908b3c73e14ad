"""Every layout that models are published in, from the hub to a second of audio: torch archives, whole and in shards, and audiocraft's."""
import os
import wave

from cli.support import golden
from pull.fake_hub import Repository
from pull.support import CARD, ID, PullCase

AUDIOCRAFT = golden("audiocraft")
T5 = os.path.join(AUDIOCRAFT, "t5")


def files_of(folder):
    files = {"README.md": CARD}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            files[name] = file.read()
    return files


class Layouts(PullCase):
    def publish(self, folder):
        self.repository = self.hub.repositories[ID] = Repository(files_of(folder))

    def codes(self, model):
        """Plays a second, and says which codes it was made of."""
        self.ok("generate", "warm piano", "-m", model, "-d", "1", "--seed", "7", "--codes-out", "codes.npy", "-o", "a.wav")
        with wave.open(self.path("a.wav")) as file:
            self.assertAlmostEqual(file.getnframes() / file.getframerate(), 1.0, delta=0.02)
            self.assertGreater(max(file.readframes(file.getnframes())), 0)
        return self.bytes_of("codes.npy")

    def pulled_is_converted(self, folder, *words):
        """The installed model plays what a model converted from the folder by hand plays."""
        self.pulled(*words)
        self.assertEqual(self.installed(), ["tiny-music.gguf"])
        self.assertEqual(self.cached(), {})
        self.assertRegex(self.ok("models"), r"tiny-music .*CC-BY-NC-4\.0")
        self.ok("convert", folder, "-o", "by-hand.gguf", *words)
        self.assertEqual(self.codes("tiny-music"), self.codes("by-hand.gguf"))

    def test_torch(self):
        self.publish(golden("sharded/bin"))
        self.pulled_is_converted(golden("sharded/bin"))

    def test_torch_in_shards(self):
        self.publish(golden("sharded/bin_sharded"))
        self.pulled_is_converted(golden("sharded/bin_sharded"))
        self.assertEqual(len({request.file for request in self.hub.requests if request.file.endswith(".bin")}), 3)

    def test_torch_that_loads_code_is_refused(self):
        self.publish(golden("sharded/bin"))
        self.repository.files["pytorch_model.bin"] = b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00truetR."
        self.not_pulled(says=r"pytorch_model\.bin.*the download is kept in")

    def test_audiocraft(self):
        for name in ("mono", "mono-f16", "stereo"):
            with self.subTest(name):
                folder = os.path.join(AUDIOCRAFT, name)
                self.publish(folder)
                self.pulled("--t5", T5, "--name", name)
                self.ok("convert", folder, "--t5", T5, "-o", "by-hand.gguf")
                self.assertEqual(self.codes(name), self.codes("by-hand.gguf"))
        self.assertEqual(self.cached(), {})

    def test_audiocraft_in_another_type(self):
        folder = os.path.join(AUDIOCRAFT, "mono")
        self.publish(folder)
        self.pulled_is_converted(folder, "--t5", T5, "--type", "q8_0")

    def test_the_text_encoder_is_looked_at_before_anything_is_fetched(self):
        self.publish(os.path.join(AUDIOCRAFT, "mono"))
        os.mkdir(self.path("empty"))
        os.mkdir(self.path("bare"))
        for name in ("config.json", "spiece.model"):
            with open(os.path.join(T5, name), "rb") as source, open(self.path(f"bare/{name}"), "wb") as copy:
                copy.write(source.read())
        for folder, says in (("nowhere", r"nowhere/config\.json"), ("empty", r"empty/config\.json"), ("bare", r"no model\.safetensors"),
                             (golden("tiny-a/model"), "'musicgen' model")):
            self.not_pulled("--t5", folder, says=says)
        self.assertEqual({request.path.split("?")[0].rsplit("/", 1)[-1] for request in self.hub.requests}, {"main"})
        self.assertEqual(self.cached(), {})

    def test_without_one_the_refusal_says_what_to_do(self):
        self.publish(os.path.join(AUDIOCRAFT, "mono"))
        result = self.not_pulled(says=r"somebody/tiny-music is in audiocraft's layout.*--t5 DIR")
        self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_one_too_many_is_refused_too(self):
        self.publish(golden("sharded/bin"))
        self.not_pulled("--t5", T5, status=2, says=r"has a text encoder of its own: leave out --t5")

    def test_half_of_audiocraft(self):
        folder = os.path.join(AUDIOCRAFT, "mono")
        for missing in ("state_dict.bin", "compression_state_dict.bin"):
            self.publish(folder)
            del self.repository.files[missing]
            self.not_pulled("--t5", T5, says="state_dict.bin and compression_state_dict.bin")

    def test_a_codec_that_is_only_named(self):
        self.publish(os.path.join(AUDIOCRAFT, "mono"))
        with open(os.path.join(AUDIOCRAFT, "pretrained", "compression_state_dict.bin"), "rb") as file:
            self.repository.files["compression_state_dict.bin"] = file.read()
        self.not_pulled("--t5", T5, says=r"only names its codec.*the download is kept in")
