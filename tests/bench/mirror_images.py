"""Runs only the Python op of a pipeline, on images that are already decoded.

Several processes run at once. Prints how many images they mirror per second.
"""

import json
import multiprocessing
import sys
import time

import numpy
import PIL.Image
import python_stage


def mirror(end, made):
    """Mirrors one decoded image again and again until `end`."""
    pixels = numpy.random.RandomState(0).randint(0, 256, (224, 224, 3), numpy.uint8)
    result = numpy.empty_like(pixels)
    count = 0
    while time.monotonic() < end:
        for _ in range(64):
            result[...] = python_stage.mirrored(PIL.Image.fromarray(pixels))
        count += 64
    made.put(count)


def measure(workers, seconds):
    """Returns a dict: the images per second of `workers` processes."""
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
