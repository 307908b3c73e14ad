"""Layers include only downwards, siblings not each other, and ggml's headers stay where ggml is used (docs/architecture.md)."""
import os
import re
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Lowest first; the layers of one line are siblings.
LEVELS = [
    ["base"],
    ["audio", "weights", "compute"],
    ["text", "codec", "music", "score"],
    ["engine"],
    ["library"],
    ["server"],
    ["cli"],
]
LEVEL_OF = {layer: level for level, layers in enumerate(LEVELS) for layer in layers}
GGML_FOLDERS = ("weights/", "compute/ggml/")
GGML_HEADER = re.compile(r"^(ggml|gguf)([-_./].*)?$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def violations_in(name, text):
    """Sentences on what is wrong in a file; name is its path below src/, with forward slashes."""
    layer = name.split("/")[0]
    if layer not in LEVEL_OF:
        yield f"{name}: '{layer}' is not a layer; add it to LEVELS in {os.path.basename(__file__)} and to docs/architecture.md"
        return
    for _, header in INCLUDE.findall(text):
        if GGML_HEADER.match(header) and not name.startswith(GGML_FOLDERS):
            yield f"{name}: includes {header}; only src/weights and src/compute/ggml may see ggml"
        other = header.split("/")[0]
        if other == layer or other not in LEVEL_OF or "/" not in header:
            continue
        if LEVEL_OF[other] > LEVEL_OF[layer]:
            yield f"{name}: includes {header}, which is above it"
        elif LEVEL_OF[other] == LEVEL_OF[layer]:
            yield f"{name}: includes {header}, which is a sibling"


def violations_under(source):
    """Of all C++ files below a src/ folder. Also: an include must say the path from src/, or the check could not see it."""
    found = []
    for folder, _, files in sorted(os.walk(source)):
        for file in sorted(files):
            if not file.endswith((".h", ".hpp", ".cpp", ".cc", ".inl")):
                continue
            path = os.path.join(folder, file)
            name = os.path.relpath(path, source).replace(os.sep, "/")
            with open(path, encoding="utf-8") as stream:
                text = stream.read()
            found += violations_in(name, text)
            for quote, header in INCLUDE.findall(text):
                if quote == '"' and not os.path.exists(os.path.join(source, header)) and not GGML_HEADER.match(header):
                    found.append(f'{name}: includes "{header}"; write the path from src/, and system headers in <>')
    return found


class IncludeRules(unittest.TestCase):
    def test_sources_follow_the_rules(self):
        self.assertEqual(violations_under(os.path.join(ROOT, "src")), [])

    def test_there_is_something_to_check(self):
        self.assertTrue(os.path.exists(os.path.join(ROOT, "src", "base", "error.h")))


class CheckerItself(unittest.TestCase):
    """Plants violations and sees them found."""

    def check(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            for existing in ("base/error.h", "audio/wav.h", "weights/gguf_file.h", "engine/engine.h", "cli/app.h", "text/tokenizer.h",
                             "compute/executor.h"):
                self.write(folder, existing, "#pragma once\n")
            self.write(folder, name, text)
            return violations_under(folder)

    @staticmethod
    def write(folder, name, text):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)

    def test_downwards_is_fine(self):
        self.assertEqual(self.check("engine/x.cpp", '#include <vector>\n#include "base/error.h"\n#include "text/tokenizer.h"\n'), [])
        self.assertEqual(self.check("cli/deep/x.cpp", '#include "cli/app.h"\n#include "audio/wav.h"\n'), [])

    def test_upwards_is_found(self):
        for name, header in (("base/x.h", "weights/gguf_file.h"), ("text/x.cpp", "engine/engine.h"), ("engine/x_test.cpp", "cli/app.h")):
            with self.subTest(name=name):
                found = self.check(name, f'#include "{header}"\n')
                self.assertEqual(len(found), 1)
                self.assertIn("above", found[0])

    def test_spelling_does_not_hide_it(self):
        self.assertEqual(len(self.check("base/x.h", "  #  include <weights/gguf_file.h>\n")), 1)
        self.assertEqual(len(self.check("base/x.h", '#include "../weights/gguf_file.h"\n')), 1)

    def test_siblings_are_found(self):
        for name, header in (("audio/x.cpp", "weights/gguf_file.h"), ("compute/x.h", "audio/wav.h"), ("codec/x.h", "text/tokenizer.h")):
            with self.subTest(name=name):
                found = self.check(name, f'#include "{header}"\n')
                self.assertEqual(len(found), 1)
                self.assertIn("sibling", found[0])

    def test_ggml_is_found(self):
        for header in ("<ggml.h>", '"ggml-cpu.h"', "<gguf.h>", "<ggml/ggml.h>"):
            with self.subTest(header=header):
                self.assertEqual(len(self.check("engine/x.cpp", f"#include {header}\n")), 1)
                self.assertEqual(len(self.check("compute/cpu/x.cpp", f"#include {header}\n")), 1)
                self.assertEqual(self.check("weights/x.cpp", f"#include {header}\n"), [])
                self.assertEqual(self.check("compute/ggml/x.cpp", f"#include {header}\n"), [])

    def test_unknown_layers_are_found(self):
        self.assertEqual(len(self.check("misc/x.h", "")), 1)


if __name__ == "__main__":
    unittest.main()
