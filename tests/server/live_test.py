"""The WebSocket /v1/live: music without an end whose prompt, guidance, temperature and scene change while it plays."""
import pytest
from support import PROMPT, RATE, eventually

BYTES = 2 * RATE  # of a second


def test_live(server):
    with server.socket("/v1/live") as live:
        live.say("start", prompt=PROMPT, seed=1)
        ready = live.next()
        assert ready["type"] == "ready" and ready["frames"] is None and (ready["sample_rate"], ready["channels"]) == (RATE, 1)
        live.sounded(2 * BYTES)
        live.say("cancel")
        done = live.until("done")
        assert done["bytes"] == len(live.sound) and done["seconds"] == pytest.approx(done["bytes"] / BYTES)
        assert live.closed()[0] == 1000
    assert any(live.sound)
    server.still()


def test_prompt_changes_while_it_plays(server):
    def play(change):
        with server.socket("/v1/live") as live:
            live.say("start", prompt=PROMPT, seed=2, window=BYTES // 2)
            live.until("ready")
            live.sounded(BYTES // 2)
            if change:
                live.say("change", **change)
                changed = live.until("changed")
                assert changed.get("prompt", change.get("prompt")) == change.get("prompt", PROMPT)
            while len(live.sound) < 6 * BYTES:
                live.say("ack", offset=len(live.sound))
                live.next()
            return live.sound[:6 * BYTES]
    plain = play(None)
    assert play(None) == plain  # the same seed
    for change in ({"prompt": "loud drums"}, {"guidance_scale": 8.0}, {"temperature": 3.0}):
        other = play(change)
        # What was sent before is no longer to be changed; what comes soon is.
        assert other[:BYTES // 2] == plain[:BYTES // 2] and other != plain, change


def test_scene(server):
    table = server.get("/v1/scenes").json()
    names = list(table["scenes"])
    assert len(names) >= 2 and table["moods"]
    with server.socket("/v1/live") as live:
        live.say("start", scene={"scene": names[0], "mood": list(table["moods"])[0], "intensity": 0.2, "tempo": 90}, seed=1)
        first = live.until("ready")["prompt"]
        live.sounded(BYTES // 2)
        live.say("change", scene={"scene": names[1], "intensity": 0.9})
        second = live.until("changed")["prompt"]
        live.sounded(len(live.sound) + BYTES)
    assert first and second and first != second
    with server.socket("/v1/live") as live:  # the same scene, the same words
        live.say("start", scene={"scene": names[0], "mood": list(table["moods"])[0], "intensity": 0.2, "tempo": 90}, seed=1)
        assert live.until("ready")["prompt"] == first


def test_table_of_scenes_can_be_edited(serve, server, tmp_path):
    table = server.get("/v1/scenes").json()
    name = list(table["scenes"])[0]
    table["scenes"]["harbour"] = {"words": "a harbour at dawn"}
    path = tmp_path / "scenes.json"
    path.write_text(__import__("json").dumps(table))
    mine = serve("--scenes", path)
    assert "harbour" in mine.get("/v1/scenes").json()["scenes"] and name in mine.get("/v1/scenes").json()["scenes"]
    with mine.socket("/v1/live") as live:
        live.say("start", scene={"scene": "harbour"})
        assert "a harbour at dawn" in live.until("ready")["prompt"]


@pytest.mark.parametrize("change,param", [
    ({"prompt": "x" * 5000}, "prompt"), ({"prompt": 7}, "prompt"), ({"guidance_scale": -1}, "guidance_scale"), ({"temperature": "hot"}, "temperature"),
    ({}, "prompt"), ({"duration": 3}, "duration"), ({"scene": {"scene": "nowhere at all"}}, "scene.scene"), ({"scene": "x"}, "scene"),
    ({"scene": {}}, "scene.scene"), ({"scene": {"scene": "x", "intensity": 2}}, "scene.intensity"), ({"prompt": "x", "scene": {"scene": "y"}}, "scene"),
    ({"top_k": 5}, "top_k")])
def test_a_mistake_does_not_end_the_music(server, change, param):
    with server.socket("/v1/live") as live:
        live.say("start", prompt=PROMPT)
        live.until("ready")
        live.say("change", **change)
        error = live.until_error()
        assert error["status"] == 422 and error["error"]["param"] == param
        before = len(live.sound)
        live.sounded(before + BYTES // 2)


def test_other_mistakes_do_not_either(server):
    with server.socket("/v1/live") as live:
        live.say("start", prompt=PROMPT)
        live.until("ready")
        for message in ("x", "{}", b"\1\2\3", '{"type": "start", "prompt": "x"}', '{"type": "ack", "offset": 1000000000}', '{"type": "nothing"}'):
            live.connection.send(message)
            assert live.until_error()["status"] in (400, 422), message
        before = len(live.sound)
        live.sounded(before + BYTES // 2)
        live.say("ping", id="p")
        assert live.until("pong")["id"] == "p"


@pytest.mark.parametrize("fields,param", [({"duration": 5}, "duration"), ({"takes": 2}, "takes"), ({"segments": []}, "segments"), ({"keep": True}, "keep"),
                                          ({"webhook": "http://x/"}, "webhook"), ({"continue": {"upload": "x"}}, "continue"), ({"loop": True}, "loop")])
def test_what_has_no_end_has_none_of_these(server, fields, param):
    with server.socket("/v1/live") as live:
        live.say("start", prompt="x", **fields)
        error = live.next()
        assert error["type"] == "error" and error["error"]["param"] == param
        assert live.closed()[0] == 1008


def test_broken_connection_is_resumed(server):
    with server.socket("/v1/live") as live:
        live.say("start", prompt=PROMPT, seed=5)
        token = live.until("ready")["token"]
        live.sounded(BYTES)
        live.break_off()
    at = len(live.sound) - 1000
    with server.socket("/v1/live") as again:
        again.say("resume", token=token, offset=at)
        assert again.until("ready")["offset"] == at
        again.sounded(BYTES)
        assert again.sound[:1000] == live.sound[at:at + 1000]
        again.say("cancel")
        again.until("done")
    with server.socket("/v1/live") as again:
        again.say("resume", token=token, offset=at)
        assert again.until_error()["status"] == 404


def test_nobody_comes_back(serve):
    server = serve("--resume-timeout", "0.2")
    with server.socket("/v1/live") as live:
        live.say("start", prompt="x")
        live.until("ready")
        live.sounded(1)
        live.break_off()
    server.still()


def test_waits_for_its_listener(server):
    # Nothing is made far ahead of what is taken.
    with server.socket("/v1/live") as live:
        live.say("start", prompt="x", window=16384)
        live.until("ready")
        live.sounded(16384)
        made = server.metrics().value("continuo_frames_generated_total")
        eventually(lambda: server.metrics().value("continuo_frames_generated_total") == server.metrics().value("continuo_frames_generated_total"),
                   "it waits")
        live.say("ping", id="x")
        live.until("pong")
        assert len(live.sound) == 16384
        assert server.metrics().value("continuo_frames_generated_total") - made < 50 * 5
        live.say("ack", offset=16384)
        live.sounded(2 * 16384)
