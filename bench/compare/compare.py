#!/usr/bin/env python3
"""Runs continuo and others on the same machine, by turns, and prints one table; bench/README.md says what is compared.

    bench/compare/compare.py [--smoke] [--json FILE] [--rounds N] [--steps N] [--isa avx2] ...

BENCH_PYTHON names a Python with torch and transformers, if not the one that setup.sh made.
"""
import argparse
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import peers
import report

ROOT = peers.ROOT
CACHE = os.path.join(ROOT, ".deps", "compare")
VENV_PYTHON = os.path.join(ROOT, ".deps", "compare-venv", "bin", "python")
SMOKE_SIZES = (256, 2)


def say(text):
    print(f"compare: {text}", file=sys.stderr, flush=True)


def list_of(kind):
    return lambda text: tuple(kind(word) for word in text.split(","))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: shows that each part runs; the figures mean nothing")
    parser.add_argument("--only", type=list_of(str), default=("linear", "program"), help="linear, program or both")
    parser.add_argument("--types", type=list_of(str), default=("q8_0", "q4_0"))
    parser.add_argument("--rows", type=list_of(int), default=(2, 8))
    parser.add_argument("--clips", type=list_of(int), default=(1, 4), help="how many at once, up to 4 (default 1,4)")
    parser.add_argument("--engines", type=list_of(str), default=("x86", "onednn"),
                        help="torch's for int8; the best counts (default x86, which takes FBGEMM, and onednn)")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--steps", type=int, help="run only so many of transformers' steps and extrapolate")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--passes", type=int, default=20, help="of ggml and OpenVINO within a round")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--isa", choices=("native", "avx2"), default="native", help="avx2 holds everyone to it")
    parser.add_argument("--kv", help="continuo's type of keys and values, if not its default")
    parser.add_argument("--checkpoint", help="a MusicGen folder; without it random weights of musicgen-small's sizes are made")
    parser.add_argument("--binary", default=os.path.join(ROOT, "build", "continuo"))
    parser.add_argument("--json", default=os.path.join(ROOT, "build-compare", "compare.json"), metavar="FILE")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds for a single measurement")
    arguments = parser.parse_args()
    if not 1 <= min(arguments.clips) <= max(arguments.clips) <= len(peers.PROMPTS):
        parser.error(f"--clips takes 1 to {len(peers.PROMPTS)}")
    if not set(arguments.types) <= {"q8_0", "q4_0"}:
        parser.error("--types takes q8_0 and q4_0")
    if arguments.smoke:
        arguments.rounds, arguments.passes, arguments.seconds, arguments.steps = 1, 2, 0.5, 8
    return arguments


