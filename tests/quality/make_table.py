#!/usr/bin/env python3
"""What each type of weights costs, as a table in docs/quality.md.

    tests/quality/make_table.py --source FOLDER [--pieces "COLUMN=LIST.jsonl"]... [--build build] [--title "the demo model"]

Converts the checkpoint to every type (into a temporary folder), measures each with quality_tool against f32 and puts the table
between the marks of docs/quality.md that carry the title, or at its end. A row more measures f32 weights with keys and values of int8.
make_pieces.py makes lists. Build first: ninja -C build continuo quality_tool.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "quality.md"
TYPES = ["f32", "f16", "bf16", "q8_0", "q4_0", "q4_k"]


def megabytes(count):
    return f"{count / 1e6:.0f} MB" if count >= 1e7 else f"{count / 1e6:.2f} MB"


def measure(args, folder):
    files = []
    for kind in TYPES:
        files.append(Path(folder) / f"{kind}.gguf")
        subprocess.run([args.build / "continuo", "convert", args.source, "-o", files[-1], "--type", kind], check=True,
                       stdout=subprocess.DEVNULL)
    command = [args.build / "quality_tool", "--steps", str(args.steps), "--threads", str(args.threads)]
    for _, path in args.pieces:
        command += ["--pieces", path]
    files += ["--kv", "int8", files[0]]
    lines = subprocess.run([*command, *files], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def table(results, steps, columns):
    rows = [["type", "file", "weights read a step", "logit error", "greedy agreement", "first difference", *columns]]
    for kind, result in zip([*TYPES, "f32, K/V int8"], results):
        first = ["none" if step < 0 else f"step {step}" for step in result["first_difference"]]
        row = [kind, megabytes(result["file_bytes"]), megabytes(result["step_bytes"]), f"{100 * result['logit_error']:.2g} %",
               f"{100 * result['greedy_agreement']:.1f} %", ", ".join(first)]
        for value, base in zip(result["cross_entropy"], results[0]["cross_entropy"]):
            row.append(f"{value:.4f} ({100 * (value / base - 1):+.2f} %)" if result is not results[0] else f"{value:.4f}")
        rows.append(row)
    rows.insert(1, ["---"] * len(rows[0]))
    return f"{steps} steps.\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in rows)


def named_list(text):
    column, _, path = text.partition("=")
    if not path:
        raise argparse.ArgumentTypeError("say COLUMN=LIST.jsonl")
    return column, Path(path)


def put(page, title, text):
    begin, end = f"<!-- table: {title} -->", "<!-- end -->"
    block = f"{begin}\n{text}\n{end}"
    found = re.search(re.escape(begin) + ".*?" + re.escape(end), page, re.DOTALL)
    if found:
        return page[: found.start()] + block + page[found.end():]
    return page.rstrip() + f"\n\n## {title[0].upper()}{title[1:]}\n{block}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="the checkpoint's folder")
    parser.add_argument("--pieces", type=named_list, action="append", default=[], metavar="COLUMN=LIST.jsonl",
                        help='lines of {"prompt": "...", "codes": "FILE.npy"}; the cross-entropy becomes a column')
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--title", default="the demo model")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--print", action="store_true", help="print the table and leave the page alone")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = table(measure(args, folder), args.steps, [column for column, _ in args.pieces])
    if args.print:
        print(text)
        return 0
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), args.title, text), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
