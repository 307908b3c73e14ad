"""Seeds of text formats, and of the SentencePiece models that one of them becomes."""
import json


def tokenizers():
    def small():
        special = [{"id": i, "content": content, "special": True} for i, content in ((0, "<pad>"), (1, "</s>"), (2, "<unk>"), (6, "<extra_id_0>"))]
        vocabulary = [["<pad>", 0], ["</s>", 0], ["<unk>", 0], ["\u2581", -2.5], ["a", -3.0], ["b", -3.25], ["<extra_id_0>", 0]]
        marks = {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True}
        return {"added_tokens": special, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAECAw=="},
                "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, marks]},
                "model": {"type": "Unigram", "unk_id": 2, "vocab": vocabulary}}

    def changed(*path, to):
        whole = small()
        place = whole
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to
        return json.dumps(whole)

    sequence = {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": "/w=="}, {"type": "Strip"},
                                                    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"}]}
    return {
        "good": json.dumps(small()),
        "no normaliser": changed("normalizer", to=None),
        "sequence": changed("normalizer", to=sequence),
        "marks alone": changed("pre_tokenizer", to={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"}),
        "untyped": changed("model", "type", to=None),
        "BPE": changed("model", "type", to="BPE"),
        "byte fallback": changed("model", "byte_fallback", to=True),
        "vocabulary is an object": changed("model", "vocab", to={}),
        "no vocabulary": changed("model", "vocab", to=[]),
        "only extra ids": changed("model", "vocab", to=[["<extra_id_0>", 0]] * 3),
        "piece is a text": changed("model", "vocab", 3, to="a"),
        "score too large": changed("model", "vocab", 3, 1, to=1e300),
        "no unknown": changed("model", "unk_id", to=7),
        "unknown is an extra id": changed("model", "unk_id", to=6),
        "negative unknown": changed("model", "unk_id", to=-1),
        "token of another text": changed("added_tokens", 0, "content", to="<s>"),
        "tokens are a number": changed("added_tokens", to=3),
        "id is a text": changed("added_tokens", 0, "id", to="0"),
        "lower case": changed("normalizer", to={"type": "Lowercase"}),
        "short base64": changed("normalizer", "precompiled_charsmap", to="AAE"),
        "not base64": changed("normalizer", "precompiled_charsmap", to="A!E="),
        "no splitting": changed("pre_tokenizer", to=None),
        "another mark": changed("pre_tokenizer", "pretokenizers", 1, "replacement", to="_"),
        "control characters": changed("pre_tokenizer", to={"type": "a\nb\u0007"}),
        "nested": '{"model":' + "[" * 200,
        "not UTF-8": b'{"model":"\xFF"}',
        "not an object": "[1]",
        "empty": "",
    }


def spieces(golden):
    def varint(value):
        out = b""
        while value > 127:
            out += bytes([value & 127 | 128])
            value >>= 7
        return out + bytes([value])

    def piece(name, kind=None):
        data = b"\x0A" + varint(len(name)) + name + b"\x15" + bytes(4) + (b"" if kind is None else b"\x18" + varint(kind))
        return b"\x0A" + varint(len(data)) + data

    good = piece(b"<pad>", 3) + piece(b"</s>", 3) + piece(b"<unk>", 2) + piece(b"a")
    return {
        "good": good,
        "golden": golden.read_bytes(),
        "unknown fields": good + b"\x12\x02ab" + b"\x99\x06" + bytes(8) + b"\x9D\x06" + bytes(4),
        "empty": b"",
        "text": b"this is text",
        "number without end": b"\xFF" * 20,
        "piece beyond the file": b"\x0A\x7Fshort",
        "length near 2^64": b"\x0A" + b"\xFF" * 9 + b"\x01",
        "no unknown": piece(b"a"),
        "two unknown": good + piece(b"x", 2),
        "kind near 2^64": piece(b"a", (1 << 64) - 1) + good,
        "cut": good[:-1],
        "group": good + b"\x13\x14",
        "field 0": good + b"\x02\x00",
    }


DECODER = """channels: 1
dataset: {segment_duration: 3}
fuser: {cross_attention_pos_emb: false, sum: [], prepend: [], cross: [description], input_interpolate: []}
conditioners: {description: {model: t5, t5: {name: t5-base, normalize_text: false}}}
interleave_stereo_codebooks: {use: false, per_timestep: false}
lm_model: transformer_lm
codebooks_pattern:
  modeling: delay
  delay: {delays: [0, 1], flatten_first: 0, empty_initial: 0}
transformer_lm:
  dim: 8
  num_heads: 2
  num_layers: 2
  hidden_scale: 1.5
  n_q: 2
  card: 4
  activation: gelu
  norm_first: true
  causal: true
  positional_embedding: sin
  norm: layer_norm
  past_context: null
"""
CODEC = """compression_model: encodec
encodec: {autoencoder: seanet, quantizer: rvq, sample_rate: "${sample_rate}", channels: "${channels}", causal: false, renormalize: false}
seanet:
  dimension: 3
  channels: ${channels}
  causal: ${encodec.causal}
  n_filters: 2
  n_residual_layers: 1
  ratios: [3, 2]
  activation: ELU
  activation_params: {alpha: 1.0}
  norm: weight_norm
  kernel_size: 7
  residual_kernel_size: 3
  last_kernel_size: 7
  dilation_base: 2
  pad_mode: constant
  true_skip: true
  compress: 2
  lstm: 2
  decoder: {trim_right_ratio: 1.0, final_activation: null, final_activation_params: null}
  encoder: {}
rvq: {n_q: 2, bins: 4, decay: 0.99}
"""


def audiocraft():
    both = "sample_rate: 1000\n" + DECODER + CODEC
    melody = both.replace("prepend: [], cross: [description]", "prepend: [self_wav, description], cross: []").replace(
        "conditioners: {", "conditioners: {self_wav: {model: chroma_stem, chroma_stem: {n_chroma: 12, radix2_exp: 14, argmax: true}}, ")

    def changed(old, new):
        assert old in both
        return both.replace(old, new)

    return {
        "both": both,
        "decoder": "sample_rate: 1000\n" + DECODER,
        "codec": "sample_rate: 1000\nchannels: 1\n" + CODEC,
        "melody": melody,
        "stereo": changed("channels: 1\n", "channels: 2\n").replace("{use: false", "{use: true"),
        "older": changed("codebooks_pattern:", "other:").replace("transformer_lm:\n", "transformer_lm:\n  q_modeling: delay\n"),
        "cycle": changed("causal: ${encodec.causal}", "causal: ${seanet.causal}"),
        "into itself": changed("seanet:\n", "seanet:\n  n_filter: ${seanet}\n"),
        "leads nowhere": changed("${encodec.causal}", "${nothing.here}"),
        "environment": changed("${encodec.causal}", "${oc.env:HOME}"),
        "part of a text": changed("${encodec.causal}", "a${encodec.causal}"),
        "huge numbers": changed("dim: 8", "dim: 2147483647").replace("num_layers: 2", "num_layers: 2147483647"),
        "too huge a number": changed("dim: 8", "dim: 99999999999999999999"),
        "not a number": changed("hidden_scale: 1.5", "hidden_scale: .nan"),
        "endless": changed("segment_duration: 3", "segment_duration: .inf"),
        "negative": changed("num_heads: 2", "num_heads: -2"),
        "no heads": changed("num_heads: 2", "num_heads: 0"),
        "ratios of nothing": changed("ratios: [3, 2]", "ratios: [0, 2]"),
        "hop of nothing": changed("ratios: [3, 2]", "ratios: []"),
        "hop wraps": changed("ratios: [3, 2]", "ratios: [65536, 65536, 65536]"),
        "aliases": "a: &a [1]\nb: &b [*a, *a]\nc: [*b, *b]\n",
        "alias of itself": "a: &a\n  b: *a\n",
        "merge": "a: &a {b: 1}\nseanet:\n  <<: *a\n",
        "map as a key": "? {a: b}\n: c\n? [x]\n: y\n",
        "two documents": "a: 1\n---\nb: 2\n",
        "a tag": "a: !!python/object/apply:os.system [true]\n",
        "a list": "[1, 2]",
        "brackets": "a: " + "[" * 100,
        "dashes": "- " * 100,
        "questions": "? " * 100,
        "indented": "".join(" " * i + "a:\n" for i in range(60)),
        "a tab": "a:\n\t- b\n",
        "a block": "a: |+\n  text\n\n\nb: >-9\n  folded\n",
        "bad escape": 'a: "\\uD800 \\x"\n',
        "not UTF-8": b"a: \xFF\xFE\n",
        "UTF-16": "\ufeffa: 1\n".encode("utf-16-le"),
        "a NUL": b"a: \0\nb: 1\n",
        "empty": "",
    }


def model_cards():
    return {
        "good": "---\nlicense: cc-by-nc-4.0\ntags:\n- music\n---\n# A model\n",
        "quoted with comment": "---\nlicense: 'mit' # free\n---\n",
        "other": "---\nlicense: other\nlicense_name: my-own\n---\n",
        "other without a name": "---\nlicense: other\n---\n",
        "carriage returns": "---\r\nlicense: apache-2.0\r\n---\r\n",
        "no front matter": "# A model\nlicense: mit\n",
        "no end": "---\nlicense: mit",
        "control characters": "---\nlicense: a\x1b[31mb\n---\n",
        "too long": "---\nlicense: " + "x" * 200 + "\n---\n",
        "one quote": "---\nlicense: \"\n---\n",
        "not UTF-8": b"---\nlicense: \xC0\x80\n---\n",
        "nothing": "---\nlicense:\n---\n",
        "empty": "",
    }


def relay():
    return {
        "good": "\ufeff# a day\r\n\r\n15 soft piano\r\n2.5\tcontinue: strings\n10 crossfade: drums\n1 \"\"",
        "empty": "",
        "comments only": "# a\n#b\n",
        "no seconds": "5 a\npiano\n",
        "seconds with a unit": "5s a\n",
        "control characters": "5\u001b[2J a\n",
        "a long word": "9" * 9000 + " a\n",
        "not a number": "nan a\n",
        "too long": "300 a\n301 b\n",
        "nothing": "0 a\n",
        "no prompt": "5 a\n5 crossfade: \n",
        "crossfade first": "5 crossfade: a\n",
        "too many": "1 a\n" * 257,
        "a long prompt": "5 " + "x" * 20001,
        "not UTF-8": b"5 caf\xe9\n",
        "a NUL": b"5 a\0b\n",
        "mark alone": "\ufeff",
    }


def settings():
    return {
        "good": 'threads = 2\nmemory = "4G"\nmodels = "/srv/models"\nhost = "127.0.0.1"\nport = 8080\napi_key_file = "key"\n',
        "empty": "",
        "not TOML": "threads: 2\n",
        "unknown": "thread = 2\n",
        "control characters in a key": '"a\\u001b\\nb" = 1\n',
        "a number with a fraction": "threads = 2.5\n",
        "a table": "[threads]\na = 1\n",
        "twice": "threads = 1\nthreads = 2\n",
        "too large": "threads = 99999999999999999999\n",
        "nested": "threads = " + "[" * 300,
        "dotted as deep as its size allows": ".".join("a" * 8100) + " = 1\n",
        "table as deep as its size allows": "[" + ".".join("a" * 8100) + "]\n",
        "dates": "threads = 1979-05-27T07:32:00-08:00\n",
        "bad escape": 'host = "\\uD800"\n',
        "not UTF-8": b'host = "\xFF"\n',
        "a NUL": b"threads = 1\0\n",
        "text over lines": 'host = """\na\\\n  b"""\n',
        "an array of tables": "[[threads]]\n[[threads]]\n",
        "inline": "threads = {a = {b = {c = 1}}}\n",
    }


CONFIG = {
    "model_type": "musicgen", "_name_or_path": "somebody/tiny",
    "text_encoder": {"model_type": "t5", "d_model": 6, "num_layers": 1, "num_heads": 2, "d_kv": 3, "d_ff": 8, "vocab_size": 12},
    "audio_encoder": {"model_type": "encodec", "sampling_rate": 200, "num_filters": 2, "hidden_size": 3, "codebook_dim": 3,
                      "codebook_size": 4, "upsampling_ratios": [2, 2], "kernel_size": 3, "last_kernel_size": 3, "num_lstm_layers": 1,
                      "use_causal_conv": False, "use_conv_shortcut": False, "chunk_length_s": None},
    "decoder": {"model_type": "musicgen_decoder", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "ffn_dim": 8,
                "num_codebooks": 2, "vocab_size": 4, "pad_token_id": 4, "audio_channels": 1, "scale_embedding": True},
}


def configs():
    """config.json, with other files of the folder after "== NAME"."""
    def changed(*path, to=None, more=""):
        whole = json.loads(json.dumps(CONFIG))
        place = whole
        for step in path[:-1]:
            place = place[step]
        if path:
            place[path[-1]] = to
        return json.dumps(whole) + more

    def melody(chroma):
        whole = json.loads(changed("model_type", to="musicgen_melody"))
        whole["decoder"]["model_type"] = "musicgen_melody_decoder"
        return json.dumps({**whole, "num_chroma": 12, "chroma_length": 20}) + chroma

    defaults = "\n== generation_config.json\n"
    features = "\n== preprocessor_config.json\n"
    return {
        "good": changed(),
        "everything": changed(more=defaults + '{"guidance_scale": 2.5, "top_k": 20, "temperature": 0.8, "top_p": 1.0}'
                              + "\n== README.md\n---\nlicense: cc-by-nc-4.0\n---\n"),
        "licence text": changed(more="\n== LICENSE\nAttribution-NonCommercial 4.0 International\n"),
        "licence in control characters": changed(more="\n== README.md\n---\nlicense: \x1b[31m\n---\n== LICENSE\nMIT License\x07"),
        "melody": melody(features + '{"n_fft": 64, "hop_length": 16, "num_chroma": 12, "sampling_rate": 200}'),
        "melody of a processor": melody("\n== processor_config.json\n" + '{"feature_extractor": {"n_fft": 64, "hop_length": 16}}'),
        "processor part is a list": melody("\n== processor_config.json\n" + '{"feature_extractor": [1]}'),
        "melody without a window": melody(features + '{"n_fft": 0, "hop_length": 0}'),
        "stereo": changed("decoder", "audio_channels", to=2),
        "three channels": changed("decoder", "audio_channels", to=3),
        "another model": changed("model_type", to="llama"),
        "model of control characters": changed("model_type", to="a\nb\u001b[31m"),
        "no decoder": changed("decoder"),
        "another codec": changed("audio_encoder", "model_type", to="dac"),
        "huge layers": changed("decoder", "num_hidden_layers", to=2**31 - 1),
        "beyond int": changed("decoder", "num_hidden_layers", to=2**31),
        "negative width": changed("decoder", "hidden_size", to=-8),
        "no heads": changed("decoder", "num_attention_heads", to=0),
        "codebooks": changed("decoder", "num_codebooks", to=-2147483648),
        "a fraction": changed("decoder", "hidden_size", to=8.5),
        "ratios of 0": changed("audio_encoder", "upsampling_ratios", to=[0, 2]),
        "ratios wrap": changed("audio_encoder", "upsampling_ratios", to=[65536] * 4),
        "many ratios": changed("audio_encoder", "upsampling_ratios", to=[1] * 64),
        "no rate": changed("audio_encoder", "sampling_rate", to=0),
        "pad mode": changed("audio_encoder", "pad_mode", to="circular"),
        "buckets": changed("text_encoder", "relative_attention_num_buckets", to=1),
        "gated": changed("text_encoder", "feed_forward_proj", to="gated-gelu"),
        "gated nothing": changed("text_encoder", "feed_forward_proj", to="gated-"),
        "name is a path": changed("_name_or_path", to="/home/somebody/x"),
        "temperature is endless": changed(more=defaults + '{"temperature": 1e400}'),
        "top k is a text": changed(more=defaults + '{"top_k": "250"}'),
        "defaults are no object": changed(more=defaults + "[]"),
        "defaults are cut": changed(more=defaults + '{"top_k": 2'),
        "nested": '{"model_type":' + "[" * 200,
        "not UTF-8": b'{"model_type":"\xFF"}',
        "key twice": '{"model_type":"musicgen","model_type":7}',
        "empty": "",
    }


def indexes():
    """Read as the index of safetensors files and as that of torch files; a and b of either kind are there (fuzz/checkpoint_index_fuzz.cpp)."""
    def index(*names, **more):
        return json.dumps({"metadata": {"total_size": 16}, **more, "weight_map": {f"t{i}": name for i, name in enumerate(names)}})

    return {
        "good": index("a.safetensors", "b.safetensors"),
        "torch": index("a.bin", "b.bin"),
        "one": index("a.safetensors", "a.safetensors"),
        "both kinds": index("a.safetensors", "a.bin"),
        "missing": index("a.safetensors", "z.safetensors"),
        "beside": index("../c.safetensors"),
        "inside": index("sub/c.safetensors"),
        "beside, torch": index("../c.bin"),
        "inside, torch": index("sub/c.bin"),
        "from the root": index("/etc/passwd"),
        "a folder": index("sub"),
        "the ending alone": index(".safetensors"),
        "the ending alone, torch": index(".bin"),
        "dots": index("..", "..safetensors"),
        "NUL": index("../c.safetensors\u0000.safetensors", "sub\u0000.bin"),
        "control characters": index("a\n\u001b[31m.bin"),
        "backslashes": index("..\\c.safetensors"),
        "the index itself": index("model.safetensors.index.json"),
        "thousands": index(*(f"{i}.bin" for i in range(300))),
        "no files": index(),
        "a number": '{"weight_map":{"a":1}}',
        "a list": '{"weight_map":["a.bin"]}',
        "no map": "{}",
        "nested": '{"weight_map":' + "[" * 100,
        "not UTF-8": b'{"weight_map":{"a":"\xFF.bin"}}',
        "empty": "",
    }


def listings():
    """What a hub answers: lists, and the headers of a file after "HTTP/"."""
    sha1, sha256 = "a" * 40, "b" * 64

    def listing(*files, **more):
        return json.dumps({"sha": sha1, "siblings": list(files), **more})

    def entry(name, size=7, large=False, **more):
        lfs = {"lfs": {"sha256": sha256, "size": size, "pointerSize": 130}} if large else {}
        return {"rfilename": name, "size": size, "blobId": sha1, **lfs, **more}

    def headers(**fields):
        lines = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in fields.items())
        return "HTTP/1.1 200 OK\n" + lines

    config, weights = entry("config.json"), entry("model.safetensors", 1000, True)
    shards = [entry(f"model-0000{i}-of-00002.safetensors", 1000, True) for i in (1, 2)]
    index = entry("model.safetensors.index.json")
    return {
        "good": listing(config, weights, entry("README.md"), cardData={"license": "cc-by-nc-4.0"}, safetensors={"total": 123}),
        "shards": listing(config, index, *shards),
        "shards twice": listing(config, index, *shards, *shards, config),
        "torch": listing(config, entry("pytorch_model.bin", 1000, True), entry("tokenizer.json")),
        "audiocraft": listing(entry("state_dict.bin", 1000, True), entry("compression_state_dict.bin", 1000, True)),
        "paths": listing(config, index, *(entry(name) for name in (
            "../model-00001-of-00002.safetensors", "/etc/passwd", "..", "model-000/1-of-00002.safetensors", "a\u0000b", "config.json/../x"))),
        "bare": listing({"rfilename": "config.json"}, {"rfilename": "model.safetensors"}),
        "licence in tags": listing(config, weights, tags=["music", 3, "license:mit"]),
        "licence of control characters": listing(config, weights, cardData={"license": "a\u001b[31m"}),
        "licence by name": listing(config, weights, cardData={"license": "other", "license_name": "x" * 101}),
        "sizes wrap": listing(config, index, *(entry(f"model-{i:05}-of-00020.safetensors", 1 << 60, True) for i in range(20))),
        "size too large": listing(config, entry("model.safetensors", (1 << 60) + 1, True)),
        "negative size": listing(config, entry("model.safetensors", -1, True)),
        "fractional size": listing(config, entry("model.safetensors", 1e300, True)),
        "hash in capitals": listing(config, entry("model.safetensors", blobId="A" * 40)),
        "no objects": listing(3, None, {}, {"rfilename": 5}, [], "a"),
        "parameters": listing(config, weights, safetensors={"total": 1 << 63}),
        "commit is a path": json.dumps({"sha": "../" * 13 + "x", "siblings": []}),
        "commit is short": json.dumps({"sha": "abc", "siblings": []}),
        "no list": json.dumps({"sha": sha1}),
        "list is an object": json.dumps({"sha": sha1, "siblings": {}}),
        "headers": headers(etag=f'"{sha1}"', content_length=10),
        "headers of a large file": headers(x_linked_etag=f'"{sha256}"', x_linked_size=10, etag='"x"', content_length=3),
        "weak": headers(etag=f'W/"{sha1}"', content_length=10),
        "one quote": headers(etag='"', content_length=10),
        "hash missing": headers(content_length=10),
        "size missing": headers(etag=sha1),
        "size beyond": headers(etag=sha1, content_length=2**64),
        "size negative": headers(etag=sha1, content_length=-1),
        "nested": '{"sha":' + "[" * 100,
        "not UTF-8": b'{"sha":"\xFF"}',
        "empty": "",
    }
