"""Seeds in binary formats: GGUF, safetensors, WAV, NPY, media. The builders write whatever they are told, right or wrong."""
import hashlib
import struct

U8, U32, I32, F32, BOOL, STRING, ARRAY, U64 = 0, 4, 5, 6, 7, 8, 9, 10
HUGE = 1 << 62
ALL_ONES = (1 << 64) - 1


def u16(value):
    return struct.pack("<H", value)


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return u64(len(data)) + data


def key(name, kind, value):
    return text(name) + u32(kind) + value


def tensor(name, dims, kind, offset):
    return text(name) + u32(len(dims)) + b"".join(struct.pack("<q", dim) for dim in dims) + u32(kind) + u64(offset)


class Gguf:
    def __init__(self):
        self.magic, self.version = b"GGUF", 3
        self.tensor_count = self.key_count = None
        self.keys = [key("general.architecture", STRING, text("test")), key("test.size", U32, u32(7))]
        self.tensors = [tensor("first", [3, 2], 0, 0), tensor("second", [32], 8, 32)]
        self.alignment, self.data = 32, bytes(32 + 34)

    def bytes(self):
        count = lambda claimed, items: u64(len(items) if claimed is None else claimed)
        head = self.magic + u32(self.version) + count(self.tensor_count, self.tensors) + count(self.key_count, self.keys)
        head += b"".join(self.keys) + b"".join(self.tensors)
        return head + bytes(-len(head) % self.alignment) + self.data


def gguf_headers():
    def changed(**fields):
        file = Gguf()
        for name, value in fields.items():
            if name == "added":
                file.keys.append(value)
            elif name == "second_key":
                file.keys[1] = value
            elif name in ("first", "second"):
                file.tensors[name == "second"] = value
            else:
                setattr(file, name, value)
        return file.bytes()

    keys = {
        "array of words": key("k", ARRAY, u32(STRING) + u64(2) + text("one") + text("")),
        "array of bytes": key("k", ARRAY, u32(U8) + u64(3) + b"abc"),
        "key without a name": key("", U32, u32(1)),
        "key not UTF-8": key(b"a\xC0\x80", U32, u32(1)),
        "key of 300 bytes": key("k" * 300, U32, u32(1)),
        "key length wraps": u64(ALL_ONES) + b"k",
        "key of unknown type": key("k", 13, u32(1)),
        "bool of 2": key("k", BOOL, b"\2"),
        "string beyond the file": key("k", STRING, u64(100000)),
        "string of an exabyte": key("k", STRING, u64(HUGE)),
        "array of unknown type": key("k", ARRAY, u32(99) + u64(1)),
        "array of arrays": key("k", ARRAY, u32(ARRAY) + u64(1)),
        "array too long": key("k", ARRAY, u32(11) + u64(HUGE)),
        "array beyond the file": key("k", ARRAY, u32(U32) + u64(1 << 20)),
        "array of strings beyond the file": key("k", ARRAY, u32(STRING) + u64(1 << 20) + text("x")),
    }
    firsts = {
        "tensor without a name": ("", [6], 0, 0),
        "tensor name not UTF-8": (b"\xFF", [6], 0, 0),
        "tensor name too long": ("t" * 64, [6], 0, 0),
        "no dimensions": ("first", [], 0, 0),
        "five dimensions": ("first", [1] * 5, 0, 0),
        "dimension of 0": ("first", [0], 0, 0),
        "dimension of -1": ("first", [-1], 0, 0),
        "product wraps": ("first", [1 << 32, 1 << 32], 0, 0),
        "bytes wrap": ("first", [HUGE], 0, 0),
        "unknown tensor type": ("first", [6], 77, 0),
        "removed tensor type": ("first", [32], 4, 0),
    }
    seconds = {
        "duplicate tensor": ("first", [8], 0, 32),
        "row not whole blocks": ("second", [31], 8, 32),
        "offset not aligned": ("second", [2], 0, 36),
        "offset beyond the file": ("second", [32], 8, 1 << 20),
        "offset wraps": ("second", [32], 8, ALL_ONES - 31),
        "tensors overlap": ("second", [4], 0, 0),
    }
    alignment = lambda value: key("general.alignment", U32, u32(value))
    seeds = {
        "good": changed(),
        "version 2": changed(version=2),
        "alignment 64": changed(alignment=64, added=alignment(64), second=tensor("second", [32], 8, 64), data=bytes(64 + 34)),
        "bad magic": changed(magic=b"GGUG"),
        "version 0": changed(version=0),
        "version 1": changed(version=1),
        "future version": changed(version=4),
        "big-endian": changed(version=3 << 24),
        "key count of -1": changed(key_count=ALL_ONES),
        "tensor count of -1": changed(tensor_count=ALL_ONES),
        "more keys than bytes": changed(key_count=4000),
        "more tensors than bytes": changed(tensor_count=60000),
        "duplicate key": changed(added=Gguf().keys[0]),
        "alignment of another type": changed(added=key("general.alignment", U64, u64(32))),
        "data missing": changed(data=b""),
        "data cut by a byte": changed(data=bytes(32 + 33)),
        "empty": b"",
        "magic alone": b"GGUF",
    }
    seeds.update({name: changed(second_key=value) for name, value in keys.items()})
    seeds.update({name: changed(first=tensor(*value)) for name, value in firsts.items()})
    seeds.update({name: changed(second=tensor(*value)) for name, value in seconds.items()})
    seeds.update({f"alignment {value}": changed(added=alignment(value)) for value in (0, 24, 1 << 30)})
    return seeds


