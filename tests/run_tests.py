#!/usr/bin/env python3
"""Runs the tests and counts them honestly.

    run_tests.py --ctest BUILD [LAYER ...]   the C++ tests of a build folder (of these layers only), may be repeated
                 --python BUILD              the Python tests, against the program in that build folder
                 --pytest BUILD              the server's tests (tests/server), likewise; scripts/setup.sh tests made their environment

Every C++ test case and every Python test case counts once. A test that was skipped is neither passed nor failed and is named.
A step that breaks before its tests ran counts as one failure. The last line is "N passed, N failed"; the exit status is 0
only if something passed and nothing failed.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARALLEL = 2


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def tally_junit(path, label):
    tally = Tally()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{label}: {case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            tally.failed.append(name)
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            tally.skipped.append(name)
        else:
            tally.passed += 1
    return tally


def run_ctest(build, layers):
    label = os.path.basename(os.path.normpath(build))
    print(f"== C++ tests in {label}", flush=True)
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        command = ["ctest", "--test-dir", build, "-j", str(PARALLEL), "--output-on-failure", "--no-tests=error",
                   "--output-junit", report]
        if layers:
            command += ["-L", "^(" + "|".join(layers) + ")$"]
        status = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
        if os.path.exists(report):
            tally = tally_junit(report, label)
        if status != 0 and not tally.failed:
            tally.failed.append(f"{label}: ctest itself (exit status {status})")
    return tally


class Counter(unittest.TextTestResult):
    """Counts each test once; a failing subtest fails its test."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.good = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.good += 1


def run_python(build):
    print("== Python tests", flush=True)
    os.environ["CONTINUO_BINARY"] = os.path.abspath(os.path.join(build, "continuo"))
    suite = unittest.defaultTestLoader.discover(os.path.join(ROOT, "tests"), pattern="*_test.py",
                                                top_level_dir=os.path.join(ROOT, "tests"))
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Counter)
    result = runner.run(suite)
    tally = Tally()
    tally.passed = result.good
    failing = {test.id().split(" ")[0] for test, _ in result.failures + result.errors}
    failing |= {test.id() for test in result.unexpectedSuccesses}
    tally.failed = [f"python: {name}" for name in sorted(failing)]
    tally.skipped = [f"python: {test.id()} ({reason})" for test, reason in result.skipped]
    return tally


def run_pytest(build):
    print("== tests of the server", flush=True)
    python = os.path.join(ROOT, ".deps", "server-venv", "bin", "python")
    tally = Tally()
    if not os.path.exists(python):
        tally.failed.append("server: .deps/server-venv is not there; scripts/setup.sh tests makes it")
        return tally
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        environment = {**os.environ, "CONTINUO_BINARY": os.path.abspath(os.path.join(build, "continuo")), "PYTHONDONTWRITEBYTECODE": "1"}
        status = subprocess.run([python, "-m", "pytest", "-q", "--tb=short", "--durations=10", f"--junitxml={report}"],
                                cwd=os.path.join(ROOT, "tests", "server"), env=environment, stdin=subprocess.DEVNULL).returncode
        if os.path.exists(report):
            tally = tally_junit(report, "server")
        if status != 0 and not tally.failed:
            tally.failed.append(f"server: pytest itself (exit status {status})")
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ctest", nargs="+", action="append", default=[], metavar=("BUILD", "LAYER"))
    parser.add_argument("--python", metavar="BUILD")
    parser.add_argument("--pytest", metavar="BUILD")
    arguments = parser.parse_args()
    total = Tally()
    for build, *layers in arguments.ctest:
        total.add(run_ctest(os.path.join(ROOT, build), layers))
    if arguments.python:
        total.add(run_python(os.path.join(ROOT, arguments.python)))
    if arguments.pytest:
        total.add(run_pytest(os.path.join(ROOT, arguments.pytest)))
    for name in total.skipped:
        print(f"skipped  {name}")
    for name in total.failed:
        print(f"FAILED   {name}")
    print(f"{total.passed} passed, {len(total.failed)} failed", flush=True)
    return 0 if total.passed > 0 and not total.failed else 1


if __name__ == "__main__":
    sys.exit(main())
