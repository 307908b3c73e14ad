"""convert, info, models, text, codec, bench: what they print and write."""
import json
import os
import shutil

from cli.support import Case, ROOT, TINY_CHECKPOINT, read_npy, read_pcm16, tiny_model, write_npy

GOLDENS = os.path.join(ROOT, "tests", "goldens", "tiny-a")


class Convert(Case):
    def test_types(self):
        self.ok("convert", TINY_CHECKPOINT, "-o", "a.gguf")
        self.ok("convert", TINY_CHECKPOINT, "-o", "b.gguf", "--type", "f16")
        self.assertLess(os.path.getsize(self.path("b.gguf")), os.path.getsize(self.path("a.gguf")))
        self.assertEqual(set(self.json("info", "a.gguf")["types"]), {"f32"})
        self.assertEqual(set(self.json("info", "b.gguf")["types"]), {"f16", "f32"})
        self.ok("generate", "x", "-m", "b.gguf", "-d", "0.5", "-o", "b.wav")

    def test_every_type_works_or_is_refused(self):
        for kind in ("bf16", "q8_0", "q4_0", "q4_k"):
            result = self.run_it("convert", TINY_CHECKPOINT, "-o", "a.gguf", "--type", kind)
            self.assertIn(result.returncode, (0, 1), result.stderr)
            if result.returncode == 1:
                self.assertRegex(result.stderr, rf"{kind}|type")
                self.assertEqual(self.files(), [])
                continue
            self.ok("generate", "x", "-m", "a.gguf", "-d", "0.5", "-o", "a.wav")
            os.remove(self.path("a.gguf"))
            os.remove(self.path("a.wav"))

    def test_is_repeatable(self):
        self.ok("convert", TINY_CHECKPOINT, "-o", "a.gguf")
        self.ok("convert", TINY_CHECKPOINT, "-o", "b.gguf")
        self.assertEqual(self.bytes_of("a.gguf"), self.bytes_of("b.gguf"))

    def test_name_and_licence(self):
        self.ok("convert", TINY_CHECKPOINT, "-o", "a.gguf", "--license", "CC-BY-NC-4.0", "--name", "Tiny", "--source", "here")
        info = self.json("info", "a.gguf")
        self.assertEqual((info["license"], info["name"], info["source"]), ("CC-BY-NC-4.0", "Tiny", "here"))

    def test_the_licence_note(self):
        self.ok("convert", TINY_CHECKPOINT, "-o", "a.gguf", "--license", "CC-BY-NC-4.0")
        result = self.run_it("generate", "x", "-m", "a.gguf", "-d", "0.1", "-o", "a.wav")
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertIn("CC-BY-NC-4.0", result.stderr)
        self.ok("convert", TINY_CHECKPOINT, "-o", "b.gguf", "--license", "CC0-1.0")
        self.assertEqual(self.run_it("generate", "x", "-m", "b.gguf", "-d", "0.1", "-o", "b.wav").stderr, "")


class Info(Case):
    def test_json(self):
        info = self.json("info", tiny_model())
        self.assertEqual(info["architecture"], "musicgen")
        self.assertEqual((info["decoder"]["codebooks"], info["codec"]["sample_rate"], info["window_seconds"]), (4, 32000, 30.0))
        memory = info["memory"]
        self.assertEqual(memory["total_bytes"], memory["weights_bytes"] + memory["kv_bytes"] + memory["activations_bytes"])
        self.assertEqual(info["file_bytes"], os.path.getsize(tiny_model()))

    def test_text(self):
        output = self.ok("info", tiny_model())
        for word in ("musicgen", "licence", "f32", "memory", "30 s"):
            self.assertIn(word, output)


class Models(Case):
    def test_installed_models(self):
        shutil.copy(tiny_model(), self.path("small.gguf"))
        self.write("broken.gguf", b"GGUF")
        listed = {model["name"]: model for model in self.json("models", "--models", ".")["models"]}
        self.assertIn("MusicGen", listed["small"]["summary"])
        self.assertIn("license", listed["small"])
        self.assertEqual(listed["small"]["bytes"], os.path.getsize(tiny_model()))
        self.assertTrue(listed["broken"]["problem"])
        output = self.ok("models", "--models", ".")
        self.assertRegex(output, r"small .*MusicGen.*licence")
        self.assertRegex(output, r"broken .*cannot be used")

    def test_names(self):
        shutil.copy(tiny_model(), self.path("small.gguf"))
        self.ok("generate", "x", "-m", "small", "--models", ".", "-d", "0.1", "-o", "a.wav")
        self.refused(1, ("generate", "x", "-m", "smal", "--models", "."), r"installed are: .*small")

    def test_the_demo_is_the_default(self):
        shutil.copy(tiny_model(), self.path("demo.gguf"))
        value = self.json("generate", "x", "--models", ".", "-d", "0.1", "-o", "a.wav")
        self.assertEqual(os.path.basename(value["model"]["path"]), "demo.gguf")