def checkpoint_folder(arguments, torch_python):
    if arguments.checkpoint:
        return os.path.abspath(arguments.checkpoint)
    if arguments.smoke:
        return os.path.join(ROOT, "tests", "goldens", "tiny-a", "model")
    folder = os.path.join(CACHE, "musicgen-small-random")
    if not os.path.exists(folder):
        if not os.path.exists(torch_python):
            sys.exit(f"compare: making random weights needs torch, and {torch_python} is not there; run bench/compare/setup.sh, "
                     "set BENCH_PYTHON, or give --checkpoint")
        say("making random weights of musicgen-small's sizes (2.4 GB)")
        os.makedirs(CACHE, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            fresh = os.path.join(scratch, "model")
            script = os.path.join(ROOT, "tests", "reference", "random_musicgen.py")
            subprocess.run([torch_python, script, "--out", fresh], check=True, stdout=sys.stderr)
            os.rename(fresh, folder)
    return folder


def model_files(arguments, folder, scratch):
    """The checkpoint converted to each type; kept only if it is the one that this script made."""
    models = {}
    keep = not arguments.smoke and not arguments.checkpoint
    for weights in arguments.types:
        models[weights] = os.path.join(CACHE if keep else scratch, f"musicgen-small-random-{weights}.gguf")
        if not os.path.exists(models[weights]):
            command = [arguments.binary, "convert", folder, "-o", models[weights], "--type", weights]
            subprocess.run(command, check=True, stdout=sys.stderr)
    return models


def sizes_of(folder):
    """Width and layers of a checkpoint's decoder."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        decoder = json.load(file)["decoder"]
    return decoder["hidden_size"], decoder["num_hidden_layers"]


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        words = dict(line.split(":", 1) for line in file.read().split("\n\n")[0].splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in words.items()}
    known = [name for name in ("avx2", "avx_vnni", "avx512f", "avx512_vnni") if name in fields.get("flags", "").split()]
    name = fields.get("model name", "unknown processor")
    return f"{name} (family {fields.get('cpu family')}, model {fields.get('model')}; {' '.join(known)})"


def busy_share(seconds=0.5):
    """How much of the processors others use just now, while this program waits."""
    def times():
        with open("/proc/stat", encoding="ascii") as file:
            values = [int(word) for word in file.readline().split()[1:9]]
        return sum(values), values[3] + values[4]
    all_before, idle_before = times()
    time.sleep(seconds)
    all_after, idle_after = times()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)


def plan_of(arguments):
    """(name, function, arguments after the setting) of each measurement of a round."""
    plan = []
    if "linear" in arguments.only:
        for weights in arguments.types:
            plan += [("continuo", peers.continuo_linear, (weights,)),
                     ("ggml, wheel build", peers.ggml_linear, ("wheel", weights)),
                     ("ggml, native build", peers.ggml_linear, ("native", weights)),
                     ("OpenVINO", peers.openvino_linear, (weights,))]
    if "program" in arguments.only:
        for clips in arguments.clips:
            plan += [("continuo", peers.continuo_program, (weights, clips)) for weights in arguments.types]
            plan += [("transformers int8", peers.transformers_program, (engine, clips)) for engine in arguments.engines]
            plan.append(("transformers f32", peers.transformers_program, (None, clips)))
    return plan


def measure(setting, arguments):
    """Results, who is missing and why, what failed, and how busy others kept the processors."""
    results, missing, failed, busy = [], {}, [], [0.0]
    plan = plan_of(arguments)
    for turn, (name, function, rest) in [(turn, entry) for turn in range(1, arguments.rounds + 1) for entry in plan]:
        if name in missing:
            continue
        try:
            busy.append(busy_share())
            start = time.monotonic()
            found = function(setting, *rest)
        except peers.Unavailable as reason:
            missing[name] = str(reason)
            say(f"{name}: {reason}")
        except RuntimeError as reason:
            failed.append((name, str(reason)))
            say(f"{name}: {reason}")
        except KeyboardInterrupt:
            return results, missing, failed, max(busy), True
        else:
            results += [{**result, "round": turn} for result in found]
            values = ", ".join(f"{result['value']:.4g}" for result in found)
            say(f"round {turn}: {name} {' '.join(map(str, rest))}: {values} (took {time.monotonic() - start:.0f} s)")
    return results, missing, failed, max(busy), False


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    arguments = parse()
    signal.signal(signal.SIGTERM, interrupt)  # as Ctrl-C: the table says what is known by then
    if not os.path.exists(arguments.binary):
        sys.exit(f"compare: {arguments.binary} is not there; run `make build` first")
    torch_python = os.environ.get("BENCH_PYTHON") or VENV_PYTHON
    torch_python = shutil.which(torch_python) or torch_python
    folder = checkpoint_folder(arguments, torch_python)
    width, layers = SMOKE_SIZES if arguments.smoke else sizes_of(folder)
    with tempfile.TemporaryDirectory() as scratch:
        setting = peers.Setting(
            binary=os.path.abspath(arguments.binary), checkpoint=folder, models=model_files(arguments, folder, scratch),
            torch_python=torch_python, openvino_python=VENV_PYTHON, ggml_builds=os.path.join(ROOT, "build-compare"),
            threads=arguments.threads, isa=arguments.isa, rows=arguments.rows, passes=arguments.passes, seconds=arguments.seconds,
            steps=arguments.steps, kv=arguments.kv, width=width, layers=layers, timeout=arguments.timeout)
        results, missing, failed, busy, stopped = measure(setting, arguments)
    title = " (smoke test: the figures mean nothing)" if arguments.smoke else ", held to AVX2" if arguments.isa == "avx2" else ""
    run = {"title": title, "smoke": arguments.smoke, "cpu": cpu_name(), "date": datetime.date.today().isoformat(),
           "threads": arguments.threads, "isa": arguments.isa, "rounds": arguments.rounds, "types": arguments.types,
           "rows": arguments.rows, "clips": arguments.clips, "seconds": arguments.seconds, "kv": arguments.kv, "width": width,
           "layers": layers, "busy": busy, "stopped": stopped,
           "missing": {**missing, **dict(failed)}, "results": results}
    os.makedirs(os.path.dirname(os.path.abspath(arguments.json)), exist_ok=True)
    with open(arguments.json, "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1)
    print(report.table(run))
    say(f"every measurement is in {os.path.relpath(arguments.json)}")
    return 1 if failed or stopped or not results else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failure:
        sys.exit(f"compare: {' '.join(failure.cmd[:2])} failed with status {failure.returncode}")
