"""Forebay reads damaged images as Pillow reads them, or refuses them as Pillow does.

By default 40 files of each format are compared. FOREBAY_MUTANTS=400 compares more, and
FOREBAY_MUTANT_SEED=7 compares others.
"""

import images
import pytest
from comparison import COUNT, SEED, Comparison
from mutations import mutants
from reference import verdicts


@pytest.mark.usefixtures("shared_daemon")
@pytest.mark.parametrize("name", images.FORMATS)
def test_mutants_are_read_as_pillow_reads_them(tmp_path, name):
    if name == "AVIF" and not images.add_avif():
        pytest.skip("no pillow-avif-plugin in .cache/pypi: run tools/setup")
    kind = images.FORMATS[name]
    paths = images.write(tmp_path, mutants(kind.originals(), COUNT, SEED))
    wanted = verdicts(images.pillow_pixels, paths)
    compared = Comparison(name, kind.justified, kind.tolerated)
    for verdict, found in zip(wanted, images.forebay_pixels(tmp_path, paths)):
        file_name, value, error = found
        compared.add(file_name, verdict, value, error)
    compared.check()
