"""Odd and hostile files in forebay.inspect, without a daemon."""

import array
import io
import os
import struct
import tarfile
import threading
import types
import zipfile

import pytest

from forebay import _audio_folder, _native, errors
from forebay._inspect import files, guess, magic, tables, text, verify

JPEG = b"\xff\xd8\xff\xe0" + bytes(20)


def make(root, contents):
    for name, content in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def member(size, kind):
    """Returns a tar header with any size, in base-256 encoding."""
    header = bytearray(tarfile.TarInfo("a.jpg").tobuf(tarfile.USTAR_FORMAT))
    header[124:136] = b"\x80" + size.to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[156:157] = kind
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def test_a_link_to_itself_spoils_no_folder(tmp_path):
    make(tmp_path, {"a/1.jpg": JPEG, "b/2.jpg": JPEG})
    os.symlink("self", tmp_path / "self")
    assert guess.found_at(tmp_path).readings[0].format == "image_folder"


def test_a_link_to_itself_spoils_no_folder_of_clips(tmp_path):
    make(tmp_path, {"1.wav": b"RIFF"})
    os.symlink("self", tmp_path / "self")
    assert _audio_folder.find(str(tmp_path)).labels is False


def test_a_fifo_in_a_folder_is_not_opened(tmp_path):
    make(tmp_path, {"a/1.jpg": JPEG, "b/2.jpg": JPEG})
    os.mkfifo(tmp_path / "pipe")
    found = []
    asking = threading.Thread(target=lambda: found.append(guess.found_at(tmp_path)),
                              daemon=True)
    asking.start()
    asking.join(60)
    assert found and found[0].readings[0].format == "image_folder"


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"0"])
@pytest.mark.parametrize("size", [1 << 62, (1 << 63) - 512, 1 << 80])
def test_tar_headers_may_speak_of_any_size(tmp_path, size, kind):
    path = tmp_path / "a.tar"
    path.write_bytes(member(size, kind) + bytes(1024))
    try:
        assert guess.found_at(path).readings[0].fields == ("jpg",)
    except errors.InvalidArgument as error:
        assert str(error).startswith(f"{path}: is not a tar file that can be read: ")
        assert not str(error).endswith(": ")


def test_a_zip_directory_may_be_said_to_lie_anywhere(tmp_path):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as made:
        made.writestr("a/1.jpg", JPEG)
    content = whole.getvalue()
    at = content.rfind(b"PK\5\6")
    end = bytearray(content[at:])
    struct.pack_into("<II", end, 12, 0xffffffff, 0xffffffff)
    large = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 1, 1, 100,
                                    (1 << 64) - 1)
    path = tmp_path / "a.zip"
    path.write_bytes(content[:at] + large + bytes(end))
    with pytest.raises(errors.InvalidArgument, match="lies behind its end"):
        guess.found_at(path)


def test_no_pattern_exhausts_the_stack(tmp_path):
    with pytest.raises(errors.InvalidArgument, match="has more than 64 braces"):
        guess.found_at(tmp_path / ("{a,b}" * 1500))
    numbers = "{0.." + "9" * 5000 + "}"  # more digits than Python's int() accepts
    assert list(files.braces_expanded(numbers)) == [numbers]


# Bitmaps start with these two letters, and MP3 tags with these three.
@pytest.mark.parametrize("column", ["BMI", "ID3"])
def test_a_table_is_one_whatever_its_first_column_is_called(tmp_path, column):
    make(tmp_path, {"i/1.jpg": JPEG,
                    "t.csv": f"{column},image,label\n3,i/1.jpg,cat\n".encode()})
    reading, = guess.found_at(tmp_path / "t.csv").readings
    assert (reading.format, reading.arguments) == ("manifest", {"label": "label"})


# The bytes of these tokens look like the start of a bitmap, and of a gzip file.
@pytest.mark.parametrize("first", [0x4d42, 0x8b1f])
def test_tokens_may_begin_as_other_files_do(tmp_path, first):
    path = tmp_path / "train.bin"
    path.write_bytes(array.array("H", [first, 300, *range(4096)]).tobytes())
    assert guess.found_at(path).readings[0].arguments["dtype"] == "uint16"


def test_bitmaps_and_tags_are_still_known():
    bitmap = b"BM" + struct.pack("<IHHI", 58, 0, 0, 54)
    assert magic.image_format(bitmap) == "BMP"
    assert magic.audio_format(b"ID3\3\0") == magic.audio_format(b"ID3") == "MP3"


def test_a_line_of_a_table_ends_where_the_daemon_says(tmp_path):
    make(tmp_path, {"1.jpg": JPEG, "t.jsonl": (
        '{"image": "1.jpg", "label": "3", "text": "one\u2028two"}\n'
        '{"image": "1.jpg"}\n').encode()})
    assert tables.columns_of(str(tmp_path / "t.jsonl")) == {
        "label": "label", "text": "text"}


def test_a_long_line_that_the_look_cuts_is_left_out(tmp_path):
    rest = "\u00e9" * (600 << 10)  # two bytes each
    make(tmp_path, {"1.jpg": JPEG, "t.csv": (
        f"image,note\n1.jpg,a\n1.jpg,{rest}\n2{rest}").encode()})
    assert tables.columns_of(str(tmp_path / "t.csv")) == {}


@pytest.mark.parametrize("content, fault", [
    (b'{"n": ' + b"9" * 5000 + b"}", None), (b"[1, 2.5, -3]", None),
    (b"{", "is not JSON: "), (b"[" * 100_000, "is not JSON: "),
    (b"\xff", "is not UTF-8 from byte 0 on")],
    ids=["long number", "numbers", "cut off", "deep", "no text"])
def test_json_is_what_others_take_for_it(content, fault):
    value = types.SimpleNamespace(kind=_native.JSON, content=lambda: content)
    found = verify._fault_of(value)
    assert found == fault or found.startswith(fault)


def test_names_do_not_write_lines_of_their_own():
    lines = text._labels("label", [
        {"label": 0, "count": 2, "name": "cat\nVerified: all samples can be read."},
        {"label": 1, "count": 1, "name": "dog\x1b[2J"}])
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)
