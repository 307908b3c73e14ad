"""Seeds of what clients of the server send, and of its scene table."""
import json
import pathlib
import re


def bodies():
    """JSON bodies; each is read in all dialects, so one seed of a dialect is a malformed one of the others."""
    music = {"model": "melody", "prompt": "soft piano", "duration": 10, "seed": 18446744073709551615, "takes": 2, "take": 3,
             "temperature": 0.7, "top_k": 10, "top_p": 0.9, "guidance_scale": 4.5, "strategy": "greedy",
             "continue": {"upload": "abc_-1", "last": 5}, "melody": {"upload": "def"}, "title": "A title", "keep": False,
             "webhook": "https://hooks.example.org/x?y=1", "priority": "realtime", "format": "flac", "sample_rate": 44100, "channels": 2,
             "bits": 24, "loudness": -14, "fade_in": 0.5, "fade_out": 2, "gate": -60}
    relay = {"segments": [{"prompt": "a", "duration": 4}, {"prompt": "b", "duration": 5.25, "join": "crossfade"}, {"duration": 6}],
             "crossfade": 0.5}
    speech = {"model": "small", "input": "a waltz", "instructions": "slow", "voice": {"id": "v"}, "response_format": "wav",
              "stream_format": "sse", "speed": 1, "n": 1, "duration": 3, "seed": "7", "sample_rate": 24000}
    hosted = {"inputs": ["rain"], "parameters": {"generation_parameters": {"do_sample": False, "max_new_tokens": 256, "top_k": 40,
                                                                          "num_beams": 1, "typical_p": 1.0}, "seed": 12},
              "options": {"use_cache": False, "wait_for_model": True}}

    def changed(whole, name, value):
        return json.dumps({**whole, name: value})

    return {
        "music": json.dumps(music),
        "a prompt": '{"prompt": ""}',
        "relay": json.dumps(relay),
        "loop": changed({"prompt": "a"}, "loop", True),
        "mp3": '{"prompt": "a", "format": "mp3", "bitrate": 128000, "fade_out": 1}',
        "ogg": '{"prompt": "a", "format": "ogg"}',
        "batch": '{"prompts": ["a", "b"], "duration": 3}',
        "batch of requests": '{"requests": [{"prompt": "a", "seed": 1}, {"prompt": "b"}]}',
        "speech": json.dumps(speech),
        "pcm": '{"input": "a", "voice": "alloy", "response_format": "pcm"}',
        "generate, first": '{"prompt": "rain", "duration": 5, "use_cache": true}',
        "generate, second": '{"text_prompt": "rain", "duration": 5, "temperature": 0.8, "top_p": 0.9, "decoding_strategy": "sampling"}',
        "generate, both": '{"prompt": "a", "text_prompt": "b"}',
        "hugging face": json.dumps(hosted),
        "hugging face, flat": '{"inputs": "a", "parameters": {"max_new_tokens": 1503, "duration": 3}}',
        "empty": "",
        "a list": "[]",
        "not UTF-8": b'{"prompt": "\xff"}',
        "half a surrogate": '{"prompt": "\\ud800"}',
        "a NUL": '{"prompt": "a\\u0000"}',
        "a line feed in a name": '{"a\\nb": 1}',
        "twice": '{"prompt": "a", "prompt": "b"}',
        "nested": '{"prompt":' + "[" * 200,
        "too large a number": '{"prompt": "a", "duration": 1e999}',
        "negative": changed(music, "duration", -1),
        "shorter than a frame": changed(music, "duration", 1e-300),
        "half a seed": changed(music, "seed", 1.5),
        "large seed as text": changed(music, "seed", "99999999999999999999"),
        "beam": changed(music, "strategy", "beam"),
        "a path for an id": changed(music, "continue", {"upload": "../../etc/passwd"}),
        "melody for a text model": changed(music, "model", "small"),
        "unknown model": changed(music, "model", "sm\u00e4ll"),
        "segments and prompt": json.dumps({**relay, "prompt": "a"}),
        "segments too long": '{"segments": [{"duration": 600}, {"duration": 600}]}',
        "no segments": '{"segments": []}',
        "webhook elsewhere": changed(music, "webhook", "http://169.254.169.254/"),
        "webhook with a user": changed(music, "webhook", "https://hooks.example.org@evil.example/"),
        "webhook of IPv6": changed(music, "webhook", "http://[::1]:9000/x"),
        "misspelt": '{"promt": "a"}',
        "many values": "[" + "1," * 2000 + "1]",
        "an Accept header": "audio/wav;q=0.4, application/json;q=0.5, */*",
    }


