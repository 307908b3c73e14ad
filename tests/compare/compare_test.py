"""bench/compare without the programs that it compares: what counts as the best, what the table says, what is refused."""
import os
import stat
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench", "compare"))

import peers  # noqa: E402
import report  # noqa: E402


def linear(peer, value, variant="", size=2, weights="q4_0"):
    return {"part": "linear", "peer": peer, "type": weights, "size": size, "value": value, "variant": variant,
            "about": {"isa": "x"}}


def program(peer, weights, value, size=1, **about):
    return {"part": "program", "peer": peer, "type": weights, "size": size, "value": value, "variant": "",
            "about": {"isa": "x", "version": "1", "step_ms": value, **about}}


def run_of(results, **more):
    run = {"title": "", "smoke": False, "cpu": "a processor", "date": "2026-01-01", "threads": 2, "isa": "native", "rounds": 2,
           "types": ["q4_0"], "rows": [2], "clips": [1], "seconds": 10.0, "kv": None, "busy": 0.0, "missing": {},
           "stopped": False, "width": 1024, "layers": 24, "results": results}
    return {**run, **more}


class Best(unittest.TestCase):
    def test_the_fastest_layout_of_the_fastest_build_counts(self):
        text = report.table(run_of([
            linear("continuo", 4.0), linear("continuo", 3.0), linear("ggml, wheel build", 9.0, "plain"),
            linear("ggml, wheel build", 7.5, "CPU_REPACK"), linear("ggml, native build", 6.0, "plain"),
            linear("ggml, native build", 8.0, "CPU_REPACK")]))
        self.assertIn("| q4_0 | ggml, wheel build | 7.50 (CPU_REPACK) |", text)
        self.assertIn("| q4_0 | ggml, native build | 6.00 (plain) |", text)
        self.assertIn("| **q4_0: ggml's best / continuo** | | **2.00x** |", text)
        self.assertIn("361 M weights", text)

    def test_types_are_not_mixed(self):
        text = report.table(run_of([linear("continuo", 2.0, weights="q8_0"), linear("ggml, wheel build", 1.0)],
                                   types=["q8_0", "q4_0"]))
        self.assertNotIn("x**", text.replace("| **q4_0: ggml's best / continuo** | | - |", ""))

    def test_rounds_that_differ_are_named(self):
        text = report.table(run_of([linear("continuo", 2.0), linear("continuo", 3.0)]))
        self.assertIn("Rounds differ by up to 50% (continuo, q4_0, 2 rows)", text)

    def test_a_program_is_compared_at_the_same_number_of_clips(self):
        text = report.table(run_of([program("continuo", "q4_0", 5.0), program("continuo", "q4_0", 10.0, size=4),
                                    program("transformers f32", "f32", 100.0, steps=503, steps_run=503),
                                    program("transformers f32", "f32", 150.0, size=4, steps=503, steps_run=503)], clips=[1, 4]))
        self.assertIn("| **transformers f32 / continuo q4_0** | | **20.0x** |  | **15.0x** |", text)
        self.assertNotIn("stands for all", text)

    def test_what_does_not_hold_everywhere_is_said(self):
        text = report.table(run_of([program("transformers f32", "f32", 100.0, steps=503, steps_run=40)], busy=0.3,
                                   missing={"OpenVINO": "no wheel"}))
        self.assertIn("first 40 of 503 steps", text)
        self.assertIn("Not quiet", text)
        self.assertIn("Not measured: OpenVINO: no wheel", text)

    def test_a_smoke_test_claims_nothing(self):
        text = report.table(run_of([linear("continuo", 1.0), linear("ggml, wheel build", 2.0)], smoke=True))
        self.assertNotIn("x**", text)


class Running(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.setting = peers.Setting(binary=os.path.join(self.folder, "program"), checkpoint="", models={"q4_0": "m.gguf"},
                                     torch_python="", openvino_python="", ggml_builds=self.folder)

    def program(self, script):
        with open(self.setting.binary, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script)
        os.chmod(self.setting.binary, stat.S_IRWXU)

    def test_a_program_that_is_not_there_is_unavailable(self):
        with self.assertRaisesRegex(peers.Unavailable, "setup.sh"):
            peers.ggml_linear(self.setting, "native", "q4_0")

    def test_a_program_that_fails_is_a_failure_with_its_last_word(self):
        self.program("echo first >&2; echo 'there is no memory' >&2; exit 1")
        with self.assertRaisesRegex(RuntimeError, "there is no memory"):
            peers.continuo_linear(self.setting, "q4_0")

    def test_a_missing_package_is_not_a_failure(self):
        self.program("echo \"ModuleNotFoundError: No module named 'openvino'\" >&2; exit 1")
        with self.assertRaisesRegex(peers.Unavailable, "openvino"):
            peers.continuo_linear(self.setting, "q4_0")

    def test_settings_of_the_caller_do_not_reach_the_programs(self):
        self.program('echo "{\\"isa\\": \\"$CONTINUO_ISA,$CONTINUO_THREADS,$OMP_NUM_THREADS\\", \\"threads\\": 2,'
                     ' \\"bandwidth_gbs\\": 1, \\"weights_bytes\\": 1, \\"steps\\": [{\\"rows\\": 2, \\"linear_ms\\": 1.5}]}"')
        os.environ["CONTINUO_THREADS"] = "7"
        self.addCleanup(os.environ.pop, "CONTINUO_THREADS")
        [found] = peers.continuo_linear(self.setting, "q4_0")
        self.assertEqual((found["about"]["isa"], found["value"]), (",,2", 1.5))
        self.setting.isa = "avx2"
        [found] = peers.continuo_linear(self.setting, "q4_0")
        self.assertEqual(found["about"]["isa"], "avx2,,2")

    def test_who_cannot_be_held_to_avx2_is_left_out(self):
        self.setting.isa = "avx2"
        with self.assertRaisesRegex(peers.Unavailable, "AVX2"):
            peers.ggml_linear(self.setting, "native", "q4_0")
        with self.assertRaisesRegex(peers.Unavailable, "AVX2"):
            peers.openvino_linear(self.setting, "q4_0")


if __name__ == "__main__":
    unittest.main()
