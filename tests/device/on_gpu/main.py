"""Measures on a host with a GPU, and prints one table."""

import argparse
import ctypes
import os
import re
import shutil
import subprocess
import sys
import time

from host import ROOT, Host, result_of, used_mebibytes

# CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED of cuda.h.
READ_ONLY_HOST_REGISTER_SUPPORTED = 113
ENCODED_ONLY = '[cache]\ndecoded = "off"\n'
AT_ONCE = "[session]\nidle_seconds = 0\n"
ROWS = []


def row(name, figure, bar=None, at_least=True):
    """Adds a row: a figure, and the bar that it must reach, if any."""
    if bar is None:
        verdict = ""
    elif at_least:
        verdict = "held" if figure >= bar else "MISSED"
    else:
        verdict = "held" if figure <= bar else "MISSED"
    shown = f"{figure:.4g}" if isinstance(figure, float) else str(figure)
    ROWS.append((name, shown, "" if bar is None else str(bar), verdict))
    print(*ROWS[-1], sep="  ", flush=True)


def run_test(host, env, *command):
    """Runs a test in a process of its own, because a forked child cannot use CUDA if
    its parent does. Returns whether the test passed. A skipped test has not passed."""
    done = subprocess.run([*command], cwd=host.pack, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = done.stdout.decode(errors="replace")
    passed = done.returncode == 0 and not re.search("^skipped: ", output, re.M)
    if not passed:
        print(output[-3000:])
    return passed


def driver_tests(host):
    """Runs the conformance suite and the tests of kernels on the real driver."""
    env = dict(os.environ)
    env.setdefault("FOREBAY_DRIVER_LIBRARY", "libcuda.so.1")
    program = str(host.pack.resolve() / "driver_tests")
    listed = subprocess.run([program, "--list-test-names-only"],
                            stdout=subprocess.PIPE)
    tests = listed.stdout.decode().splitlines()
    # The program's exit status is the number of tests.
    if listed.returncode != min(len(tests), 255) or not tests:
        sys.exit(f"{program} does not list its tests: status {listed.returncode}")
    passed = [test for test in tests if run_test(host, env, program, test)]
    row("tests on the driver, passed", len(passed), len(tests))
    sanitizer = shutil.which("compute-sanitizer") or (
        "/usr/local/cuda/bin/compute-sanitizer")
    if not os.path.exists(sanitizer):
        return
    kernels = [test for test in tests if re.search(r"\btail\b", test)]
    assert kernels, "no test of a kernel has the word tail in its name"
    clean = [test for test in kernels
             if run_test(host, env, sanitizer, "--error-exitcode", "9", program,
                         test)]
    row("tests of kernels, compute-sanitizer clean", len(clean), len(kernels))


def facts(host):
    """Adds rows about the driver and the GPU."""
    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.cuInit(0)
    value = ctypes.c_int(-1)
    cuda.cuDeviceGetAttribute(ctypes.byref(value),
                              READ_ONLY_HOST_REGISTER_SUPPORTED, 0)
    row("READ_ONLY_HOST_REGISTER_SUPPORTED", value.value)
    before = used_mebibytes()
    with host.daemon(ENCODED_ONLY) as run:
        trainer = host.start(run, "read_for_ever")
        trainer.stdout.readline()
        both = used_mebibytes()
        trainer.kill()
        trainer.communicate()
        time.sleep(1)
        row("MiB of a GPU: the daemon's context and slots",
            used_mebibytes() - before)
        row("MiB of a GPU: with a trainer", both - before)


def equal_bytes(host):
    with host.daemon() as run:
        for dtype in ("uint8", "float16", "bfloat16", "float32"):
            for layout in ("NCHW", "NHWC"):
                cpu, gpu = (host.call(run, "digest", device=device, dtype=dtype,
                                      layout=layout)
                            for device in ("cpu", "cuda:0"))
                row(f"bytes equal, {dtype} {layout}", int(cpu == gpu), 1)
            taken = host.call(run, "digest", device="cuda:0", dtype=dtype,
                              layout=layout, framework="dlpack")
            row(f"bytes equal, {dtype} {layout}, torch.from_dlpack",
                int(cpu == taken), 1)


def speed(host):
    with host.daemon(ENCODED_ONLY) as run:
        ours = host.call(run, "images_per_second", epochs=40)
        peer = host.call(run, "torch_images_per_second", epochs=10, workers=16)
        on_gpu = host.call(run, "decode_jpeg_images_per_second", rounds=10)
    row("images/s into float16 NCHW on the GPU", ours)
    row("... / torch DataLoader, 16 workers, pinned", ours / peer, 4)
    row("... / decode_jpeg(device='cuda') and v2 transforms", ours / on_gpu, 1.5)


def trainer_costs(host):
    with host.daemon() as run:
        row("ResNet-50 step, fed / resident",
            host.call(run, "step_ratio", steps=30), 1.02, False)
        row("us of CPU for next() of a ready batch",
            host.call(run, "next_micros"), 50, False)
        row("tail kernel / device bandwidth", host.call(run, "kernel_share"), 0.8)


def sharing(host):
    copied = []
    for count in (1, 2):
        with host.daemon(ENCODED_ONLY) as run:
            trainers = [host.start(run, "read_epoch", epochs=5)
                        for _ in range(count)]
            for trainer in trainers:
                trainer.stdout.readline()
            for trainer in trainers:
                trainer.stdin.write(b"\n")
                trainer.stdin.flush()
            for trainer in trainers:
                result_of(trainer)
            gpu = host.status(run)["gpus"]["devices"][0]
            copied.append(int(gpu["use"]["copied_bytes"]))
    row("bytes copied for two trainers / for one", copied[1] / copied[0], 1.05,
        False)


def kills(host):
    before = used_mebibytes()
    with host.daemon(AT_ONCE) as run:
        for _ in range(10):
            trainer = host.start(run, "read_for_ever")
            trainer.stdout.readline()
            trainer.kill()
            trainer.communicate()
    time.sleep(2)
    row("MiB of a GPU left behind by 10 killed trainers and a daemon",
        used_mebibytes() - before, 0, False)


PARTS = {"tests": driver_tests, "facts": facts, "bytes": equal_bytes,
         "speed": speed, "costs": trainer_costs, "sharing": sharing,
         "kills": kills}


def main():
    parser = argparse.ArgumentParser(prog="tests/device/run",
                                     description=__doc__)
    parser.add_argument("--pack", default=ROOT / ".cache" / "device",
                        metavar="FOLDER", help="of tests/device/pack")
    parser.add_argument("part", nargs="*", metavar="PART",
                        help=f"of the table: {', '.join(PARTS)}")
    args = parser.parse_args()
    host = Host(args.pack)
    unknown = set(args.part) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}")
    for name in args.part or PARTS:
        try:
            PARTS[name](host)
        except Exception as error:  # the other parts should still run
            row(f"{name}: {type(error).__name__}: {error}", "failed")
    width = max(len(name) for name, *_ in ROWS)
    print()
    for name, figure, bar, verdict in ROWS:
        print(f"{name:{width}}  {figure:>10}  {bar:>5}  {verdict}")
    return any(verdict == "MISSED" or figure == "failed"
               for _, figure, _, verdict in ROWS)


if __name__ == "__main__":
    sys.exit(main())
