"""Batches on GPUs for frameworks that take them by DLPack: a real daemon, real trainers
and the real plug-in, on a fake driver that needs no GPU."""

import functools
import os

import gpus
import pytest

pytestmark = pytest.mark.skipif(gpus.missing() != "", reason=gpus.missing())

# The streams of all trainers pause for random times before each operation.
DELAYS = {"seed": 5, "delay_micros": 500}
OPEN = f"""
sys.path.append({os.path.dirname(os.path.abspath(__file__))!r})
from trouble import until

def open_loader(device="cuda:0", framework="dlpack", **arguments):
    return forebay.DataLoader(
        sys.argv[1], batch_size=7, shuffle=True, seed=3, device=device,
        framework=framework,
        transform=T.Compose([T.RandomResizedCrop(32),
                             T.ToDtype("float16", scale=True)]), **arguments)

def host():
    with open_loader("cpu", "numpy") as loader:
        return [(batch.image.copy(), batch.label, batch.sample_ids) for batch in loader]

# The daemon frees the memory of a loader soon after it closed.
def await_free(whole):
    until(lambda: cuda_driver.free_bytes() >= whole, "the GPU's memory")
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A host with two GPUs, and a daemon on it."""
    made = gpus.Host(tmp_path_factory.mktemp("host"), count=2)
    with made.serving():
        yield made


@pytest.fixture(scope="module")
def run(host, photos):
    """Runs OPEN and then `code` in a trainer. Returns the last line of output,
    parsed."""
    return lambda code, **how: host.run(
        OPEN + code, photos, imports=gpus.DLPACK, **{**DELAYS, **how})


def test_bytes_are_those_of_the_host_without_torch(run):
    assert run("""
seen = []
with open_loader() as loader:
    for batch, (image, label, ids) in zip(loader, host()):
        assert type(batch.image) is type(batch.label) is forebay.DeviceTensor
        assert (batch.image.shape, batch.image.dtype) == (image.shape, "float16")
        assert batch.image.device == "cuda:0" and len(batch.label) == len(label)
        assert numpy.array_equal(batch.sample_ids, ids)
        assert numpy.array_equal(from_dlpack(batch.image).numpy(), image)
        assert numpy.array_equal(from_dlpack(batch.label).numpy(), label)
        seen.append(repr(batch.image))
assert "torch" not in sys.modules
print(json.dumps(seen))
""") == [f"DeviceTensor(shape=({count}, 3, 32, 32), float16, cuda:0)"
         for count in [7] * 6 + [6]]


@pytest.mark.parametrize("dtype, code", [("uint8", 1), ("float32", 2), ("bfloat16", 4)])
def test_each_type_has_dlpacks_number(run, dtype, code):
    assert run(f"""
loader = forebay.DataLoader(
    sys.argv[1], batch_size=7, device="cuda:1", framework="dlpack",
    transform=T.Compose([T.Resize((8, 9)), T.ToDtype({dtype!r})]))
image = next(iter(loader)).image
array = from_dlpack(image)
assert image.dtype == {dtype!r} and image.__dlpack_device__() == (2, 1)
print(json.dumps([array.code, array.ordinal, array.shape]))
""") == [code, 1, [7, 3, 8, 9]]


def test_many_batches_in_use_at_once(run):
    assert run("""
with open_loader() as loader:
    expected = host()
    for _ in range(2):
        loader.set_epoch(0)
        held = [from_dlpack(batch.image) for batch in loader]
        for array, (image, _, _) in zip(held, expected):
            assert numpy.array_equal(array.numpy(), image)
print(json.dumps(len(held)))
""") == gpus.BATCHES


def test_what_a_framework_has_outlives_the_loader(run):
    assert run("""
loader = open_loader()
batch = next(iter(loader))
array = from_dlpack(batch.image)
late = batch.label
loader.close()
del loader, batch
image, label, _ = host()[0]
assert numpy.array_equal(array.numpy(), image)
assert numpy.array_equal(from_dlpack(late).numpy(), label)
print(json.dumps(True))
""")


def test_memory_goes_back_when_the_loader_closes(run):
    assert run("""
with open_loader() as warm:
    next(iter(warm))
whole = cuda_driver.free_bytes()
loader = open_loader()
for batch in loader:
    array = from_dlpack(batch.image)
held = cuda_driver.free_bytes()
del batch, array
loader.close()
await_free(whole)
print(json.dumps(held < whole))
""")


def test_memory_is_used_again(run):
    assert run("""
loader, addresses = open_loader(), set()
for epoch in range(4):
    for batch in loader:
        array = from_dlpack(batch.image)
        if array.shape[0] == 7:
            addresses.add(array.address)
        del array
print(json.dumps(len(addresses)))
""") <= 6


def test_a_copy_is_the_caller_s(run):
    assert run("""
batch = next(iter(open_loader()))
shared, again = from_dlpack(batch.image), from_dlpack(batch.image)
copy = from_dlpack(batch.image, copy=True, max_version=(1, 1))
assert shared.address == again.address != copy.address
assert numpy.array_equal(shared.numpy(), copy.numpy())
print(json.dumps([shared.version, copy.version, copy.flags,
                  from_dlpack(batch.image, max_version=(1, 0)).flags]))
""") == [None, [1, 0], 2, 0]


def test_a_copy_is_of_what_was_queued_before(run):
    assert run("""
batch = next(iter(open_loader()))
array = from_dlpack(batch.image)
stream = cuda_driver.stream(0)
stream.fill(array.address, 7, 2 * array.numpy().size)
copy = from_dlpack(batch.image, copy=True)
print(json.dumps(sorted(set(copy.numpy().view("uint8").ravel().tolist()))))
""") == [7]


