"""Datasets that are composed of others, or lie in the trainer's memory."""

import os
import signal
import subprocess
import sys

import numpy
import pytest

import forebay
from forebay import _source
from listed_test import batches, open_listed
from raw_session import (INVALID_ARGUMENT, RESOURCE_EXHAUSTED, RawRings,
                         loader_spec, memfd, messages, sealed, text)
from test_client_batches import SAMPLES, reference
from trouble import ctl, memory_used, until

CENTER = forebay.transforms.CenterCrop((72, 96))
NUMBERS = numpy.random.RandomState(5)


def read(source, transform=CENTER, **options):
    """Reads all samples of a source in order. Returns a dict of arrays by field, and of
    the sample_id."""
    connection = open_listed(source, transform, batch_size=7, **options)
    found = batches(connection, range(connection.dataset_size))
    fields = {name: numpy.concatenate([getattr(batch, name)
                                       for batch in found])
              for name in found[0]._fields}
    fields["sample_id"] = numpy.concatenate(
        [batch.sample_ids for batch in found])
    return fields


def images(count, *shape):
    return NUMBERS.randint(0, 256, (count, *shape), dtype=numpy.uint8)


def arrays(count=20):
    """Returns arrays with fields of every type."""
    fields = [("image", "image", images(count, 9, 7, 3)),
              ("label", "label", numpy.arange(count)[::-1])]
    for name in ("uint8", "float16", "float32", "float64", "int8", "int16",
                 "int32", "int64", "bool", "uint16", "uint32", "uint64"):
        fields.append((name, "array", NUMBERS.randint(
            0, 2, (count, 3, 2)).astype(name)))
    fields.append(("scalar", "array", NUMBERS.rand(count)))
    return _source.Arrays(tuple(fields))


def test_a_subset_has_the_samples_of_its_list(daemon, photos):
    pictures, labels = reference(photos)
    indices = numpy.array([47, 3, 3, 0])
    found = read(_source.Subset(_source.Folder(photos), indices))
    assert (found["sample_id"] == range(4)).all()
    assert (found["label"] == labels[indices]).all()
    assert (found["image"].transpose(0, 2, 3, 1) == pictures[indices]).all()
    # A subset of a subset numbers the samples of the inner subset.
    nested = _source.Subset(_source.Subset(_source.Folder(photos), indices),
                            numpy.array([3, 0]))
    assert (read(nested)["label"] == labels[[0, 47]]).all()


def test_a_subset_is_a_dataset_like_any_other(daemon, photos):
    subset = _source.Subset(_source.Folder(photos), numpy.arange(10, 30))
    with forebay.DataLoader(subset, batch_size=8, shuffle=True, seed=3,
                            transform=CENTER, framework="numpy") as loader:
        assert len(loader.dataset) == 20
        assert loader.dataset.classes == ["beach", "city", "forest"]
        assert loader.dataset.uri == os.fspath(photos)
        ids = numpy.concatenate([batch.sample_ids for batch in loader])
        assert sorted(ids) == list(range(20))
        state = loader.state_dict()
    other = _source.Subset(_source.Folder(photos), numpy.arange(11, 31))
    with forebay.DataLoader(other, batch_size=8, shuffle=True, seed=3,
                            transform=CENTER) as loader:
        with pytest.raises(forebay.StateError, match="another version"):
            loader.load_state_dict(state)


def test_parts_share_what_is_cached(daemon, photos):
    """The training part, the validation part and the whole have the samples of one
    dataset."""
    folder = _source.Folder(photos)
    size = sum(path.stat().st_size for path in photos.glob("*/*.jpg"))

    def read_from_disk():
        return int(ctl(daemon, "cache")["total"]["source"]["bytes"])

    before = read_from_disk()
    read(_source.Subset(folder, numpy.arange(SAMPLES)[::2]))
    assert read_from_disk() - before < size
    read(_source.Concat((folder, folder)))
    assert read_from_disk() - before == size
    read(photos)
    assert read_from_disk() - before == size


