"""continuo generate: formats by their endings, and what happens to a clip before it is written."""
import math
import os

from cli.support import Case, read_pcm16, tiny_model

WRONG_USAGE = 2


def frames(path):
    """(rate, channels, list of frames)"""
    rate, channels, samples = read_pcm16(path)
    return rate, channels, list(zip(*[iter(samples)] * channels))


class Formats(Case):
    def test_endings(self):
        for ending, magic in (("wav", b"RIFF"), ("flac", b"fLaC"), ("mp3", b"\xff\xfb"), ("m4a", None), ("ogg", b"OggS"), ("opus", b"OggS")):
            name = "a." + ending
            self.generate("x", "-d", "1", "--seed", "1", "-o", name)
            data = self.bytes_of(name)
            if magic:
                self.assertEqual(data[:len(magic)], magic)
            else:
                self.assertEqual(data[4:8], b"ftyp")
        self.assertLess(os.path.getsize(self.path("a.flac")), os.path.getsize(self.path("a.wav")))
        self.assertEqual(len(self.files()), 6)

    def test_the_same_request_makes_the_same_file(self):
        for name in ("a.flac", "a.mp3", "a.m4a", "a.opus"):
            self.generate("x", "-d", "0.5", "--seed", "1", "-o", name)
            first = self.bytes_of(name)
            self.generate("x", "-d", "0.5", "--seed", "1", "-o", name)
            self.assertEqual(self.bytes_of(name), first, name)

    def test_numbers_come_before_the_ending(self):
        self.generate("x", "--takes", "2", "-d", "0.5", "-o", "a.mp3")
        self.assertEqual(self.files(), ["a-1.mp3", "a-2.mp3"])

    def test_what_is_written_can_be_continued(self):
        for name in ("a.flac", "a.mp3", "a.m4a", "a.opus"):
            self.generate("x", "-d", "0.5", "--seed", "1", "-o", name)
            self.generate("x", "-d", "1", "--seed", "1", "--continue", name, "-o", "b.wav")

    def test_refusals(self):
        for words, says in ((("-o", "a.opus", "--rate", "44100"), r"48000"), (("-o", "a.mp3", "--bits", "24"), r"--bits"),
                            (("-o", "a.flac", "--bits", "32f"), r"16 or 24"), (("--rate", "8000"), r"32000, 44100 or 48000"),
                            (("--channels", "3"), r"1 or 2"), (("--loudness", "0"), r"-40 to -5"), (("--loudness", "loud"), r"-40 to -5"),
                            (("--gate", "5"), r"-100 to -20"), (("--fade-in", "-1"), r"0 to 600"), (("--loop", "--fade-out", "1"), r"loop")):
            self.refused(WRONG_USAGE, ("generate", "x", "-m", tiny_model(), *words), says)


class Finishing(Case):
    def test_default_is_untouched(self):
        self.generate("x", "-d", "1", "--seed", "1", "-o", "a.wav")
        self.generate("x", "-d", "1", "--seed", "1", "-o", "a.raw")
        self.assertEqual(self.bytes_of("a.wav")[44:], self.bytes_of("a.raw"))

    def test_rate_and_channels(self):
        value = self.json("generate", "x", "-m", tiny_model(), "-d", "1", "--rate", "44100", "--channels", "2", "-o", "a.wav")
        rate, channels, both = frames(self.path("a.wav"))
        self.assertEqual((rate, channels, len(both)), (44100, 2, 44100))
        self.assertTrue(all(left == right for left, right in both))
        clip = value["clips"][0]
        self.assertEqual((clip["sample_rate"], clip["channels"], clip["samples"], clip["seconds"]), (44100, 2, 44100, 1.0))

    def test_loudness_is_one_gain(self):
        for name, more in (("a.wav", ()), ("b.wav", ("--loudness", "-30")), ("c.wav", ("--loudness", "-36"))):
            self.generate("x", "-d", "2", "--seed", "1", "-o", name, *more)
        quiet, quieter = (math.sqrt(sum(s * s for s in read_pcm16(self.path(name))[2])) for name in ("b.wav", "c.wav"))
        self.assertAlmostEqual(20 * math.log10(quiet / quieter), 6.0, delta=0.05)

    def test_fades(self):
        quiet = ("x", "-d", "2", "--seed", "1", "--loudness", "-36")  # the limiter has nothing to do
        self.generate(*quiet, "-o", "a.wav")
        self.generate(*quiet, "-o", "b.wav", "--fade-in", "0.5", "--fade-out", "0.5")
        plain, faded = read_pcm16(self.path("a.wav"))[2], read_pcm16(self.path("b.wav"))[2]
        self.assertEqual(len(plain), len(faded))
        self.assertLess(max(map(abs, faded[:100] + faded[-100:])), 30)
        self.assertLessEqual(max(abs(s - t) for s, t in zip(plain[16000:48000], faded[16000:48000])), 1)

    def test_loops_are_shorter(self):
        value = self.json("generate", "x", "-m", tiny_model(), "-d", "4", "--seed", "1", "--loop", "-o", "a.wav")
        samples = read_pcm16(self.path("a.wav"))[2]
        self.assertTrue(2 * 32000 <= len(samples) <= 3 * 32000)
        self.assertEqual(value["clips"][0]["samples"], len(samples))
        inside = max(abs(s - t) for s, t in zip(samples, samples[1:]))
        self.assertLessEqual(abs(samples[0] - samples[-1]), inside)
        # What was made counts, not what is left.
        self.assertAlmostEqual(value["speed"] * value["work_seconds"], 4.0, delta=0.01)

    def test_peaks_stay_below_full_scale(self):
        self.generate("x", "-d", "2", "--seed", "1", "--loudness", "-5", "-o", "a.wav")
        peak = max(map(abs, read_pcm16(self.path("a.wav"))[2]))
        self.assertLessEqual(peak, 32768 * 10 ** (-1 / 20) + 1)
