#!/usr/bin/python3
"""Makes those files of corpus/ that nobody can write by hand: binary ones and deeply
nested ones. Also makes dictionaries of messages in text format.

Run it with Debian's own python3 and python3-protobuf. It writes into its own folder.
"""

import importlib
import io
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MOST = 2**64 - 1
DEEP = 2000
PAGE = 4096
BATCH_MAGIC, FETCH_MAGIC, LAYOUT = 0x42594246, 0x46594246, 1
UINT8, INT64 = 1, 5
IMAGE, SAMPLE_ID, TEXT = 1, 3, 4


def put(name, content):
    path = HERE / "corpus" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def session_messages():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["protoc", f"--proto_path={ROOT}",
                        f"--python_out={folder}",
                        *(f"proto/{name}.proto" for name in (
                            "audio_ops", "counters", "dataset", "job", "op_options",
                            "session"))], cwd=ROOT, check=True)
        sys.path.insert(0, folder)
        return importlib.import_module("proto.session_pb2")


def words(message, seen):
    """Yields the names of a message's fields, of their fields, and of enum values."""
    if message.full_name in seen:
        return
    seen.add(message.full_name)
    for one in message.fields:
        yield one.name + (" { " if one.message_type else ": ")
        if one.message_type:
            yield from words(one.message_type, seen)
        if one.enum_type:
            yield from one.enum_type.values_by_name


def make_dictionaries(session):
    request = session.ClientMessage.DESCRIPTOR
    loader = request.fields_by_name["open_loader"].message_type
    spec = loader.fields_by_name["spec"].message_type
    pipeline = spec.fields_by_name["pipeline"].message_type
    messages = {"session": request,
                "dataset": spec.fields_by_name["dataset"].message_type,
                "pipeline": pipeline,
                "array_pipeline": pipeline.fields_by_name["fields"].message_type}
    for name, message in messages.items():
        found = {"}", "[", "]", ",", "\\n--\\n", "0", "-1", "nan", "inf", "1e308",
                 str(2**31), str(2**32 - 1), str(2**63 - 1), str(2**63),
                 str(MOST), *words(message, set())}
        if name == "session":
            found |= {"root ", "spec ", "pidfd ", "list=", "open=", "bytes=",
                      "take\\n", "ring ", "raw\\n"}
        lines = ['"%s"\n' % word.replace("\\n", "\\x0a")
                 for word in sorted(found)]
        (HERE / "dictionaries" / f"{name}.dict").write_text("".join(lines))


def make_answers(session):
    texts = {
        "error": dict(error=dict(code=3, message=b"caf\xe9: not a folder")),
        "welcome": dict(welcome=dict(protocol_version=1, session_id=MOST,
                                     daemon_version="0.1.0")),
        "loader_opened": dict(loader_opened=dict(
            loader_id=1, dataset_size=MOST, samples_per_epoch=2**63,
            batches_per_epoch=0, dataset_version=bytes(range(16)),
            classes=dict(names=[b"cat", b"", b"dog"]), slot_bytes=PAGE)),
        "reader_opened": dict(reader_opened=dict(
            reader_id=2, dataset_size=6, dataset_version=b"short",
            classes_in_memfd=True, fields=[b"image", b"label"],
            warnings=[b"a.h5: leaves out x", b""])),
        "epoch_started": dict(epoch_started=dict(
            slot_count=2**32 - 1, slot_bytes=MOST, lease_quota=2)),
        "epoch_stopped": dict(epoch_stopped=dict(published=7)),
        "loader_closed": dict(loader_closed=dict(published=0)),
        "slots": dict(slots={}),
        "stats": dict(stats=dict(bytes_read=MOST, cpu_nanos=2**63)),
        "object_read": dict(object_read=dict(
            version=dict(size=MOST, stamp=-2**63, inode=7, ctime_nanos=-1),
            bytes=3, window_bytes=PAGE)),
        "fetched": dict(fetched=dict(window_bytes=8192, failed=[
            dict(index=3, error=dict(code=15, message=b"a.jpg: is corrupt"))])),
    }
    for name, fields in texts.items():
        message = session.DaemonMessage(request_id=9, **fields)
        put(f"client_answer/{name}", message.SerializeToString())
    put("client_answer/classes", session.ClassList(
        names=[b"cat", b"dog"]).SerializeToString())
    # Each field contains a field of the same name.
    nested = b""
    for _ in range(60):
        nested = b"\x12" + bytes([len(nested)]) + nested
    put("client_answer/nested", nested)
    # The message LoaderOpened ends before the value of classes_in_memfd.
    put("client_answer/no_bool", b"\x22\x01\x38")