def test_a_concatenation_has_one_part_after_the_other(daemon, photos):
    pictures, labels = reference(photos)
    folder = _source.Folder(photos)
    memory = _source.Arrays((("image", "image", images(5, 72, 96, 3)),
                             ("label", "label", numpy.arange(5))))
    found = read(_source.Concat((memory, folder,
                                 _source.Subset(folder, [2]))))
    assert (found["sample_id"] == range(5 + SAMPLES + 1)).all()
    assert (found["label"] == [*range(5), *labels, labels[2]]).all()
    pixels = found["image"].transpose(0, 2, 3, 1)
    assert (pixels[:5] == memory.fields[0][2]).all()
    assert (pixels[5:-1] == pictures).all()
    assert (pixels[-1] == pictures[2]).all()
    connection = open_listed(_source.Concat((folder, folder)), CENTER)
    assert connection.classes == ["beach", "city", "forest"]
    assert open_listed(_source.Concat((folder, memory)), CENTER).classes == []


def test_parts_with_other_fields_are_refused(daemon, photos):
    one = _source.Arrays((("x", "array", numpy.zeros((3, 2))),))
    other = _source.Arrays((("y", "array", numpy.zeros((3, 2))),))
    third = _source.Arrays((("x", "array", numpy.zeros((3, 4))),))
    for source, words in (
            (_source.Concat((one, other)), r"part 1 \(arrays in memory\) has "
             r"the fields y, but part 0 \(arrays in memory\) x"),
            (_source.Concat((one, third)), "of other types than those of part"),
            (_source.Concat((_source.Folder(photos), one)),
             rf"the fields x, but part 0 \({photos}\) image, label"),
            (_source.Concat(()), "has no parts"),
            (_source.Subset(_source.Folder(photos), [0, SAMPLES]),
             f"number 1 of it is {SAMPLES}, but the dataset has {SAMPLES}")):
        with pytest.raises(forebay.InvalidArgument, match=words):
            open_listed(source)


def test_arrays_come_as_they_were(daemon):
    source = arrays()
    found = read(source, forebay.transforms.CenterCrop((9, 7)))
    for name, kind, array in source.fields:
        got = found[name]
        if kind == "image":
            got = got.transpose(0, 2, 3, 1)
        assert got.dtype == array.dtype and got.shape == array.shape
        assert (got == array).all(), name


def test_gray_images_and_transforms(daemon):
    gray = images(4, 12, 8)
    source = _source.Arrays((("image", "image", gray),))
    pixels = read(source, forebay.transforms.CenterCrop((12, 8)))["image"]
    assert (pixels == gray[:, None]).all() and pixels.shape == (4, 3, 12, 8)
    crop = forebay.transforms.RandomResizedCrop(6)
    assert read(source, crop)["image"].shape == (4, 3, 6, 6)


def test_arrays_without_an_image(daemon):
    features = NUMBERS.rand(10, 4).astype("float32")
    source = _source.Arrays((("x", "array", features),
                             ("y", "label", numpy.arange(10) % 3)))
    with forebay.DataLoader(source, batch_size=4, drop_last=True,
                            framework="numpy") as loader:
        got = list(loader)
        assert got[0]._fields == ("x", "y")
        assert (numpy.concatenate([batch.x for batch in got]) ==
                features[:8]).all()
    with pytest.raises(forebay.InvalidArgument, match="no field that is an"):
        open_listed(source, CENTER)


OTHER_JOB = """
import sys
import numpy
sys.path[:0] = sys.argv[1:]
from forebay import _source
from listed_test import open_listed
x = numpy.arange(1 << 21, dtype="uint8").reshape(-1, 1024)
connection = open_listed(_source.Arrays((("x", "array", x),)), batch_size=1)
print(connection.dataset_version.hex(), flush=True)
sys.stdin.read()
"""


def test_jobs_with_equal_arrays_share_them(daemon):
    """The daemon drops the copy of the arrays that the second job sent."""
    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", OTHER_JOB, *sys.path[:3],
             os.path.dirname(__file__)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        version = process.stdout.readline()
        return process, version, memory_used(daemon)

    before = memory_used(daemon)
    one, first_version, with_one = start()
    two, second_version, with_two = start()
    assert first_version == second_version and len(first_version) == 33
    assert with_one - before > 1 << 21
    assert with_two - with_one < with_one - before - (1 << 21) + 4096
    for process in (one, two):
        process.communicate()


