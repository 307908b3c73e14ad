"""golden.json and its like."""

import json
import platform
from pathlib import Path

import numpy as np
import sentencepiece
import tokenizers
import torch
import transformers


def made_with() -> dict[str, str]:
    return {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__, "sentencepiece": sentencepiece.__version__,
            "numpy": np.__version__, "machine": platform.machine()}


def write(path: Path, manifest: dict) -> None:
    """JSON with a line for each case, so that a changed golden shows in a diff."""
    lines = []
    for key, value in manifest.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join("    " + json.dumps(case, ensure_ascii=False) for case in value)
            lines.append(f"  {json.dumps(key)}: [\n{rows}\n  ]")
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
