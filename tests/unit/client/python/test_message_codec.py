"""Ops and counters are encoded as protobuf encodes them, by a table that tools/protoc
writes."""

import importlib
import pathlib
import random
import subprocess
import sys

import pytest

from forebay import _message_codec, _messages, transforms as T

ROOT = pathlib.Path(__file__).resolve().parents[4]
PLUGIN = ROOT / "tools/protoc/protoc-gen-message"

TRANSFORMS = [
    T.Decode(), T.Decode(scaled=True), T.ExifTranspose(), T.Resize(256),
    T.Resize((24, 32), "bilinear", antialias=False), T.Resize(8, "nearest", 9),
    T.CenterCrop(224), T.Pad((1, 2, 3, 0), (1, 2.5, 255), "reflect"), T.Pad(0),
    T.RandomCrop(32), T.RandomCrop(32, 4, fill=7), T.RandomCrop(32, pad_if_needed=True),
    T.RandomResizedCrop(224, interpolation="bicubic"), T.RandomHorizontalFlip(),
    T.RandomVerticalFlip(0), T.ColorJitter(0.4, hue=0.1),
    T.Grayscale(3),
    T.Normalize([0.5, -0.0, 0], [1, 2, 3]), T.Normalize([1], [2], axis=-1),
    T.Normalize([1], [2], axis=0), T.Slice(-70000000000, 0, -1), T.Slice(),
    T.RandomWindow(1 << 40, pad_if_needed=True), T.Transpose((2, 0, 1)),
    T.ToImage("NHWC"), T.ToDtype("half", scale=True), T.ToDtype("uint64"),
    T.Resample(44100, 16000, "sinc_interp_kaiser", beta=0.0),
    T.Resample(lowest_freq=8000),
    T.ToMono(), T.Vol(-3, "db"), T.Spectrogram(normalized="frame_length", center=False),
    T.MelSpectrogram(f_max=7600, norm="slaney", mel_scale="slaney"), T.AmplitudeToDB(),
    T.AmplitudeToDB("magnitude", 0), T.MFCC(norm=None, log_mels=True), T.TimeMasking(0),
    T.TimeMasking(30, p=0.5), T.FrequencyMasking(12),
]


@pytest.fixture(name="classes", scope="module")
def protobufs_classes(tmp_path_factory):
    """Protobuf's own classes Op and LoaderCounters."""
    folder = tmp_path_factory.mktemp("protobuf")
    names = ["dataset", "op_options", "audio_ops", "job", "counters"]
    subprocess.run(["protoc", f"--python_out={folder}",
                    *(f"proto/{name}.proto" for name in names)], cwd=ROOT, check=True)
    sys.path.insert(0, str(folder))
    try:
        yield (importlib.import_module("proto.job_pb2").Op,
               importlib.import_module("proto.counters_pb2").LoaderCounters)
    finally:
        sys.path.remove(str(folder))


@pytest.fixture(name="protobuf")
def protobuf_of_ops(classes):
    return classes[0]


def test_counters_are_those_that_protobuf_writes(classes):
    counters = classes[1](samples_delivered=(1 << 64) - 1, cpu_nanos=300,
                          trainer_waiting=True)
    # Has a field of a later version.
    written = counters.SerializeToString() + b"\xf8\x07\x05"
    decoded = _message_codec.decode_counters("LoaderCounters", written)
    assert decoded == {field.name: getattr(counters, field.name)
                       for field in counters.DESCRIPTOR.fields}


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
def test_an_op_has_the_bytes_that_protobuf_writes(protobuf, transform):
    encoded = _message_codec.encode("Op", transform._op())
    op = protobuf.FromString(encoded)
    assert op.WhichOneof("kind") == next(iter(transform._op()))
    assert op.SerializeToString(deterministic=True) == encoded


def test_a_jitter_of_nothing_adds_nothing():
    assert _message_codec.encode("Op", T.ColorJitter()._op()) == b""
    assert T.ColorJitter()._append(None, None) == 0


def test_every_op_of_a_user_is_among_these():
    ours = {next(iter(transform._op())) for transform in TRANSFORMS}
    assert ours | {"user_code"} == set(_messages.MESSAGES["Op"])


def random_value(draw, kind):
    label, _, kind = kind.rpartition(" ")
    if label == "repeated":
        return [random_value(draw, kind) for _ in range(draw.randrange(4))]
    if kind in _messages.MESSAGES:
        return random_message(draw, kind)
    if kind in _messages.ENUMS:
        return draw.choice(sorted(_messages.ENUMS[kind]))
    if kind == "bool":
        return draw.random() < 0.5
    if kind == "double":
        return draw.choice([0.0, -0.0, 1.5, -1e300, 5e-324, float("inf")])
    if kind == "bytes":
        return draw.choice([b"", b"\0\0", b"0123456789abcdef" * 20])
    bits = 32 if kind.endswith("32") else 64
    number = draw.getrandbits(bits) >> draw.randrange(bits)
    return number - (1 << bits - 1) if kind.startswith("s") else number


def random_message(draw, name):
    return {field: random_value(draw, kind)
            for field, (_, kind) in _messages.MESSAGES[name].items()
            if draw.random() < 0.6}


def filled(message, values):
    """Sets a protobuf message's fields to those of a mapping."""
    message.SetInParent()
    for name, value in values.items():
        if isinstance(value, dict):
            filled(getattr(message, name), value)
        elif isinstance(value, list):
            getattr(message, name).extend(value)
        else:
            enum = message.DESCRIPTOR.fields_by_name[name].enum_type
            setattr(message, name, enum.values_by_name[value].number if enum else value)
    return message


def test_any_values_have_the_bytes_that_protobuf_writes(protobuf):
    seed = random.randrange(1 << 32)
    draw = random.Random(seed)
    for _ in range(2000):
        kind, (_, name) = draw.choice(sorted(_messages.MESSAGES["Op"].items()))
        values = {kind: random_message(draw, name)}
        expected = filled(protobuf(), values).SerializeToString(deterministic=True)
        assert _message_codec.encode("Op", values) == expected, (seed, values)


@pytest.mark.parametrize("values, error", [
    ({"resise": {}}, KeyError), ({"resize": {"heigth": 1}}, KeyError),
    ({"resize": {"interpolation": "LANCZOS"}}, KeyError),
    ({"resize": {"height": -1}}, OverflowError)])
def test_an_unknown_name_or_a_negative_size_is_an_error(values, error):
    with pytest.raises(error):
        _message_codec.encode("Op", values)


def test_the_table_is_the_plugins(tmp_path):
    """If this fails, run: protoc --plugin=tools/protoc/protoc-gen-message
    proto/job.proto proto/counters.proto
    --message_out=python=Op+LoaderCounters:client/python/forebay."""
    subprocess.run(["protoc", f"--plugin={PLUGIN}", "proto/job.proto",
                    "proto/counters.proto",
                    f"--message_out=python=Op+LoaderCounters:{tmp_path}"],
                   cwd=ROOT, check=True)
    assert (tmp_path / "_messages.py").read_text() == pathlib.Path(
        _messages.__file__).read_text()
