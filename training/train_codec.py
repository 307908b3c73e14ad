"""Train the codec. Phase `joint` trains all of it; phase `decoder` freezes the encoder and the
codebooks (codes, once made, stay valid) and trains the decoder alone, while the language model trains.

Progress is measured in time, not steps: `--minutes` is the whole phase, over all resumed runs.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from pathlib import Path

import numpy as np
import torch
from transformers import EncodecModel

from .codec import HOP, Quantiser, SpectralLoss, codec_config, initialise_from_data, waveform_loss
from .composer import compose, loop_audio
from .instruments import load_bank
from .threads import AdaptiveThreads


def make_loops(bank: Path, count: int, seed: int) -> list[np.ndarray]:
    """`count` loops as int16, in memory (about 0.25 MB each)."""
    rng, notes = random.Random(seed), load_bank(bank)
    return [(loop_audio(compose(rng), notes) * 32767).astype(np.int16) for _ in range(count)]


def crops(loops: list[np.ndarray], batch: int, frames: int, rng: np.random.Generator) -> torch.Tensor:
    """Random crops that start on codec frames, [batch, 1, frames * 640]; loops wrap around."""
    out = np.empty((batch, frames * HOP), np.float32)
    for row in range(batch):
        loop = loops[rng.integers(len(loops))]
        start = int(rng.integers(len(loop) // HOP)) * HOP
        out[row] = loop[(start + np.arange(frames * HOP)) % len(loop)] / 32767.0
    return torch.from_numpy(out)[:, None]


def ramp(progress: float, start: float, end: float, a: float, b: float) -> float:
    """From a to b while progress goes from start to end."""
    return a + (b - a) * min(max((progress - start) / (end - start), 0.0), 1.0)


@torch.no_grad()
def evaluate(model: EncodecModel, audio: torch.Tensor, loss: SpectralLoss) -> dict[str, float]:
    """Measures in f32 through the model's own encode and decode; audio [batch, 1, samples]."""
    model.eval()
    codes = model.encode(audio).audio_codes
    output = model.decode(codes, [None]).audio_values[..., : audio.shape[-1]]
    log_mel, convergence = loss(output[:, 0], audio[:, 0])
    scale = (output * audio).sum(-1, keepdim=True) / audio.pow(2).sum(-1, keepdim=True)
    ratio = (scale * audio).pow(2).sum(-1) / (output - scale * audio).pow(2).sum(-1)
    perplexity = []
    for book in range(codes.shape[2]):
        p = torch.bincount(codes[0, :, book].flatten(), minlength=1024).float()
        p = p[p > 0] / p.sum()
        perplexity.append(round(float(torch.exp(-(p * p.log()).sum())), 1))
    model.train()
    return {"log_mel": float(log_mel), "convergence": float(convergence),
            "si_sdr": float(10 * torch.log10(ratio).mean()), "perplexity": perplexity}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bank", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of checkpoints and log")
    parser.add_argument("--phase", choices=("joint", "decoder"), default="joint")
    parser.add_argument("--start", type=Path, help="phase decoder: the checkpoint of phase joint")
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--filters", type=int, default=16)
    parser.add_argument("--loops", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--frames", type=int, default=30, help="codec frames a crop")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--refit", action="store_true", help="with --resume: fit the codebooks anew by k-means")
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    threads = AdaptiveThreads(args.threads)
    torch.manual_seed(1)
    rng = np.random.default_rng(int(time.time()))
    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint = args.out / "codec.pt"
    loops, held_out = make_loops(args.bank, args.loops, 1), make_loops(args.bank, 12, 2)
    validation = crops(held_out, 12, 200, np.random.default_rng(3))

    joint = args.phase == "joint"
    model = EncodecModel(codec_config(args.filters))
    quantiser, elapsed, step, quantised = Quantiser(model), 0.0, 0, not joint
    resumed = args.resume and checkpoint.exists()
    if joint and not resumed:
        initialise_from_data(model, crops(loops, 32, 25, rng))
    if not joint:
        model.load_state_dict(torch.load(args.start)["model"])
    parameters = list(model.parameters() if joint else model.decoder.parameters())
    optimiser = torch.optim.AdamW(parameters, lr=args.lr, betas=(0.8, 0.99), weight_decay=1e-4, fused=True)
    if resumed:
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        elapsed, step, quantised = state["elapsed"], state["step"], state["quantised"]
        quantiser.reservoir = state["reservoir"]
        quantised = quantised and not args.refit
    spectral, begin, saved = SpectralLoss(), time.time() - elapsed, time.time()
    sums: dict[str, float] = {"from": step}
    model.train()
    while (progress := (time.time() - begin) / (60 * args.minutes)) < 1:
        if joint and progress > 0.12 and not quantised:
            with torch.no_grad():
                latents = model.encoder(crops(loops, 400, 50, rng)).transpose(1, 2).reshape(-1, model.config.hidden_size)
            quantiser.initialise(latents)
            quantised = True
        decay = 0.5 * (1 + math.cos(math.pi * ramp(progress, 0.6 if joint else 0.3, 1.0, 0, 1)))
        for group in optimiser.param_groups:
            group["lr"] = args.lr * max(decay, 0.02) * min(1.0, (step + 1) / 100)
        target = crops(loops, args.batch, args.frames, rng)
        with torch.set_grad_enabled(joint), torch.autocast("cpu", torch.bfloat16):
            latents = model.encoder(target)
        latents, commitment, ids = latents.float(), torch.zeros(()), None
        if quantised:
            latents, commitment, ids = quantiser(latents, update=joint)
        with torch.autocast("cpu", torch.bfloat16):
            output = model.decoder(latents)
        log_mel, convergence = spectral(output[:, 0].float(), target[:, 0])
        wave = waveform_loss(output[:, 0].float(), target[:, 0])
        if joint:
            weights = (ramp(progress, 0.02, 0.35, 50, 15), ramp(progress, 0.02, 0.35, 0.1, 1), ramp(progress, 0.02, 0.35, 0.1, 0.3))
        else:
            weights = (15, 1, 0.3)
        loss = weights[0] * wave + weights[1] * log_mel + weights[2] * convergence
        if joint:
            loss = loss + 0.25 * commitment
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 5.0)
        optimiser.step()
        step += 1
        threads.tick()
        if joint and quantised and step % 50 == 0 and progress < 0.9:
            sums["restarted"] = sums.get("restarted", 0) + quantiser.restart_dead()
        for key, value in (("wave", wave), ("log_mel", log_mel), ("convergence", convergence), ("commitment", commitment)):
            sums[key] = sums.get(key, 0.0) + value.item()
        if time.time() - saved > 90 or step == 200:
            saved = time.time()
            count = max(1, step - int(sums.pop("from", 0)))
            record = {"step": step, "minutes": round((time.time() - begin) / 60, 2), "threads": torch.get_num_threads()}
            record |= {f"train_{k}": round(v / (1 if k == "restarted" else count), 4) for k, v in sums.items()}
            record |= {k: round(v, 4) if isinstance(v, float) else v for k, v in evaluate(model, validation, spectral).items()}
            with open(args.out / "log.jsonl", "a") as log:
                log.write(json.dumps(record) + "\n")
            sums = {"from": step}
            save(checkpoint, model, optimiser, quantiser, time.time() - begin, step, quantised)
    save(checkpoint, model, optimiser, quantiser, time.time() - begin, step, quantised)
    print(json.dumps(evaluate(model, validation, spectral)))


def save(path: Path, model, optimiser, quantiser: Quantiser, elapsed: float, step: int, quantised: bool) -> None:
    """Write beside, then rename: a reader never sees half a checkpoint."""
    temporary = path.with_suffix(".tmp")
    torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "reservoir": quantiser.reservoir,
                "elapsed": elapsed, "step": step, "quantised": quantised}, temporary)  # fmt: skip
    temporary.replace(path)


if __name__ == "__main__":
    main()
