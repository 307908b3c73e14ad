"""--memory SIZE: whatever is accepted, the process stays within it. Read back from the system (VmHWM), at the smallest sizes that are
accepted and at larger ones, where more runs at once."""
import os
import subprocess
import time
import unittest

from cli.recordings_test import tune
from cli.support import BINARY, Case, DEMO, environment, tiny_model, write_wav

SIZES = [40, 52, 64, 80, 100, 125, 160, 200, 250, 320, 400, 500, 640]  # MB
PROMPT = "piano drums guitar "


def sanitized():
    """Whether the program is built with a sanitizer, whose own memory nobody predicts."""
    with open(BINARY, "rb") as file:
        data = file.read()
    return b"__asan_init" in data or b"__tsan_init" in data


class Memory(Case):
    @classmethod
    def setUpClass(cls):
        if sanitized():
            raise unittest.SkipTest("a sanitizer takes memory of its own")

    def within(self, *words, model=None, most=None):
        """Of the sizes the smallest that is accepted, and two larger ones. Returns the smallest."""
        accepted = []
        for size in SIZES:
            result = self.run_it("generate", *words, "-m", model or tiny_model(), "--seed", "1", "--memory", f"{size}MB", "-o", "a.wav",
                                 "--json", "--threads", "2")
            if result.returncode != 0:
                self.assertEqual((result.returncode, accepted), (1, []), f"{size} MB, {words[:6]}: {result.stderr}")
                self.assertRegex(result.stderr, r"budget|--memory")
                continue
            peak = int(result.stdout.split('"peak_memory_bytes":')[1].split(",")[0])
            self.assertLessEqual(peak, size * 1_000_000, f"{size} MB, {words[:6]}")
            accepted.append(size)
            if len(accepted) == 3:
                break
        self.assertTrue(accepted, words[:6])
        if most:  # a budget that nobody needs is no use
            self.assertLessEqual(accepted[0], most, words[:6])
        return accepted[0]

    def test_one_clip(self):
        short = self.within("x", "-d", "10", "--guidance", "1", most=80)
        self.assertGreater(self.within("x", "-d", "200", "--guidance", "1"), short)

    def test_finishing(self):
        for words in (("--rate", "48000", "--channels", "2", "--loudness", "-14"), ("--loop",), ("--level", "free", "--bits", "32f")):
            self.within("x", "-d", "150", "--guidance", "1", *words)

    def test_many_clips(self):
        self.within("x", "-d", "15", "--takes", "12", "--guidance", "1")
        self.within("x", "-d", "3", "--takes", "40")

    def test_a_recording(self):
        self.write("start.wav", write_wav(60 * tune(32000), 32000, letter="h"))
        self.within("x", "-d", "70", "--guidance", "1", "--continue", "start.wav")

    def test_long_prompts(self):
        self.within(PROMPT * 20, "-d", "2")
        self.within(PROMPT * 250, "-d", "2")

    def test_a_relay(self):
        self.write("relay.txt", "".join(f"5 {'crossfade: ' if i % 3 == 1 else ''}{i} {PROMPT * 10}\n" for i in range(9)).encode())
        self.within("--relay", "relay.txt", "--guidance", "2")

    @unittest.skipUnless(os.path.exists(DEMO), "models/demo.gguf is not there")
    def test_the_demo_model(self):
        self.within("x", "-d", "8", "--takes", "5", model=DEMO, most=125)
        self.within("x", "-d", "35", model=DEMO, most=125)
        self.within("x", "-d", "8", "--takes", "3", "--kv", "f32", model=DEMO)
        self.within(PROMPT * 100, "-d", "2", "--takes", "3", model=DEMO)

    def test_live(self):
        for size in (100, 200):
            command = [BINARY, "live", "piano", "-m", tiny_model(), "--stdout", "--seconds", "4", "--memory", f"{size}MB"]
            process = subprocess.Popen(command, cwd=self.folder, env=environment(self.home), stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(process.kill)
            process.stdin.write((PROMPT * 20 + "\n").encode())
            process.stdin.close()
            peak = 0
            while process.poll() is None:
                with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                    lines = [line for line in file if line.startswith("VmHWM")]
                peak = max([peak] + [int(line.split()[1]) * 1024 for line in lines])
                time.sleep(0.05)
            self.assertEqual(process.returncode, 0)
            self.assertGreater(peak, 10_000_000)
            self.assertLessEqual(peak, size * 1_000_000)