def field(name, kind, dtype, shape, offset, size, splits=0):
    return struct.pack("<32sIIII6QQQQ", name, kind, dtype, len(shape), 0,
                       *(shape + [0] * (6 - len(shape))), offset, size, splits)


def batch(samples, fields, generation=1):
    return struct.pack("<IIIIQQQ", BATCH_MAGIC, LAYOUT, generation,
                       len(fields), samples, 0, 0) + b"".join(fields)


def make_batches():
    entry = struct.pack("<IIIIQQ", 1, 0, 1, 0, 2, 0)
    other = struct.pack("<IIIIQQ", 1, 1, 1, 0, 2, 0)
    good = batch(2, [
        field(b"image", IMAGE, UINT8, [2, 3, 4, 4], PAGE, 96),
        field(b"text", TEXT, UINT8, [11], 2 * PAGE, 11, 3 * PAGE),
        field(b"sample_id", SAMPLE_ID, INT64, [2], 4 * PAGE, 16)])
    put("client_batch/good", b"\1" + entry + good)
    put("client_batch/two", b"\x82" + entry + other + good + good)
    put("client_batch/twice", b"\3" + entry + entry + entry + good)
    put("client_batch/end", b"\2" + entry + struct.pack(
        "<IIIIQQ", 2, 0, 0, 0, 0, 0) + good)
    put("client_batch/error", b"\1" + struct.pack("<IIIIQQ", 3, 0, 0, 0, 0, 0))
    put("client_batch/no_slot", b"\1" + struct.pack(
        "<IIIIQQ", 1, 2**32 - 1, 1, 0, 2, 0) + good)
    put("client_batch/largest", b"\1" + struct.pack(
        "<IIIIQQ", 1, 0, 1, 0, MOST, 0) + batch(MOST, [
            field(b"x", IMAGE, INT64, [2**63, 2], MOST, MOST, MOST)]))


def make_windows():
    def fetched(kind, dtype, shape, offset, size):
        return struct.pack("<IIII6QQQ", kind, dtype, len(shape), 0,
                           *(shape + [0] * (6 - len(shape))), offset, size)

    header = struct.pack("<IIII", FETCH_MAGIC, LAYOUT, 2, 2)
    fields = [fetched(IMAGE, UINT8, [4, 4, 3], 384, 48),
              fetched(TEXT, UINT8, [5], 448, 5), bytes(80), bytes(80)]
    put("client_window/good", b"\2\0\2" + header + b"".join(fields).ljust(
        368, b"\0") + bytes(128))
    put("client_window/largest", b"\1\0\1" + struct.pack(
        "<IIII", FETCH_MAGIC, LAYOUT, 1, 1) + fetched(
            IMAGE, INT64, [2**61, 8], MOST, MOST) + bytes(64))
    put("client_window/nothing", b"\0\0\0" + struct.pack(
        "<IIII", FETCH_MAGIC, LAYOUT, 0, 0))


def make_rings():
    def ring(tail, releases, waiting=0, taken=0):
        content = struct.pack("<IIIIQQ", tail, waiting, taken, 0, MOST, 1)
        content = content.ljust(64, b"\0")
        for slot, generation in releases:
            content += struct.pack("<II", slot, generation)
        return content

    all_four = [(slot, 1) for slot in range(4)]
    both = [ring(2, all_four[:2]).ljust(128, b"\0"), ring(4, all_four, 1, 4)]
    put("release_ring/good", both[0] + both[1].ljust(128, b"\0"))
    put("release_ring/twice", ring(4, [(0, 1), (0, 1), (1, 2), (MOST >> 32, 1)]))
    put("release_ring/absurd", ring(2**32 - 1, all_four))
    put("release_ring/full", ring(128, all_four * 32) * 2)