def forms():
    def form(*parts, boundary="B", kind="multipart/form-data; boundary=B", end=b"--"):
        body = b"".join(b"--" + boundary.encode() + b"\r\n" + head + b"\r\n\r\n" + data + b"\r\n" for head, data in parts)
        return kind.encode() + b"\n" + body + b"--" + boundary.encode() + end + b"\r\n"

    def named(name, extra=b""):
        return b'Content-Disposition: form-data; name="' + name + b'"' + extra

    file = named(b"file", b'; filename="a.wav"\r\nContent-Type: audio/wav')
    return {
        "good": form((file, b"RIFF\0\0\0\0WAVE")),
        "quoted boundary": form((file, b"x"), boundary="a b'c", kind='multipart/form-data; charset=utf-8; boundary="a b\'c"'),
        "two files": form((file, b"x"), (file, b"y")),
        "another field": form((named(b"title"), b"x"), (file, b"y")),
        "empty file": form((file, b"")),
        "no parts": form(),
        "preamble": form((file, b"x")).replace(b"\n--B", b"\npreamble\r\n--B", 1),
        "not closed": form((file, b"x"), end=b""),
        "cut": form((file, b"x"))[:-8],
        "no name": form((b"Content-Type: audio/wav", b"x")),
        "no colon": form((b"Content-Disposition", b"x")),
        "quotation without an end": form((b'Content-Disposition: form-data; name="file', b"x")),
        "escapes": form((named(b'a\\"b'), b"x")),
        "name not UTF-8": form((named(b"\xff"), b"x")),
        "long name": form((named(b"n" * 300), b"x")),
        "long headers": form((named(b"file") + b"\r\nX: " + b"x" * 5000, b"x")),
        "base64": form((file + b"\r\nContent-Transfer-Encoding: base64", b"eA==")),
        "attachment": form((b'Content-Disposition: attachment; name="file"', b"x")),
        "seventeen parts": form(*[(named(b"a"), b"x")] * 17),
        "no boundary": b"multipart/form-data\n",
        "bad boundary": b"multipart/form-data; boundary=a*b\n",
        "long boundary": b"multipart/form-data; boundary=" + b"a" * 71 + b"\n",
        "another type": b"audio/wav\nRIFF",
        "empty": b"",
    }


def controls():
    return {
        "start": '{"type": "start", "prompt": "rain", "duration": 4, "format": "f32", "sample_rate": 48000, "channels": 2, "chunk": 0.1, '
                 '"window": 65536, "priority": "realtime"}',
        "start live": '{"type": "start", "prompt": "rain", "temperature": 0.5}',
        "start with a scene": '{"type": "start", "scene": {"scene": "city", "mood": "calm", "intensity": 0.2, "tempo": 90}}',
        "start with a relay": '{"type": "start", "segments": [{"prompt": "a", "duration": 4}, {"prompt": "b", "duration": 4}]}',
        "prompt and scene": '{"type": "start", "prompt": "a", "scene": {"scene": "city"}}',
        "takes": '{"type": "start", "prompt": "a", "takes": 2}',
        "resume": '{"type": "resume", "token": "t_1", "offset": 64000}',
        "bad token": '{"type": "resume", "token": "a/b", "offset": 1}',
        "change": '{"type": "change", "prompt": "storm", "guidance_scale": 2.5, "temperature": 0.9}',
        "change of scene": '{"type": "change", "scene": {"scene": "battle", "intensity": 1, "tempo": "fast"}}',
        "change of nothing": '{"type": "change"}',
        "unknown scene": '{"type": "change", "scene": {"scene": "m\\u00f6nd\\n"}}',
        "ack": '{"type": "ack", "offset": 9007199254740992}',
        "negative ack": '{"type": "ack", "offset": -1}',
        "cancel": '{"type": "cancel"}',
        "ping": '{"type": "ping", "id": "x"}',
        "unknown": '{"type": "stop"}',
        "no type": "{}",
        "not JSON": "start",
        "not UTF-8": b'{"type": "ping", "id": "\xff"}',
        "nested": '{"type":' + "[" * 200,
        "empty": "",
    }


def scenes(header):
    """header: the source that has the built-in table in it."""
    built_in = re.search(r'R"json\((.*)\)json"', pathlib.Path(header).read_text(encoding="utf-8"), re.DOTALL).group(1)
    scene = {"scenes": {"a": {"words": "x", "guidance_scale": [2, 4], "temperature": 1}}}

    def with_(name, value):
        return json.dumps({**scene, name: value})

    return {
        "built in": built_in,
        "small": json.dumps(scene),
        "moods": with_("moods", {"m": "calm"}),
        "moods are numbers": with_("moods", {"m": 3}),
        "steps fall": with_("intensity", [{"up_to": 1, "words": "a"}, {"up_to": 0.5, "words": "b"}]),
        "steps end early": with_("intensity", [{"up_to": 0.5, "words": "a"}]),
        "no steps": with_("tempo", []),
        "tempo": with_("tempo", [{"name": "slow", "up_to": 90, "words": "slow"}, {"name": "fast", "up_to": 240, "words": "fast"}]),
        "no scenes": "{}",
        "empty scenes": '{"scenes": {}}',
        "two lines": '{"scenes": {"a": {"words": "x\\ny"}}}',
        "name of control characters": '{"scenes": {"\\u0007\\n": {"words": "x"}}}',
        "name without letters": '{"scenes": {"": {"words": "x"}}}',
        "guidance too large": '{"scenes": {"a": {"words": "x", "guidance_scale": [1, 200]}}}',
        "not UTF-8": b'{"scenes": {"\xff": {"words": "x"}}}',
        "nested": '{"scenes":' + '{"a":' * 100,
        "empty": "",
    }
