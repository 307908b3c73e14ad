"""Draw the spectrogram of a WAV file: python -m training.spectrogram clip.wav picture.png"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np
import soundfile

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  after the choice of back-end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clip", type=Path)
    parser.add_argument("picture", type=Path)
    args = parser.parse_args()
    samples, rate = soundfile.read(args.clip)
    noise = 1e-9 * np.random.default_rng(0).standard_normal(len(samples))  # the logarithm of silence is not drawn
    figure, axes = plt.subplots(figsize=(11, 3.6))
    axes.specgram(samples + noise, NFFT=2048, noverlap=1792, Fs=rate, vmin=-135, vmax=-30, cmap="magma")
    axes.set(ylim=(0, 8000), xlabel="seconds", ylabel="Hz")
    figure.tight_layout()
    figure.savefig(args.picture, dpi=80)


if __name__ == "__main__":
    main()