def tar(members, kind=tarfile.USTAR_FORMAT):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=kind) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        end = archive.offset
    return target.getvalue()[:end] + bytes(1024)


def make_shards():
    members = [("a/1.jpg", b"pixels"), ("a/1.cls", b"7"),
               ("a/2.png", b"more pixels" * 60), ("a/2.cls", b"-1")]
    put("shard_parser/alternatives", b"jpg;png,cls\n" + tar(members))
    long = [("x" * 120 + "/1.jpg", b"1"), ("x" * 120 + "/1.cls", b"")]
    put("shard_parser/pax", b"cls,jpg\n" + tar(long, tarfile.PAX_FORMAT))
    put("shard_parser/gnu", b"jpg\n" + tar(long, tarfile.GNU_FORMAT))
    put("shard_parser/lacking", b"jpg,txt\n" + tar(members))
    put("shard_parser/nothing", b"jpg\n")
    # A sample lacks a field, and an invalid header follows it.
    faults = bytearray(tar(members))
    faults[7 * 512:7 * 512] = b"?" * 512
    put("shard_parser/two_faults", b"txt\n" + faults)


def make_zip_members():
    def deflated(content, level=9, strategy=zlib.Z_DEFAULT_STRATEGY):
        packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
        return packer.compress(content) + packer.flush()

    def member(length, name, extra, data):
        return struct.pack("<HB4s5H3L2H", length, len(name), b"PK\3\4", 20, 0, 8,
                           0, 0, 0, 0, 0, len(name), len(extra)
                           ) + name + extra + data

    text = b"some text, and more of the text, and more, and more"
    for name, data in (("deflated", deflated(text)), ("empty", deflated(b"")),
                       ("stored_blocks", deflated(text, 0)),
                       ("fixed_codes", deflated(text, 9, zlib.Z_FIXED)),
                       ("nothing", b"")):
        length = 0 if name in ("empty", "nothing") else len(text)
        put(f"zip_member/{name}", member(length, b"a/b.txt", b"", data))
    # The data has dynamic codes, and distances of all lengths.
    long = b"".join(b"%d, " % (i * i % 1009) for i in range(8000))
    put("zip_member/long", member(len(long), b"", b"", deflated(long)))
    put("zip_member/zeros", member(65535, b"z", b"ex\0\0", deflated(bytes(65535))))
    put("zip_member/longer", member(60000, b"z", b"", deflated(bytes(65535))))
    put("zip_member/shorter", member(65535, b"z", b"", deflated(bytes(100))))


LMDB_PAGE = 512
BRANCH, LEAF, META, LONG, RECORD = 1, 2, 8, 1, 2


def lmdb_page(number, flags, nodes):
    """Returns a page of nodes, which lie in the page from its end to its begin. Each
    node is given as the header's bytes before the key's length, the key, and the bytes
    after it."""
    places, body = b"", b""
    for start, key, rest in nodes:
        node = start + struct.pack("<H", len(key)) + key + rest
        body = node + bytes(len(node) % 2) + body
        places += struct.pack("<H", LMDB_PAGE - len(body))
    head = struct.pack("<QHHHH", number, 0, flags, 16 + len(places),
                       LMDB_PAGE - len(body))
    return head + places + bytes(LMDB_PAGE - 16 - len(places) - len(body)) + body


def lmdb_leaf(number, *entries):
    nodes = []
    for key, value, flags, *length in entries:
        length = length[0] if length else len(value)
        nodes.append((struct.pack("<IH", length, flags), key, value))
    return lmdb_page(number, LEAF, nodes)


