"""Seeds of torch files: pickles, and the zip archives around them (as src/weights/torch_fixtures_test.h builds them)."""
import struct
import zlib

HUGE = 1 << 62


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return b"X" + struct.pack("<I", len(data)) + data


def number(value):
    return b"\x8A\x08" + struct.pack("<q", value)


def name(module, attribute):
    return b"c" + module.encode() + b"\n" + attribute.encode() + b"\n"


def sequence(*items):
    return b"(" + b"".join(items) + b"t"


def numbers(*values):
    return sequence(*map(number, values))


def mapping(**items):
    return b"}(" + b"".join(text(key) + value for key, value in items.items()) + b"u"


def storage(kind="FloatStorage", key="0", elements=6):
    return sequence(text("storage"), name("torch", kind), text(key), text("cpu"), number(elements)) + b"Q"


REBUILD = name("torch._utils", "_rebuild_tensor_v2")


def tensor(shape, stride, offset=0, of=None):
    hooks = name("collections", "OrderedDict") + b")R"
    return REBUILD + sequence(of or storage(), number(offset), numbers(*shape), numbers(*stride), b"\x89", hooks) + b"R"


def program(body):
    return b"\x80\x02" + body + b"."


def pickles():
    views = {"plain": ([2, 3], [3, 1]), "transposed": ([3, 2], [1, 3]), "expanded": ([2, 3], [0, 1]), "one number": ([], []),
             "empty": ([0, 2], [2, 1]), "empty and huge": ([HUGE, HUGE, 0], [HUGE, HUGE, HUGE]), "more elements than stored": ([7], [1]), "product wraps": ([HUGE, 4], [1, 1]),
             "one element for ever": ([HUGE], [0]), "stride beyond the end": ([2, 2], [5, 1]), "stride wraps": ([3], [HUGE]),
             "negative size": ([-4], [1]), "negative stride": ([4], [-1]), "more sizes than strides": ([2, 2], [1]),
             "nine dimensions": ([1] * 9, [1] * 9)}
    seeds = {f"view {kind}": program(mapping(t=tensor(*view))) for kind, view in views.items()}
    parameter = name("torch._utils", "_rebuild_parameter") + sequence(tensor([2, 2], [2, 1], 1, storage("HalfStorage", "7")), b"\x88", b"}") + b"R"
    seeds.update({
        "state of a module": program(name("collections", "OrderedDict") + b")R(" + text("weight") + parameter + b"u}" + text("_metadata") + b"}sb"),
        "plain values": program(mapping(none=b"N", yes=b"\x88", byte=b"K\xC8", short=b"M\x34\x12", word=b"J\xFB\xFF\xFF\xFF",
                                        long=b"\x8A\x02\x00\x80", zero=b"\x8A\x00", real=b"G\x40\x04" + bytes(6),
                                        list=b"](K\x01K\x02eK\x03a", pair=b"K\x01K\x02\x86", again=text("kept") + b"q\x09h\x09\x86")),
        "protocol 4": b"\x80\x04\x95\x3C" + bytes(7) + b"\x8C\x0Bcollections\x94\x8C\x0BOrderedDict\x94\x93\x94)R\x94h\x00h\x01s.",
        "audiocraft": program(mapping(best_state=mapping(t=tensor([6], [1])), **{"xp.cfg": text("a: 1\n")})),
        "no end": b"\x80\x02N",
        "future version": b"\x80\x06N.",
        "number cut off": b"\x80\x02J\x01",
        "text of 4 GiB": b"\x80\x02X\xFF\xFF\xFF\xFF hello.",
        "name too long": program(b"c" + b"x" * 5000 + b"\n"),
        "os.system": program(name("os", "system") + sequence(text("true")) + b"R"),
        "eval by the stack": program(text("builtins") + text("eval") + b"\x93"),
        "INST": program(b"(ios\nsystem\n"),
        "NEWOBJ": program(name("collections", "OrderedDict") + b")\x81"),
        "EXT1": program(b"\x82\x01"),
        "line feed in a name": program(text("os\nx") + text("system") + b"\x93"),
        "tuple of nothing": program(b"\x86"),
        "below a mark": program(b"NN(\x86"),
        "mark not set": program(b"Nt"),
        "mark stays": program(b"(N"),
        "two results": program(b"NN"),
        "not kept": program(b"h\x05"),
        "marks nested": program(b"(" * 200),
        "tuples nested": program(b"N" + b"\x85" * 200),
        "lists nested": program(b"]" * 100 + b"a" * 99),
        "list in itself": program(b"]q\x00h\x00a"),
        "dictionary in itself": program(b"}q\x00" + text("k") + b"h\x00s"),
        "number of nine bytes": program(b"\x8A\x09123456789"),
        "text not UTF-8": program(text(b"\xFF\xFE")),
        "item into a list": program(b"]NNs"),
        "key without a value": program(b"}(Nu"),
        "call of a text": program(text("os.system") + b")R"),
        "persistent id is a text": program(text("storage") + b"Q"),
        "storage outside": program(storage(key="../../etc/passwd")),
        "negative storage": program(storage(elements=-1)),
        "storage wraps": program(storage(elements=HUGE)),
        "tensor of two arguments": program(REBUILD + sequence(storage(), number(0)) + b"R"),
        "offset wraps": program(tensor([2], [1], (1 << 63) - 1)),
        "offset negative": program(tensor([4], [1], -1)),
    })
    return seeds


