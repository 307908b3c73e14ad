"""/metrics: the names that the documentation promises, in a form that Prometheus reads, with numbers that can be true."""
import re

import pytest
from support import serving

GAUGES = ["requests_running", "requests_waiting", "rows_active", "kv_cache_usage_ratio", "kv_pages_free", "kv_cache_bytes",
          "process_resident_memory_bytes", "process_peak_memory_bytes", "http_connections", "streams"]
COUNTERS = ["prompt_cache_hits", "prompt_cache_queries", "frames_generated", "audio_seconds_generated", "requests_finished", "requests_rejected",
            "requests_submitted", "http_requests"]
HISTOGRAMS = ["queue_time_seconds", "time_to_first_audio_seconds", "step_time_seconds", "codec_time_seconds", "request_duration_seconds",
              "real_time_factor"]


def test_names_and_kinds(server, piece):
    families = server.metrics().families
    for kind, names in (("gauge", GAUGES), ("counter", COUNTERS), ("histogram", HISTOGRAMS)):
        for name in names:
            family = families.get("continuo_" + name)
            assert family is not None and family.type == kind and family.documentation, name
    for name in families:
        assert re.fullmatch(r"continuo_[a-z0-9_]+", name), name


def test_content_type(server):
    assert server.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")


def test_numbers_of_a_piece(serve):
    server = serve()
    before = server.metrics()
    server.make(duration=2.0, seed=1)
    server.make(duration=1.0, seed=2)
    after = server.still()

    def grown(name, **labels):
        return after.count(name, **labels) - before.count(name, **labels)
    assert grown("continuo_requests_submitted_total", family="jobs") == 2
    assert grown("continuo_requests_finished_total", reason="finished") == 2
    assert grown("continuo_audio_seconds_generated_total") == pytest.approx(3.0)
    assert grown("continuo_frames_generated_total") == 150
    assert grown("continuo_prompt_cache_queries_total") >= 2
    for name in ("queue_time_seconds", "time_to_first_audio_seconds", "request_duration_seconds", "real_time_factor"):
        assert grown(f"continuo_{name}_count") == 2, name
        assert 0 <= grown(f"continuo_{name}_sum") < 120, name
    # A step for each frame, and some for the delays of the codebooks; two pieces one after the other share none.
    assert 150 <= grown("continuo_step_time_seconds_count") <= 170
    assert grown("continuo_codec_time_seconds_count") >= 2
    # First sound comes before the end, and after the start.
    assert grown("continuo_queue_time_seconds_sum") <= grown("continuo_time_to_first_audio_seconds_sum") <= grown("continuo_request_duration_seconds_sum")
    assert 10e6 < after.value("continuo_process_resident_memory_bytes") <= after.value("continuo_process_peak_memory_bytes") < 4e9


def test_numbers_of_running_pieces(serve):
    server = serve("--max-rows", 2)
    first = server.started(duration=300)
    second = server.submit(duration=300)
    now = server.metrics()
    assert now.value("continuo_requests_running") == 1 and now.value("continuo_requests_waiting") == 1
    assert 0 < now.value("continuo_kv_cache_usage_ratio") <= 1 and now.value("continuo_kv_cache_bytes") > 0
    assert now.value("continuo_rows_active") <= 2
    server.cancel(second)
    server.cancel(first)
    after = server.still()
    assert after.value("continuo_requests_finished_total", reason="cancelled") == 2


def test_rejections_have_a_reason(serve):
    server = serve("--max-rows", 2, "--max-queue", 0)
    running = server.started(duration=300)
    for _ in range(3):
        server.post("/v1/jobs", {"prompt": "x"}, status=429)
    assert server.metrics().value("continuo_requests_rejected_total", reason="queue_full") == 3
    server.cancel(running)


def test_known_prompts_are_hits(serve):
    server = serve()
    server.make(prompt="heard before", seed=1)
    before = server.metrics().value("continuo_prompt_cache_hits_total")
    server.make(prompt="heard before", seed=2)
    assert server.metrics().value("continuo_prompt_cache_hits_total") > before


def test_labels_are_bounded(serve):
    # Nothing that a client makes up becomes a series.
    server = serve()
    for i in range(50):
        server.get(f"/made-up-{i}", status=404)
        server.get(f"/v1/jobs/job-{i}", status=404)
        server.call(["GET", "BREW", "PROPFIND"][i % 3], f"/v1/none{i}")
    text = server.get("/metrics").text
    assert "made-up" not in text and "job-" not in text and "BREW" not in text
    assert len(text.splitlines()) < 400


def test_connections_and_streams(server):
    before = server.metrics().value("continuo_http_connections")
    raw = [server.raw(b"GET ") for _ in range(3)]
    with server.socket("/v1/live") as live:
        live.say("start", prompt="x", window=16384)
        live.until("ready")
        now = server.metrics()
        assert now.value("continuo_http_connections") >= before + 4 and now.value("continuo_streams") >= 1
    for connection in raw:
        connection.close()


def test_health_says_what_is_going_on():
    with serving("--log-level", "debug") as server:
        server.make(duration=0.1)
        assert server.get("/health").json()["status"] == "ok"