def lmdb_branch(number, *below):
    return lmdb_page(number, BRANCH, [
        (struct.pack("<IH", page, 0), b"k%d" % i if i else b"", b"")
        for i, page in enumerate(below)])


def lmdb_record(root, depth, entries, flags=0):
    return struct.pack("<IHHQQQQQ", 0, flags, depth, 0, 0, 0, entries, root)


def lmdb_file(record, *pages):
    """Returns a file whose pages from number 2 on are given. `record` is the record of
    the unnamed database."""
    metas = b""
    for number in (0, 1):
        tree = record if number else lmdb_record(MOST, 0, 0)
        metas += (struct.pack("<QHHIIIQQ", number, 0, META, 0, 0xBEEFC0DE, 1, 0,
                              1 << 20)
                  + struct.pack("<IHH5Q", LMDB_PAGE, 8, 0, 0, 0, 0, 0, MOST)
                  + tree + struct.pack("<QQ", 1 + len(pages), number)
                  ).ljust(LMDB_PAGE, b"\0")
    return metas + b"".join(pages)


def make_lmdb():
    first = lmdb_leaf(3, (b"a", b"1", 0), (b"b", b"", 0))
    second = lmdb_leaf(4, (b"k1", struct.pack("<Q", 5), LONG, 900))
    value = [struct.pack("<QHHI", 5, 0, 4, 2).ljust(LMDB_PAGE, b"v"),
             b"v" * LMDB_PAGE]
    branch = lmdb_branch(2, 3, 4)
    put("lmdb_walk/two_levels",
        lmdb_file(lmdb_record(2, 2, 3), branch, first, second, *value))
    put("lmdb_walk/named", lmdb_file(
        lmdb_record(2, 1, 2),
        lmdb_leaf(2, (b"plain", b"value", 0),
                  (b"train", lmdb_record(3, 1, 2), RECORD)), first))
    put("lmdb_walk/only_named", lmdb_file(
        lmdb_record(2, 1, 3),
        lmdb_leaf(2, (b"empty", lmdb_record(MOST, 0, 0), RECORD),
                  (b"several", lmdb_record(3, 1, 2, 4), RECORD),
                  (b"train", lmdb_record(3, 1, 2), RECORD)), first))
    put("lmdb_walk/empty", lmdb_file(lmdb_record(MOST, 0, 0)))
    put("lmdb_walk/cycle", lmdb_file(
        lmdb_record(2, 32, MOST - 1), lmdb_branch(2, 3, 3), lmdb_branch(3, 2, 2)))
    put("lmdb_walk/wide", lmdb_file(
        lmdb_record(2, 24, MOST - 1),
        *(lmdb_branch(page, *[page + 1] * 20) for page in range(2, 25)),
        lmdb_leaf(25, (b"a", b"1", 0))))
    put("lmdb_walk/largest", lmdb_file(
        lmdb_record(2, 1, 1),
        lmdb_leaf(2, (b"k", struct.pack("<Q", MOST), LONG, 2**32 - 1))))
    put("lmdb_walk/several", lmdb_file(lmdb_record(2, 1, 2, 4), first))
    put("lmdb_walk/version", lmdb_file(lmdb_record(MOST, 0, 0)).replace(
        struct.pack("<II", 0xBEEFC0DE, 1), struct.pack("<II", 0xBEEFC0DE, 999)))
    put("lmdb_walk/lock", lmdb_file(lmdb_record(MOST, 0, 0))[16:])


def make_datums():
    """Makes Caffe's Datums: of bytes, of numbers (also packed), and of a file."""
    shape = b"\x08\x01\x10\x02\x18\x03"
    numbers = struct.pack("<6f", *range(6))
    put("datum/bytes", shape + b"\x22\x06abcdef\x28" + b"\xff" * 9 + b"\x01")
    put("datum/numbers", shape + b"".join(
        b"\x35" + numbers[at:at + 4] for at in range(0, 24, 4)) + b"\x28\x07")
    put("datum/packed", shape + b"\x32\x18" + numbers)
    put("datum/file", b"\x22\x05\xff\xd8\xff\xe0\0\x28\x03\x38\x01")
    put("datum/other", shape + b"\x40\x01\x22\x06abcdef")


