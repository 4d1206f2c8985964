"""A script's output appears once, although processes are forked."""

import os
import subprocess
import sys
import textwrap

import pytest

START = """
    import sys
    import numpy, forebay

    class Numbers:
        def __len__(self):
            return 6
        def __getitem__(self, number):
            if TELLS:
                sys.stdout.write(f"made {number}\\n")
            return numpy.array([number])

    TELLS = False
    sys.stdout.write("before")  # no end of a line
    sys.stderr.write("trouble before")
"""
WAYS = {
    "shared": "list(forebay.DataLoader(Numbers(), num_workers=2, share_key='one'))",
    "alone": "list(forebay.DataLoader(Numbers(), batch_size=2, num_workers=2))",
    "batches": "list(forebay.DataLoader(Numbers(), collate_fn=list, num_workers=2))",
    "persistent": """
    loader = forebay.DataLoader(Numbers(), num_workers=1, persistent_workers=True)
    list(loader), list(loader)""",
    "iterated": "list(forebay.share(range(3), key='printed'))",
    "closed": """
    sys.stdout.flush()
    sys.stdout.close()
    list(forebay.DataLoader(Numbers(), batch_size=2, num_workers=2))
    """,
    "none": """
    sys.stdout.flush()
    sys.stdout = None
    list(forebay.DataLoader(Numbers(), batch_size=2, num_workers=2))
    """,
}


def run(folder, script):
    """Runs a script whose standard output and error are files. Returns both texts."""
    (folder / "script.py").write_text(
        textwrap.dedent(START) + textwrap.dedent("    " + script.strip() + "\n"))
    with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
        subprocess.run(
            [sys.executable, folder / "script.py"], stdout=out, stderr=err, check=False,
            env={name: value for name, value in os.environ.items()
                 if name != "PYTHONUNBUFFERED"})
    return (folder / "out").read_text(), (folder / "err").read_text()


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("way", WAYS)
def test_what_is_printed_before_comes_once(tmp_path, way):
    assert run(tmp_path, WAYS[way]) == ("before", "trouble before")


@pytest.mark.usefixtures("daemon")
def test_what_samples_print_comes_once_each(tmp_path):
    out, err = run(tmp_path, "TELLS = True; list(forebay.DataLoader(Numbers(), "
                   "batch_size=2, num_workers=2))")
    assert err == "trouble before" and out.startswith("before")
    lines = out[len("before"):].split()
    # The first sample is made twice if a worker has to make another sample first.
    again = sorted(lines) == sorted(["made"] * 7 + [*"0012345"])
    assert again or sorted(lines) == sorted(["made"] * 6 + [*"012345"])
