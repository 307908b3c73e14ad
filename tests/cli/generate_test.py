"""continuo generate: what it makes, and that the same request makes the same again."""
import json
import os
import re
import struct
import subprocess
import wave

from cli.support import BINARY, Case, environment, read_npy, read_pcm16, tiny_model


class Generate(Case):
    def test_length_is_exact(self):
        # 50 frames a second, rounded and not cut: 2.3 x 50 is a little less than 115 in floating point.
        for seconds, frames in (("1", 50), ("0.02", 1), ("2.3", 115), ("0.511", 26)):
            self.generate("piano", "-d", seconds, "-o", "a.wav")
            rate, channels, samples = read_pcm16(self.path("a.wav"))
            self.assertEqual((rate, channels, len(samples)), (32000, 1, frames * 640), seconds)

    def test_the_whole_window(self):
        self.generate("piano", "-d", "30", "-o", "a.wav", "--guidance", "1")
        self.assertEqual(len(read_pcm16(self.path("a.wav"))[2]), 30 * 32000)

    def test_same_seed_same_bytes(self):
        for name, seed in (("a.wav", "7"), ("b.wav", "7"), ("c.wav", "8")):
            self.generate("drum and bass", "-d", "1", "--seed", seed, "-o", name)
        self.assertEqual(self.bytes_of("a.wav"), self.bytes_of("b.wav"))
        self.assertNotEqual(self.bytes_of("a.wav"), self.bytes_of("c.wav"))

    def test_threads_do_not_change_the_result(self):
        for name, threads in (("a.wav", "1"), ("b.wav", "2"), ("c.wav", "3")):
            self.generate("drum and bass", "-d", "1", "--seed", "7", "--threads", threads, "-o", name)
        self.assertEqual(self.bytes_of("a.wav"), self.bytes_of("b.wav"))
        self.assertEqual(self.bytes_of("a.wav"), self.bytes_of("c.wav"))

    def test_the_printed_seed_repeats_the_result(self):
        output = self.generate("strings", "-d", "0.5", "-o", "a.wav")
        seed = re.search(r"seed (\d+)", output).group(1)
        self.generate("strings", "-d", "0.5", "-o", "b.wav", "--seed", seed)
        self.assertEqual(self.bytes_of("a.wav"), self.bytes_of("b.wav"))
        again = self.generate("strings", "-d", "0.5", "-o", "c.wav")
        self.assertNotEqual(re.search(r"seed (\d+)", again).group(1), seed)

    def test_a_longer_clip_begins_like_a_shorter_one(self):
        self.generate("strings", "-d", "1", "--seed", "3", "-o", "a.wav", "--codes-out", "a.npy")
        self.generate("strings", "-d", "2", "--seed", "3", "-o", "b.wav", "--codes-out", "b.npy")
        (_, short), (_, long) = read_npy(self.path("a.npy")), read_npy(self.path("b.npy"))
        # The last three frames are made while the earlier codebooks have already ended, as in the reference.
        for codebook in range(4):
            self.assertEqual(short[codebook * 50:codebook * 50 + 47], long[codebook * 100:codebook * 100 + 47])

    def test_prints_path_seed_speed_load_time_and_memory(self):
        output = self.generate("piano", "-d", "1", "-o", "a.wav", "--seed", "12")
        for pattern in (r"a\.wav", r"seed 12", r"x real time", r"loaded in [\d.]+ s", r"peak memory [\d.]+ .B"):
            self.assertRegex(output, pattern)

    def test_progress_goes_to_standard_error_and_only_now_and_then(self):
        result = self.run_it("generate", "piano", "-d", "1", "-o", "a.wav", "-m", tiny_model())
        self.assertEqual(result.stderr, "")
        self.assertNotIn("\r", result.stdout)

    def test_greedy_needs_no_seed(self):
        self.generate("piano", "-d", "1", "-o", "a.wav", "--temperature", "0", "--seed", "1")
        self.generate("piano", "-d", "1", "-o", "b.wav", "--strategy", "greedy", "--seed", "2")
        self.assertEqual(self.bytes_of("a.wav"), self.bytes_of("b.wav"))

    def test_options_reach_the_sampler(self):
        made = {}
        for words in ((), ("--temperature", "0.5"), ("--top-k", "3"), ("--top-k", "0"), ("--top-p", "0.5"), ("--guidance", "1"),
                      ("--guidance", "10"), ("--strategy", "greedy")):
            self.generate("piano", "-d", "2", "--seed", "5", "-o", "a.wav", "--codes-out", "a.npy", *words)
            made[words] = tuple(read_npy(self.path("a.npy"))[1])
        # 64 codes in this model: its default, 250, is capped there, so a cut at 64 and none at all are the same.
        self.assertEqual(made[()], made[("--top-k", "0")])
        self.assertEqual(len(set(made.values())), len(made) - 1)

    def test_smaller_keys_and_values(self):
        for kind in ("f16", "int8"):
            self.generate("piano", "-d", "1", "-o", "a.wav", "--kv", kind)
            self.assertEqual(len(read_pcm16(self.path("a.wav"))[2]), 32000)


