"""The model in the box: found from anywhere without a flag, and it makes sound."""
import math
import os
import unittest

from cli.support import Case, DEMO, read_pcm16


@unittest.skipUnless(os.path.exists(DEMO), "models/demo.gguf is not there")
class Demo(Case):
    def test_is_found_and_plays(self):
        value = self.json("generate", "upbeat electronic dance music with drums", "-d", "4", "--seed", "1", "-o", "a.wav")
        self.assertEqual(os.path.basename(value["model"]["path"]), "demo.gguf")
        rate, channels, samples = read_pcm16(self.path("a.wav"))
        self.assertEqual((rate, channels), (value["clips"][0]["sample_rate"], 1))
        self.assertEqual(len(samples), 4 * rate)
        level = math.sqrt(sum(sample * sample for sample in samples) / len(samples)) / 32768
        self.assertGreater(level, 0.005)
        clipped = sum(abs(sample) >= 32767 for sample in samples)
        self.assertLess(clipped, len(samples) / 100)

    def test_its_licence_is_known(self):
        self.assertNotIn(self.json("info", "demo")["license"], ("", "unknown"))
