"""Requests that cannot be right: each is refused with one line that says why, the right exit status, and nothing left behind."""
import os
import shutil

from cli.support import Case, TINY_CHECKPOINT, tiny_model, write_npy

WRONG_USAGE = 2
NOT_DONE = 1


class Numbers(Case):
    def test_durations(self):
        for text in ("0", "-1", "nan", "NaN", "inf", "1e9", "10s", "", "1,5", "0x5"):
            self.refused(WRONG_USAGE, ("generate", "x", "-m", tiny_model(), "-d", text), r"seconds .*600 s")
        for text in ("600.5", "601", "6000"):
            self.refused(WRONG_USAGE, ("generate", "x", "-m", tiny_model(), "-d", text), r"600 s")
        self.refused(WRONG_USAGE, ("generate", "x", "-m", tiny_model(), "-d", "0.001"), r"frame|0\.02")

    def test_top_k(self):
        for text in ("-1", "1.5", "x", "nan"):
            self.refused(WRONG_USAGE, ("generate", "x", "-m", tiny_model(), "--top-k", text), r"top-k .*0")
        self.refused(WRONG_USAGE, ("generate", "x", "-m", tiny_model(), "--top-k", "65"), r"top.k 65 .*64")

    def test_other_numbers(self):
        for option, values, says in (("--top-p", ("-0.1", "1.1", "nan"), r"from 0 to 1"),
                                     ("--temperature", ("-1", "inf", "hot"), r"from 0 to 100"),
                                     ("--guidance", ("-1", "1e9", "nan"), r"from 0 to 100"),
                                     ("--seed", ("-1", "1.5", "18446744073709551616"), r"18446744073709551615"),
                                     ("--takes", ("0", "-1", "1000000", "two"), r"from 1 to 256"),
                                     ("--threads", ("0", "-2", "many", "100000"), r"from 1 to 1024"),
                                     ("--bits", ("8", "16f", ""), r"16, 24 or 32f"),
                                     ("--kv", ("f64",), r"int8, f16 or f32"),
                                     ("--strategy", ("best",), r"sample or greedy")):
            for value in values:
                self.refused(WRONG_USAGE, ("generate", "x", "-m", tiny_model(), option, value), says)

    def test_too_many_clips(self):
        self.refused(WRONG_USAGE, ("generate", "a", "b", "-m", tiny_model(), "--takes", "200"), r"400 clips .*256")

    def test_bench(self):
        for words in (("--rows", "0"), ("--rows", "2,"), ("--position", "-1"), ("--position", "1500", "-m", tiny_model()),
                      ("--shape", "musicgen-tiny"), ("--type", "f16", "-m", tiny_model()),
                      ("--shape", "musicgen-small", "-m", tiny_model())):
            self.refused(WRONG_USAGE, ("bench", *words), r".")


class Usage(Case):
    def test_commands_and_options(self):
        for words in (("nope",), ("generate",), ("generate", "x", "--nope"), ("generate", "x", "-d"), ("generate", "x", "-d", "1", "-d", "2"),
                      ("text",), ("text", "a", "b"), ("info",), ("codec",), ("codec", "decode", "a.npy"), ("codec", "play", "a", "b"),
                      ("convert",), ("convert", TINY_CHECKPOINT), ("convert", TINY_CHECKPOINT, "-o", "a.gguf", "--type", "f12")):
            self.refused(WRONG_USAGE, words, r".")

    def test_prompts_and_a_file_of_prompts(self):
        self.write("p.txt", b"piano\n")
        self.refused(WRONG_USAGE, ("generate", "x", "--prompts", "p.txt", "-m", tiny_model()), r"not both")

    def test_files_of_prompts(self):
        self.write("empty.txt", b"\n \r\n")
        self.write("latin.txt", b"piano\ncaf\xe9\n")
        for name, says in (("empty.txt", "no prompts"), ("latin.txt", "line 2.*UTF-8"), ("none.txt", "none.txt")):
            self.refused(NOT_DONE, ("generate", "--prompts", name, "-m", tiny_model()), says)

    def test_a_prompt_must_be_text(self):
        self.refused(WRONG_USAGE, ("generate", b"caf\xe9", "-m", tiny_model()), r"UTF-8")
        self.refused(WRONG_USAGE, ("generate", "x" * 20001, "-m", tiny_model()), r"20000")

    def test_no_words_at_all_shows_the_help(self):
        result = self.run_it()
        self.assertEqual((result.returncode, result.stdout), (WRONG_USAGE, ""))
        self.assertIn("continuo generate", result.stderr)

    def test_help_and_version(self):
        self.assertRegex(self.ok("--version"), r"^continuo \d+\.\d+\.\d+\n$")
        for words in (("--help",), ("help",), ("generate", "--help"), ("help", "generate"), ("serve", "--help")):
            self.assertTrue(self.ok(*words))