def gguf_models(whole):
    """A file that is no model, and damage to one that is: cut, or with a key that its tensors contradict."""
    seeds = {"no model": Gguf().bytes()}
    if whole is None:
        return seeds

    def claiming(name, value):
        at = whole.index(key(name, U32, b"")) + len(key(name, U32, b""))
        return whole[:at] + u32(value) + whole[at + 4:]

    return seeds | {
        "cut in the header": whole[:1500],
        "cut in the data": whole[:-100],
        "a thousand million layers": claiming("musicgen.block_count", 10**9),
        "as many text layers as fit": claiming("text.block_count", 255),
        "another width": claiming("musicgen.embedding_length", 2048),
        "codebooks of 2^31": claiming("codec.codebook_size", 1 << 31),
        "no heads": claiming("musicgen.attention.head_count", 0),
    }


def safetensors():
    def file(header, data=bytes(16)):
        header = header.encode() if isinstance(header, str) else header
        return u64(len(header)) + header + data

    def entry(dtype, shape, begin, end, name="a"):
        return '"%s":{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}' % (name, dtype, shape, begin, end)

    good = "{" + entry("F32", [2, 2], 0, 16) + "}"
    return {
        "good": file(good),
        "three types": file("{" + entry("F16", [4], 0, 8) + "," + entry("BF16", [2], 8, 12, "b") + "," + entry("I32", [], 12, 16, "c") + "}"),
        "metadata and padding": file('{"__metadata__":{"format":"pt"},' + entry("F32", [0, 3], 0, 0) + "}   ", b""),
        "empty": b"",
        "seven bytes": b"1234567",
        "header length wraps": u64(ALL_ONES - 7) + good.encode(),
        "header of a gigabyte": u64(1 << 30) + good.encode(),
        "header beyond the file": u64(len(good) + 1) + good.encode(),
        "not JSON": file('{"a":'),
        "not an object": file("[1]"),
        "a GGUF file": Gguf().bytes(),
        "not UTF-8": file(b'{"\xFF":1}'),
        "something after the object": file(good + "{}"),
        "nested without end": file('{"a":{"shape":' + "[" * 2000),
        "object in a field": file('{"a":{"dtype":{}}}'),
        "tensor is a number": file('{"a":1}'),
        "no offsets": file('{"a":{"dtype":"F32","shape":[4]}}'),
        "unknown field": file('{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16],"stride":[1]}}'),
        "field twice": file('{"a":{"dtype":"F32","dtype":"F16","shape":[4],"data_offsets":[0,16]}}'),
        "tensor twice": file("{" + entry("F32", [2], 0, 8) + "," + entry("F32", [2], 8, 16) + "}"),
        "three offsets": file('{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16,16]}}'),
        "negative dimension": file("{" + entry("F32", [-4], 0, 16) + "}"),
        "fractional dimension": file("{" + entry("F32", [4.0], 0, 16) + "}"),
        "nine dimensions": file("{" + entry("F32", [1] * 8 + [4], 0, 16) + "}"),
        "unknown type": file("{" + entry("F33", [4], 0, 16) + "}"),
        "begin after end": file("{" + entry("F32", [4], 16, 0) + "}"),
        "end beyond the file": file("{" + entry("F32", [8], 0, 32) + "}"),
        "end near 2^64": file("{" + entry("F32", [8], 0, ALL_ONES) + "}"),
        "size too small": file("{" + entry("F32", [2], 0, 16) + "}"),
        "size wraps": file("{" + entry("F32", [1 << 32, 1 << 32, 4], 0, 16) + "}"),
        "nothing of a huge shape": file("{" + entry("U8", [HUGE, 0, HUGE], 0, 0) + "}"),
        "overlap": file("{" + entry("F32", [2], 0, 8) + "," + entry("F32", [2], 4, 12, "b") + "}"),
        "data missing": file(good, b"12345678"),
    }


