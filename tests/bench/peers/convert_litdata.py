"""Writes the photographs as chunks of litdata's format; the JPEGs stay as they are.

The argument is JSON: uri, target, threads.
"""

import json
import sys

import litdata
import PIL.Image
from photographs import listed

CHUNK = "64MB"  # as in litdata's examples


def sample(path_and_label):
    """Returns the fields of a photograph that a chunk stores."""
    path, label = path_and_label
    return {"image": PIL.Image.open(path), "label": label}


def main():
    options = json.loads(sys.argv[1])
    litdata.optimize(fn=sample, inputs=list(zip(*listed(options["uri"]))),
                     output_dir=options["target"], chunk_bytes=CHUNK,
                     num_workers=options["threads"])


if __name__ == "__main__":
    main()