class Serving(Case):
    def test_another_address_needs_a_key(self):
        self.refused(WRONG_USAGE, ("serve", "--host", "0.0.0.0"), r"--api-key-file.*--expose-without-key")
        self.refused(WRONG_USAGE, ("serve",), r"--api-key-file", CONTINUO_HOST="0.0.0.0")

    def test_values(self):
        for words, says in ((("--port", "70000"), r"--port .*from 0 to 65535"), (("--origin", "*"), r"list each one"),
                            (("--kv", "int4"), r"--kv must be"), (("--max-body", "big"), r"--max-body must be a size"),
                            (("-m", f"{tiny_model()},"), r"-m needs"), (("extra",), r"extra")):
            self.refused(WRONG_USAGE, ("serve", *words), says)
        self.refused(WRONG_USAGE, ("serve",), r"CONTINUO_MAX_QUEUE .*whole number", CONTINUO_MAX_QUEUE="ten")
        self.refused(WRONG_USAGE, ("serve", "-m", f"{tiny_model()},{tiny_model()}"), r"twice")
        self.refused(NOT_DONE, ("serve", "-m", "nobody"), r"nobody")


class NotInThisVersion(Case):
    def test_options(self):
        for words in (("--beams", "3"), ("--strategy", "beam")):
            self.refused(NOT_DONE, ("generate", "x", "-m", tiny_model(), *words), r"not in this version")
        self.refused(WRONG_USAGE, ("codec", "decode", "a.npy", "a.wav", "--chunk", "0"), r"--chunk")
        self.refused(NOT_DONE, ("bench", "--shape", "notagen-small"), r"not in this version")

    def test_commands(self):
        self.refused(NOT_DONE, ("score", "--period", "Baroque"), r"not in this version")

    def test_other_audio_formats(self):
        self.refused(NOT_DONE, ("generate", "x", "-m", tiny_model(), "-o", "a.wma"), r"\.flac.*\.mp3")
        self.refused(NOT_DONE, ("codec", "decode", "a.npy", "a.mp3", "-m", tiny_model()), r"WAV")


class Outputs(Case):
    def test_places_that_cannot_be_written(self):
        os.mkdir(self.path("folder"))
        for name in ("no/such/a.wav", "folder", "/proc/a.wav", "/dev/null"):
            self.refused(NOT_DONE, ("generate", "x", "-m", tiny_model(), "-d", "30", "-o", name), r"cannot write")
            self.refused(NOT_DONE, ("generate", "x", "-m", tiny_model(), "-d", "30", "-o", "a.wav", "--codes-out", name), r"cannot write")
            self.refused(NOT_DONE, ("convert", TINY_CHECKPOINT, "-o", name), r"cannot write")
            self.refused(NOT_DONE, ("text", "x", "-m", tiny_model(), "--hidden-out", name), r"cannot write")

    def test_the_place_is_checked_before_the_model_is_looked_for(self):
        self.refused(NOT_DONE, ("generate", "x", "-m", "nobody", "-o", "no/such/a.wav"), r"cannot write")

    def test_two_files_of_one_name(self):
        self.refused(WRONG_USAGE, ("generate", "x", "-m", tiny_model(), "-o", "a.wav", "--codes-out", "a.wav"), r"both")
        self.refused(WRONG_USAGE, ("generate", "x", "-m", tiny_model(), "-o", ""), r"-o")


