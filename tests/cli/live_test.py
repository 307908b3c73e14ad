"""continuo live: an endless piece that follows what is typed, to standard output and to a sound device.

There is no sound card where tests run. ALSA's own library plays into a file instead, by the configuration of a person whose default device
is one."""
import os
import signal
import subprocess
import time

from cli.support import BINARY, Case, TIMEOUT, environment, tiny_model

RATE = 32000
BYTES = 2 * RATE  # a second


class Live(Case):
    def begin(self, *words, stdout=subprocess.PIPE, **variables):
        process = subprocess.Popen([BINARY, "live", *words, "-m", tiny_model()], cwd=self.folder, stdin=subprocess.PIPE, stdout=stdout,
                                   stderr=subprocess.PIPE, env=environment(self.home, **variables), bufsize=0)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()

    @staticmethod
    def read(process, count):
        data = b""
        while len(data) < count:
            piece = process.stdout.read(count - len(data))
            if not piece:
                break
            data += piece
        return data

    def play(self, typed, *words):
        """(sound, what it said) of a run whose input ends at once."""
        process = self.begin(*words, "--stdout")
        sound, said = process.communicate(typed, TIMEOUT)
        self.assertEqual(process.returncode, 0, said)
        return sound, said.decode()

    def test_it_begins_like_a_clip_and_has_its_length(self):
        self.generate("piano", "-d", "3", "--seed", "5", "-o", "a.wav")
        started = time.monotonic()
        # The closed input is no reason to stop before the time.
        sound, said = self.play(b"", "piano", "--seed", "5", "--seconds", "2.00003")
        self.assertEqual(len(sound), 2 * 64001)
        self.assertEqual(sound, self.bytes_of("a.wav")[44:][:len(sound)])
        self.assertGreater(time.monotonic() - started, 1.0)  # in real time, half a second ahead
        self.assertEqual(said, 'playing "piano", seed 5 (s16le, 32000 Hz, mono); type a new prompt, or /help\n2.0 s played\n')

    def test_a_typed_line_is_heard_within_two_seconds(self):
        plain, _ = self.play(b"", "piano", "--seed", "5", "--seconds", "5")
        process = self.begin("piano", "--seed", "5", "--seconds", "5", "--stdout")
        # A player takes a tenth of a second at a time, when it has played the one before.
        sound, heard, begun = b"", None, time.monotonic()
        for tenth in range(50):
            if tenth == 20:
                process.stdin.write("drums, très vite\n".encode())
                heard = len(sound)
            sound += self.read(process, BYTES // 10)
            time.sleep(max(0.0, begun + tenth / 10 - time.monotonic()))
        said = process.communicate(timeout=TIMEOUT)[1].decode()
        self.assertEqual(len(sound), 5 * BYTES)
        changed = next(i for i in range(0, len(sound), 2) if sound[i:i + 2] != plain[i:i + 2])
        self.assertGreaterEqual(changed, heard)
        self.assertLess((changed - heard) / BYTES, 2.0)
        self.assertIn('now: "drums, très vite"\n', said)

    def test_guidance_and_temperature(self):
        plain, _ = self.play(b"", "piano", "--seed", "5", "--seconds", "1.5")
        for line in (b"/guidance 9", b"/temperature 0.2", b'""'):
            sound, said = self.play(line, "piano", "--seed", "5", "--seconds", "1.5")  # the last line needs no end
            self.assertNotEqual(sound, plain, line)
            self.assertIn("now: ", said)

    def test_what_it_does_not_understand_changes_nothing(self):
        plain, _ = self.play(b"", "piano", "--seed", "5", "--seconds", "1")
        sound, said = self.play(b"\n/louder\n/guidance much\ncaf\xe9\n/help\n  \r\n" + b"x" * 50000, "piano", "--seed", "5", "--seconds", "1")
        self.assertEqual(sound, plain)
        for words in ("there is no /louder", "/guidance must be", "not UTF-8", "/temperature NUMBER", "at most 20000"):
            self.assertIn(words, said)

    def test_quit_drops_what_nobody_has_heard(self):
        process = self.begin("piano", "--stdout")
        self.read(process, BYTES)
        process.stdin.write(b"/quit\n")
        rest, said = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0, said)
        self.assertLess(len(rest), 2 * BYTES)
        self.assertRegex(said.decode(), r"\n[\d.]+ s played\n$")

    def test_control_c(self):
        process = self.begin("piano", "--stdout")
        self.read(process, BYTES)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(said.decode(), r"\ncontinuo: stopped after [\d.]+ s\n$")

    def test_control_c_when_the_player_hangs(self):
        process = self.begin("piano", "--stdout")
        self.read(process, 1000)
        time.sleep(1.5)  # the pipe is full
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(TIMEOUT), 130)

    def test_a_player_that_is_closed_ends_it(self):
        process = self.begin("piano", "--stdout")
        self.read(process, BYTES)
        process.stdout.close()
        process.stdout = None
        self.assertEqual(process.wait(TIMEOUT), 0)
        self.assertRegex(process.stderr.read().decode(), r"\nthe listener has left after [\d.]+ s\n$")

    def test_a_wav_file_without_an_end(self):
        process = self.begin("piano", "--stdout", "--stream-format", "wav")
        header = self.read(process, 44)
        self.assertEqual((header[:4], header[8:16], header[36:40]), (b"RIFF", b"WAVEfmt ", b"data"))
        self.assertEqual((header[4:8], header[40:44]), (b"\xff" * 4, b"\xff" * 4))

    def test_beyond_a_window(self):
        # In real time this were too long for a test; this device takes what it gets at once.
        self.device()
        self.generate("piano", "-d", "45", "--seed", "5", "-o", "a.wav")
        process = self.begin("piano", "--seconds", "40", "--seed", "5")
        _, said = process.communicate(b"", TIMEOUT)
        self.assertEqual(process.returncode, 0, said)
        self.assertEqual(self.bytes_of("heard.raw"), self.bytes_of("a.wav")[44:][:40 * BYTES])

    def device(self):
        with open(os.path.join(self.home, ".asoundrc"), "w", encoding="ascii") as file:
            file.write('pcm.!default { type file\n slave.pcm "null"\n file "%s"\n format "raw" }\n' % self.path("heard.raw"))

    def test_a_sound_device(self):
        self.device()
        plain, _ = self.play(b"", "piano", "--seed", "5", "--seconds", "2")
        process = self.begin("piano", "--seconds", "2", "--seed", "5")
        sound, said = process.communicate(b"", TIMEOUT)
        self.assertEqual((process.returncode, sound), (0, b""), said)
        self.assertEqual(self.bytes_of("heard.raw"), plain)
        self.assertIn("(device default)", said.decode())

    def test_the_device_hears_what_is_typed(self):
        self.device()
        plain, _ = self.play(b"", "piano", "--seed", "5", "--seconds", "2")
        process = self.begin("piano", "--seconds", "2", "--seed", "5")
        _, said = process.communicate(b"drums\n", TIMEOUT)
        self.assertEqual(process.returncode, 0, said)
        self.assertEqual(len(self.bytes_of("heard.raw")), len(plain))
        self.assertNotEqual(self.bytes_of("heard.raw"), plain)

    def test_no_such_device(self):
        self.refused(1, ("live", "-m", tiny_model(), "--device", "no such"), r"no sound device 'no such' .*--device .*--stdout")

    def test_refusals(self):
        for words, says in ((("--stdout", "--device", "x"), r"--device or --stdout"), (("--stream-format", "wav"), r"for --stdout"),
                            (("--stdout", "--stream-format", "mp3"), r"s16le"), (("--seconds", "0"), r"--seconds must be"),
                            (("--guidance", "-1"), r"--guidance"), (("--temperature", "x"), r"--temperature"), (("a", "b"), r"too many"),
                            (("--top-k", "65"), r"from 0 to 64"), (("--seed", "x"), r"--seed"), ((b"caf\xe9",), r"UTF-8")):
            self.refused(2, ("live", *words, "-m", tiny_model()), says)
