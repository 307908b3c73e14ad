"""Measures on audio: tempo, onsets, pitches. Mono float arrays at 32 kHz throughout."""

from __future__ import annotations

import numpy as np
from scipy.signal import find_peaks, stft

SAMPLE_RATE = 32_000
ENVELOPE_RATE = 100  # Hz


def onset_envelope(audio: np.ndarray) -> np.ndarray:
    """Half-wave rectified rise of the log spectrum in 24 bands, at 100 Hz."""
    hop = SAMPLE_RATE // ENVELOPE_RATE
    frequencies, _, spectrum = stft(audio, SAMPLE_RATE, nperseg=1024, noverlap=1024 - hop)
    edges = np.geomspace(40, 10_000, 25)
    power = np.abs(spectrum) ** 2
    bands = [power[(frequencies >= a) & (frequencies < b)].sum(0) for a, b in zip(edges, edges[1:])]
    bands = np.log10(np.array([b for b in bands if b.any()]) + 1e-7)
    return np.maximum(np.diff(bands, axis=1), 0).mean(0)


def tempo(audio: np.ndarray, low: float = 55, high: float = 175) -> float:
    """Beats a minute: the lag with the largest autocorrelation of the onset envelope, summed over its first
    multiples, under a broad log-normal prior around 105 bpm."""
    envelope = onset_envelope(audio)
    envelope = envelope - envelope.mean()
    size = len(envelope)
    spectrum = np.abs(np.fft.rfft(envelope, 2 * size)) ** 2
    correlation = np.fft.irfft(spectrum)[:size] / np.arange(size, 0, -1)
    candidates = np.arange(low, high, 0.25)
    scores = []
    for bpm in candidates:
        lags = 60 * ENVELOPE_RATE / bpm * np.array([1, 2, 3, 4])
        value = np.interp(lags, np.arange(size), correlation).mean()
        scores.append(value * np.exp(-0.5 * (np.log2(bpm / 105) / 0.9) ** 2))
    return float(candidates[int(np.argmax(scores))])


def pulse(audio: np.ndarray, bpm: float) -> float:
    """How strongly the onsets repeat at the beat, its double and four beats: normalised autocorrelation, 0 to 1."""
    envelope = onset_envelope(audio)
    envelope = envelope - envelope.mean()
    size = len(envelope)
    correlation = np.fft.irfft(np.abs(np.fft.rfft(envelope, 2 * size)) ** 2)[:size] / np.arange(size, 0, -1)
    lags = 60 * ENVELOPE_RATE / bpm * np.array([1, 2, 4])
    return float(np.interp(lags[lags < size * 0.8], np.arange(size), correlation).mean() / correlation[0])


def tempo_agrees(measured: float, wanted: float, octaves: bool = True, tolerance: float = 0.04) -> bool:
    """Within 4%, or within 4% of half or double."""
    factors = (1.0, 2.0, 0.5) if octaves else (1.0,)
    return any(abs(measured / (wanted * f) - 1) < tolerance for f in factors)


def pitch_peaks(audio: np.ndarray, low: float, high: float, prominence: float = 12.0) -> list[list[float]]:
    """MIDI pitches (real numbers) of the spectral peaks between two frequencies, for each 0.25 s of audio."""
    size = 8192
    frequencies, _, spectrum = stft(audio, SAMPLE_RATE, nperseg=size, noverlap=0, nfft=4 * size, boundary=None)
    decibels = 20 * np.log10(np.abs(spectrum) + 1e-6)
    inside = (frequencies >= low) & (frequencies <= high)
    out = []
    for column in decibels[inside].T:
        floor = np.max(column) - 25
        peaks, _ = find_peaks(column, prominence=prominence, height=max(floor, -75))
        out.append([69 + 12 * np.log2(f / 440) for f in frequencies[inside][peaks]])
    return out


def in_tune(peaks: list[list[float]], cents: float = 25) -> tuple[float, float]:
    """Share of peaks within `cents` of a note of the tempered scale (chance: cents / 50), peaks a window."""
    flat = np.array([p for window in peaks for p in window])
    if len(flat) == 0:
        return 0.0, 0.0
    return float(np.mean(np.abs(flat - np.round(flat)) <= cents / 100)), len(flat) / max(len(peaks), 1)


def peak_agreement(a: np.ndarray, b: np.ndarray, low: float, high: float) -> float:
    """Of the peaks in `a`, the share that `b` has too (within 30 cents, same window)."""
    hits = total = 0
    for x, y in zip(pitch_peaks(a, low, high), pitch_peaks(b, low, high)):
        total += len(x)
        hits += sum(any(abs(p - q) < 0.3 for q in y) for p in x)
    return hits / max(total, 1)


def onset_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Correlation of the onset envelopes."""
    return float(np.corrcoef(onset_envelope(a), onset_envelope(b))[0, 1])
