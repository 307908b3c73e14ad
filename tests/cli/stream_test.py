"""generate --stream: the clip's own bytes on standard output, the first of them before the last are made, and clean ends."""
import json
import os
import pty
import signal
import subprocess
import time

from cli.recordings_test import tune
from cli.support import BINARY, Case, TIMEOUT, environment, read_npy, read_pcm16, tiny_model, write_wav

HEADER = 44  # of a WAV file of 16-bit samples


class Streams(Case):
    def stream(self, *words, **kinds):
        return subprocess.run([BINARY, "generate", *words, "-m", tiny_model(), "--stream"], cwd=self.folder, env=environment(self.home),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, **kinds)

    def begin(self, *words):
        return self.start("generate", *words, "-m", tiny_model(), "--stream")

    def test_the_bytes_are_those_of_the_file(self):
        self.generate("piano", "-d", "1.5", "--seed", "4", "-o", "a.wav")
        result = self.stream("piano", "-d", "1.5", "--seed", "4")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, self.bytes_of("a.wav")[HEADER:])
        self.assertEqual(self.files(), ["a.wav"])
        self.assertRegex(result.stderr.decode(), r"^standard output  1\.50 s  seed 4\n.*first sound after [\d.]+ s")

    def test_wav_has_its_sizes_from_the_beginning(self):
        for bits in ("16", "24", "32f"):
            self.generate("piano", "-d", "0.5", "--seed", "4", "-o", "a.wav", "--bits", bits)
            result = self.stream("piano", "-d", "0.5", "--seed", "4", "--stream-format", "wav", "--bits", bits)
            self.assertEqual(result.stdout, self.bytes_of("a.wav"), bits)

    def test_formats(self):
        self.generate("piano", "-d", "0.5", "--seed", "4", "-o", "a.wav", "--bits", "32f")
        floats = self.stream("piano", "-d", "0.5", "--seed", "4", "--stream-format", "f32le").stdout
        self.assertEqual(len(floats), 16000 * 4)
        self.assertEqual(floats, self.bytes_of("a.wav")[-len(floats):])
        self.assertEqual(len(self.stream("piano", "-d", "0.5", "--stream-format", "s24le").stdout), 16000 * 3)

    def test_a_file_as_well(self):
        result = self.stream("piano", "-d", "1", "--seed", "4", "-o", "a.wav", "--codes-out", "a.npy")
        self.assertEqual(result.stdout, self.bytes_of("a.wav")[HEADER:])
        self.assertEqual(read_npy(self.path("a.npy"))[0], (4, 50))

    def test_json_goes_to_standard_error(self):
        result = self.stream("piano", "-d", "0.5", "--seed", "4", "--json")
        self.assertEqual(len(result.stdout), 32000)
        value = json.loads(result.stderr)
        self.assertEqual(value["stream"]["format"], "s16le, 32000 Hz, mono")
        self.assertGreater(value["stream"]["first_sound_seconds"], 0)
        self.assertLessEqual(value["stream"]["first_sound_seconds"], value["work_seconds"])
        self.assertIsNone(value["clips"][0]["path"])
        self.assertEqual((value["clips"][0]["samples"], value["clips"][0]["frames"]), (16000, 25))

    def test_a_recording_that_is_continued(self):
        self.write("start.wav", write_wav(tune(32000), 32000, letter="h"))
        words = ("piano", "-d", "2", "--seed", "4", "--continue", "start.wav")
        self.generate(*words, "-o", "a.wav")
        self.assertEqual(self.stream(*words).stdout, self.bytes_of("a.wav")[HEADER:])
        self.generate(*words, "--codec-prompt", "-o", "b.wav")
        self.assertEqual(self.stream(*words, "--codec-prompt").stdout, self.bytes_of("b.wav")[HEADER:])
        self.assertNotEqual(self.bytes_of("a.wav"), self.bytes_of("b.wav"))

    def test_sound_comes_before_all_is_made(self):
        process = self.begin("piano", "-d", "600", "--guidance", "1")
        try:
            self.assertEqual(len(process.stdout.read(6400)), 6400)
            self.assertIsNone(process.poll())  # ten minutes are not made, and could not wait in a pipe
        finally:
            process.kill()
            process.communicate()

    def test_a_slow_reader_pauses_the_piece(self):
        process = self.begin("piano", "-d", "600", "--guidance", "1")
        try:
            process.stdout.read(6400)
            last, quiet = -1.0, 0
            deadline = time.monotonic() + 120
            while quiet < 5 and time.monotonic() < deadline:  # until it computes no more
                time.sleep(0.2)
                used = cpu_seconds(process.pid)
                quiet = quiet + 1 if used - last < 0.05 else 0
                last = used
            self.assertEqual(quiet, 5, "it went on although nobody read")
            self.assertIsNone(process.poll())
            # And it goes on when somebody does: more than the pipe and the buffer hold.
            self.assertEqual(len(process.stdout.read(20 * 64000)), 20 * 64000)
        finally:
            process.kill()
            process.communicate()

    def test_a_reader_that_leaves(self):
        process = self.begin("piano", "-d", "600", "--guidance", "1", "-o", "a.wav")
        process.stdout.read(6400)
        process.stdout.close()
        self.assertEqual(process.wait(TIMEOUT), 1)
        errors = process.stderr.read().decode()
        process.stderr.close()
        self.assertRegex(errors, r"^continuo: whoever read standard output has stopped reading; it ended after [\d.]+ s of sound\n$")
        self.assertEqual(self.files(), [])

    def test_control_c_with_a_full_pipe(self):
        process = self.begin("piano", "-d", "600", "--guidance", "1", "-o", "a.wav")
        process.stdout.read(6400)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(TIMEOUT), 130)
        _, errors = process.communicate()
        self.assertRegex(errors.decode(), r"^continuo: interrupted after [\d.]+ s of sound\n$")
        self.assertEqual(self.files(), [])

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([BINARY, "generate", "x", "-d", "1", "-m", tiny_model(), "--stream"], stdout=full, cwd=self.folder,
                                    stderr=subprocess.PIPE, env=environment(self.home), timeout=TIMEOUT)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.decode(), r"^continuo: cannot write to standard output: No space left")

    def test_a_terminal_is_refused(self):
        ours, theirs = pty.openpty()
        try:
            for words in (("generate", "x", "--stream"), ("live", "x", "--stdout")):
                result = subprocess.run([BINARY, *words, "-m", tiny_model()], stdout=theirs, stderr=subprocess.PIPE, cwd=self.folder,
                                        env=environment(self.home), stdin=subprocess.DEVNULL, timeout=TIMEOUT)
                self.assertEqual(result.returncode, 2)
                self.assertRegex(result.stderr.decode(), r"^continuo: standard output is a terminal")
        finally:
            os.close(ours)
            os.close(theirs)

    def test_refusals(self):
        for words, says in ((("a", "b", "--stream"), r"one clip"), (("a", "--takes", "2", "--stream"), r"one clip"),
                            (("a", "--stream", "--stream-format", "mp3"), r"s16le, s24le, f32le or wav"),
                            (("a", "--stream-format", "wav"), r"for --stream")):
            self.refused(2, ("generate", *words, "-m", tiny_model()), says)
        self.refused(1, ("generate", "a", "--stream", "-m", tiny_model(), "-o", "no/such/a.wav"), r"cannot write")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Relays(Case):
    def relay(self, text, *words):
        self.write("relay.txt", text.encode())
        return self.json("generate", "--relay", "relay.txt", "-m", tiny_model(), "--seed", "4", "-o", "a.wav", *words)

    def test_a_relay_begins_like_its_first_prompt(self):
        self.generate("piano", "-d", "3", "--seed", "4", "-o", "plain.wav", "--codes-out", "plain.npy")
        value = self.relay("# two moods\n1.5 piano\n\n1.5 continue: drums\n", "--codes-out", "a.npy")
        (shape, made), (_, plain) = read_npy(self.path("a.npy")), read_npy(self.path("plain.npy"))
        self.assertEqual(shape, (4, 150))
        # The new prompt is heard from step 75 on, which writes codebook k of frame 75 - k.
        for codebook in range(4):
            own, other = made[codebook * 150:][:150], plain[codebook * 150:][:150]
            self.assertEqual(own[:75 - codebook], other[:75 - codebook])
            self.assertNotEqual(own[75 - codebook:], other[75 - codebook:])
        own, other = read_pcm16(self.path("a.wav"))[2], read_pcm16(self.path("plain.wav"))[2]
        self.assertEqual(len(own), 96000)
        self.assertEqual(own[:43000], other[:43000])  # but for the frames that the codec looks ahead
        self.assertEqual(value["relay"], [{"seconds": 1.5, "prompt": "piano", "join": "continue"},
                                          {"seconds": 1.5, "prompt": "drums", "join": "continue"}])

    def test_lengths_to_the_sample(self):
        for text, words, frames in (("0.51 a\n0.51 b\n0.51 c", (), 77), ("1 a\n0.5 crossfade: b", ("--crossfade", "0.4"), 75),
                                    ("0.3 a\n0.1 crossfade: b\n0.3 crossfade: c", (), 35), ('1 ""\n1 a\n0.02 ""', (), 101)):
            value = self.relay(text, *words)
            self.assertEqual(len(read_pcm16(self.path("a.wav"))[2]), frames * 640, text)
            self.assertEqual((value["clips"][0]["frames"], value["clips"][0]["samples"]), (frames, frames * 640))

    def test_beyond_the_window(self):
        self.relay("31 a\n5 b\n", "--guidance", "1")
        self.assertEqual(len(read_pcm16(self.path("a.wav"))[2]), 36 * 32000)

    def test_a_crossfade_is_as_long_as_asked(self):
        self.generate("piano", "-d", "2", "--seed", "4", "-o", "plain.wav")
        made = {}
        for seconds in ("0.1", "0.5"):
            self.relay("1 piano\n1 crossfade: drums\n", "--crossfade", seconds)
            made[seconds] = read_pcm16(self.path("a.wav"))[2]
        plain = read_pcm16(self.path("plain.wav"))[2]
        for own in made.values():
            self.assertEqual(own[:32000], plain[:32000])  # nothing of the second before its time
        self.assertNotEqual(made["0.1"], made["0.5"])
        self.assertEqual(made["0.1"][48000:60000], made["0.5"][48000:60000])  # only the second

    def test_from_standard_input_and_as_a_stream(self):
        text = b"0.5 a\n0.5 crossfade: b\n"
        words = [BINARY, "generate", "--relay", "-", "-m", tiny_model(), "--seed", "4", "--stream"]
        result = subprocess.run(words, input=text, capture_output=True, cwd=self.folder, env=environment(self.home), timeout=TIMEOUT)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.relay(text.decode())
        self.assertEqual(result.stdout, self.bytes_of("a.wav")[HEADER:])

    def test_takes(self):
        value = self.relay("0.5 a\n0.5 b\n", "--takes", "2", "--codes-out", "a.npy")
        self.assertEqual([clip["path"] for clip in value["clips"]], ["a-1.wav", "a-2.wav"])
        self.assertNotEqual(self.bytes_of("a-1.wav"), self.bytes_of("a-2.wav"))
        self.assertEqual(read_npy(self.path("a.npy"))[0], (2, 4, 50))

    def test_with_a_recording_to_continue(self):
        self.write("start.wav", write_wav(tune(32000), 32000, letter="h"))
        self.generate("piano", "-d", "2", "--continue", "start.wav", "--seed", "4", "-o", "plain.wav")
        self.relay("1.5 piano\n0.5 drums\n", "--continue", "start.wav")
        own, plain = read_pcm16(self.path("a.wav"))[2], read_pcm16(self.path("plain.wav"))[2]
        self.assertEqual((len(own), own[:43000]), (64000, plain[:43000]))
        self.write("short.txt", b"1 piano\n9 drums\n")
        self.refused(2, ("generate", "--relay", "short.txt", "--continue", "start.wav", "-m", tiny_model()), r"first line, .* only 1 s")

    def test_its_name(self):
        self.write("relay.txt", b"0.1 Soft piano\n0.1 drums\n")
        self.generate("--relay", "relay.txt", "--seed", "3")
        self.assertIn("soft-piano-3.wav", self.files())

    def test_refusals(self):
        self.write("good.txt", b"1 a\n1 b\n")
        self.write("fade.txt", b"1 a\n1 crossfade: b\n")
        self.write("bad.txt", b"1 a\npiano\n")
        self.write("long.txt", b"400 a\n201 b\n")
        base = ("generate", "-m", tiny_model(), "-o", "a.wav", "--relay")
        for words, says in ((("good.txt", "x"), r"give no others"), (("good.txt", "--prompts", "good.txt"), r"give no others"),
                            (("good.txt", "-d", "3"), r"leave -d out"), (("good.txt", "--crossfade", "1"), r"none"),
                            (("fade.txt", "--crossfade", "11"), r"from 0\.02 to 10"),
                            (("fade.txt", "--codes-out", "a.npy"), r"crossfades")):
            self.refused(2, (*base, *words), says)
        for name, says in (("bad.txt", r"bad\.txt, line 2: .*'piano'"), ("long.txt", r"line 2: 601 s"), ("none.txt", r"cannot open")):
            self.refused(1, (*base, name), says)
        self.refused(2, ("generate", "x", "-m", tiny_model(), "--crossfade", "1"), r"--relay")