def test_bad_arrays_are_refused_by_name(daemon):
    for fields, words in (
            ((("x", "image", numpy.zeros((2, 4, 4))),), "field x: images are"),
            ((("x", "image", numpy.zeros((2, 4, 4, 2), "uint8")),),
             "field x: images are uint8"),
            ((("x", "array", numpy.zeros(2)), ("y", "array", numpy.zeros(3))),
             "field y: has another number of samples"),
            ((("x", "label", numpy.zeros((2, 2), int)),), "x must be integers"),
            ((("x", "label", numpy.zeros(2)),), "x must be integers"),
            ((("x", "sound", numpy.zeros(2)),), "x: a field is an image, a"),
            ((("x", "array", numpy.zeros(2, complex)),), "cannot have complex"),
            ((("x" * 32, "array", numpy.zeros(2)),), "1 to 31 bytes"),
            ((("x", "array", numpy.zeros((0, 2))),), "no samples"),
            ((), "needs a field")):
        with pytest.raises(forebay.ForebayError, match=words):
            open_listed(_source.Arrays(fields))
    with pytest.raises(forebay.ResourceExhausted, match="arrays in memory"):
        daemon.stop()
        daemon.start("--config", _small(daemon))
        open_listed(_source.Arrays((
            ("x", "array", numpy.zeros(1 << 28, "uint8").reshape(-1, 1024)),)))


def test_hostile_parts(session, photos):
    """Descriptors that do not fit the spec, and specs without end."""
    job, kinds = messages()

    def open_spec(dataset, *fds):
        spec = loader_spec()
        spec.dataset.CopyFrom(dataset)
        answer, _ = session.call(
            fds, open_loader=kinds.OpenLoader(spec=spec))
        for fd in fds:
            os.close(fd)
        return answer.code, text(answer)

    def folder():
        return os.open(photos, os.O_RDONLY)

    def refuses(dataset, fds, words, code=INVALID_ARGUMENT):
        got, said = open_spec(dataset, *fds)
        assert got == code and words in said, said

    leaf = job.DatasetSpec(uri=b"x", image_folder={}, descriptors=1)

    def subset_of(part):
        return job.DatasetSpec(uri=b"x", subset=job.Subset(part=part))

    def concatenation(*parts):
        return job.DatasetSpec(
            concatenation=job.Concatenation(parts=parts))

    def labels(samples):
        return job.DatasetSpec(uri=b"x", arrays=job.Arrays(
            samples=samples,
            fields=[job.ArrayField(name=b"x", kind=job.ArrayField.LABEL)]))

    subset, both, memory = subset_of(leaf), concatenation(leaf, leaf), labels(1)
    zero = bytes(8)
    refuses(subset, [], "its memory did not come")
    refuses(subset, [sealed(zero)], "descriptors of a part")
    refuses(subset, [sealed(zero), folder()], "not a directory")
    refuses(subset, [folder(), folder()], "of no shared memory")
    refuses(subset, [folder(), memfd(zero)], "is not sealed")
    refuses(subset, [folder(), folder(), sealed(zero)], "more descriptors")
    refuses(both, [folder()], "descriptors of a part")
    refuses(both, [], "descriptors of a part")
    refuses(job.DatasetSpec(subset={}), [sealed(zero)], "of one dataset")
    made = job.DatasetSpec(uri=b"mine", produced=job.Produced(
        samples=1, identity=b"i" * 16,
        fields=[job.ArrayField(name=b"x", kind=job.ArrayField.ARRAY,
                               dtype=job.FLOAT32)]))
    refuses(subset_of(made), [sealed(zero)], "cannot be a part of another")
    refuses(concatenation(made, made), [], "cannot be a part of another")
    refuses(concatenation(), [], "has no parts")
    refuses(concatenation(*[leaf] * 129), [], "at most 128 others")
    refuses(memory, [], "its memory did not come")
    refuses(memory, [memfd(zero)], "is not sealed")
    refuses(memory, [sealed(zero + zero)], "are not the 16 bytes that came")
    refuses(memory, [folder(), sealed(zero)], "more descriptors")
    refuses(labels(1 << 42), [sealed(b"", size=1 << 45)], "arrays in memory",
            RESOURCE_EXHAUSTED)
    deep = memory
    for _ in range(9):
        deep.descriptors = 1
        deep = concatenation(deep)
    refuses(deep, [sealed(zero)], "8 deep")
    wide = concatenation()
    for _ in range(3):
        wide = concatenation(*[wide] * 11)
    refuses(wide, [], "1024 in all")
    mixed = job.DatasetSpec(uri=b"x", image_folder={}, v3_samples=1)
    refuses(mixed, [folder()], "x: is described both")
    refuses(job.DatasetSpec(uri=b"x"), [folder()],
            "x: dataset format 0 is not known")