def wavs():
    def chunk(name, data, size=None):
        return name + u32(len(data) if size is None else size) + data + bytes(len(data) % 2)

    def form(kind=1, channels=1, rate=32000, bits=16, block=None, extra=b""):
        block = channels * bits // 8 if block is None else block
        return chunk(b"fmt ", struct.pack("<HHIIHH", kind, channels, rate, rate * block & 0xFFFFFFFF, block, bits) + extra)

    def riff(*chunks, kind=b"WAVE"):
        body = kind + b"".join(chunks)
        return b"RIFF" + u32(len(body)) + body

    four = chunk(b"data", struct.pack("<4h", 0, 16384, -16384, 32767))
    extensible = form(0xFFFE, 1, 48000, 32, extra=u16(22) + u16(32) + u32(4) + u16(1) + bytes(14))
    good = riff(form(), four)
    return {
        "16 bits": good,
        "stereo": riff(form(channels=2), four),
        "24 bits of odd size": riff(form(bits=24), chunk(b"data", bytes(range(9)))),
        "floats": riff(form(3, bits=32), chunk(b"data", struct.pack("<3f", 0.5, -1.75, 1e-30))),
        "floats not finite": riff(form(3, bits=32), chunk(b"data", struct.pack("<2f", float("nan"), float("inf")))),
        "extensible": riff(extensible, chunk(b"junk", b"abc"), chunk(b"data", struct.pack("<2i", 1 << 30, -1 << 31))),
        "eight channels": riff(form(channels=8), chunk(b"data", bytes(32))),
        "empty": b"",
        "cut": good[:-3],
        "not WAVE": riff(form(), four, kind=b"XAVE"),
        "format beyond the file": good[:16] + u32(ALL_ONES & 0xFFFFFFFF) + good[20:],
        "format too small": riff(chunk(b"fmt ", bytes(12)), four),
        "A-law": riff(form(6, bits=8), four),
        "no channels": riff(form(channels=0, block=2), four),
        "nine channels": riff(form(channels=9), chunk(b"data", bytes(18))),
        "block contradicts": riff(form(block=4), four),
        "no rate": riff(form(rate=0), four),
        "8 bits": riff(form(bits=8), four),
        "data beyond the file": riff(form(), chunk(b"data", bytes(8), 0xFFFFFFF0)),
        "half a sample": riff(form(), chunk(b"data", bytes(7), 7)),
        "no data": riff(form()),
        "data before the format": riff(four, form()),
        "two formats": riff(form(), form(3, bits=32), four),
        "RIFF size of -1": good[:4] + b"\xFF" * 4 + good[8:],
    }


