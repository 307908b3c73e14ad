"""continuo check: clean files pass, planted faults end with status 1 and are named, by line and as JSON."""
import json
import math
import os
import unittest

from cli.support import Case, DEMO, read_pcm16, write_wav

WRONG_USAGE = 2
NOT_DONE = 1
RATE = 32000


def tone(seconds=1.0, hertz=440.0, level=0.4):
    return [level * math.sin(2 * math.pi * hertz * i / RATE) for i in range(round(seconds * RATE))]


class Check(Case):
    def faults(self, samples, *words, channels=1):
        """The kinds that are found, and what the command prints."""
        self.write("a.wav", write_wav(samples, RATE, channels))
        result = self.run_it("check", "a.wav", "--json", *words)
        self.assertEqual(result.stdout.count("\n"), 1, result.stderr)
        value = json.loads(result.stdout)
        self.assertEqual(result.returncode, NOT_DONE if value["faults"] else 0)
        self.assertEqual(value["passed"], not value["faults"])
        for fault in value["faults"]:
            self.assertTrue(fault["what"] and fault["advice"], fault)
        return [fault["kind"] for fault in value["faults"]], value

    def test_a_clean_tone_passes(self):
        kinds, value = self.faults(tone(), "--length", "1")
        self.assertEqual(kinds, [])
        self.assertEqual((value["samples"], value["channels"], value["sample_rate"], value["seconds"]), (RATE, 1, RATE, 1.0))
        self.assertAlmostEqual(value["levels"][0]["peak"], 0.4, 3)
        self.assertGreater(value["phase_continuity"]["score"], 0.999)
        self.assertIn("no faults", self.ok("check", "a.wav"))

    def test_faults_are_lines_and_status_1(self):
        samples = tone()
        samples[12345] = 0.9
        samples[20000] = float("nan")
        self.write("a.wav", write_wav(samples, RATE))
        result = self.run_it("check", "a.wav")
        self.assertEqual(result.returncode, NOT_DONE)
        self.assertRegex(result.stdout, r"click: at 0\.385\d s: .+; .+\n")
        self.assertRegex(result.stdout, r"nan: at 0\.6250 s: 1 sample is not a finite number; ")
        self.assertEqual(result.stderr, "continuo: a.wav has 2 faults; see above\n")
        self.assertEqual(self.faults(samples)[0], ["click", "nan"])

    def test_the_channel_is_named(self):
        both = [value for sample in tone() for value in (sample, sample)]
        self.assertEqual(self.faults(both, channels=2)[0], [])
        both[2 * 9000 + 1] = -0.9
        kinds, value = self.faults(both, channels=2)
        self.assertEqual((kinds, value["faults"][0]["channel"]), (["click"], 2))
        self.assertIn("right", self.run_it("check", "a.wav").stdout)

    def test_length(self):
        self.assertEqual(self.faults(tone(), "--samples", str(RATE))[0], [])
        self.assertEqual(self.faults(tone(), "--samples", str(RATE - 1))[0], ["length"])
        self.assertEqual(self.faults(tone(), "--length", "1.1")[0], ["length"])

    def test_wrong_usage_and_files(self):
        self.write("a.wav", write_wav(tone(), RATE))
        self.refused(WRONG_USAGE, ("check", "a.wav", "--length", "0"), r"--length")
        self.refused(WRONG_USAGE, ("check", "a.wav", "--samples", "1.5"), r"--samples")
        self.refused(WRONG_USAGE, ("check", "a.wav", "--samples", "1", "--length", "1"), r"one of them")
        self.refused(WRONG_USAGE, ("check",), r"FILE")
        self.refused(NOT_DONE, ("check", "none.wav"), r"none\.wav")
        self.write("text.wav", b"this is not audio at all")
        self.refused(NOT_DONE, ("check", "text.wav"), r"text\.wav")
        self.write("cut.wav", write_wav(tone(), RATE)[:-100])
        self.refused(NOT_DONE, ("check", "cut.wav"), r"truncated")

    @unittest.skipUnless(os.path.exists(DEMO), "models/demo.gguf is not there")
    def test_music_passes_until_it_is_damaged(self):
        self.ok("generate", "upbeat house, 125 bpm", "-d", "4", "--seed", "1", "-o", "music.wav")
        self.assertIn("no faults", self.ok("check", "music.wav", "--length", "4"))
        rate, _, samples = read_pcm16(self.path("music.wav"))
        music = [sample / 32768 for sample in samples]
        loud = max(range(rate, 3 * rate), key=lambda i: abs(music[i]))
        inverted = music[:loud] + [-sample for sample in music[loud:]]
        kinds, value = self.faults(inverted)
        self.assertIn("click", kinds)
        self.assertAlmostEqual(value["faults"][0]["seconds"], loud / rate, 2)


if __name__ == "__main__":
    unittest.main()