class Text(Case):
    def setUp(self):
        super().setUp()
        with open(os.path.join(GOLDENS, "golden.json"), encoding="utf-8") as file:
            self.golden = json.load(file)

    def test_ids(self):
        self.assertEqual(json.loads(self.ok("text", "", "-m", tiny_model(), "--json")), {"ids": [1]})
        plain = self.ok("text", "soft piano", "-m", tiny_model()).split()
        self.assertEqual([int(word) for word in plain], self.json("text", "soft piano", "-m", tiny_model())["ids"])

    def test_hidden_state(self):
        ids = self.json("text", "soft piano", "-m", tiny_model(), "--hidden-out", "h.npy")["ids"]
        shape, values = read_npy(self.path("h.npy"))
        self.assertEqual(shape, (len(ids), self.json("info", tiny_model())["text"]["width"]))
        self.assertEqual(len(values), shape[0] * shape[1])


class Codec(Case):
    def test_decodes_what_generate_made(self):
        self.ok("generate", "piano", "-m", tiny_model(), "-d", "1", "-o", "a.wav", "--codes-out", "a.npy")
        self.ok("codec", "decode", "a.npy", "b.wav", "-m", tiny_model())
        rate, channels, ours = read_pcm16(self.path("a.wav"))
        self.assertEqual((rate, channels, len(ours)), (32000, 1, 32000))
        again = read_pcm16(self.path("b.wav"))[2]
        self.assertLessEqual(max(abs(x - y) for x, y in zip(ours, again)), 1)

    def test_int32_and_a_batch_of_one(self):
        codes = [i * 7 % 64 for i in range(40)]
        self.write("a.npy", write_npy((4, 10), codes))
        self.write("b.npy", write_npy((4, 10), codes, "i"))
        self.write("c.npy", write_npy((1, 4, 10), codes))
        for name in "abc":
            self.ok("codec", "decode", f"{name}.npy", f"{name}.wav", "-m", tiny_model(), "--bits", "32f")
        self.assertEqual(self.bytes_of("a.wav"), self.bytes_of("b.wav"))
        self.assertEqual(self.bytes_of("a.wav"), self.bytes_of("c.wav"))

    def test_decode_as_a_stream(self):
        codes = [(7 * i) % 50 for i in range(4 * 23)]
        self.write("codes.npy", write_npy((4, 23), codes))
        whole = self.ok("codec", "decode", "codes.npy", "whole.wav", "-m", tiny_model(), "--bits", "32f")
        for seconds in ("0.001", "0.1", "60"):
            told = self.ok("codec", "decode", "codes.npy", "chunks.wav", "-m", tiny_model(), "--bits", "32f", "--chunk", seconds)
            self.assertEqual(self.bytes_of("whole.wav"), self.bytes_of("chunks.wav"), seconds)
            self.assertEqual(whole.replace("whole", "chunks"), told)


class Bench(Case):
    def test_json(self):
        value = self.json("bench", "-m", tiny_model(), "--rows", "1,2", "--position", "100", "--threads", "1")
        self.assertEqual(set(value), {"isa", "threads", "bandwidth_gbs", "weights_bytes", "kv_bytes_per_row", "steps", "codec", "text_ms",
                                      "rss_bytes"})
        self.assertIn(value["isa"], ("portable", "avx2", "avxvnni", "avx512vnni", "neon"))
        self.assertEqual(value["threads"], 1)
        self.assertEqual([step["rows"] for step in value["steps"]], [1, 2])
        for step in value["steps"]:
            floor = (value["weights_bytes"] + step["rows"] * value["kv_bytes_per_row"]) / value["bandwidth_gbs"] / 1e6
            self.assertAlmostEqual(step["floor_ms"], floor, places=6)
            self.assertGreater(step["ms"], 0)
            self.assertEqual(set(step), {"rows", "ms", "linear_ms", "floor_ms"})
        self.assertEqual(set(value["codec"]), {"decode_rtf", "chunked_rtf", "encode_rtf"})
        for field, rtf in value["codec"].items():
            self.assertGreater(rtf, 0, field)
        for field in ("bandwidth_gbs", "weights_bytes", "kv_bytes_per_row", "text_ms", "rss_bytes"):
            self.assertGreater(value[field], 0, field)
