"""Forebay reads damaged JPEGs as Pillow reads them, or refuses them as Pillow does.

By default 400 damaged files are compared. FOREBAY_MUTANTS=2000 compares more, and
FOREBAY_MUTANT_SEED=7 compares others.
"""

import os

import jpeg_mutants
import pytest

COUNT = int(os.environ.get("FOREBAY_MUTANTS", "400"))
SEED = int(os.environ.get("FOREBAY_MUTANT_SEED", "1"))


@pytest.mark.usefixtures("shared_daemon")
def test_mutants_are_read_as_pillow_reads_them(tmp_path, photos):
    folder = tmp_path / "mutants"
    jpeg_mutants.write_mutants(folder, sorted(photos.glob("*/*0.jpg")), COUNT, SEED)
    found = jpeg_mutants.differences(folder)
    assert not found, "\n".join(found)
