"""Ogg Vorbis files that were cut without being decoded."""

import struct

import numpy

from audio_test import open_audio, read, save
from forebay import transforms as T

RATE = 44100


def pages_of(content):
    """Returns the pages of an Ogg file, each as a bytearray."""
    pages, at = [], 0
    while at < len(content):
        count = content[at + 26]
        size = 27 + count + sum(content[at + 27:at + 27 + count])
        pages.append(bytearray(content[at:at + size]))
        at += size
    return pages


def sealed(page):
    """Returns the page with its checksum: Ogg's CRC-32, with the polynomial
    0x04C11DB7."""
    struct.pack_into("<I", page, 22, 0)
    crc = 0
    for byte in page:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc & 0x80000000 else 0)) & 0xFFFFFFFF
    struct.pack_into("<I", page, 22, crc)
    return bytes(page)


def cut(path, frames):
    """Drops the first page of sound, and `frames` more frames, as the pages count
    them."""
    pages = pages_of(path.read_bytes())
    places = [struct.unpack_from("<q", page, 6)[0] for page in pages]
    first = next(i for i, place in enumerate(places) if place > 0)
    start = places[first] + frames
    kept = pages[:first]
    for number, page in enumerate(pages[first + 1:], first):
        place, = struct.unpack_from("<q", page, 6)
        struct.pack_into("<q", page, 6, place - start)
        struct.pack_into("<I", page, 18, number)
        kept.append(page)
    path.write_bytes(b"".join(sealed(page) for page in kept))


def window(folder, begin, frames):
    with open_audio(folder, transform={"audio": T.Slice(begin, begin + frames)},
                    batch_size=1, shuffle=False) as loader:
        batch, = loader
        return numpy.asarray(batch.audio[0])


def test_windows_of_vorbis_that_was_cut_without_decoding(shared_daemon, tmp_path):
    """In such a file, libsndfile's seeks lead to other frames than its reads from the
    begin."""
    noise = numpy.random.default_rng(0).random((5 * RATE, 1)).astype("float32")
    path = save(tmp_path / "clips" / "a.ogg", 0.5 * noise, RATE)
    cut(path, 5000)
    whole = read(path)
    assert 2 * RATE < len(whole) < 5 * RATE
    for begin in range(0, len(whole) - 300, 9973):
        numpy.testing.assert_allclose(
            window(path.parent, begin, 300), whole[begin:begin + 300], atol=1e-5,
            err_msg=str(begin))
