"""Ctrl-C: the program stops soon, with status 130, and leaves nothing behind."""
import signal
import time

from cli.support import Case, TIMEOUT, tiny_model

LONG = ("generate", "x", "--takes", "256", "-d", "30", "-o", "a.wav", "--codes-out", "a.npy")


class Interrupts(Case):
    def interrupt(self, signals, after, statuses=(130,)):
        process = self.start(*LONG, "-m", tiny_model())
        try:
            time.sleep(after)
            self.assertIsNone(process.poll(), "it was done before it could be interrupted")
            sent = time.monotonic()
            for number in signals:
                process.send_signal(number)
            output, errors = process.communicate(timeout=TIMEOUT)
            took = time.monotonic() - sent
        finally:
            process.kill()
            process.wait()
        self.assertIn(process.returncode, statuses, errors)
        self.assertEqual(output, b"")
        self.assertEqual(self.files(), [])
        return took, errors.decode()

    def test_control_c_while_composing(self):
        took, errors = self.interrupt([signal.SIGINT], 1.5)
        self.assertLess(took, 20)
        self.assertIn("interrupted", errors)

    def test_termination(self):
        self.interrupt([signal.SIGTERM], 1.0)

    def test_at_once(self):
        # On a busy machine this may come before the program could say what to do about it.
        self.interrupt([signal.SIGINT], 0.15, (130, -signal.SIGINT))

    def test_the_second_one_does_not_wait(self):
        took, _ = self.interrupt([signal.SIGINT, signal.SIGINT], 1.0)
        self.assertLess(took, 20)
