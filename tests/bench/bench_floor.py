"""Measures the images per second of one job against bare libjpeg-turbo on the same
crops.

The floor is libjpeg-turbo alone, with one decompressor for each core. It decodes from
memory exactly the crops that the job will decode, without the margins that Forebay
adds. The faster of its two ways to write rows counts. Forebay starts from files in the
page cache, resizes, flips and normalises, and hands the batches to a trainer that
touches every page.
"""

import json
import os
import subprocess

import photos
from daemon import ENCODED_ONLY, daemon
from figures import CORES, in_turns, row
from readers import call, program

ROUNDS = 3
SEED, EPOCH = 0, 0


def floor_rate(crops):
    """Returns the images per second of the bare decoder on all cores."""
    done = subprocess.run(
        [program("jpeg_floor"), "--threads", str(CORES), "--passes", "1"],
        input=crops, check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    return max(found["whole_image_per_s"], found["reused_row_per_s"])


def run():
    """Returns the rows: Forebay / floor for float32, then for uint8."""
    uri = str(photos.make())
    crops = subprocess.run(
        [program("print_crops"), uri, str(SEED), str(EPOCH)], check=True,
        stdout=subprocess.PIPE).stdout
    with daemon(ENCODED_ONLY) as server:
        def rate(dtype):
            found = call("read_forebay.py", server.environment, uri=uri,
                         dtype=dtype, seed=SEED)
            return found["images"] / found["seconds"]

        rate("float32")  # builds the index and fills the cache
        floor, float32, uint8 = in_turns(
            ROUNDS, lambda: floor_rate(crops), lambda: rate("float32"),
            lambda: rate("uint8"))
    unit = "images/s"
    where = f"{CORES} of {os.cpu_count()} cores"
    return [
        row("floor", f"float32 / bare libjpeg-turbo, {where}", float32, floor,
            unit),
        row("floor", f"uint8 / bare libjpeg-turbo, {where}", uint8, floor,
            unit),
    ]