class Models(Case):
    def test_unknown_models(self):
        for name in ("nobody", "no/such.gguf", "../x", "-"):
            self.refused(NOT_DONE, ("generate", "x", "-m", name), r"no model")
            self.refused(NOT_DONE, ("info", name), r"no model")
        self.refused(WRONG_USAGE, ("generate", "x", "-m", ""), r"-m")

    def test_wrong_kinds_of_model(self):
        self.write("notes.gguf", b"these are my notes\n" * 100)
        self.write("empty.gguf", b"")
        self.write("llama.gguf", gguf_of("llama"))
        shutil.copy(os.path.join(TINY_CHECKPOINT, "model.safetensors"), self.path("swapped.gguf"))
        os.mkdir(self.path("folder"))
        for name in ("notes.gguf", "empty.gguf", "llama.gguf", "swapped.gguf", "folder"):
            self.refused(NOT_DONE, ("generate", "x", "-m", name), name)
            self.refused(NOT_DONE, ("info", name), name)
        self.refused(NOT_DONE, ("generate", "x", "-m", TINY_CHECKPOINT), r"convert")

    def test_damaged_models(self):
        with open(tiny_model(), "rb") as file:
            whole = file.read()
        for size in (3, 4, 20, 200, 5000, len(whole) // 2, len(whole) - 40):
            self.write("cut.gguf", whole[:size])
            self.refused(NOT_DONE, ("generate", "x", "-m", "cut.gguf"), r"cut\.gguf")
        for at in list(range(4, 60)) + list(range(60, 6000, 151)):
            damaged = bytearray(whole)
            damaged[at] ^= 0xFF
            self.write("damaged.gguf", bytes(damaged))
            result = self.run_it("info", "damaged.gguf")
            self.assertIn(result.returncode, (0, 1), f"byte {at}: {result.stderr}")  # a text may change and still be one

    def test_convert_refuses_other_sources(self):
        os.mkdir(self.path("empty"))
        os.mkdir(self.path("audiocraft"))
        self.write("audiocraft/state_dict.bin", b"x")
        self.write("a.pth", b"x")
        for source, says in (("empty", "config.json"), ("audiocraft", "audiocraft"), ("a.pth", "file"), ("none", "none"),
                             (tiny_model(), "file")):
            self.refused(NOT_DONE, ("convert", source, "-o", "a.gguf"), says)


class Codes(Case):
    def test_codes_that_cannot_be_decoded(self):
        for name, data, says in (("wav.npy", b"RIFF" + bytes(100), r"NPY"),
                                 ("flat.npy", write_npy((8,), [0] * 8), r"codebooks, frames"),
                                 ("three.npy", write_npy((3, 2), [0] * 6), r"4 codebooks"),
                                 ("none.npy", write_npy((4, 0), []), r"frame"),
                                 ("batch.npy", write_npy((2, 4, 1), [0] * 8), r"batch"),
                                 ("float.npy", write_npy((4, 2), [0.0] * 8, "f"), r"integers"),
                                 ("big.npy", write_npy((4, 2), [0, 0, 0, 0, 0, 64, 0, 0]), r"code 64 \(codebook 2, frame 1\)"),
                                 ("low.npy", write_npy((4, 2), [-1] + [0] * 7), r"code -1"),
                                 ("cut.npy", write_npy((4, 2), [0] * 8)[:-1], r"shape")):
            self.write(name, data)
            self.refused(NOT_DONE, ("codec", "decode", name, "a.wav", "-m", tiny_model()), says)
        self.refused(NOT_DONE, ("codec", "decode", "missing.npy", "a.wav", "-m", tiny_model()), r"missing\.npy")


def gguf_of(architecture):
    """A well-formed GGUF file of another family: one key, no tensors."""
    key, value = b"general.architecture", architecture.encode("ascii")
    header = b"GGUF" + (3).to_bytes(4, "little") + (0).to_bytes(8, "little") + (1).to_bytes(8, "little")
    return header + len(key).to_bytes(8, "little") + key + (8).to_bytes(4, "little") + len(value).to_bytes(8, "little") + value + bytes(64)
