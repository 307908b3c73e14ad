"""Times transformers on a MusicGen folder and prints one JSON object: what continuo is compared with.

peak_rss_bytes is the process's VmHWM, Python and torch included, since that is what a user pays.
"""

import argparse
import json
import re
import time
from pathlib import Path

import torch
import transformers

import checkpoint

_PROMPTS = ["warm jazz piano with brushed drums", "80s pop track with bassy drums and synth", "slow dark techno, 120 bpm",
            "a gentle waltz for harp and strings"]


def peak_rss() -> int:
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--guidance", type=float, default=3.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompts", type=int, default=1, help="how many at once")
    parser.add_argument("--strategy", choices=("greedy", "sample"), default="sample")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    start = time.monotonic()
    model, tokenizer = checkpoint.load(arguments.folder)
    load = time.monotonic() - start

    decode, decode_seconds = model.audio_encoder.decode, 0.0

    def timed_decode(*args, **kwargs):
        nonlocal decode_seconds
        begun = time.monotonic()
        result = decode(*args, **kwargs)
        decode_seconds = time.monotonic() - begun
        return result

    model.audio_encoder.decode = timed_decode  # the last thing generate() does
    rate = model.config.audio_encoder.frame_rate
    frames = round(arguments.seconds * rate)
    steps = frames + model.decoder.num_codebooks - 1
    prompts = [_PROMPTS[i % len(_PROMPTS)] for i in range(arguments.prompts)]
    start = time.monotonic()
    inputs = tokenizer(prompts, return_tensors="pt", padding=True)
    audio = model.generate(**inputs, do_sample=arguments.strategy == "sample", top_k=250,
                           guidance_scale=arguments.guidance, max_new_tokens=steps)
    total = time.monotonic() - start
    assert audio.shape[-1] == frames * model.config.audio_encoder.hop_length
    generate = total - decode_seconds
    print(json.dumps({
        "transformers": transformers.__version__, "torch": torch.__version__, "threads": arguments.threads,
        "prompts": arguments.prompts, "guidance": arguments.guidance, "strategy": arguments.strategy,
        "seconds": frames / rate, "steps": steps, "load_s": round(load, 3), "generate_s": round(generate, 3),
        "decode_s": round(decode_seconds, 3), "total_s": round(total, 3), "ms_per_step": round(1000 * generate / steps, 2),
        "rtf": round(total / (frames / rate), 3), "peak_rss_bytes": peak_rss()}))


if __name__ == "__main__":
    main()
