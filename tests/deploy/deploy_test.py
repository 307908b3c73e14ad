"""The files of deploy/: they are well formed, say what docs/deploy.md promises, and use only what the program has."""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from cli.support import BINARY, ROOT
from deploy.plain_yaml import Malformed, load

DEPLOY = os.path.join(ROOT, "deploy")
METRIC = re.compile(r"\bcontinuo_[a-z0-9_]+")
HISTOGRAM_PARTS = re.compile(r"_(bucket|sum|count)$")
VARIABLE = re.compile(r"\bCONTINUO_[A-Z_]+")
OURS_ALONE = {"CONTINUO_MODEL", "CONTINUO_PUBLISH", "CONTINUO_MEM_LIMIT"}  # of compose.yaml itself


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def metrics():
    """{name: kind} of what the server tells."""
    source = read("src", "server", "metrics.cpp")
    found = {name: kind for kind, name in re.findall(r'\b(gauge|counter|histogram)\(\s*"(continuo_\w+)"', source)}
    return found


def settings():
    """The variables that the program knows: of the machine, and of each option of serve."""
    result = subprocess.run([BINARY, "serve", "--help"], check=True, capture_output=True, text=True)
    options = re.findall(r"^  (?:-\w,)?--([a-z-]+)", result.stdout, re.MULTILINE)
    return {"CONTINUO_" + option.upper().replace("-", "_") for option in options if option not in ("help", "model")}


class Board(unittest.TestCase):
    def setUp(self):
        self.board = json.loads(read("deploy", "grafana", "dashboards", "continuo.json"))
        self.expressions = [target["expr"] for panel in self.board["panels"] for target in panel["targets"]]

    def test_every_metric_exists(self):
        known = metrics()
        self.assertGreaterEqual(len(known), 28)
        used = {name for expression in self.expressions for name in METRIC.findall(expression)}
        for name in sorted(used):
            part = HISTOGRAM_PARTS.search(name)
            base = HISTOGRAM_PARTS.sub("", name)
            with self.subTest(metric=name):
                self.assertEqual(known.get(base if part else name), "histogram" if part else known.get(name, "nothing"))

    def test_every_metric_is_shown_and_documented(self):
        shown = " ".join(self.expressions)
        documented = set(METRIC.findall(read("docs", "deploy.md")))
        for name in metrics():
            with self.subTest(metric=name):
                self.assertIn(name, shown)
                self.assertIn(name, documented)

    def test_counters_are_rates_and_histograms_quantiles(self):
        kinds = metrics()
        for expression in self.expressions:
            for name in METRIC.findall(expression):
                if kinds.get(name) == "counter" or name.endswith("_bucket"):
                    self.assertRegex(expression, r"(rate|increase)\(" + name)

    def test_panels_do_not_overlap_and_have_titles(self):
        taken = set()
        for panel in self.board["panels"]:
            place = panel["gridPos"]
            self.assertTrue(panel["title"] and panel["datasource"]["uid"] == "continuo-prometheus")
            self.assertLessEqual(place["x"] + place["w"], 24)
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(taken & cells, panel["title"])
            taken |= cells
        self.assertEqual(len({panel["id"] for panel in self.board["panels"]}), len(self.board["panels"]))


