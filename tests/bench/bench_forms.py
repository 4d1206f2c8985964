"""Measures how much decoding is shared by loaders that read the same images in
different forms.

Two or four loaders read a dataset of real photographs at once. Each has its own seed,
crop size and batch size. One daemon keeps decoded images, too; another keeps only the
files' bytes. The cache has room for all decoded images, or for half of them. A decode
is the decoding of one image from its encoded bytes; the CPU time is the daemon's.
"""

import concurrent.futures

import photos
from daemon import daemon
from figures import row
from readers import call

IMAGES, EPOCHS, ROUNDS = 1000, 4, 2
LOADERS = ((224, 64), (192, 48), (160, 100), (256, 32))  # crop in pixels, batch size
# The average size in bytes of a decoded image of the dataset, rounded up.
DECODED = 640_000


def _config(room, decoded):
    return (f'[memory]\nlimit = "3GiB"\n[cache]\nmemory = "{room >> 20}MiB"\n'
            f'decoded = "{decoded}"\n')


def _together(uri, loaders, room, decoded):
    """Returns images per second, decodes per image, and microseconds of CPU per
    image."""
    with daemon(_config(room, decoded)) as server, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        # This call builds the index and fills the cache.
        call("read_forebay.py", server.environment, uri=uri, mode="none",
             first_batch_only=True)
        running = [
            pool.submit(call, "read_forebay.py",
                        dict(server.environment, FOREBAY_JOB=f"job-{seed}"),
                        uri=uri, seed=seed, size=size, batch_size=batch,
                        epochs=EPOCHS, mode="none", dtype="uint8",
                        daemon_pid=server.pid)
            for seed, (size, batch) in enumerate(LOADERS[:loaders], 1)]
        found = [each.result() for each in running]
    images = sum(each["images"] for each in found)
    return (images / max(each["seconds"] for each in found),
            sum(int(each["stats"]["samples_decoded"])
                for each in found) / images,
            # Each loader counts the daemon's CPU time while it reads. The slowest
            # loader's count covers the whole run.
            max(each["daemon_cpu_nanos"] for each in found) / images / 1e3)


def _median(values):
    return sorted(values)[len(values) // 2]


def _both(uri, loaders, room):
    """Returns the medians of _together's figures: with decoded images kept, and
    without."""
    found = {"auto": [], "off": []}
    for turn in range(ROUNDS):
        for decoded in ("auto", "off")[::1 if turn % 2 == 0 else -1]:
            found[decoded].append(_together(uri, loaders, room, decoded))
    return [[_median(column) for column in zip(*found[decoded])]
            for decoded in ("auto", "off")]


def run():
    """Returns the rows: images, decodes and CPU time, by number of loaders and room."""
    uri = str(photos.make(IMAGES))
    rows = []
    for loaders in (4, 2):
        for name, part in (("all", 1.0), ("half", 0.5)):
            case = f"{loaders} loaders, room for {name} decoded"
            room = int(IMAGES * DECODED * part)
            ours, plain = _both(uri, loaders, room)
            rows += [
                row("forms", f"{case}: with / without", ours[0], plain[0],
                    "images/s"),
                row("forms", f"{case}: decodes an image", ours[1], plain[1],
                    "decodes"),
                row("forms", f"{case}: daemon's CPU an image", ours[2],
                    plain[2], "us"),
            ]
    return rows