def prompt_indexes(references):
    """The first byte of a seed says whether the checksum counts (prompt_index_fuzz.cpp)."""
    text = references.read_text(encoding="utf-8").split('R"(')[1].split(')"')[0]
    hash_of_references = hashlib.sha256(text.encode() + b"\n").digest()

    def content(version=1, kind=0, width=2, dimensions=2, entries=None, encoder=b"demo", references=hash_of_references,
                mean=(0.0, 0.0), matrix=(), prompts=((b"slow piano", (1.0, 0.0)), (b"techno", (0.0, 1.0)))):
        count = len(prompts) if entries is None else entries
        data = b"CNTPRIDX" + struct.pack("<6I", version, kind, width, dimensions, count, len(encoder)) + encoder + references
        data += struct.pack(f"<{len(mean) + len(matrix)}f", *mean, *matrix)
        for prompt, vector in prompts:
            data += struct.pack("<I", len(prompt)) + prompt + struct.pack(f"<{len(vector)}f", *vector)
        return data

    def unsigned(**what):
        return b"\1" + content(**what)

    def signed(**what):
        data = content(**what)
        return b"\0" + data + hashlib.sha256(data).digest()

    whitened = {"kind": 2, "dimensions": 1, "matrix": (0.5, 0.5), "prompts": ((b"slow piano", (1.0,)), (b"techno", (-1.0,)))}
    return {
        "two prompts": signed(),
        "whitened": signed(**whitened),
        "centred": signed(kind=1, mean=(0.5, -0.5)),
        "no prompts": signed(prompts=()),
        "wrong checksum": signed()[:-1] + b"?",
        "checksum cut": signed()[:-1],
        "unchecked": unsigned(),
        "unchecked whitened": unsigned(**whitened),
        "empty": b"\1",
        "magic alone": b"\1CNTPRIDX",
        "version 2": unsigned(version=2),
        "unknown kind": unsigned(kind=3),
        "no width": unsigned(width=0, mean=()),
        "huge width": unsigned(width=0xFFFFFFFF, dimensions=0xFFFFFFFF),
        "more dimensions than width": unsigned(dimensions=3),
        "fewer dimensions though not whitened": unsigned(dimensions=1),
        "more prompts than there are": unsigned(entries=3),
        "fewer prompts than there are": unsigned(entries=1),
        "huge number of prompts": unsigned(entries=0xFFFFFFFF),
        "long encoder": unsigned(encoder=b"e" * 201),
        "other references": unsigned(references=bytes(32)),
        "mean not finite": unsigned(mean=(float("nan"), 0.0)),
        "matrix missing": unsigned(kind=2, dimensions=1),
        "matrix infinite": unsigned(kind=2, dimensions=1, matrix=(float("inf"), 1.0)),
        "a prompt twice": unsigned(prompts=((b"a", (1.0, 0.0)), (b"a", (0.0, 1.0)))),
        "an empty prompt": unsigned(prompts=((b"", (1.0, 0.0)),)),
        "a long prompt": unsigned(prompts=((b"a" * 20001, (1.0, 0.0)),)),
        "vector too long": unsigned(prompts=((b"a", (2.0, 0.0)),)),
        "vector not finite": unsigned(prompts=((b"a", (float("nan"), 0.0)),)),
        "vector cut": unsigned()[:-1],
    }


def npys():
    def file(header, data=b"", version=1):
        header = header.encode()
        length = struct.pack("<H" if version == 1 else "<I", len(header))
        return b"\x93NUMPY" + bytes([version, 0]) + length + header + data

    def described(descr="<i8", shape="(2,)", order="False", data=bytes(16), version=1):
        return file("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n" % (descr, order, shape), data, version)

    return {
        "int64": described(),
        "int32 of version 2": described("<i4", "(4, 5)", data=bytes(80), version=2),
        "float32": described("<f4", "(2, 2)"),
        "a single value": described(shape="()", data=bytes(8)),
        "nothing": described("<f4", "(3, 0)", data=b""),
        "column order of one dimension": described("<f4", "(4,)", "True"),
        "empty": b"",
        "magic alone": b"\x93NUMPY",
        "big-endian": described(">i8"),
        "float64": described("<f8"),
        "column order": described("<i8", "(2, 1)", "True"),
        "a byte missing": described(data=bytes(15)),
        "a byte too many": described(data=bytes(17)),
        "negative size": described(shape="(-2,)"),
        "five dimensions": described(shape="(1,1,1,1,2)"),
        "product wraps": described(shape="(4294967296, 4294967296)", data=b""),
        "a size that wraps": described(shape="(99999999999999999999,)", data=b""),
        "nothing of a huge shape": described(shape=f"({HUGE}, {HUGE}, 0)", data=b""),
        "no end": file("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)", bytes(16)),
        "no shape": file("{'descr': '<i8', 'fortran_order': False, }", bytes(8)),
        "a key twice": file("{'descr': '<i8', 'descr': '<i8', 'fortran_order': False, 'shape': (), }", bytes(8)),
        "a key too many": file("{'descr': '<i8', 'fortran_order': False, 'shape': (), 'more': 1}", bytes(8)),
        "a structure": file("{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (2,), }", bytes(16)),
        "version 3": described(version=3),
        "a quote without end": file("{'descr"),
        "header beyond the file": b"\x93NUMPY\x01\x00\xFF\xFF{}",
    }


def media(folder):
    """Real files; WAV, which FFmpeg reads too; and playlists, which must lead nowhere."""
    seeds = {path.name.replace(".", "-"): path.read_bytes() for path in sorted(folder.iterdir())
             if path.suffix != ".md" and path.stat().st_size < 12000}
    seeds["wav"] = wavs()["16 bits"]
    seeds["playlist"] = b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n"
    seeds["concat"] = b"ffconcat version 1.0\nfile /etc/passwd\n"
    seeds["empty"] = b""
    return seeds
