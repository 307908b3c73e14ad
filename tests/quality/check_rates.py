#!/usr/bin/env python3
"""What `continuo check` says about music that a model made: false alarms on the clips as they are, and how many planted faults it finds.

    check_rates.py [BINARY] [--model FILE] [--seconds S] [--places N]

Prints a table in Markdown for docs/quality.md. An offset that a clip really has (its mean is what the report says) is counted apart, not as
a false alarm. A planted fault is found if a fault of any kind is reported within 10 ms of it.
"""
import argparse
import array
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import wave

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROMPTS = (
    "fast techno",
    "a lo-fi hip hop beat with mellow electric piano and soft drums, slow, 75 bpm",
    "upbeat house, 125 bpm",
    "rock song with loud guitars, heavy drums and a guitar lead, 136 bpm",
    "calm ambient soundscape with pads and a flute melody, slow",
    "smooth bossa nova with acoustic guitar, upright bass and light percussion, 107 bpm",
    "solo piano, slow and sad",
    "an energetic drum and bass track with a driving bassline",
    "jazz trio with walking bass and brushed drums",
    "chiptune game music, fast and bright",
)


def read(path):
    with wave.open(path) as file:
        return file.getframerate(), array.array("h", file.readframes(file.getnframes()))


def write(path, rate, samples):
    with wave.open(path, "w") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(array.array("h", (max(-32768, min(32767, round(s))) for s in samples)).tobytes())


def check(binary, path):
    done = subprocess.run([binary, "check", path, "--json"], capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def cut_out(samples, at, rate):
    """A hard join: what lies between is gone."""
    return samples[:at] + samples[at + int(0.137 * rate):]


def silence(samples, at, rate):
    return samples[:at] + array.array("h", [0] * (rate // 50)) + samples[at + rate // 50:]


def spike(samples, at, _rate):
    changed = array.array("h", samples)
    changed[at] = -32768 if changed[at] > 0 else 32767
    return changed


def inverted(samples, at, _rate):
    return samples[:at] + array.array("h", (max(-32767, -s) for s in samples[at:]))


PLANTED = (("a hard cut (137 ms taken out)", cut_out), ("20 ms of nothing", silence), ("one wrong sample", spike),
           ("the sign changes", inverted))


def loudness(samples, at, rate):
    around = samples[max(0, at - rate // 100):at + rate // 100]
    return math.sqrt(sum(s * s for s in around) / len(around)) / 32768


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", nargs="?", default=os.path.join(ROOT, "build", "continuo"))
    parser.add_argument("--model", default=os.path.join(ROOT, "models", "demo.gguf"))
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--places", type=int, default=10)
    arguments = parser.parse_args()
    random.seed(1)
    alarms, offsets, seconds = [], 0, 0.0
    found = {name: 0 for name, _ in PLANTED}
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([arguments.binary, "generate", *PROMPTS, "-m", arguments.model, "-d", str(arguments.seconds), "--seed", "1", "-o",
                        os.path.join(folder, "clip.wav")], check=True, capture_output=True)
        planted_path = os.path.join(folder, "planted.wav")
        for number, prompt in enumerate(PROMPTS, 1):
            path = os.path.join(folder, f"clip-{number}.wav")
            report = check(arguments.binary, path)
            rate, samples = read(path)
            seconds += len(samples) / rate
            for fault in report["faults"]:
                if fault["kind"] == "dc":
                    offsets += 1
                else:
                    alarms.append(f"{prompt}: {fault['kind']} at {fault['seconds']:.3f} s, {fault['what']}")
            for _ in range(arguments.places):
                at = random.randrange(rate // 2, len(samples) - rate // 2)
                if loudness(samples, at, rate) < 0.02:
                    continue
                tried += 1
                for name, plant in PLANTED:
                    write(planted_path, rate, plant(samples, at, rate))
                    faults = check(arguments.binary, planted_path)["faults"]
                    found[name] += any(f["kind"] != "dc" and abs(f["seconds"] - at / rate) < 0.01 for f in faults)
    for alarm in alarms:
        print(alarm, file=sys.stderr)
    print(f"{len(PROMPTS)} clips, {seconds:.0f} s: {len(alarms)} false alarms; {offsets} clips have a constant offset.\n")
    print("| planted | found |\n| --- | --- |")
    for name, _ in PLANTED:
        print(f"| {name} | {found[name]} of {tried} |")


if __name__ == "__main__":
    main()
