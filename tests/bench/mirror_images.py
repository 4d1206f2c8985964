"""Runs the Python part of a pipeline alone, on pixels that are there.

Several processes at once; prints how many images they mirror in a second.
"""

import json
import multiprocessing
import sys
import time

import numpy
import PIL.Image
import python_stage


def mirror(end, made):
    """Mirrors an image again and again, from pixels to pixels."""
    pixels = numpy.random.RandomState(0).randint(0, 256, (224, 224, 3), numpy.uint8)
    result = numpy.empty_like(pixels)
    count = 0
    while time.monotonic() < end:
        for _ in range(64):
            result[...] = python_stage.mirrored(PIL.Image.fromarray(pixels))
        count += 64
    made.put(count)


def measure(workers, seconds):
    """Returns a dict: images a second of so many processes."""
    made = multiprocessing.Queue()
    begin = time.monotonic()
    processes = [multiprocessing.Process(target=mirror, args=(begin + seconds, made))
                 for _ in range(workers)]
    for process in processes:
        process.start()
    count = sum(made.get() for _ in processes)
    rate = count / (time.monotonic() - begin)
    for process in processes:
        process.join()
    return {"rate": rate}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