def make_records():
    """Makes payloads in the wire forms of records, each after its length."""
    def message(number, content):
        return bytes([number << 3 | 2, len(content)]) + content

    def entry(name, feature):
        return message(1, message(1, name) + message(2, feature))

    integers = message(3, message(1, b"\x05\xac\x02"))
    single = message(3, b"\x08\x05\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
    floats = message(2, message(1, struct.pack("<2f", 1, 2)))
    texts = message(1, message(1, b"some text"))
    photo = message(1, message(1, b"\xff\xd8\xff\xe0"))
    example = message(1, entry(b"a", integers) + entry(b"b", floats) +
                      entry(b"c", texts) + entry(b"d", photo))
    sequence = message(1, entry(b"a", single)) + message(
        2, entry(b"e", message(1, floats) * 2) + entry(b"f", message(1, integers)))
    for name, payloads in (("example", [example, example]),
                           ("sequence", [sequence]), ("mixed", [example, sequence]),
                           ("several", [message(1, entry(b"a", integers + texts))]),
                           ("plain", [b"", b"x", b"\xff\xd8\xff"])):
        put(f"tfrecord/{name}", b"".join(bytes([len(payload)]) + payload
                                         for payload in payloads))
    names = b"ab"
    files = (struct.pack("<6QQqQ", 0, 1, 0, 0, 100, 1, 1, 1, 0) +
             struct.pack("<6QQqQ", 1, 1, 2, 5, 50, 1, 1, 1, 7))
    ends = struct.pack("<3Q", 20, 100, 30)
    rest = struct.pack("<2Q", 0, 8) + names + b"f"
    put("record_index/two_files", b"FBYRECRD" + struct.pack(
        "<II9Q", 3, 0, 2, 3, 1, len(names), 1, 0, 0, 0, 0) + files + ends + rest +
        bytes(16))
    keys = b"\0\3abc\2\1d\0\1x"  # a block of two keys, and a block of one
    put("record_index/apart", b"FBYRECRD" + struct.pack(
        "<II9Q", 3, 0, 2, 3, 1, len(names), 1, 3, 2, len(keys), 3) + files + ends +
        rest + struct.pack("<3Q", 5, 99, 0) + struct.pack("<2Q", 0, 8) + keys +
        struct.pack("<3Q", 9, 0, MOST) + bytes(16))
    put("value_sizes/clips", b"FBYSIZES" + struct.pack("<II16x2Q", 1, 0, 3, 2) +
        struct.pack("<3Q2I", 5, 1 << 44 | 7, MOST >> 20, 0, 16000) + bytes(16))


def make_nested():
    arrays = "[" * DEEP + "]" * DEEP
    put("manifest/nested_arrays.jsonl",
        '{"path": "a", "class": 1, "text": "b", "more": %s}\n' % arrays)
    put("token_answer/nested_arrays.json",
        '{"expires_in": 1, "access_token": %s}' % arrays)
    put("credentials/nested.json",
        '{"type": "authorized_user", "client_id": %s}' % arrays)
    put("config/nested_keys.toml", ".".join("a" * DEEP) + " = 1\n")
    put("config/nested_arrays.toml", f"a = {arrays}\n")
    put("config/nested_tables.toml", "a = " + "{b=" * DEEP + "0" + "}" * DEEP)
    put("config/nested_headers.toml", "[" + ".".join("a" * DEEP) + "]\n")
    parts = "concatenation { parts { " * 30 + "} }" * 30
    put("session/nested", "\nrequest_id: 2 open_loader { spec { dataset { "
        "%s } } }\n" % parts)


def main():
    session = session_messages()
    make_dictionaries(session)
    make_answers(session)
    make_batches()
    make_windows()
    make_rings()
    make_shards()
    make_zip_members()
    make_lmdb()
    make_datums()
    make_records()
    make_nested()


if __name__ == "__main__":
    main()
