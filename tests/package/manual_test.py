"""The manual page and docs/cli.md against the program's own help: every command and option of it is in both, in the command's own
section or among the settings, and the manual page invents none."""
import os
import re
import shutil
import subprocess
import unittest

from cli.support import BINARY, ROOT

PAGE = os.path.join(ROOT, "docs", "continuo.1")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
HELP_OPTION = re.compile(r"^  (-\S+)", re.MULTILINE)
EVERYWHERE = {"-h", "--help"}  # every command has them; the overviews say so once


def help_of(*words):
    return subprocess.run([BINARY, *words, "--help"], check=True, capture_output=True, text=True).stdout


def commands():
    listed = help_of().split("\nCommands\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\w+) ", listed, re.MULTILINE)


def options_of(command):
    """A list of sets: the names of an option, {"-m", "--model"}."""
    names = [set(found.split(",")) for found in HELP_OPTION.findall(help_of(command))]
    return [option for option in names if option != EVERYWHERE]


def plain(roff):
    """The text of a manual page without fonts and escapes; macros' names go, their words stay."""
    text = re.sub(r"\\f(?:\[\w*\]|\(..|.)", "", roff).replace("\\-", "-").replace('"', "")
    return re.sub(r"^\.(?!S[HS])[A-Z]+ ", "", text, flags=re.MULTILINE)


def sections(text, heading):
    """{title: body}"""
    parts = re.split(heading, text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Manual(unittest.TestCase):
    def check(self, bodies, settings, documented):
        """bodies: {command: its section}; documented: all or any, of an option's names."""
        names = commands()
        self.assertGreater(len(names), 5)
        for command in names:
            with self.subTest(command=command):
                self.assertIn(command, bodies)
                words = set(OPTION.findall(bodies[command] + settings))
                missing = [sorted(names) for names in options_of(command) if not documented(name in words for name in names)]
                self.assertEqual(missing, [])

    def page(self):
        return sections(plain(read(PAGE)), r"^\.S[HS] (.+)$")

    def test_the_page_has_everything(self):
        page = self.page()
        self.check(page, page["SETTINGS"], all)
        for word in EVERYWHERE | {"--version", "-V"}:
            self.assertIn(word, OPTION.findall(page["SYNOPSIS"]))

    def test_the_reference_has_everything(self):
        reference = sections(read(os.path.join(ROOT, "docs", "cli.md")), r"^## (.+)$")
        bodies = {command: body for title, body in reference.items() for command in title.split(", ")}
        self.check(bodies, reference["Settings of a machine"], any)

    def test_the_page_invents_nothing(self):
        page = self.page()
        for command in commands():
            with self.subTest(command=command):
                invented = set(OPTION.findall(page[command])).difference(*options_of(command))
                self.assertEqual(sorted(invented), [])

    def test_the_page_names_this_version(self):
        version = subprocess.run([BINARY, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        self.assertIn(f'"{version}"', read(PAGE).split(".SH")[0])

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_the_page_is_well_formed(self):
        result = subprocess.run(["groff", "-man", "-ww", "-Tutf8", PAGE], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
