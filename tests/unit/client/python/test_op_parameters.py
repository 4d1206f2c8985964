"""The names by which the daemon refuses values are parameters of the ops' classes."""

import importlib
import inspect
import pathlib
import subprocess
import sys

import pytest

from forebay import transforms as T

ROOT = pathlib.Path(__file__).resolve().parents[4]

# Names that are not parameters: the classes check these sizes, and only C's functions
# send any.
SIZES = {(op, side) for side in ("height", "width")
         for op in ("Resize", "CenterCrop", "RandomCrop", "RandomResizedCrop")}


@pytest.fixture(name="proto", scope="module")
def protobufs_modules(tmp_path_factory):
    """Protobuf's own modules of job.proto and of the options."""
    folder = tmp_path_factory.mktemp("protobuf")
    names = ["dataset", "op_options", "audio_ops", "job"]
    subprocess.run(["protoc", f"--python_out={folder}",
                    *(f"proto/{name}.proto" for name in names)], cwd=ROOT, check=True)
    sys.path.insert(0, str(folder))
    try:
        yield (importlib.import_module("proto.job_pb2"),
               importlib.import_module("proto.op_options_pb2"))
    finally:
        sys.path.remove(str(folder))


def names_of(message, options, outer=None):
    """Yields the names that the daemon gives to the values that it checks alike for all
    ops. `outer` is the field whose bounds hold for all numbers of the message."""
    for field in message.fields:
        extensions = field.GetOptions().Extensions
        bounded = field if field.GetOptions().HasExtension(options.bounds) else outer
        if field.message_type is not None:
            yield from names_of(field.message_type, options, bounded)
        elif field.enum_type is not None:
            yield extensions[options.parameter] or field.name
        elif bounded is not None:
            yield (bounded.GetOptions().Extensions[options.parameter] or bounded.name)


def test_a_refused_value_is_named_by_a_parameter(proto):
    job, options = proto
    exceptions = set()
    for kind in job.Op.DESCRIPTOR.fields:
        message = kind.message_type
        title = message.GetOptions().Extensions[options.op].title or message.name
        if title == "user code":
            continue
        parameters = set(inspect.signature(getattr(T, title)).parameters)
        if "melkwargs" in parameters:
            parameters |= set(inspect.signature(T.MelSpectrogram).parameters)
        exceptions |= {(title, name) for name in names_of(message, options)
                       if name not in parameters}
    assert exceptions == SIZES