class Containers(unittest.TestCase):
    def setUp(self):
        self.docker = re.sub(r"\\\n\s*", " ", read("deploy", "Dockerfile"))
        self.lines = [line for line in self.docker.split("\n") if line and not line.startswith("#")]
        self.compose = load(read("deploy", "compose.yaml"))

    def of(self, instruction):
        return [line.split(None, 1)[1] for line in self.lines if line.startswith(instruction + " ")]

    def test_images_have_versions(self):
        images = [line.split()[0] for line in self.of("FROM")] + [service["image"] for service in self.compose["services"].values()]
        self.assertEqual(len(self.of("FROM")), 2)
        for image in images:
            self.assertRegex(image, r"^[a-z/]+:[\w.-]*\d[\w.-]*$")
            self.assertNotIn("latest", image)

    def test_the_image_runs_as_nobody_special(self):
        users = self.of("USER")
        self.assertEqual(users, ["10001:10001"])
        self.assertLess(self.lines.index("USER 10001:10001"), next(i for i, line in enumerate(self.lines) if line.startswith("ENTRYPOINT")))
        self.assertEqual(self.of("EXPOSE"), ["8080"])
        self.assertEqual(json.loads(self.of("VOLUME")[0]), ["/data", "/models"])
        self.assertEqual(json.loads(self.of("ENTRYPOINT")[0]), ["/usr/bin/continuo"])
        self.assertEqual(json.loads(self.of("CMD")[0]), ["serve"])
        self.assertIn("/health", self.of("HEALTHCHECK")[0])

    def test_packages_are_installed_carefully(self):
        for run in self.of("RUN"):
            if "apt-get install" in run:
                self.assertIn("--no-install-recommends", run)
                self.assertIn("rm -rf /var/lib/apt/lists/*", run)
                self.assertIn("apt-get update", run)
        self.assertNotRegex(self.docker, r"\bsudo\b|\bADD\b|curl [^|\n]*\| *(ba)?sh")

    def test_the_server_in_a_container_needs_keys(self):
        self.assertIn("CONTINUO_HOST=0.0.0.0", self.docker)
        self.assertIn("CONTINUO_API_KEY_FILE=/run/secrets/continuo-api-keys", self.docker)
        self.assertNotIn("EXPOSE_WITHOUT_KEY", self.docker + read("deploy", "compose.yaml"))
        self.assertIn("continuo-api-keys", self.compose["services"]["continuo"]["secrets"])

    def test_compose_is_closed_by_default(self):
        services = self.compose["services"]
        self.assertEqual(set(services), {"continuo", "prometheus", "grafana"})
        for name, service in services.items():
            with self.subTest(service=name):
                self.assertEqual(service["cap_drop"], ["ALL"])
                self.assertEqual(service["security_opt"], ["no-new-privileges:true"])
                for port in service.get("ports", []):
                    self.assertIn("127.0.0.1", port)
        self.assertIs(services["continuo"]["read_only"], True)
        self.assertGreater(int(services["continuo"]["stop_grace_period"][:-1]), int(services["continuo"]["environment"]["CONTINUO_GRACE"]))

    def test_what_compose_mounts_is_there(self):
        for service in self.compose["services"].values():
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                known = os.path.exists(os.path.join(DEPLOY, source)) if source.startswith(".") else source in self.compose["volumes"]
                self.assertTrue(known, volume)
            for secret in service.get("secrets", []):
                self.assertIn(secret, self.compose["secrets"])

    def test_prometheus_and_grafana_find_each_other(self):
        scrape = load(read("deploy", "prometheus", "prometheus.yaml"))["scrape_configs"][0]
        self.assertEqual(scrape["static_configs"], [{"targets": ["continuo:8080"]}])
        self.assertEqual(os.path.basename(scrape["authorization"]["credentials_file"]),
                         self.compose["services"]["prometheus"]["secrets"][0])
        self.assertIn("continuo", self.compose["services"]["continuo"]["environment"]["CONTINUO_HOST_NAME"])
        source = load(read("deploy", "grafana", "provisioning", "datasources", "prometheus.yaml"))["datasources"][0]
        self.assertEqual((source["uid"], source["url"]), ("continuo-prometheus", "http://prometheus:9090"))
        boards = load(read("deploy", "grafana", "provisioning", "dashboards", "continuo.yaml"))["providers"][0]
        mounts = self.compose["services"]["grafana"]["volumes"]
        self.assertTrue(any(f":{boards['options']['path']}:" in mount for mount in mounts), mounts)


class Everything(unittest.TestCase):
    def test_yaml_and_json_are_well_formed(self):
        for path in glob.glob(os.path.join(DEPLOY, "**", "*.yaml"), recursive=True):
            with self.subTest(file=path):
                self.assertIsInstance(load(read(path)), dict)
        for path in glob.glob(os.path.join(DEPLOY, "**", "*.json"), recursive=True):
            json.loads(read(path))

    def test_the_checker_finds_mistakes(self):
        for wrong in ("a: 1\na: 2", "a:\n\tb: 1", "a: b: c", "a: *b", "a: [1", "a:\n  b: 1\n c: 2", "a: |\n  text", "- a\nb: 1", "a"):
            with self.assertRaises(Malformed, msg=wrong):
                load(wrong)
        self.assertEqual(load('a:\n  - "x: y"\n  - b: 1\n    c: true\nd: ["e"]\nf:\n'), {"a": ["x: y", {"b": 1, "c": True}], "d": ["e"], "f": None})

    def test_every_variable_is_a_setting(self):
        known = settings()
        self.assertIn("CONTINUO_MAX_QUEUE", known)
        for name in ("Dockerfile", "compose.yaml", "continuo.service"):
            used = set(VARIABLE.findall(read("deploy", name))) - (OURS_ALONE if name == "compose.yaml" else set())
            self.assertEqual(sorted(used - known), [], name)
        self.assertEqual(sorted(set(VARIABLE.findall(read("docs", "deploy.md"))) - known - OURS_ALONE), [])


class Unit(unittest.TestCase):
    def setUp(self):
        self.unit = read("deploy", "continuo.service")
        self.settings = dict(re.findall(r"^(\w+)=(.*)$", self.unit, re.MULTILINE))

    def test_it_is_hardened_and_restarts(self):
        for name, value in (("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("DynamicUser", "yes"), ("StateDirectory", "continuo"),
                            ("Restart", "on-failure"), ("CapabilityBoundingSet", ""), ("ProtectHome", "yes")):
            self.assertEqual(self.settings.get(name), value, name)
        self.assertIn("MemoryMax", self.settings)
        help_text = subprocess.run([BINARY, "serve", "--help"], check=True, capture_output=True, text=True).stdout
        grace = int(re.search(r"--grace .*\(default (\d+)\)", help_text)[1])
        self.assertGreater(int(self.settings["TimeoutStopSec"]), grace)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_understands_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "continuo.service")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.unit.replace("/usr/bin/continuo", BINARY))
            result = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
            if "Failed to" in result.stderr and "continuo.service" not in result.stderr:
                self.skipTest("systemd-analyze does not work here")
            self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