def test_a_tensor_that_is_used_on_any_stream(run):
    assert run("""
loader, expected, addresses = open_loader(), host(), set()
for epoch in range(3):
    loader.set_epoch(0)
    for batch, (image, _, _) in zip(loader, expected):
        array = from_dlpack(batch.image.on_any_stream())
        addresses.add(array.address)
        assert numpy.array_equal(array.numpy(), image)
        del array
print(json.dumps(len(addresses)))
""") <= 8


def test_a_loader_that_is_closed_in_mid_epoch(run):
    assert run("""
with open_loader() as warm:
    next(iter(warm))
whole = cuda_driver.free_bytes()
loader = open_loader()
batches = iter(loader)
next(batches)
loader.close()
said = None
try:
    next(batches)
except forebay.StateError as error:
    said = str(error)
await_free(whole)
print(json.dumps(said))
""") == "the loader is closed"


def test_each_number_of_a_stream(run):
    assert run("""
tensor = next(iter(open_loader())).image
image = host()[0][0]
# The stand-in's default streams are one.
for stream in (None, 1, 2):
    tensor.__dlpack__(stream=stream)
from_dlpack(tensor)  # waits until it is made
import dlpack_stand_in
array = dlpack_stand_in.Array(tensor.__dlpack__(stream=-1))
assert numpy.array_equal(array.numpy(), image)
said = []
for stream in (0, -2, 1.0, True, 2 ** 70):
    try:
        tensor.__dlpack__(stream=stream)
    except ValueError as error:
        said.append(str(error))
print(json.dumps(said))
""") == ["stream must be -1, 1, 2 or a CUstream, not 0",
         "stream must be -1, 1, 2 or a CUstream, not -2",
         "stream must be an integer or None, not 1.0",
         "stream must be an integer or None, not True",
         "stream must be an integer or None, not 1180591620717411303424"]


def test_a_framework_that_wants_it_elsewhere_is_told_so(run):
    assert run("""
tensor = next(iter(open_loader())).image
said = []
try:
    tensor.__dlpack__(dl_device=(1, 0))
except BufferError as error:
    said.append(str(error))
try:
    numpy.from_dlpack(tensor)
except (RuntimeError, BufferError) as error:
    said.append(str(error))
assert numpy.array_equal(from_dlpack(tensor, dl_device=(2, 0)).numpy(), host()[0][0])
print(json.dumps(said))
""") == ["the tensor lies on cuda:0, not on DLPack's device (1, 0)",
         "Unsupported device in DLTensor."]


def test_a_capsule_that_nobody_takes_keeps_nothing(run):
    assert run("""
import gc
loader = open_loader()
batch = next(iter(loader))
address = from_dlpack(batch.image).address
capsules = [batch.image.__dlpack__(), batch.image.__dlpack__(max_version=(1, 0))]
del capsules, batch
gc.collect()
found = False
for batch in loader:
    found |= from_dlpack(batch.image).address == address
print(json.dumps(found))
""")


def test_a_daemon_without_the_gpu_has_the_trainer_copy(tmp_path, photos):
    host = gpus.Host(tmp_path)
    other = "ffffffff-0000-0000-0000-000000000000"
    with host.serving(gpus=[{**host.gpus[0], "uuid": other}]):
        assert host.run(OPEN + """
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    loader = open_loader()
for batch, (image, label, _) in zip(loader, host()):
    assert numpy.array_equal(from_dlpack(batch.image).numpy(), image)
    assert numpy.array_equal(from_dlpack(batch.label).numpy(), label)
print(json.dumps([str(warning.message) for warning in told]))
""", photos, imports=gpus.DLPACK, **DELAYS) == [
            f'device="cuda:0": the daemon has no GPU {host.gpus[0]["uuid"]}: this '
            "process copies each batch to the GPU itself, which takes time of its own"]


def refusal_of(run, arguments):
    return run(f"""
try:
    open_loader({arguments})
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
""")


def test_refusals(run):
    refused = functools.partial(refusal_of, run)
    assert refused('"cpu"') == [
        "InvalidArgument", 'framework="dlpack" is for batches on a GPU: give a device']
    assert refused('"cuda:2"') == [
        "InvalidArgument", "there is no cuda:2: this process sees 2 of them"]
    assert refused('"cuda:4294967296"') == [
        "InvalidArgument", "there is no cuda:4294967296"]
    assert refused("static_buffers=True") == [
        "Unsupported", 'static_buffers=True needs framework="torch"']
    assert refused('framework="numpy"') == [
        "Unsupported", "device='cuda:0': NumPy has no arrays on GPUs: use "
        'framework="torch", or "dlpack" for CuPy, JAX and others']
    assert refused('framework="cupy"') == [
        "InvalidArgument", 'framework must be "torch", "numpy", "dlpack" or None, not '
        "'cupy'"]


def test_a_gpu_without_room_says_so(tmp_path, photos):
    host = gpus.Host(tmp_path)
    with host.serving():
        held, said = host.run(OPEN + """
loader, held, said = open_loader(), [], None
try:
    for epoch in range(100):
        for batch in loader:
            held.append(batch)
except forebay.ResourceExhausted as error:
    said = str(error)
count = len(held)
del held, batch
for batch in loader:  # there is room again
    from_dlpack(batch.image).numpy()
print(json.dumps([count, said]))
""", photos, imports=gpus.DLPACK, gpus=[{**host.gpus[0], "memory": 256 << 20}])
        assert 3 < held < 100 and said == (
            "there is no memory on the GPU for a tensor (CUDA_ERROR_OUT_OF_MEMORY: out "
            "of memory)")
