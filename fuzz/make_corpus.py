#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets, fuzz/corpus/TARGET: small valid files, and one file per way of being malformed.

    make_corpus.py [--program build/continuo] [--small build-fuzz/fuzz/fuzz_small_model]

Deterministic. Files that are there and are not made here (found by fuzzing: crash-*, slow-*, found-*) stay. The two programs make a seed
each, whole model files: one of a golden checkpoint and the smallest that is accepted. Without them those stay as they are.
"""
import argparse
import pathlib
import subprocess
import tempfile

import corpus_formats
import corpus_requests
import corpus_texts
import corpus_torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"
GOLDENS = ROOT / "tests" / "goldens"


def write(target, seeds):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    kept = {"crash", "slow", "found", "whole"}
    for old in folder.iterdir():
        if old.name.split("-")[0] not in kept:
            old.unlink()
    for name, data in seeds.items():
        (folder / name.replace(" ", "_")).write_bytes(data.encode() if isinstance(data, str) else data)


def whole_model(program):
    """The smallest golden checkpoint as a model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.gguf"
        subprocess.run([program, "convert", GOLDENS / "sharded" / "single", "-o", path, "--type", "f16", "--name", "tiny",
                        "--license", "MIT", "--source", "fuzz"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        (CORPUS / "gguf" / "whole-model").write_bytes(path.read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--small", type=pathlib.Path)
    arguments = parser.parse_args()
    write("gguf_header", corpus_formats.gguf_headers())
    if arguments.program:
        (CORPUS / "gguf").mkdir(parents=True, exist_ok=True)
        whole_model(arguments.program)
    small = CORPUS / "gguf" / "whole-small"
    if arguments.small:
        subprocess.run([arguments.small, small], check=True)
    write("gguf", corpus_formats.gguf_models(small.read_bytes() if small.exists() else None))
    write("safetensors", corpus_formats.safetensors())
    write("wav", corpus_formats.wavs())
    write("npy", corpus_formats.npys())
    write("prompt_index", corpus_formats.prompt_indexes(ROOT / "src" / "library" / "reference_prompts.cpp"))
    write("media", corpus_formats.media(ROOT / "tests" / "media"))
    write("pickle", corpus_torch.pickles())
    write("torch", corpus_torch.archives(GOLDENS / "audiocraft" / "pretrained" / "compression_state_dict.bin"))
    write("tokenizer_json", corpus_texts.tokenizers())
    write("spiece", corpus_texts.spieces(GOLDENS / "sharded" / "single" / "spiece.model"))
    write("audiocraft", corpus_texts.audiocraft())
    write("model_card", corpus_texts.model_cards())
    write("huggingface_config", corpus_texts.configs())
    write("checkpoint_index", corpus_texts.indexes())
    write("hub_listing", corpus_texts.listings())
    write("relay", corpus_texts.relay())
    write("settings", corpus_texts.settings())
    write("requests", corpus_requests.bodies())
    write("multipart", corpus_requests.forms())
    write("websocket_control", corpus_requests.controls())
    write("scenes", corpus_requests.scenes(ROOT / "src" / "server" / "requests" / "scene_text.h"))
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    print(f"{len(files)} files, {sum(path.stat().st_size for path in files)} bytes")


if __name__ == "__main__":
    main()
