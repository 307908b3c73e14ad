"""What networks, servers and disks do to a download: it ends well, or with a word on why and a state to continue from."""
import os
import re
import resource
import shutil
import signal
import subprocess
import time
import unittest

from cli.support import BINARY, environment
from pull.fake_hub import FakeHub
from pull.support import ID, PullCase, WEIGHTS, published

CUT = 300_000  # inside the weights
ONCE = ("--tries", "1")


class BrokenConnections(PullCase):
    def test_the_same_run_goes_on_where_it_broke(self):
        self.hub.fault(WEIGHTS, drop_after=CUT, times=1)
        result = self.pulled()
        self.assertEqual(self.ranges(), ["", f"bytes={CUT}-"])
        self.assertRegex(result.stderr, r"note: .*trying again in")

    def test_the_next_run_goes_on_where_it_broke(self):
        self.hub.fault(WEIGHTS, drop_after=CUT, times=1)
        self.not_pulled(*ONCE, says=rf"{re.escape(WEIGHTS)}: .*run the same command again")
        self.assertEqual(self.cached()[WEIGHTS + ".part"], CUT)
        result = self.pulled()
        self.assertEqual(self.ranges(), ["", f"bytes={CUT}-"])
        self.assertIn("from an earlier try", result.stderr)
        self.assertEqual(len(self.hub.asked("spiece.model")), 1)  # what was whole is not fetched again

    def test_again_and_again(self):
        self.hub.fault(WEIGHTS, drop_after=100_000, times=4)
        self.pulled()
        self.assertEqual(self.ranges(), [""] + [f"bytes={n}-" for n in (100_000, 200_000, 300_000, 400_000)])

    def test_tries_are_bounded_and_kept(self):
        self.hub.fault(WEIGHTS, drop_after=1000)
        self.not_pulled("--tries", "3", says=r"3 tries")
        self.assertEqual(len(self.ranges()), 3)
        self.assertEqual(self.cached()[WEIGHTS + ".part"], 3000)

    def test_at_the_first_byte(self):
        self.hub.fault(WEIGHTS, drop_after=0, times=2)
        self.pulled()
        self.assertEqual(self.ranges(), ["", "", ""])

    def test_while_listing(self):
        self.hub.fault("listing", drop_after=50, times=2)
        self.pulled()

    def test_a_silent_connection_is_given_up(self):
        self.hub.fault(WEIGHTS, stall_after=CUT, times=1)
        start = time.monotonic()
        self.pulled("--timeout", "1")
        self.assertLess(time.monotonic() - start, 15)
        self.assertEqual(self.ranges(), ["", f"bytes={CUT}-"])

    def test_a_server_that_ignores_ranges(self):
        self.hub.fault(WEIGHTS, drop_after=CUT, times=1)
        self.hub.fault(WEIGHTS, ignore_range=True, times=1)
        self.pulled()
        self.assertEqual(self.ranges(), ["", f"bytes={CUT}-"])

    def test_a_server_that_sends_another_range(self):
        self.hub.fault(WEIGHTS, drop_after=CUT, times=1)
        self.hub.fault(WEIGHTS, wrong_range=True, times=1)
        self.not_pulled(says="another piece")
        self.assertEqual(self.cached()[WEIGHTS + ".part"], CUT)
        self.pulled()

    def test_nobody_there(self):
        with FakeHub() as gone:
            url = gone.url
        self.not_pulled("--tries", "2", says="2 tries", HF_ENDPOINT=url)


