"""Times transformers on a MusicGen folder and prints one JSON object: what continuo is compared with.

peak_rss_bytes is the process's VmHWM, Python and torch included, since that is what a user pays.

With --steps only so many steps of the decoder are run, and the mean of all but the first stands for the rest; the text is
read and the whole length decoded as always. Early steps attend to less, so this flatters transformers a little.
bench/compare uses this script.
"""

import argparse
import json
import math
import re
import time
import warnings
from pathlib import Path

import torch
import transformers

import checkpoint

_PROMPTS = ["warm jazz piano with brushed drums", "80s pop track with bassy drums and synth", "slow dark techno, 120 bpm",
            "a gentle waltz for harp and strings"]


class Watched:
    """A function with the times at which it was called, and the seconds spent in it."""

    def __init__(self, function):
        self._function = function
        self.calls = []
        self.seconds = 0.0

    def __call__(self, *args, **kwargs):
        self.calls.append(time.monotonic())
        result = self._function(*args, **kwargs)
        self.seconds += time.monotonic() - self.calls[-1]
        return result


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
    parser.add_argument("--steps", type=int, help="of the decoder to run; the time of the rest is extrapolated")
    parser.add_argument("--int8", choices=("x86", "fbgemm", "onednn"),
                        help="torch's dynamic quantisation of every linear layer, with this engine")
    parser.add_argument("--warm", action="store_true", help="a few steps first, which are not measured")
    arguments = parser.parse_args()

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    start = time.monotonic()
    model, tokenizer = checkpoint.load(arguments.folder)
    load = time.monotonic() - start

    if arguments.int8:
        torch.backends.quantized.engine = arguments.int8
        warnings.simplefilter("ignore")  # torch says that another package is to do this some day
        torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8, inplace=True)

    rate = model.config.audio_encoder.frame_rate
    frames = round(arguments.seconds * rate)
    delay = model.decoder.num_codebooks - 1
    steps = frames + delay
    run = min(steps, max(arguments.steps or steps, delay + 1))
    prompts = [_PROMPTS[i % len(_PROMPTS)] for i in range(arguments.prompts)]

    def generate(count: int) -> torch.Tensor:
        inputs = tokenizer(prompts, return_tensors="pt", padding=True)
        return model.generate(**inputs, do_sample=arguments.strategy == "sample", top_k=250,
                              guidance_scale=arguments.guidance, max_new_tokens=count)

    if arguments.warm:
        generate(min(run, delay + 8))

    decode = model.audio_encoder.decode

    def decode_whole(codes: torch.Tensor, *args, **kwargs):  # codes [1, prompts, codebooks, frames]
        repeats = math.ceil(frames / codes.shape[-1])
        return decode(codes.repeat(1, 1, 1, repeats)[..., :frames], *args, **kwargs)

    decoder = model.decoder.forward = Watched(model.decoder.forward)
    codec = model.audio_encoder.decode = Watched(decode_whole)  # the last thing that generate() does
    start = time.monotonic()
    audio = generate(run)
    generated = time.monotonic() - start - codec.seconds
    assert audio.shape[-1] == frames * model.config.audio_encoder.hop_length
    before = decoder.calls[1] - start  # the text, and the first step with the keys and values of it
    later = len(decoder.calls) - 1  # transformers 5 takes one step more than it is asked for
    step = (generated - before) / later
    total = before + step * (later + steps - run) + codec.seconds
    print(json.dumps({
        "transformers": transformers.__version__, "torch": torch.__version__, "threads": arguments.threads,
        "features": torch.backends.cpu.get_cpu_capability(), "type": f"int8 {arguments.int8}" if arguments.int8 else "f32",
        "prompts": arguments.prompts, "guidance": arguments.guidance, "strategy": arguments.strategy,
        "seconds": frames / rate, "steps": steps, "steps_run": run, "load_s": round(load, 3),
        "generate_s": round(total - codec.seconds, 3), "decode_s": round(codec.seconds, 3), "total_s": round(total, 3),
        "ms_per_step": round(1000 * step, 2), "rtf": round(total / (frames / rate), 3), "peak_rss_bytes": peak_rss()}))


if __name__ == "__main__":
    main()
