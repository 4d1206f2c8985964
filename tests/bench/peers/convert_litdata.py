"""Writes the photographs as chunks of litdata's; their JPEGs stay as they are.

The argument is JSON: uri, target, threads.
"""

import json
import sys

import litdata
import PIL.Image
from photographs import listed

CHUNK = "64MB"  # as litdata's examples have it


def sample(path_and_label):
    """Returns the fields that a chunk keeps of a photograph."""
    path, label = path_and_label
    return {"image": PIL.Image.open(path), "label": label}


def main():
    options = json.loads(sys.argv[1])
    litdata.optimize(fn=sample, inputs=list(zip(*listed(options["uri"]))),
                     output_dir=options["target"], chunk_bytes=CHUNK,
                     num_workers=options["threads"])


if __name__ == "__main__":
    main()