class WrongContent(PullCase):
    def test_a_wrong_hash(self):
        for file, kind in (("generation_config.json", "git SHA-1"), (WEIGHTS, "SHA-256")):
            self.hub.fault(file, flip=True, times=1)
            self.not_pulled(says=rf"{re.escape(file)}: what arrived is not what the hub announced \({kind}")
            self.assertNotIn(file, self.cached())
            self.assertNotIn(file + ".part", self.cached())
        self.pulled()

    def test_a_beginning_that_was_spoiled_on_the_disk(self):
        self.hub.fault(WEIGHTS, drop_after=CUT, times=1)
        self.not_pulled(*ONCE, says="again")
        with open(self.part_of(WEIGHTS), "r+b") as file:
            file.write(b"spoiled")
        self.not_pulled(says="not what the hub announced")
        self.pulled()

    def test_a_part_that_is_too_long(self):
        self.hub.fault(WEIGHTS, drop_after=CUT, times=1)
        self.not_pulled(*ONCE, says="again")
        with open(self.part_of(WEIGHTS), "ab") as file:
            file.write(bytes(1_000_000))
        self.pulled()
        self.assertEqual(self.ranges(), ["", ""])

    def test_a_part_that_is_whole(self):
        self.hub.fault(WEIGHTS, drop_after=CUT, times=1)
        self.not_pulled(*ONCE, says="again")
        with open(self.part_of(WEIGHTS), "wb") as file:
            file.write(self.repository.files[WEIGHTS])
        self.pulled()
        self.assertEqual(self.ranges(), [""])

    def test_a_part_that_is_a_link(self):
        self.hub.fault(WEIGHTS, drop_after=CUT, times=1)
        self.not_pulled(*ONCE, says="again")
        os.remove(self.part_of(WEIGHTS))
        os.symlink(self.write("victim", b"precious"), self.part_of(WEIGHTS))
        self.not_pulled(says="cannot write")
        self.assertEqual(self.bytes_of("victim"), b"precious")

    def test_more_than_announced(self):
        self.hub.fault(WEIGHTS, longer=100_000)
        self.not_pulled(says="more than the 685992 bytes")
        self.repository.sizes[WEIGHTS] = 1000
        self.not_pulled(says="more than the 1000 bytes")
        self.assertLessEqual(self.cached()[WEIGHTS + ".part"], 1000)

    def test_less_than_announced(self):
        self.hub.fault(WEIGHTS, shorter=100_000, times=1)
        self.pulled()  # the rest comes with the next try
        self.hub.repositories[ID] = self.repository = published(license_name="mit")
        self.repository.files["README.md"] = b"another commit"
        self.repository.sizes[WEIGHTS] = 700_000
        result = self.pull("--tries", "2", "--name", "other")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"(does not know the rest|sent \d+ of 700000 bytes).*2 tries")


class UnwillingServers(PullCase):
    def test_one_that_always_breaks_off_and_starts_again(self):
        self.repository.files[WEIGHTS] = bytes(3_000_000)
        self.hub.fault(WEIGHTS, ignore_range=True, drop_after=1_500_000)
        self.not_pulled("--tries", "2", says=r"\(2 tries\)")
        self.assertLess(len(self.hub.asked(WEIGHTS)), 5)

    def test_a_list_that_always_breaks_off(self):
        self.hub.fault("listing", body=b"{" + b" " * 3_000_000, drop_after=1_500_000)
        self.not_pulled("--tries", "2", says=r"\(2 tries\)")
        self.assertEqual(len(self.hub.requests), 2)

    def test_too_many_requests(self):
        self.hub.fault(WEIGHTS, status=429, retry_after="2", times=1)
        start = time.monotonic()
        result = self.pulled()
        self.assertGreaterEqual(time.monotonic() - start, 2)
        self.assertIn("429", result.stderr)

    def test_a_long_wait_is_not_sat_out(self):
        self.hub.fault("listing", status=503, retry_after="4000")
        start = time.monotonic()
        self.not_pulled(says="503.*4000 s")
        self.assertLess(time.monotonic() - start, 10)

    def test_errors_that_pass(self):
        for status in (500, 502, 504):
            self.hub.fault(WEIGHTS, status=status, times=1)
        self.pulled()
        self.assertEqual(len(self.ranges()), 4)

    def test_errors_that_stay(self):
        self.hub.fault(WEIGHTS, status=500)
        self.not_pulled("--tries", "2", says="answers 500.*2 tries")
        self.assertEqual(len(self.ranges()), 2)

    def test_errors_that_no_try_mends(self):
        self.hub.fault(WEIGHTS, status=410)
        self.not_pulled(says="status 410")
        self.assertEqual(len(self.ranges()), 1)

    def test_redirects_without_end(self):
        self.hub.fault("config.json", redirect=f"/api/resolve-cache/models/{ID}/main/config.json")
        self.not_pulled(says="in a loop")
        self.assertLess(len(self.hub.requests), 30)

    def test_redirects_to_elsewhere(self):
        self.hub.fault("config.json", redirect="file:///etc/passwd", times=1)
        self.not_pulled(says="not an http or https address")
        self.hub.fault("config.json", redirect="http://", times=1)
        self.not_pulled(says="address|URL")


