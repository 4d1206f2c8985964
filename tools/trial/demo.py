"""Runs several trainers on real photographs with one daemon; shows a table and a
picture."""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

import photos
from daemon import ROOT, DaemonError, daemon, stop

TRAINER = pathlib.Path(__file__).with_name("trainer.py")
SHEET = ROOT / ".cache" / "demo" / "contact_sheet.png"
COLUMNS = ("job", "img/s", "wait %", "MB read", "MB delivered",
           "delivered/read", "decodes", "samples", "decodes/sample")


class TrainerError(RuntimeError):
    """A trainer exited too early."""


class Trainer:
    """A trainer process of the demo."""

    def __init__(self, uri, name, seconds, environment):
        self.name = name
        self._process = subprocess.Popen(
            ["/usr/bin/python3", str(TRAINER), uri, "--name", name,
             "--seconds", str(seconds)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=dict(environment, FOREBAY_JOB=name), start_new_session=True,
            universal_newlines=True)

    def await_word(self, word):
        """Waits until the trainer says `word`: "ready" once its loader is open,
        "reading" once it has its first batch."""
        if self._process.stdout.readline() != word + "\n":
            raise TrainerError(f"the trainer {self.name} failed (above)")

    def go(self):
        """Lets the trainer read."""
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def result(self):
        """Waits for the trainer's end. Returns its report."""
        line = self._process.stdout.readline()
        if self._process.wait() != 0 or not line:
            raise TrainerError(f"the trainer {self.name} failed (above)")
        return json.loads(line)

    def close(self):
        """Ends the trainer, even if it reads or hangs."""
        stop(self._process)
        self._process.stdin.close()
        self._process.stdout.close()


def summary(name, result):
    """Returns one job's figures, as a dict for the table and the JSON file."""
    stats = result["stats"]
    read, delivered = stats["bytes_read"], stats["bytes_delivered"]
    decoded, samples = stats["samples_decoded"], stats["samples_delivered"]
    wait = stats["wait_nanos"] / 1e9
    return {
        "job": name,
        "images_per_second": result["images"] / result["seconds"],
        "wait_percent": 100 * wait / result["seconds"],
        "bytes_read": read, "bytes_delivered": delivered,
        "samples_decoded": decoded, "samples_delivered": samples,
        "delivered_per_read": delivered / max(read, 1),
        "decodes_per_sample": decoded / max(samples, 1),
    }


def print_table(rows):
    """Prints a line for each job, and a line for their sum."""
    cells = [COLUMNS]
    for row in rows:
        cells.append((
            row["job"], f"{row['images_per_second']:,.0f}",
            f"{row['wait_percent']:.0f}", f"{row['bytes_read'] / 1e6:,.0f}",
            f"{row['bytes_delivered'] / 1e6:,.0f}",
            f"{row['delivered_per_read']:.1f}",
            f"{row['samples_decoded']:,}", f"{row['samples_delivered']:,}",
            f"{row['decodes_per_sample']:.2f}"))
    widths = [max(len(line[i]) for line in cells)
              for i in range(len(COLUMNS))]
    for line in cells:
        print("  ".join([line[0].ljust(widths[0])] + [
            cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]))
    total = sum(row["images_per_second"] for row in rows)
    print(f"together: {total:,.0f} images/s")


def run(args):
    """Runs the demo. Returns its figures, as a dict."""
    uri = args.uri or str(photos.make())
    names = [f"job-{number}" for number in range(1, args.jobs + 1)]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(daemon())
        trainers = []
        for name in names:
            trainer = Trainer(uri, name, args.seconds, server.environment)
            stack.callback(trainer.close)
            trainers.append(trainer)
        for trainer in trainers:
            trainer.await_word("ready")
        print(f"{args.jobs} trainers read {uri} for {args.seconds:g} s "
              "through one daemon ...", flush=True)
        for trainer in trainers:
            trainer.go()
        for trainer in trainers:
            trainer.await_word("reading")
        sheet = _peek(server, names[0], args.sheet)
        results = [trainer.result() for trainer in trainers]
        cache = json.loads(server.ctl("cache", "--json"))
    rows = [summary(name, result) for name, result in zip(names, results)]
    return {"uri": uri, "jobs": rows, "contact_sheet": str(sheet),
            "bytes_from_source": int(cache["total"]["source"]["bytes"]),
            "bytes_saved": int(cache["bytes_saved"])}


def _peek(server, job, sheet):
    """Writes a picture of a batch that the job sees. Returns the picture's path."""
    sheet.parent.mkdir(parents=True, exist_ok=True)
    try:
        server.ctl("peek", job, "-o", str(sheet))
    except subprocess.CalledProcessError as error:
        raise TrainerError("forebayctl peek: " +
                           error.stderr.decode().strip()) from None
    return sheet


def main():
    parser = argparse.ArgumentParser(prog="tools/demo", description=__doc__)
    parser.add_argument("uri", nargs="?",
                        help="a folder of class folders of images; default: "
                        "real photographs, made at the first run")
    parser.add_argument("--jobs", type=int, default=2, metavar="N",
                        help="trainers (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=10, metavar="S",
                        help="how long they read (default %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="where to write the figures")
    parser.add_argument("--sheet", type=pathlib.Path, metavar="PNG",
                        default=SHEET, help="where the picture goes "
                        "(default .cache/demo/contact_sheet.png)")
    args = parser.parse_args()
    if not 1 <= args.jobs <= 64:
        parser.error("--jobs must be 1 to 64")
    if not args.seconds >= 1:
        parser.error("--seconds must be at least 1")
    if args.uri and "://" not in args.uri:
        args.uri = os.path.abspath(args.uri)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        figures = run(args)
    except KeyboardInterrupt:
        sys.exit(130)
    except (DaemonError, TrainerError) as error:
        sys.exit(f"tools/demo: {error}")
    print_table(figures["jobs"])
    print(f"from the disk: {figures['bytes_from_source'] / 1e6:,.0f} MB; from "
          f"memory, or read for two at once: "
          f"{figures['bytes_saved'] / 1e6:,.0f} MB")
    print(f"a batch of {figures['jobs'][0]['job']}: "
          f"{figures['contact_sheet']}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
