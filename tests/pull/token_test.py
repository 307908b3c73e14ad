"""Who may read a model, and who gets to see the token: the hub alone."""
import os

from pull.fake_hub import FakeHub
from pull.support import ID, PullCase, WEIGHTS

TOKEN = "hf_FakeTokenOfTheTests"
MISSING = "somebody/none"


class Tokens(PullCase):
    def setUp(self):
        super().setUp()
        self.repository.token = TOKEN

    def check_who_saw_it(self):
        hub = [request for request in self.hub.requests if request.host == "hub"]
        cdn = [request for request in self.hub.requests if request.host == "cdn"]
        self.assertTrue(hub and cdn)
        self.assertEqual({request.token for request in hub}, {TOKEN})
        self.assertEqual({request.token for request in cdn}, {""})

    def check_silence(self, result):
        self.assertNotIn(TOKEN, result.stdout + result.stderr)
        for folder, _, names in os.walk(self.home):
            for name in names:
                if name == "token":
                    continue
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(TOKEN.encode(), file.read(), name)

    def token_file(self, *where):
        path = os.path.join(self.home, *where)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(TOKEN + "\n")
        return path

    def test_it_opens_a_private_model(self):
        self.check_silence(self.pulled(HF_TOKEN=TOKEN))
        self.check_who_saw_it()

    def test_it_lies_in_a_file(self):
        self.token_file(".cache", "huggingface", "token")
        self.check_silence(self.pulled())
        self.check_who_saw_it()

    def test_it_lies_in_a_file_elsewhere(self):
        self.pulled("--name", "a", HF_TOKEN_PATH=self.token_file("elsewhere", "mine"))
        self.pulled("--name", "b", HF_HOME=os.path.dirname(self.token_file("hf", "token")))
        self.pulled("--name", "c", XDG_CACHE_HOME=os.path.dirname(os.path.dirname(self.token_file("x", "huggingface", "token"))))

    def test_the_variable_wins_over_the_file(self):
        with open(self.token_file("token"), "w", encoding="ascii") as file:
            file.write("hf_AnotherToken")
        self.pulled(HF_TOKEN=TOKEN, HF_TOKEN_PATH=os.path.join(self.home, "token"))

    def test_another_port_of_the_same_host_does_not_get_it(self):
        cdn = self.hub.cdn_url.replace("localhost", "127.0.0.1")
        self.hub.fault("config.json", redirect=f"{cdn}/{ID}/config.json?signature=x", times=1)
        self.pulled(HF_TOKEN=TOKEN)
        self.check_who_saw_it()
        self.assertIn("config.json", [request.file for request in self.hub.requests if request.host == "cdn"])

    def test_a_proxy_does_not_get_what_is_not_encrypted(self):
        proxy = FakeHub()
        self.addCleanup(proxy.__exit__)
        for name in ("http_proxy", "all_proxy", "ALL_PROXY"):
            self.pull(HF_TOKEN=TOKEN, no_proxy="", NO_PROXY="", **{name: proxy.url})
        self.assertEqual({request.token for request in self.hub.requests if request.host == "hub"}, {TOKEN})
        self.assertNotIn(TOKEN, {request.token for request in proxy.requests})
        self.assertTrue(proxy.requests)  # which brings the rest, as people want it

    def test_another_path_of_the_hub_gets_it(self):
        self.hub.fault("config.json", redirect=f"{self.hub.url}/api/resolve-cache/models/{ID}/main/config.json", times=1)
        self.pulled(HF_TOKEN=TOKEN)
        self.check_who_saw_it()

    def test_one_that_would_write_headers(self):
        for token in (f"{TOKEN}\r\nX-Evil: 1", "two words", "hf_\u00e9", "x" * 5000):
            result = self.not_pulled(HF_TOKEN=token, status=2, says="HF_TOKEN does not hold a token")
            self.assertNotIn(token[:20], result.stderr)
        self.assertEqual(self.hub.requests, [])


class Refusals(PullCase):
    def test_no_such_model(self):
        self.not_pulled(name=MISSING, says=r"status 401.*no such model, or it is private.*HF_TOKEN")
        self.not_pulled(name=MISSING, says=rf"there is no model {MISSING}", HF_TOKEN=TOKEN)
        self.assertEqual(self.cached(), {})

    def test_a_private_one(self):
        self.repository.token = TOKEN
        self.not_pulled(says=r"private")
        self.not_pulled(says=r"there is no model", HF_TOKEN="hf_SomebodyElse")

    def test_a_token_that_is_none(self):
        result = self.not_pulled(says=r"does not accept your token.*HF_TOKEN", HF_TOKEN="nonsense")
        self.assertNotIn("nonsense", result.stderr)

    def test_a_gated_one(self):
        self.repository.gated = True
        self.not_pulled(says=rf"{ID} is open only to people who asked.*then set HF_TOKEN")
        self.not_pulled(says=rf"{ID} is open only to people who asked.*account that your token", HF_TOKEN=TOKEN)
        self.assertEqual(self.hub.asked(WEIGHTS), [])

    def test_a_file_that_is_listed_and_not_there(self):
        self.hub.fault("generation_config.json", status=404)
        self.not_pulled(says=r"lists generation_config\.json but does not have it")