class FullDisks(PullCase):
    def test_a_model_that_cannot_fit_is_not_begun(self):
        self.repository.sizes[WEIGHTS] = 10 ** 16
        self.not_pulled(says=r"takes .* GB in .*, where .* GB are free")
        self.repository.sizes.clear()
        self.repository.parameters = 10 ** 15  # the download would fit, the model would not
        self.not_pulled(says=r"takes .* GB in .*, where .* GB are free")
        self.assertEqual(self.cached(), {})
        self.assertEqual(len(self.hub.requests), 2)

    def test_sizes_that_add_up_to_more_than_there_are_numbers(self):
        # As whole numbers of 64 bits the sum of these is a small one.
        self.repository.files.pop(WEIGHTS)
        self.repository.files["model.safetensors.index.json"] = b"{}"
        shards = [f"model-{number:05}-of-00016.safetensors" for number in range(1, 17)]
        for name in shards:
            self.repository.files[name] = b"x"
            self.repository.sizes[name] = 1 << 60
        self.repository.parameters = 1000
        self.not_pulled(says=r"takes 1\.84e\+10 GB in .*make room first")
        self.assertEqual([request for request in self.hub.requests if "/resolve/" in request.path], [])

    def test_a_disk_that_fills_while_writing(self):
        # A limit on the size of files stands for the disk: the write fails in the middle just the same.
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (CUT, CUT))

        # Python ignores SIGXFSZ; without restoring it the program gets the error instead of the signal.
        result = subprocess.run([BINARY, "pull", ID], cwd=self.folder, env=environment(self.home, **self.variables()),
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, preexec_fn=limit,
                                restore_signals=False)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"cannot write .*model\.safetensors\.part: .*make room and run the same command again")
        self.assertEqual(self.cached()[WEIGHTS + ".part"], CUT)
        self.pulled()
        self.assertEqual(self.ranges(), ["", f"bytes={CUT}-"])

    def in_a_small_file_system(self, megabytes, before="true"):
        """Runs the pull with the data and cache folders on a file system of that size, which vanishes with it."""
        if shutil.which("unshare") is None or subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode != 0:
            self.skipTest("this system does not let a test mount a small file system of its own")
        disk = self.path("disk")
        os.mkdir(disk)
        script = f'mount -t tmpfs -o size={megabytes}m tmpfs "{disk}" && {{ {before}; }} && exec "{BINARY}" pull {ID}'
        return subprocess.run(["unshare", "-Urm", "sh", "-c", script], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60,
                              env=environment(self.home, **self.variables(XDG_CACHE_HOME=disk, XDG_DATA_HOME=disk)))

    def test_a_disk_that_is_too_small(self):
        result = self.in_a_small_file_system(17)  # the download alone would fit
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"takes 0\.00\d+ GB in .*, where 0\.017\d* GB are free")
        self.assertEqual(self.hub.asked("config.json"), [])

    def test_a_disk_that_others_fill_meanwhile(self):
        self.hub.fault(WEIGHTS, pace=0.05)
        disk = self.path("disk")
        part = os.path.join(disk, "continuo", "hub", ID, self.repository.commit, WEIGHTS + ".part")
        fill = f"( while [ ! -s '{part}' ]; do sleep 0.05; done; cat /dev/zero >'{disk}/others' ) 2>/dev/null & true"
        result = self.in_a_small_file_system(24, before=fill)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"cannot write .*\.part: No space left on device; make room")


