"""The classes of ops that tools/protoc writes are those that users expect."""

import copy
import inspect
import pathlib
import pickle
import pydoc
import subprocess

import pytest

from forebay import _op_classes, transforms as T

ROOT = pathlib.Path(__file__).resolve().parents[4]
PLUGIN = ROOT / "tools/protoc/protoc-gen-message"


def test_the_classes_are_the_plugins(tmp_path):
    """If not: protoc --plugin=tools/protoc/protoc-gen-message proto/job.proto
    --message_out=python_ops:client/python/forebay."""
    subprocess.run(["protoc", f"--plugin={PLUGIN}", "proto/job.proto",
                    f"--message_out=python_ops:{tmp_path}"], cwd=ROOT, check=True)
    assert (tmp_path / "_op_classes.py").read_text() == pathlib.Path(
        _op_classes.__file__).read_text()


@pytest.mark.parametrize("name", _op_classes.__all__)
def test_a_class_is_one_of_the_public_module(name):
    kind = getattr(T, name)
    assert name in T.__all__
    assert (kind.__module__, kind.__qualname__) == ("forebay.transforms", name)
    assert f"class {name}(" in pydoc.plain(pydoc.render_doc(T))
    assert inspect.getdoc(kind)


def test_no_class_is_written_twice():
    assert len(T.__all__) == len(set(T.__all__))


@pytest.mark.parametrize("transform", [
    T.Decode(scaled=True), T.ExifTranspose(), T.RandomHorizontalFlip(0.25),
    T.RandomVerticalFlip(), T.ToMono()], ids=repr)
def test_copies_and_pickles_are_equal(transform):
    for other in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform))):
        assert type(other) is type(transform)
        assert vars(other) == vars(transform)
        assert other._op() == transform._op()


def test_a_pickle_of_an_older_client_is_read():
    """The pickle names the module in which older clients had the class."""
    written = b"\x80\x02cforebay._audio_transforms\nToMono\n)\x81."
    transform = pickle.loads(written)
    assert type(transform) is T.ToMono
    assert transform._op() == {"to_mono": {}}


@pytest.mark.parametrize("p", [-0.5, 1.5, float("nan")])
def test_a_probability_has_torchvisions_message(p):
    with pytest.raises(ValueError) as refused:
        T.RandomVerticalFlip(p)
    assert str(refused.value) == (
        f"`p` should be a floating point value in the interval [0.0, 1.0], not {p}")


def test_arguments_are_converted():
    assert repr(T.RandomHorizontalFlip(1)) == "RandomHorizontalFlip(p=1.0)"
    assert repr(T.Decode(1)) == "Decode(scaled=True)"
