"""Measures how much decoding is shared by loaders that have only their images
in common.

Two and four loaders at once over one dataset of real photographs, each with a
seed, a size of crop and of batch of its own, by a daemon that keeps images
decoded too and by one that keeps what was read alone. The cache has room for
all images decoded, or for half of them. A decode is one of encoded bytes; the
CPU time is the daemon's.
"""

import concurrent.futures

import photos
from daemon import daemon
from figures import row
from readers import call

IMAGES, EPOCHS, ROUNDS = 1000, 4, 2
LOADERS = ((224, 64), (192, 48), (160, 100), (256, 32))  # crop, batch
# Bytes of an image of the dataset, decoded, on average, and a little more.
DECODED = 640_000


def _config(room, decoded):
    return (f'[memory]\nlimit = "3GiB"\n[cache]\nmemory = "{room >> 20}MiB"\n'
            f'decoded = "{decoded}"\n')


def _together(uri, loaders, room, decoded):
    """Images a second, decodes and microseconds of CPU an image."""
    with daemon(_config(room, decoded)) as server, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        # The index is built, and files are where they will be.
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
            # Each loader has the daemon's counts while it read; the longest one, all.
            max(each["daemon_cpu_nanos"] for each in found) / images / 1e3)


def _median(values):
    return sorted(values)[len(values) // 2]


def _both(uri, loaders, room):
    """Medians of what _together measures, with forms and without, in turns."""
    found = {"auto": [], "off": []}
    for turn in range(ROUNDS):
        for decoded in ("auto", "off")[::1 if turn % 2 == 0 else -1]:
            found[decoded].append(_together(uri, loaders, room, decoded))
    return [[_median(column) for column in zip(*found[decoded])]
            for decoded in ("auto", "off")]


def run():
    """Rows: aggregates, decodes and CPU time, by loaders and room."""
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
