"""Measure an exported model and draw the pictures of report.md; the numbers go to a JSON file."""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path

import matplotlib
import numpy as np
import soundfile
import torch
from PIL import Image
from transformers import AutoTokenizer, MusicgenForConditionalGeneration

from . import measures
from .captions import caption
from .codec import SpectralLoss
from .composer import LM_KEYS, STYLES, compose, performance
from .instruments import load_bank

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

SAMPLE_RATE = measures.SAMPLE_RATE
PROMPTS = (
    "a lo-fi hip hop beat with mellow electric piano and soft drums, slow, 75 bpm",
    "upbeat house, 125 bpm",
    "rock song with loud guitars, heavy drums and a guitar lead, 136 bpm",
    "calm ambient soundscape with pads and a flute melody, slow",
    "smooth bossa nova with acoustic guitar, upright bass and light percussion, 107 bpm",
)


def spectrograms(path: Path, rows: list[tuple[str, np.ndarray]]) -> None:
    figure, axes = plt.subplots(len(rows), 1, figsize=(9, 1.75 * len(rows)), squeeze=False)
    for axis, (title, audio) in zip(axes[:, 0], rows):
        axis.specgram(audio + 1e-9, NFFT=1024, Fs=SAMPLE_RATE, noverlap=640, vmin=-120, vmax=-40, cmap="magma")
        axis.set_ylim(0, 8000)
        axis.set_title(title, fontsize=8, loc="left")
        axis.tick_params(labelsize=6)
    figure.tight_layout()
    figure.savefig(path, dpi=70)
    plt.close(figure)
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=32).save(path, optimize=True)  # a third of the size


def curves(path: Path, codec_log: Path, decoder_log: Path, lm_logs: list[Path]) -> None:
    """Loss curves against minutes of training."""
    read = lambda p: [json.loads(l) for l in p.read_text().splitlines()] if p.exists() else []
    figure, axes = plt.subplots(1, 3, figsize=(10, 2.8))
    joint = [r for r in read(codec_log) if r["perplexity"][0] > 1.5]
    refine = read(decoder_log)
    offset = joint[-1]["minutes"] if joint else 0
    for key, axis in (("log_mel", axes[0]), ("si_sdr", axes[1])):
        axis.plot([r["minutes"] for r in joint], [r[key] for r in joint], label="all")
        axis.plot([offset + r["minutes"] for r in refine], [r[key] for r in refine], label="decoder only")
        axis.set_title({"log_mel": "codec, held-out log-mel L1", "si_sdr": "codec, held-out SI-SDR, dB"}[key], fontsize=8)
        axis.legend(fontsize=6)
    lm, offset = [], 0.0
    for log in lm_logs:
        stage = read(log)
        lm += [r | {"minutes": offset + r["minutes"]} for r in stage]
        offset = lm[-1]["minutes"] if stage else offset
    for book in range(4):
        line = axes[2].plot([r["minutes"] for r in lm], [r["held_out"][book] for r in lm], label=f"codebook {book}")
        axes[2].plot([r["minutes"] for r in lm], [r["train"][book] for r in lm], ":", color=line[0].get_color())
    axes[2].set_title("decoder, cross-entropy (dotted: training)", fontsize=8)
    axes[2].legend(fontsize=6)
    for axis in axes:
        axis.set_xlabel("minutes", fontsize=7)
        axis.tick_params(labelsize=6)
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    plt.close(figure)


@torch.no_grad()
def codec_report(model, bank, pictures: Path, songs: int) -> dict:
    """Held-out songs before and after the codec."""
    rng, loss, rows, records = random.Random(77), SpectralLoss(), [], []
    for index in range(songs):
        song = compose(rng)
        audio = performance(song, bank, 250)
        codec = model.audio_encoder
        values = torch.from_numpy(audio)[None, None]
        coded = codec.decode(codec.encode(values).audio_codes, [None]).audio_values[0, 0].numpy()
        log_mel, convergence = loss(torch.from_numpy(coded)[None], torch.from_numpy(audio)[None])
        scale = float(coded @ audio / (audio @ audio))
        records.append({
            "log_mel": float(log_mel), "convergence": float(convergence),
            "si_sdr": float(10 * np.log10(np.sum((scale * audio) ** 2) / np.sum((coded - scale * audio) ** 2))),
            "onset_correlation": measures.onset_correlation(audio, coded),
            "peaks 60-250 Hz": measures.peak_agreement(audio, coded, 60, 250),
            "peaks 250-1000 Hz": measures.peak_agreement(audio, coded, 250, 1000),
            "peaks 1-4 kHz": measures.peak_agreement(audio, coded, 1000, 4000),
            "tempo kept": float(measures.tempo_agrees(measures.tempo(coded), measures.tempo(audio))),
        })  # fmt: skip
        if index < 2:
            name = f"{song.style.name}, {song.bpm:.0f} bpm, lead {song.lead}"
            rows += [(f"{name}: original", audio), (f"{name}: after the codec", coded)]
    spectrograms(pictures / "codec.png", rows)
    return {k: round(float(np.mean([r[k] for r in records])), 3) for k in records[0]}


