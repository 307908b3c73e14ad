#!/usr/bin/env python3
"""Shows that the tests notice wrong numerics: plants one fault at a time in a copy of the sources, builds the tests
and expects at least one to fail.

    python3 tests/mutations/mutations.py [--build build-mutants] [--only NAME]

Each fault is one that a port of MusicGen can really have. A fault whose text is no longer in the sources is an error:
the list has to follow the code.
"""

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ["CMakeLists.txt", "cmake", "src", "tests"]
PROGRAMS = ["golden_tests", "compute_tests", "codec_tests", "music_tests", "text_tests"]


@dataclass
class Mutation:
    name: str
    file: str
    before: str
    after: str


MUTATIONS = [
    Mutation("tanh-GELU instead of erf", "src/music/decoder.cpp", "x, config_.activation), x)", "x, Activation::gelu_tanh), x)"),
    Mutation("tanh-GELU in the vector kernels", "src/compute/cpu/kernels_simd.h", "case Activation::gelu_erf: return gelu(x);",
             "case Activation::gelu_erf: return 0.5F * x * (1.0F + hyperbolic_tangent(0.79788456F * (x + 0.044715F * x * x * x)));"),
    Mutation("LayerNorm epsilon 1e-6", "src/music/decoder.cpp", "&bias, config_.norm_epsilon)", "&bias, 1e-6F)"),
    Mutation("T5 epsilon 1e-5", "src/text/t5_encoder.cpp", "nullptr, config.norm_epsilon)", "nullptr, 1e-5F)"),
    Mutation("delay off by one when hearing", "src/music/delay_pattern.h", "return frame_written(step - 1, k)", "return frame_written(step - 2, k)"),
    Mutation("delay off by one when writing", "src/music/delay_pattern.cpp", "step - delays_[static_cast<std::size_t>(k)]",
             "step - delays_[static_cast<std::size_t>(k)] - (k == 3 ? 1 : 0)"),
    Mutation("null row hears the text (missing mask)", "src/engine/batch.cpp", "r == 0 ? conditional_ : nullptr", "conditional_"),
    Mutation("self-attention misses its own position", "src/compute/cpu/executor_attention.cpp", "attend.positions = row.position + 1;",
             "attend.positions = row.position > 0 ? row.position : 1;"),
    Mutation("padding always constant", "src/codec/layers.cpp", "return {total - right, right + extra, config.pad_mode};",
             "return {total - right, right + extra, PadMode::constant};"),
    Mutation("padding always reflect", "src/codec/layers.cpp", "return {total - right, right + extra, config.pad_mode};",
             "return {total - right, right + extra, PadMode::reflect};"),
    Mutation("transposed convolution trimmed on the wrong side", "src/codec/stream_layers.cpp", "return total - right;", "return right;"),
    Mutation("LSTM skip forgotten", "src/codec/stream_layers.cpp", "return executor_.add(hidden, x);", "return hidden;"),
    Mutation("scaled scores in T5", "src/text/t5_encoder.cpp", "config_.heads, 1.0F, bias", "config_.heads, 0.9F, bias"),
    Mutation("relative positions mirrored", "src/text/t5_encoder.cpp", "relative_position > 0 ? side : 0", "relative_position < 0 ? side : 0"),
    Mutation("sines before cosines", "src/music/decoder.cpp", "row[i] = std::cos(angle);\n      row[half + i] = std::sin(angle);",
             "row[i] = std::sin(angle);\n      row[half + i] = std::cos(angle);"),
    Mutation("guidance the wrong way round", "src/music/sampling.cpp", "null[i] + guidance * (conditional[i] - null[i])",
             "conditional[i] + guidance * (null[i] - conditional[i])"),
    Mutation("top-k drops ties", "src/music/sampling.cpp", "if (p < threshold) p = 0.0;", "if (p <= threshold) p = 0.0;"),
    Mutation("top-p drops the token that crosses", "src/music/sampling.cpp", "if (before > p)", "if (before + own > p)"),
    Mutation("a residual unit's skip does not wait", "src/codec/stream_layers.cpp", "executor_.slice(held, 0, outputs)",
             "executor_.slice(held, held.rows - outputs, outputs)"),
    Mutation("the LSTM starts anew in every chunk", "src/codec/stream_layers.cpp", "states_[i].get()", "nullptr"),
    Mutation("reflection too early in a stream", "src/codec/stream_layers.cpp",
             "(padding.mode == PadMode::reflect ? padding.left : padding.right) + 1", "padding.right + 1"),
]


def run(command: list[str], **options: object) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def build(folder: Path) -> str | None:
    """None, or what the compiler said."""
    result = run(["ninja", "-C", str(folder / "out"), *PROGRAMS])
    return None if result.returncode == 0 else result.stdout[-2000:]


def failing(folder: Path) -> list[str]:
    names = []
    for program in PROGRAMS:
        result = run([str(folder / "out" / "tests" / program), "--gtest_brief=1"], timeout=300)
        lines = [line for line in result.stdout.splitlines() if line.startswith("[  FAILED  ]") and "(" in line]
        names += [line.split()[3].rstrip(",") for line in lines]
        if result.returncode != 0 and not lines:
            names.append(f"{program} (died)")
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build-mutants")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    folder = arguments.build.resolve()
    source = folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.rmtree(source / name, ignore_errors=True)
            shutil.copytree(ROOT / name, source / name)
        else:
            shutil.copy2(ROOT / name, source / name)
    ggml = ROOT / ".deps/ggml/libggml/lib64/cmake/ggml"
    configured = run(["cmake", "-S", str(source), "-B", str(folder / "out"), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                      *([f"-Dggml_DIR={ggml}"] if ggml.exists() else []),
                      *(["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else [])])
    if configured.returncode != 0 or (said := build(folder)) is not None:
        print(configured.stderr or said)
        return 1
    if broken := failing(folder):
        print(f"without any fault these fail already: {broken}")
        return 1

    caught = missed = 0
    for mutation in MUTATIONS:
        if arguments.only and arguments.only not in mutation.name:
            continue
        path = source / mutation.file
        original = path.read_text()
        if original.count(mutation.before) != 1:
            print(f"MISSING  {mutation.name}: its text stands {original.count(mutation.before)} times in {mutation.file}")
            missed += 1
            continue
        path.write_text(original.replace(mutation.before, mutation.after))
        said = build(folder)
        names = [] if said else failing(folder)
        path.write_text(original)
        if said:
            print(f"BROKEN   {mutation.name}: does not compile\n{said}")
            missed += 1
        elif names:
            print(f"caught   {mutation.name}: {len(names)} tests, first {names[0]}", flush=True)
            caught += 1
        else:
            print(f"MISSED   {mutation.name}", flush=True)
            missed += 1
    print(f"{caught} passed, {missed} failed")
    return 1 if missed or not caught else 0


if __name__ == "__main__":
    sys.exit(main())