class Member:
    def __init__(self, path, data, **claims):
        self.path, self.data = path.encode(), data
        self.method, self.flags = claims.get("method", 0), claims.get("flags", 0)
        self.size, self.local, self.place = claims.get("size"), claims.get("local"), claims.get("place")


def archive(members, count=None):
    files, directory = b"", b""
    for member in members:
        size = len(member.data) if member.size is None else member.size
        common = struct.pack("<HHHIIII", 20, member.flags, member.method, 0x21 << 16, zlib.crc32(member.data), len(member.data), size)
        place = len(files) if member.place is None else member.place
        local = member.path if member.local is None else member.local
        directory += b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<H", len(member.path)) + bytes(12) + struct.pack("<I", place) + member.path
        files += b"PK\3\4" + common + struct.pack("<HH", len(local), 0) + local + member.data
    count = len(members) if count is None else count
    return files + directory + b"PK\5\6" + struct.pack("<IHHIIH", 0, count, count, len(directory), len(files), 0)


def archives(golden):
    data = struct.pack("<6f", *range(6))

    def members(pickle=program(mapping(t=tensor([6], [1])))):
        return [Member("t/data.pkl", pickle), Member("t/byteorder", b"little"), Member("t/data/0", data), Member("t/version", b"3\n")]

    def changed(at, **fields):
        all_members = members()
        for field, value in fields.items():
            setattr(all_members[at], field, value)
        return archive(all_members)

    def added(path, **claims):
        return archive(members() + [Member(path, data, **claims)])

    good = archive(members())
    return {
        "good": good,
        "golden": golden.read_bytes(),
        "transposed": archive(members(program(mapping(t=tensor([3, 2], [1, 3]))))),
        "expanded": archive(members(program(mapping(t=tensor([2, 2], [0, 1], 4))))),
        "empty": b"",
        "Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
        "torch before 1.6": b"\x80\x02\x8A\x0Al\xFC\x9C\x46\xF9 j\xA8P\x19.",
        "first bytes": good[:40],
        "half": good[:len(good) // 2],
        "last byte missing": good[:-1],
        "directory beyond the end": good[:-4] + b"\x7F" + good[-3:],
        "no directory": good.replace(b"PK\1\2", b"QK\1\2"),
        "too many entries": archive(members(), 0xFFFF),
        "too few entries": archive(members(), 1),
        "no entries": archive([]),
        "no structure": archive(members()[1:]),
        "two structures": added("u/data.pkl"),
        "a name twice": added("t/data/0"),
        "a name that leads up": added("t/../../etc/passwd"),
        "a name from the root": added("/etc/passwd"),
        "a name with a line feed": added("t/a\nb"),
        "no name": added(""),
        "another name before the data": changed(2, local=b"t/data/1"),
        "compressed": changed(0, method=8),
        "compressed of 4 GiB": changed(2, method=8, size=0xFFFFFFF0),
        "two sizes": changed(2, size=0x7FFFFFFF),
        "encrypted": changed(2, flags=1),
        "header beyond the end": changed(2, place=0x7FFFFFFF),
        "header elsewhere": changed(2, place=3),
        "two entries in one place": added("t/data/9", place=0),
        "big-endian": changed(1, data=b"big"),
        "byte order without end": changed(1, data=b"l" * 200),
        "storage missing": archive([member for member in members() if member.path != b"t/data/0"]),
        "storage short": changed(2, data=data[:-1]),
        "storage of another type": archive(members(program(mapping(t=tensor([6], [1], of=storage("DoubleStorage")))))),
        "wrong checksum": good.replace(data, data[:-1] + b"\x41"),
    }
