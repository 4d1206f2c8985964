#!/usr/bin/python3
"""Makes the TIFF images of this folder with tifffile, and golden.txt: what tifffile
reads in the first image of each. A line of it is

    NAME DTYPE SHAPE CRC32

with the CRC-32 (hexadecimal) of the elements, little-endian and in C order.

Needs tifffile 2026.3.3 and imagecodecs 2026.3.6; run it in any folder.
"""

import pathlib
import zlib

import numpy
import tifffile

HERE = pathlib.Path(__file__).resolve().parent
CHANCE = numpy.random.RandomState(11)


def samples(dtype, shape):
    """Smooth samples, so that predictors have something to predict."""
    places = numpy.indices(shape).astype("float64")
    smooth = sum(numpy.sin(axis / (3 + i)) for i, axis in enumerate(places))
    if numpy.dtype(dtype).kind == "f":
        return (smooth * 1000 + CHANCE.rand(*shape)).astype(dtype)
    most = min(numpy.iinfo(dtype).max, 2 ** 40)
    low = -most if numpy.dtype(dtype).kind == "i" else 0
    unit = (smooth - smooth.min()) / (smooth.max() - smooth.min())
    return (low + unit * (most - low) * 0.9).astype(dtype)


# By name: dtype, shape and what imwrite is told besides.
GRAY, BANDS = (37, 23), (21, 35, 5)
IMAGES = {
    "uint8": ("uint8", GRAY, {}),
    "uint16": ("uint16", GRAY, {}),
    "uint16_big_endian": ("uint16", GRAY, {"byteorder": ">"}),
    "uint16_big": ("uint16", GRAY, {"bigtiff": True, "rowsperstrip": 5}),
    "uint16_lzw": ("uint16", GRAY, {"compression": "lzw", "rowsperstrip": 8}),
    "uint16_lzw_predicted": ("uint16", GRAY, {"compression": "lzw", "predictor": 2}),
    "uint16_tiles": ("uint16", GRAY, {"tile": (16, 32)}),
    "uint16_tiles_predicted": ("uint16", (50, 40), {
        "tile": (16, 16), "compression": "zlib", "predictor": 2, "byteorder": ">"}),
    "uint16_rgb": ("uint16", (19, 17, 3), {"photometric": "rgb"}),
    "uint16_planes": ("uint16", (3, 19, 17), {
        "photometric": "rgb", "planarconfig": "separate", "rowsperstrip": 4}),
    "uint16_bands": ("uint16", BANDS, {
        "photometric": "minisblack", "planarconfig": "contig", "compression": "zlib",
        "predictor": 2}),
    "uint16_band_tiles": ("uint16", (4, 40, 35), {
        "photometric": "minisblack", "planarconfig": "separate", "tile": (32, 16),
        "compression": "lzw", "bigtiff": True, "byteorder": ">"}),
    "uint16_inverted": ("uint16", GRAY, {"photometric": "miniswhite"}),
    "uint16_pages": ("uint16", (3, 9, 7), {"photometric": "minisblack"}),
    "int8": ("int8", GRAY, {}),
    "int16": ("int16", GRAY, {"compression": "packbits"}),
    "int32": ("int32", GRAY, {"compression": "zlib", "predictor": 2}),
    "int64": ("int64", GRAY, {"byteorder": ">"}),
    "uint32_tiles": ("uint32", BANDS, {
        "photometric": "minisblack", "planarconfig": "contig", "tile": (16, 16)}),
    "uint64": ("uint64", GRAY, {"compression": "zlib"}),
    "float16": ("float16", GRAY, {"compression": "zlib"}),
    "float16_predicted": ("float16", GRAY, {"compression": "zlib", "predictor": 3}),
    "float32": ("float32", GRAY, {}),
    "float32_big_endian": ("float32", GRAY, {"byteorder": ">", "compression": "lzw"}),
    "float32_predicted": ("float32", GRAY, {"compression": "zlib", "predictor": 3}),
    "float32_bands_predicted": ("float32", BANDS, {
        "photometric": "minisblack", "planarconfig": "contig", "compression": "zlib",
        "predictor": 3, "tile": (16, 16), "byteorder": ">"}),
    "float64": ("float64", (11, 13), {"compression": "zlib", "predictor": 3}),
    "one": ("float32", (1, 1), {}),
    "row": ("uint16", (1, 41), {"compression": "lzw"}),
}
# These are refused by name.
UNREAD = {
    "unread_bool": ("bool", GRAY, {}),
    "unread_complex": ("complex64", GRAY, {}),
    "unread_zstd": ("uint16", GRAY, {"compression": "zstd"}),
    "unread_jpeg": ("uint8", GRAY, {"compression": "jpeg"}),
}


def main():
    lines = []
    for name, (dtype, shape, options) in IMAGES.items():
        path = HERE / f"{name}.tif"
        tifffile.imwrite(path, samples(dtype, shape), metadata=None, **options)
        with tifffile.TiffFile(path) as file:
            found = file.pages[0].asarray()
        little = found.astype(found.dtype.newbyteorder("<"))
        lines.append(f"{path.name} {found.dtype.name} "
                     f"{','.join(map(str, found.shape))} "
                     f"{zlib.crc32(little.tobytes()):08x}\n")
    (HERE / "golden.txt").write_text("".join(lines))
    for name, (dtype, shape, options) in UNREAD.items():
        tifffile.imwrite(HERE / f"{name}.tif", samples("uint8", shape).astype(dtype),
                         metadata=None, **options)


if __name__ == "__main__":
    main()
