"""How forebay.inspect recognises a format, and how it prints its findings. These parts
need no daemon."""

import gzip
import io
import struct
import zlib

import pytest

from forebay import _native
from forebay._inspect import contents, files, look, magic, readings, singles, text
from forebay._inspect.readings import Reading
from forebay._inspect.verify import Progress


def record(length):
    """Returns the start of a TFRecord: its length and the length's checksum."""
    head = struct.pack("<Q", length)
    return head + struct.pack("<I", magic._masked(magic._crc32c(head))) + b"x" * 9


ZSTD = b"\x28\xb5\x2f\xfd" + bytes(20)
SKIPPED = b"\x50\x2a\x4d\x18\4\0\0\0abcd"  # a skippable frame, as pzstd writes first


def test_crc32c_is_castagnolis():
    assert magic._crc32c(b"123456789") == 0xe3069283
    assert magic._crc32c(b"") == 0


@pytest.mark.parametrize("head, kind", [
    (record(9), "tfrecord"), (gzip.compress(record(9) * 50), "tfrecord.gz"),
    (zlib.compress(record(9) * 50), "tfrecord.gz"),
    (record(9)[:8] + b"\0\0\0\0", None), (record(9)[:11], None),
    (b"\0" * 257 + b"ustar\0" + b"\0" * 249, "tar"),
    (gzip.compress(b"\0" * 257 + b"ustar\0" + b"\0" * 249), "tar.gz"),
    (gzip.compress(bytes(999)), "gzip"), (b"\x1f\x8b\x08\0none", "gzip"),
    (b"\x1f\x8bnone", None),
    (b"\x93NUMPY\1\0", "npy"), (b"PK\3\4", "zip"), (b"PAR1", "parquet"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"), (bytes(512) + b"\x89HDF\r\n\x1a\n", "hdf5"),
    (bytes(16) + struct.pack("<I", 0xbeefc0de), "lmdb"),
    (bytes.fromhex("83af70d10d884a3f") + bytes(56), "array_record"),
    (b"MMIDIDX\0\0" + bytes(9), "megatron_index"), (b"\xff\xd8\xff\xe0", "image"),
    (b"RIFF\0\0\0\0WEBP", "image"), (b"RIFF\0\0\0\0WAVE", "audio"),
    (b"a,b\n1,2\n", "text"), ("caf\xe9".encode() * 9, "text"), (b"a\0b", None),
    (SKIPPED + ZSTD, "zstd"), (SKIPPED * 2 + ZSTD, "zstd"), (SKIPPED, None),
    (SKIPPED + b"a,b", None), (SKIPPED[:4] + b"\xff\xff\xff\xff" + bytes(99), "zstd"),
    (b"\x80\4K\1.", "pickle"), (b"", None), (b"\0" * 100, None), (b"\xff", None)],
    ids=lambda value: "" if isinstance(value, bytes) else str(value))
def test_kinds_of_files(head, kind):
    assert magic.kind_of(head) == kind


@pytest.mark.parametrize("head, name, rate", [
    (b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x80\x3e\0\0", "WAV", 16000),
    (b"fLaC\0\0\0\x22" + bytes(10) + b"\x0a\xc4\x42", "FLAC", 44100),
    (b"OggS" + bytes(24) + b"\x01vorbis\0\0\0\0\1\x44\xac\0\0", "Ogg", 44100),
    (b"OggS" + bytes(24) + b"OpusHead", "Opus", 48000),
    (b"ID3\4", "MP3", 0), (b"\xff\xfb\x90", "MP3", 0), (b"RIFF", None, 0),
    (b"fLaC", "FLAC", 0), (b"", None, 0)])
def test_audio(head, name, rate):
    assert (magic.audio_format(head), magic.sample_rate(head)) == (name, rate)


def test_a_character_that_the_head_cuts_is_text():
    assert magic.kind_of("caf\xe9".encode()[:-1]) == "text"
    assert magic.kind_of(b"caf\xe9 caf\xe9") is None


@pytest.mark.parametrize("samples, fields", [
    ([["cls", "jpg"], ["jpg", "cls"]], ("jpg", "cls")),
    ([["jpg", "cls"], ["png", "cls"]], ("jpg;png", "cls")),
    ([["json", "left.png", "right.png"]] * 2, ("left.png", "right.png", "json")),
    ([["cls", "npy.gz", "wav"]], ("wav", "cls", "npy.gz")),
    ([["txt", "vtt"], ["txt"]], ("txt",)), ([["a"], ["b"]], ()), ([], ()),
    ([["jpg", "a"], ["b"]], ()),
    ([[f"f{n}" for n in range(40)]], tuple(f"f{n}" for n in range(15)))])
def test_fields_of_shards(samples, fields):
    assert contents.common_fields(samples) == fields


@pytest.mark.parametrize("names, wanted, pattern", [
    (["a.tar", "b.tar"], ["a.tar", "b.tar"], "*.tar"),
    (["a.tar", "b.tar", "c.csv"], ["a.tar", "b.tar"], "*.tar"),
    (["train-0.tar", "train-1.tar", "val-0.tar"], ["train-0.tar", "train-1.tar"],
     "train-*.tar"),
    (["train-00-of-02", "train-01-of-02", "val-00-of-02"],
     ["train-00-of-02", "train-01-of-02"], "train-*"),
    (["a.tar", "b.tar", "c.tar"], ["a.tar", "c.tar"], "{a.tar,c.tar}"),
    (["a.tar", "b.tar"], ["b.tar"], "b.tar")])
def test_patterns_mean_the_wanted_names_alone(names, wanted, pattern):
    assert files.selected(names, wanted) == pattern


@pytest.mark.parametrize("names, parts", [
    (["train-1", "val-1", "train-2"], ["train", "val"]), (["a", "train"], []),
    (["x_validation", "x_test"], ["validation", "test"]), ([], [])])
def test_parts_of_datasets(names, parts):
    assert [part for part, _ in singles.split_of(names)] == parts


@pytest.mark.parametrize("pattern, paths", [
    ("a{0..2}", ["a0", "a1", "a2"]), ("{08..10}", ["08", "09", "10"]),
    ("{a,b}{1,2}", ["a1", "a2", "b1", "b2"]), ("{a}", ["{a}"]), ("a", ["a"])])
def test_braces(pattern, paths):
    assert list(files.braces_expanded(pattern)) == paths


@pytest.mark.parametrize("values", [
    [1, 2], [0, 9], [5, 6, 7, 1000], list(range(997)), [1, 10**12], [0, 10**12],
    [10**17, 10**17 + 3]])
def test_histograms_have_each_value_once(values):
    numbers = look.Numbers()
    numbers.values.extend(values)
    buckets = numbers.histogram()
    assert sum(count for _, _, count in buckets) == len(values)
    assert buckets[0][0] <= min(values) and max(values) < buckets[-1][1]
    assert all(one[1] == next[0] for one, next in zip(buckets, buckets[1:]))
    for low, end, count in buckets:
        assert count == sum(low <= value < end for value in values)
    assert len(buckets) <= 40


def test_equal_values_have_no_histogram():
    numbers = look.Numbers()
    numbers.values.extend([7, 7])
    assert numbers.histogram() == []
    assert numbers.summary() == {"min": 7, "median": 7, "max": 7}


@pytest.mark.parametrize("count, said", [
    (0, "0 bytes"), (999, "999 bytes"), (1000, "1 KB"), (123456, "123 KB"),
    (999_600, "1 MB"), (5_400_000_000, "5.4 GB"), (7 * 10**15, "7,000.0 TB")])
def test_sizes(count, said):
    assert text.size(count) == said


@pytest.mark.parametrize("value, said", [
    ("a", '"a"'), ("it's", '"it\'s"'), ('say "a"', '"say \\"a\\""'), ("\n", "'\\n'"),
    (("jpg",), '("jpg",)'), (("a", "b"), '("a", "b")'), (None, "None"), (7, "7"),
    ({"rows": True}, '{"rows": True}'), ("caf\xe9", '"caf\xe9"')])
def test_code_of_values(value, said):
    assert readings.quoted(value) == said and eval(said) == value


def field(name, kind, dtype="uint8"):
    return {"name": name, "kind": kind, "dtype": dtype}


def test_code():
    assert readings.code_of(Reading("image_folder", "/d"), [
        field("image", "image"), field("label", "label")], 1000) == """\
import forebay
from forebay import transforms as T

loader = forebay.DataLoader("/d", batch_size=32, shuffle=True,
                            transform=T.RandomResizedCrop(224))
for image, label in loader:
    ..."""
    assert readings.code_of(Reading("tokens", "/t.bin", "tokens", {"length": 64}), [
        field("tokens", "array", "uint16")], 3) == """\
import forebay
from forebay import transforms as T

dataset = forebay.tokens("/t.bin", length=64)
loader = forebay.DataLoader(dataset, batch_size=3, shuffle=True,
                            transform={"tokens": T.ToDtype("int64")})
for (tokens,) in loader:
    ..."""


@pytest.mark.parametrize("channels, transform", [
    (2, "T.RandomWindow(512, pad_if_needed=True)"),
    (None, "T.Compose([T.RandomWindow(512, pad_if_needed=True), T.ToMono()])")])
def test_code_of_audio(channels, transform):
    clip = dict(field("audio", "audio", "float32"), shape=[None, channels],
                lengths={"median": 900})
    assert f'transform={{"audio": {transform}}})' in readings.code_of(
        Reading("audio_folder", "/d"), [clip], 4)


def test_code_of_several_transforms():
    fields = [field("photograph", "image"),
              *(field(f"tokens{number}", "array", "uint32") for number in range(3))]
    assert readings.code_of(Reading("mds", "/data/somewhere"), fields, 64) == """\
import forebay
from forebay import transforms as T

loader = forebay.DataLoader("/data/somewhere", batch_size=32, shuffle=True,
                            transform={"photograph": T.RandomResizedCrop(224),
                                       "tokens0": T.ToDtype("int64"),
                                       "tokens1": T.ToDtype("int64"),
                                       "tokens2": T.ToDtype("int64")})
for photograph, tokens0, tokens1, tokens2 in loader:
    ..."""


@pytest.mark.parametrize("names, variables", [
    (["a/b", "c"], "a_b, c"), (["x"], "(x,)"), (list("abcde"), "batch"),
    (["loader"], "batch"), (["class"], "(f_class,)")])
def test_variables_of_loops(names, variables):
    code = readings.code_of(Reading("mds", "/d"),
                            [field(name, "label") for name in names], 9)
    assert f"for {variables} in loader:" in code


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress():
    now = [0.0]
    stream = Terminal()
    bar = Progress(2000, stream, lambda: now[0])
    now[0] = 10.0
    bar.show(500, 0)
    assert stream.getvalue() == (
        "\r[#####...............] 500 of 2,000 samples, 50/s, 30 s left\x1b[K")
    bar.show(600, 0)  # too soon after the last update
    assert "600" not in stream.getvalue()
    now[0] = 4000.0
    bar.show(1000, 2)
    assert stream.getvalue().endswith("0/s, 1:06 h left, 2 broken\x1b[K")
    bar.end()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_no_progress_is_shown_where_nobody_looks():
    stream = io.StringIO()
    bar = Progress(2, stream, lambda: 0.0)
    bar.show(1, 0)
    bar.end()
    assert stream.getvalue() == ""


def test_every_kind_of_field_has_a_name():
    assert set(look.KINDS) == set(range(_native.IMAGE, _native.ARRAY + 1))