class Prompts(Case):
    def test_the_empty_prompt_is_unconditional(self):
        self.generate("", "-d", "1", "--seed", "1", "-o", "a.wav")
        self.generate("piano", "-d", "1", "--seed", "1", "-o", "b.wav")
        self.assertNotEqual(self.bytes_of("a.wav"), self.bytes_of("b.wav"))

    def test_five_thousand_characters(self):
        self.generate("soft piano and strings " * 217, "-d", "0.5", "-o", "a.wav")
        self.assertEqual(len(read_pcm16(self.path("a.wav"))[2]), 16000)

    def test_prompts_that_look_like_something_else(self):
        for prompt in ("[intro,outro]", "{}", "serve", "80's \"synth\" & drums; $HOME", "轻快的钢琴曲", "line\nbreak"):
            result = self.json("generate", prompt, "-m", tiny_model(), "-d", "0.1", "-o", "a.wav")
            self.assertEqual(result["clips"][0]["prompt"], prompt)

    def test_a_prompt_may_start_with_a_dash(self):
        self.ok("generate", "-m", tiny_model(), "-d", "0.1", "-o", "a.wav", "--", "--loud")
        self.assertEqual(self.files(), ["a.wav"])


class Outputs(Case):
    def test_a_name_of_its_own(self):
        for _ in range(2):
            self.generate("Lofi beat, with piano", "-d", "0.1", "--seed", "42")
        self.assertEqual(self.files(), ["lofi-beat-with-piano-42.wav", "lofi-beat-with-piano-42_2.wav"])  # nothing is replaced

    def test_a_name_that_was_given_is_replaced(self):
        self.write("a.wav", b"old")
        self.generate("x", "-d", "0.1", "-o", "a.wav")
        self.assertEqual(self.bytes_of("a.wav")[:4], b"RIFF")

    def test_a_folder(self):
        os.mkdir(self.path("out"))
        self.generate("x y", "-d", "0.1", "--seed", "1", "-o", "out/")
        self.assertEqual(os.listdir(self.path("out")), ["x-y-1.wav"])

    def test_sample_formats(self):
        for bits in ("16", "24", "32f"):
            self.generate("x", "-d", "0.5", "--seed", "1", "-o", f"{bits}.wav", "--bits", bits)
        rate, _, coarse = read_pcm16(self.path("16.wav"))
        with wave.open(self.path("24.wav"), "rb") as file:
            self.assertEqual((file.getsampwidth(), file.getnframes()), (3, 16000))
            data = file.readframes(16000)
        fine = [int.from_bytes(data[i:i + 3], "little", signed=True) for i in range(0, len(data), 3)]
        raw = self.bytes_of("32f.wav")
        self.assertEqual(struct.unpack_from("<HHI", raw, 20), (3, 1, rate))
        at = raw.index(b"data") + 8
        floats = struct.unpack(f"<{(len(raw) - at) // 4}f", raw[at:])
        self.assertEqual(len(floats), 16000)
        for i in range(16000):
            held = min(max(floats[i], -1.0), 1.0)
            self.assertLessEqual(abs(coarse[i] / 2**15 - held), 1.001 / 2**15)
            self.assertLessEqual(abs(fine[i] / 2**23 - held), 1.001 / 2**23)

    def test_codes(self):
        self.generate("x", "-d", "0.5", "-o", "a.wav", "--codes-out", "a.npy")
        shape, codes = read_npy(self.path("a.npy"))
        self.assertEqual(shape, (4, 25))
        self.assertTrue(all(0 <= code < 64 for code in codes))

    def test_json(self):
        value = self.json("generate", "a", "b", "--takes", "2", "-m", tiny_model(), "-d", "0.5", "--seed", "9", "-o", "x.wav",
                          "--codes-out", "x.npy")
        self.assertEqual([(clip["path"], clip["prompt"], clip["take"], clip["seed"]) for clip in value["clips"]],
                         [("x-1.wav", "a", 1, 9), ("x-2.wav", "a", 2, 9), ("x-3.wav", "b", 1, 9), ("x-4.wav", "b", 2, 9)])
        for clip in value["clips"]:
            self.assertEqual((clip["frames"], clip["samples"], clip["channels"], clip["seconds"], clip["sample_rate"]),
                             (25, 16000, 1, 0.5, 32000))
        self.assertEqual((value["audio_seconds"], value["codes_path"]), (2.0, "x.npy"))
        for field in ("speed", "load_seconds", "work_seconds", "decoder_seconds", "codec_seconds", "peak_memory_bytes", "threads"):
            self.assertGreater(value[field], 0, field)
        self.assertEqual(set(value["model"]), {"name", "path", "license"})

    def test_a_full_standard_output_is_no_success(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([BINARY, "--version"], stdout=full, stderr=subprocess.PIPE, env=environment(self.home), check=False)
            info = subprocess.run([BINARY, "info", tiny_model()], stdout=full, stderr=subprocess.PIPE, env=environment(self.home),
                                  check=False)
        self.assertEqual(info.returncode, 1, info.stderr)
        self.assertEqual(result.returncode, 1, result.stderr)


class Batches(Case):
    def single(self, prompt, *words):
        self.generate(prompt, "-d", "1", "--seed", "11", "-o", "single.wav", *words)
        return self.bytes_of("single.wav")

    def test_each_prompt_runs_as_if_alone(self):
        self.generate("piano", "a much longer prompt about a brass band", "", "-d", "1", "--seed", "11", "-o", "b.wav")
        self.assertEqual(self.files(), ["b-1.wav", "b-2.wav", "b-3.wav"])
        for number, prompt in enumerate(("piano", "a much longer prompt about a brass band", ""), 1):
            self.assertEqual(self.bytes_of(f"b-{number}.wav"), self.single(prompt), prompt)

    def test_take_one_is_the_single_run(self):
        self.generate("piano", "--takes", "3", "-d", "1", "--seed", "11", "-o", "t.wav")
        self.assertEqual(self.files(), ["t-1.wav", "t-2.wav", "t-3.wav"])
        takes = [self.bytes_of(f"t-{number}.wav") for number in (1, 2, 3)]
        self.assertEqual(takes[0], self.single("piano"))
        self.assertEqual(len(set(takes)), 3)

    def test_prompts_from_a_file(self):
        self.write("p.txt", b"\xef\xbb\xbfpiano\r\n\r\n  \r\nbrass\r\n")
        self.generate("--prompts", "p.txt", "-d", "1", "--seed", "11", "-o", "f.wav", "--codes-out", "f.npy")
        self.assertEqual(self.files(), ["f-1.wav", "f-2.wav", "f.npy", "p.txt"])
        self.assertEqual(self.bytes_of("f-1.wav"), self.single("piano"))
        self.assertEqual(self.bytes_of("f-2.wav"), self.single("brass"))
        self.assertEqual(read_npy(self.path("f.npy"))[0], (2, 4, 50))

    def test_a_file_is_a_batch_even_of_one(self):
        self.write("p.txt", b"piano")
        self.generate("--prompts", "p.txt", "-d", "0.1", "-o", "f.wav", "--codes-out", "f.npy")
        self.assertEqual(self.files(), ["f-1.wav", "f.npy", "p.txt"])
        self.assertEqual(read_npy(self.path("f.npy"))[0], (1, 4, 5))

    def test_text_output_lists_every_clip(self):
        output = self.generate("a", "b", "-d", "0.1", "-o", "x.wav")
        self.assertIn("x-1.wav", output)
        self.assertIn("x-2.wav", output)
        self.assertRaises(ValueError, json.loads, output)