@torch.no_grad()
def generate(model, tokenizer, texts: list[str], seed: int, frames: int = 500, **options) -> list[np.ndarray]:
    torch.manual_seed(seed)
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    audio = model.generate(input_ids=inputs.input_ids, attention_mask=inputs.attention_mask, max_new_tokens=frames + 3, **options)
    return [a.numpy() for a in audio[:, 0]]


def tempo_prompts(count: int, seed: int) -> list[tuple[str, float, object]]:
    """(caption with drums and bpm, bpm, song) in all styles but ambient, styles and tempi in turn."""
    rng, out = random.Random(seed), []
    styles = [s for s in STYLES if s.name != "ambient"]
    while len(out) < count:
        style = styles[len(out) % len(styles)]
        song = compose(rng, style, style.tempi[(len(out) // len(styles)) % len(style.tempi)], LM_KEYS)
        if song.drums:
            out.append((caption(song, rng, full=True), song.bpm, song))
    return out


def agreement(measured: list[float], wanted: list[float]) -> dict:
    """Share of measured tempi that agree with their own prompt's, and with every other prompt's."""
    result = {}
    for name, octaves in (("strict", False), ("octave tolerant", True)):
        table = np.array([[measures.tempo_agrees(m, w, octaves) for w in wanted] for m in measured])
        others = ~np.eye(len(wanted), dtype=bool)
        result[name] = {"matched": round(float(np.diag(table).mean()), 3), "shuffled": round(float(table[others].mean()), 3)}
    return result


def tempo_report(model, tokenizer, bank, out: Path, count: int, options: dict) -> dict:
    prompts = tempo_prompts(count, 31)
    wanted = [bpm for _, bpm, _ in prompts]
    originals = [measures.tempo(performance(song, bank, 500)) for _, _, song in prompts]
    begin = time.time()
    audio = generate(model, tokenizer, [text for text, _, _ in prompts], 5, **options)
    seconds = time.time() - begin
    measured = [measures.tempo(a) for a in audio]
    pulses = np.array([[measures.pulse(a, w) for w in wanted] for a in audio])
    others = ~np.eye(count, dtype=bool)
    for index, (a, (text, _, _)) in enumerate(zip(audio, prompts)):
        soundfile.write(out / f"tempo_{index:02d}.wav", a, SAMPLE_RATE)
    bass = [measures.in_tune(measures.pitch_peaks(a, 60, 250)) for a in audio]
    chords = [measures.in_tune(measures.pitch_peaks(a, 250, 800)) for a in audio]
    return {
        "prompts": count, "generated": agreement(measured, wanted), "originals": agreement(originals, wanted),
        "pulse at the prompt's tempo": {"matched": round(float(np.diag(pulses).mean()), 3),
                                        "shuffled": round(float(pulses[others].mean()), 3)},
        "bass peaks in tune": [round(float(np.mean([b[i] for b in bass])), 3) for i in (0, 1)],
        "chord peaks in tune": [round(float(np.mean([c[i] for c in chords])), 3) for i in (0, 1)],
        "seconds to generate": round(seconds, 1),
        "table": [{"prompt": t, "bpm": round(w, 1), "measured": m} for (t, w, _), m in zip(prompts, measured)],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the exported folder")
    parser.add_argument("--bank", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="the folder with the training logs; audio goes here too")
    parser.add_argument("--pictures", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", default=["curves", "codec", "prompts", "tempo"])
    parser.add_argument("--stages", nargs="+", default=["lm", "lm_repertoire"], help="folders of the language model's logs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--songs", type=int, default=16)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--top-k", type=int)
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--guidance", type=float)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    options = {"top_k": args.top_k, "temperature": args.temperature, "guidance_scale": args.guidance}
    options = {k: v for k, v in options.items() if v is not None}
    args.pictures.mkdir(parents=True, exist_ok=True)
    audio_out = args.work / "audio"
    audio_out.mkdir(exist_ok=True)
    model = MusicgenForConditionalGeneration.from_pretrained(args.model).eval()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    bank, result = load_bank(args.bank), {}
    if "curves" in args.parts:
        curves(args.pictures / "curves.png", args.work / "codec/log.jsonl", args.work / "decoder/log.jsonl", [args.work / f"{name}/log.jsonl" for name in args.stages])
    if "codec" in args.parts:
        result["codec"] = codec_report(model, bank, args.pictures, args.songs)
    if "prompts" in args.parts:
        audio = generate(model, tokenizer, list(PROMPTS), 3, **options)
        for index, a in enumerate(audio):
            soundfile.write(audio_out / f"prompt_{index}.wav", a, SAMPLE_RATE)
        spectrograms(args.pictures / "prompts.png", list(zip(PROMPTS, audio)))
    if "tempo" in args.parts:
        result["tempo"] = tempo_report(model, tokenizer, bank, audio_out, args.count, options)
    text = json.dumps(result, indent=1)
    (args.json or args.work / "report.json").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