def test_hostile_tables(session, photos):
    """A table in memory, with the folder that has its images."""
    job, kinds = messages()
    spec = loader_spec()
    spec.dataset.CopyFrom(job.DatasetSpec(uri=b"x"))
    for name in (b"image", b"label"):
        spec.dataset.manifest.columns.add(field=name, column=name)

    def refuses(words, *memory):
        fds = [*memory, os.open(photos, os.O_RDONLY)][::-1]
        answer, _ = session.call(fds, open_loader=kinds.OpenLoader(spec=spec))
        for fd in fds:
            os.close(fd)
        assert words in text(answer), text(answer)

    refuses("its root's descriptor")
    refuses("of no shared memory", os.open(photos, os.O_RDONLY))
    refuses("a table: its memory is not sealed", memfd(b"image,label\n"))
    refuses("a table", sealed(b"", size=1 << 45))
    refuses("x: the table: has no line of column names", sealed(b""))
    refuses("x: the table: has no rows", sealed(b"image,label\n"))
    refuses("x: the table: line 1: ", sealed(b'image,"label\n' + bytes(9)))
    for path in (b"/etc/passwd", b"../x", b"city", b"city/../../x", b"no.jpg"):
        refuses("x: the table: line 2: ", sealed(b"image,label\n%s,1\n" % path))


def test_a_damaged_image_in_memory_is_an_error_of_its_sample(session):
    job, kinds = messages()
    spec = loader_spec()
    spec.dataset.CopyFrom(job.DatasetSpec(uri=b"mine"))
    spec.dataset.arrays.samples = 2
    spec.dataset.arrays.fields.add(name=b"image", kind=job.ArrayField.IMAGE,
                                   shape=[1, 1, 3])
    fd = sealed(bytes(2 * (16 + 3)))
    opened, fds = session.call([fd], open_loader=kinds.OpenLoader(spec=spec))
    assert opened.dataset_size == 2
    session.start_epoch(opened.loader_id)
    rings = RawRings(fds)
    until(lambda: rings.tail() == 1, "the epoch has ended")
    said = bytes(rings.ready[132:132 + 200])
    assert said.startswith(b"sample 0 of mine: memory: is not a"), said


def _small(daemon):
    path = daemon.runtime_dir / "small.toml"
    path.write_text('[memory]\nlimit = "200MiB"\n[cache]\nmemory = "0"\n')
    return os.fspath(path)


def test_arrays_survive_a_restart_of_the_daemon(daemon):
    """The client sends the arrays once more, and the epoch goes on at its position."""
    source = _source.Concat((arrays(16), _source.Subset(arrays(16), [1, 2])))
    with forebay.DataLoader(source, batch_size=4, shuffle=True, depth=1,
                            framework="numpy",
                            transform=forebay.transforms.CenterCrop(7)) as loader:
        whole = [batch.label for batch in loader]
        loader.set_epoch(0)
        found = []
        for batch in loader:
            found.append(batch.label)
            if len(found) == 1:
                daemon.stop(signal.SIGKILL)
                daemon.start()
        numpy.testing.assert_array_equal(numpy.concatenate(found),
                                         numpy.concatenate(whole))
