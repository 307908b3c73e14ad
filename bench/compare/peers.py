"""How each program is run for one measurement. Every function returns a list of results; a result is a dictionary with

part     "linear" (milliseconds of all linear layers of a step) or "program" (seconds of a whole clip)
peer     who
type     of the weights
size     rows of the step, or clips made at once
value    milliseconds, or seconds
variant  what the peer chose among its own ways (a layout, a group size); the best one counts
about    version and instruction set, and whatever else the table should say
"""
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROMPTS = ["warm jazz piano with brushed drums", "80s pop track with bassy drums and synth", "slow dark techno, 120 bpm",
           "a gentle waltz for harp and strings"]
# Holds everyone to AVX2 on a machine that has more. OpenVINO has no such switch.
AVX2 = {"CONTINUO_ISA": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "FBGEMM_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


class Unavailable(Exception):
    """This peer cannot be measured here; says why."""


@dataclass
class Setting:
    binary: str
    checkpoint: str  # a Hugging Face folder
    models: dict  # type -> model file made of it
    torch_python: str
    openvino_python: str
    ggml_builds: str  # folder with wheel/ggml_linear, native/ggml_linear
    threads: int = 2
    isa: str = "native"
    rows: tuple = (2, 8)
    passes: int = 20
    seconds: float = 10.0
    steps: int | None = None  # of transformers' decoder; None: all
    kv: str | None = None  # None: continuo's own default
    width: int = 1024  # of the decoder, for ggml and OpenVINO
    layers: int = 24
    timeout: float = 3600.0

    def environment(self):
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith("CONTINUO_") and name not in AVX2 and name != "OMP_NUM_THREADS"}
        clean["OMP_NUM_THREADS"] = str(self.threads)
        if self.isa == "avx2":
            clean.update(AVX2)
        return clean


def run_json(setting, command):
    """What the program prints, an object on the last line."""
    if not os.path.exists(command[0]):
        raise Unavailable(f"{os.path.relpath(command[0], ROOT)} is not there; run bench/compare/setup.sh")
    try:
        done = subprocess.run(command, cwd=ROOT, env=setting.environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=setting.timeout)
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"{os.path.basename(command[0])} took longer than {setting.timeout:.0f} s") from late
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or ["no word of why"]
        if words[-1].startswith("ModuleNotFoundError"):
            raise Unavailable(words[-1])
        raise RuntimeError(f"{os.path.basename(command[0])} failed: {words[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def comma(values):
    return ",".join(str(value) for value in values)


def continuo_linear(setting, weights):
    found = run_json(setting, [setting.binary, "bench", "-m", setting.models[weights], "--rows", comma(setting.rows),
                               "--threads", str(setting.threads), "--json"])
    about = {"isa": found["isa"], "threads": found["threads"], "bandwidth_gbs": found["bandwidth_gbs"],
             "weights_bytes": found["weights_bytes"]}
    return [{"part": "linear", "peer": "continuo", "type": weights, "size": step["rows"], "value": step["linear_ms"],
             "variant": "", "about": about} for step in found["steps"]]


def synthetic(setting, weights):
    """The options that ggml_linear and openvino_linear.py share."""
    return ["--types", weights, "--rows", comma(setting.rows), "--threads", str(setting.threads), "--passes", str(setting.passes),
            "--width", str(setting.width), "--layers", str(setting.layers)]


def ggml_linear(setting, build, weights):
    if build == "native" and setting.isa != "native":
        raise Unavailable("left out: its build for this machine uses more than AVX2")
    found = run_json(setting, [os.path.join(setting.ggml_builds, build, "ggml_linear"), *synthetic(setting, weights)])
    about = {"version": found["version"], "isa": found["features"], "threads": found["threads"]}
    return [{"part": "linear", "peer": f"ggml, {build} build", "type": weights, "size": run["rows"], "value": run["ms"],
             "variant": run["layout"], "about": about} for run in found["runs"]]


def openvino_linear(setting, weights):
    """weights is ours; its nearest in OpenVINO is measured."""
    if setting.isa != "native":
        raise Unavailable("left out: it cannot be held to AVX2")
    nearest = {"q8_0": "int8", "q4_0": "int4"}[weights]
    script = os.path.join(ROOT, "bench", "compare", "openvino_linear.py")
    found = run_json(setting, [setting.openvino_python, script, *synthetic(setting, nearest)])
    about = {"version": found["version"], "isa": "its own choice", "threads": found["threads"]}
    return [{"part": "linear", "peer": f"OpenVINO {nearest}", "type": weights, "size": run["rows"], "value": run["ms"],
             "variant": f"activations in groups of {run['activation_group']}" if run["activation_group"] else "f32 activations",
             "about": about} for run in found["runs"]]


def continuo_program(setting, weights, clips):
    with tempfile.TemporaryDirectory() as folder:
        command = [setting.binary, "generate", "-m", setting.models[weights], "-d", str(setting.seconds), "--seed", "1",
                   "--guidance", "3", "--threads", str(setting.threads), "--json", "-o", folder + os.sep]
        if setting.kv:
            command += ["--kv", setting.kv]
        found = run_json(setting, [*command, *PROMPTS[:clips]])
    if len(found["clips"]) != clips:
        raise RuntimeError(f"continuo made {len(found['clips'])} clips instead of {clips}")
    steps = found["clips"][0]["frames"] + 3
    about = {"isa": found["isa"], "threads": found["threads"], "version": found["version"],
             "step_ms": found["decoder_seconds"] / steps * 1e3, "codec_s": found["codec_seconds"],
             "text_s": found["text_seconds"], "peak_bytes": found["peak_memory_bytes"]}
    return [{"part": "program", "peer": "continuo", "type": weights, "size": clips, "value": found["work_seconds"], "variant": "",
             "about": about}]


def transformers_program(setting, engine, clips):
    """engine None: f32; else torch's dynamic int8 with it."""
    script = os.path.join(ROOT, "tests", "reference", "measure_transformers.py")
    command = [setting.torch_python, script, setting.checkpoint, "--seconds", str(setting.seconds),
               "--threads", str(setting.threads), "--prompts", str(clips), "--warm"]
    if setting.steps:
        command += ["--steps", str(setting.steps)]
    if engine:
        command += ["--int8", engine]
    found = run_json(setting, command)
    about = {"version": f"{found['transformers']}, torch {found['torch']}", "isa": found["features"], "threads": found["threads"],
             "step_ms": found["ms_per_step"], "codec_s": found["decode_s"], "peak_bytes": found["peak_rss_bytes"],
             "steps": found["steps"], "steps_run": found["steps_run"]}
    kind = "int8" if engine else "f32"
    return [{"part": "program", "peer": f"transformers {kind}", "type": kind, "size": clips, "value": found["total_s"],
             "variant": engine or "", "about": about}]