class Interruptions(PullCase):
    def slow(self):
        self.hub.fault(WEIGHTS, pace=0.2, times=1)

    def arrived(self):
        return os.path.exists(self.part_of(WEIGHTS)) and os.path.getsize(self.part_of(WEIGHTS)) > 0

    def test_control_c_leaves_a_state_to_continue_from(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.slow()
            process = self.start_pull()
            before = os.path.getsize(self.part_of(WEIGHTS)) if self.arrived() else 0
            self.wait_for(lambda: self.arrived() and os.path.getsize(self.part_of(WEIGHTS)) > before, "the weights never came")
            status, output, errors = self.interrupt(process, number)
            self.assertEqual((status, output), (130, ""), errors)
            self.assertIn("the same command continues", errors)
            self.assertEqual(self.installed(), [])
        there = self.cached()[WEIGHTS + ".part"]
        self.pulled()
        self.assertEqual(self.ranges()[-1], f"bytes={there}-")

    def test_control_c_while_waiting(self):
        self.hub.fault("listing", status=503, retry_after="100")
        process = self.start_pull()
        self.wait_for(lambda: self.hub.requests, "it never asked")
        time.sleep(0.3)
        status, _, errors = self.interrupt(process)
        self.assertEqual(status, 130, errors)

    def test_a_process_that_is_killed_blocks_nobody(self):
        self.slow()
        process = self.start_pull()
        self.wait_for(self.arrived, "the weights never came")
        process.kill()
        process.communicate()
        self.pulled()
        self.assertRegex(self.ranges()[-1], r"bytes=[1-9]\d*-")
        self.assertEqual(self.cached(), {})

    def test_two_at_once(self):
        self.slow()
        process = self.start_pull()
        self.wait_for(self.arrived, "the weights never came")
        self.not_pulled(says=r"another `continuo pull` of somebody/tiny-music is running")
        self.not_pulled("--name", "other", says=r"another `continuo pull`")
        self.interrupt(process)
        self.pulled()


@unittest.skipUnless(shutil.which("openssl"), "there is no openssl program to make a certificate with")
class Encryption(PullCase):
    def setUp(self):
        super().setUp()
        self.certificate = (self.path("cert.pem"), self.path("key.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1,DNS:localhost", "-out", self.certificate[0], "-keyout", self.certificate[1]],
                       check=True, capture_output=True, timeout=60)
        self.plain = self.hub
        self.hub = FakeHub(self.certificate)
        self.addCleanup(self.hub.__exit__)
        self.hub.repositories[ID] = self.repository

    def test_a_certificate_that_nobody_vouches_for(self):
        system = {name: "" for name in ("CURL_CA_BUNDLE", "SSL_CERT_FILE")}
        self.not_pulled(says=r"certificate|SSL", **system)
        self.assertEqual(self.hub.requests, [])

    def test_one_that_the_user_trusts(self):
        for variable in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            self.pulled("--name", variable.lower(), **{"CURL_CA_BUNDLE": "", "SSL_CERT_FILE": "", variable: self.certificate[0]})

    def test_redirects_do_not_leave_encryption(self):
        self.hub.fault("config.json", redirect=f"{self.plain.cdn_url}/{ID}/config.json?signature=x")
        self.not_pulled(says="without encryption", CURL_CA_BUNDLE=self.certificate[0])
        self.assertEqual(self.plain.requests, [])

    def test_nor_does_a_token(self):
        token = "hf_FakeTokenOfTheTests"
        for place in (self.plain.url, self.hub.url.replace("https", "http")):
            self.hub.heal()
            self.hub.fault("config.json", redirect=f"{place}/{ID}/config.json")
            self.not_pulled(says="without encryption", CURL_CA_BUNDLE=self.certificate[0], HF_TOKEN=token)
        self.assertEqual({request.token for request in self.hub.requests if request.host == "hub"}, {token})
        self.assertEqual(self.plain.requests, [])
