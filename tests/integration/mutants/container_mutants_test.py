"""Forebay reads damaged containers as their own readers read them, or refuses them.

By default 40 files of each format are compared. FOREBAY_MUTANTS=400 compares more, and
FOREBAY_MUTANT_SEED=7 compares others.
"""

import containers
import pytest
import record_containers
from comparison import COUNT, SEED, Comparison, equal
from mutations import mutants
from reference import REFUSED, Verdict, verdicts

import forebay

FORMATS = {kind.__name__: kind for module in (containers, record_containers)
           for kind in vars(module).values()
           if isinstance(kind, type) and getattr(kind, "file", "")}


def compare(compared, folder, wanted, container, intact):
    """Compares a container: as a whole if Forebay refuses it, and otherwise sample by
    sample.

    Args:
      compared: the Comparison that counts the outcome.
      folder: pathlib.Path of the folder that has the container.
      wanted: the Verdict of the format's own reader.
      container: containers.Container.
      intact: the samples of the file's original; None if it does not matter.
    """
    try:
        found = containers.found_by_forebay(container, folder)
    except forebay.ForebayError as error:
        lost = [one for one in wanted.value or ()
                if isinstance(one, containers.Refused)]
        if lost:
            wanted = Verdict(None, REFUSED, lost[0].error)
        compared.add(folder.name, wanted, None, str(error))
        return
    refused = [one for one in found if isinstance(one, containers.Refused)]
    if wanted.value is None:
        error = refused[0].error if refused else ""
        compared.add(folder.name, wanted, found, error, intact)
        return
    compared.add_samples(folder.name, wanted.value, found, containers.Refused, intact)


@pytest.mark.parametrize("name", FORMATS)
def test_mutants_are_read_as_their_own_reader_reads_them(shared_daemon, tmp_path,
                                                         name):
    container = FORMATS[name]()
    # The originals are made in a child. If a library started threads in this process,
    # later forked children would hang.
    originals = verdicts(lambda kind: kind.originals(), [container])[0].value
    folders = containers.write_all(container, tmp_path,
                                   mutants(originals, COUNT, SEED))
    whole = containers.write_all(container, tmp_path / "intact", originals.items())
    wanted = verdicts(container.read, folders + whole)
    intact = dict(zip(originals, (one.value for one in wanted[len(folders):])))
    compared = Comparison(name, container.justified, container.tolerated)
    for folder, samples in zip(whole, intact.values()):
        assert equal(containers.found_by_forebay(container, folder), samples)
    for folder, verdict in zip(folders, wanted):
        original = intact[folder.name[6:].rsplit(" ", 1)[0]]
        compare(compared, folder, verdict, container,
                original if container.checked else None)
    assert shared_daemon.process.poll() is None
    compared.check()
