"""Batches on GPUs: a real daemon, real trainers and the real plug-in, on a fake driver
that needs no GPU."""

import signal
import subprocess

import gpus
import numpy
import pytest

import trouble

pytestmark = pytest.mark.skipif(gpus.missing() != "", reason=gpus.missing())

# Reads two epochs on the host and on the GPU, and checks that the bytes are equal.
COMPARE = """
import hashlib
uri, dtype, layout = sys.argv[1:]
ops = [T.RandomResizedCrop(32), T.RandomHorizontalFlip()]
if layout == "NHWC":
    ops.append(T.ToImage(layout="NHWC"))
if dtype != "none":
    ops.append(T.ToDtype(dtype, scale=dtype != "uint8"))
if dtype not in ("none", "uint8"):
    ops.append(T.Normalize([.485, .456, .406], [.229, .224, .225]))

def read(device):
    with forebay.DataLoader(uri, batch_size=7, shuffle=True, seed=3,
                            transform=T.Compose(ops), device=device) as loader:
        batches = []
        for epoch in range(2):
            for batch in loader:
                assert str(batch.image.device) == device, batch.image.device
                batches.append((batch.image.cpu(), batch.label.cpu(),
                                batch.sample_ids))
        return batches

host, gpu = read("cpu"), read("cuda:0")
assert len(host) == len(gpu)
for one, other in zip(host, gpu):
    for left, right in zip(one, other):
        assert left.dtype == right.dtype and left.shape == right.shape
        assert torch.equal(left.contiguous().view(torch.uint8)
                           if left.dtype == torch.bfloat16 else left,
                           right.view(torch.uint8)
                           if right.dtype == torch.bfloat16 else right)
print(json.dumps(len(gpu)))
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A host with two GPUs, and a daemon on it."""
    made = gpus.Host(tmp_path_factory.mktemp("host"), count=2)
    with made.serving():
        yield made


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", ["none", "uint8", "float16", "bfloat16",
                                   "float32"])
def test_bytes_are_those_of_the_host(host, photos, dtype, layout):
    assert host.run(COMPARE, photos, dtype, layout) == 14


def test_ops_of_the_user_s_run_before_the_copy(host, photos):
    assert host.run("""
import numpy
import torchvision.transforms as V

def read(device, *last):
    transform = V.Compose([V.RandomResizedCrop(32), lambda image: image.rotate(90),
                           *last])
    with forebay.DataLoader(sys.argv[1], batch_size=7, shuffle=True, seed=3,
                            transform=transform, device=device) as loader:
        return [(batch.image.cpu().clone(), batch.sample_ids) for batch in loader]

equal = 0
for last in ([V.RandomHorizontalFlip(), V.ToTensor(), V.Normalize([.5], [.2])],
             [V.ToTensor(), lambda image: image * 2, V.Normalize([.5], [.2])]):
    for (one, ids), (other, others) in zip(read("cpu", *last),
                                           read("cuda:0", *last)):
        equal += torch.equal(one, other) and (ids == others).all()
print(json.dumps(int(equal)))
""", photos) == 14


def test_trainers_on_one_gpu_share_each_copy(tmp_path, photos):
    host = gpus.Host(tmp_path)
    with host.serving(config='[cache]\ndecoded = "off"'):
        trainers = [host.start(gpus.READ, photos, device)
                    for device in ("cuda:0", "cuda:0", "cpu")]
        first, second, on_host = gpus.read_together(trainers)
        assert first[0] == second[0] == on_host[0]
        assert len(first[0]) == gpus.BATCHES
        assert first[1] + second[1] == gpus.SAMPLES
        assert list(host.copies().values()) == [gpus.BATCHES]


def test_one_decode_serves_eight_gpus(tmp_path, photos):
    host = gpus.Host(tmp_path, count=8)
    with host.serving(config='[cache]\nmemory = "0"'):
        trainers = [host.start(gpus.READ, photos, f"cuda:{number}")
                    for number in range(8)]
        read = gpus.read_together(trainers)
        assert all(digests == read[0][0] for digests, _ in read)
        assert sum(decoded for _, decoded in read) == gpus.SAMPLES
        assert list(host.copies().values()) == [gpus.BATCHES] * 8


def test_memory_goes_back_to_the_gpu(tmp_path, photos):
    host = gpus.Host(tmp_path)
    whole = host.free_bytes()
    with host.serving(config="[session]\nidle_seconds = 0"):
        gpus.read_together([host.start(gpus.READ, photos, "cuda:0")])
        trouble.until(lambda: host.free_bytes() == whole, "the GPU's memory")


def test_a_trainer_that_is_killed_keeps_nothing(tmp_path, photos):
    host = gpus.Host(tmp_path)
    whole = host.free_bytes()
    with host.serving(config="[session]\nidle_seconds = 0"):
        for _ in range(5):
            trainer = host.start("""
loader = forebay.DataLoader(sys.argv[1], batch_size=7, device="cuda:0",
                            transform=T.RandomResizedCrop(32))
while True:
    for batch in loader:
        print("read", flush=True)
""", photos)
            assert trainer.stdout.readline() == b"read\n"
            trainer.kill()
            trainer.communicate()
        trouble.until(lambda: host.free_bytes() == whole, "the GPU's memory")


def test_top_shows_the_bytes_to_gpus(tmp_path, photos):
    host = gpus.Host(tmp_path)
    with host.serving() as daemon:
        trainer = host.start("""
loader = forebay.DataLoader(sys.argv[1], batch_size=7, device="cuda:0",
                            transform=T.RandomResizedCrop(32))
print("open", flush=True)
while True:
    for batch in loader:
        del batch
""", photos)
        try:
            assert trainer.stdout.readline() == b"open\n"
            job, = trouble.until(
                lambda: [job for job in trouble.ctl(
                    daemon, "top", "--interval", "0.2")["jobs"]
                    if job["gpu_bytes_per_second"] > 0], "bytes to the GPU")
            assert job["gpu_bytes_per_second"] == job["bytes_delivered_per_second"]
            shown = subprocess.run(
                [trouble.FOREBAYCTL, "--runtime-dir", str(daemon.runtime_dir), "top",
                 "--interval", "0.2"], stdout=subprocess.PIPE, check=True).stdout
            assert b"  TO GPUS MB/S  " in shown
        finally:
            trainer.kill()
            trainer.communicate()


def test_the_epoch_goes_on_after_the_daemon_was_killed(tmp_path, photos):
    host = gpus.Host(tmp_path)
    with host.serving() as daemon:
        (expected, _), = gpus.read_together([host.start(gpus.READ, photos, "cuda:0")])
        halting = gpus.READ.replace("for batch in batches:", """
for number, batch in enumerate(batches):
    if number == 0:
        print("half", flush=True)
        sys.stdin.readline()
""".strip())
        trainer = host.start(halting, photos, "cuda:0")
        gpus.step([trainer], "open")
        gpus.step([trainer], "begun")
        assert trainer.stdout.readline() == b"half\n"
        daemon.stop(signal.SIGKILL)
        daemon.start("--config", str(tmp_path / "forebayd.toml"))
        trainer.stdin.write(b"\n")
        trainer.stdin.flush()
        assert gpus.result_of(trainer)[0] == expected


@pytest.mark.parametrize("visible, words", [
    ({"gpus": [{"uuid": "ffffffff-0000-0000-0000-000000000000"}]},
     "the daemon has no GPU 00000000-0000-0000-0000-"),
    ({"gpus": []}, "the daemon has no GPU: "),
])
def test_a_gpu_that_the_daemon_lacks_is_served_by_the_host(
        tmp_path, photos, visible, words):
    host = gpus.Host(tmp_path)
    with host.serving(**visible):
        warned = host.run("""
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    loader = forebay.DataLoader(sys.argv[1], batch_size=7, device="cuda:0",
                                transform=T.RandomResizedCrop(32))
    batch = next(iter(loader))
    assert str(batch.image.device) == "cuda:0"
    other = forebay.DataLoader(sys.argv[1], batch_size=7,
                               transform=T.RandomResizedCrop(32))
    assert torch.equal(batch.image.cpu(), next(iter(other)).image)
print(json.dumps([str(one.message) for one in caught]))
""", photos)
    assert len(warned) == 1 and words in warned[0], warned


@pytest.mark.parametrize("arguments, words", [
    ('device="cuda:2"', "this process has 2 GPUs"),
    ('device="gpu"', 'device must be "cpu" or such as "cuda:0"'),
    ('device="cuda:0", framework="numpy"', 'NumPy has no arrays on GPUs'),
    ('device="cuda:0", transform=torchvision.transforms.Lambda(lambda x: x)',
     "Lambda"),
    ('static_buffers=True', "give a device"),
])
def test_what_cannot_lie_on_a_gpu_is_named(host, photos, arguments, words):
    said = host.run(f"""
import torchvision
try:
    forebay.DataLoader(sys.argv[1], {arguments})
except forebay.errors.ForebayError as error:
    print(json.dumps(str(error)))
""", photos)
    assert words in said


def test_numbers_of_any_shape_lie_on_the_gpu(host):
    assert host.run("""
from torch.utils.data import TensorDataset
data = TensorDataset(torch.rand(10, 3), torch.empty(10, 0),
                     torch.arange(10, dtype=torch.int16))
for batch in forebay.DataLoader(data, batch_size=4, device="cuda:0"):
    numbers = batch.sample_ids.tolist()
    assert torch.equal(batch.tensor0.cpu(), data.tensors[0][numbers])
    assert batch.tensor1.cpu().shape == (len(numbers), 0)
    assert torch.equal(batch.tensor2.cpu(), data.tensors[2][numbers])
try:
    forebay.DataLoader(TensorDataset(torch.empty(10, 0)), device="cuda:0")
except forebay.errors.InvalidArgument as error:
    print(json.dumps(str(error)))
""").endswith("has no numbers, which alone lie on a GPU")


def test_rows_of_npy_files_lie_on_the_gpu(host, tmp_path):
    for name, dtype in (("float32", "float32"), ("int64", "int64"), ("bool", "?")):
        numpy.save(tmp_path / f"{name}.npy",
                   numpy.arange(30).reshape(10, 3).astype(dtype) % 2)
    assert host.run("""
import numpy
for name in ("float32", "int64", "bool"):
    path = f"{sys.argv[1]}/{name}.npy"
    rows = torch.from_numpy(numpy.load(path))
    with forebay.DataLoader(path, batch_size=4, shuffle=True,
                            device="cuda:0") as loader:
        for batch in loader:
            assert str(batch.array.device) == "cuda:0", batch.array.device
            assert batch.array.dtype == rows.dtype
            assert torch.equal(batch.array.cpu(), rows[batch.sample_ids.tolist()])
print(json.dumps("done"))
""", tmp_path) == "done"


def test_the_per_thread_stream_is_refused(host, photos):
    said = host.run("""
import types
loader = forebay.DataLoader(sys.argv[1], device="cuda:0",
                            transform=T.CenterCrop(8))
torch.cuda.current_stream = lambda device: types.SimpleNamespace(cuda_stream=2)
try:
    next(iter(loader))
except forebay.errors.Unsupported as error:
    print(json.dumps(str(error)))
""", photos)
    assert "per-thread" in said


def test_buffers_may_be_static(host, photos):
    assert host.run("""
loader = forebay.DataLoader(sys.argv[1], batch_size=12, device="cuda:0",
                            static_buffers=True, transform=T.CenterCrop(8),
                            batch_transform=lambda image, label: (image, label))
seen = [(id(batch.image), batch.image.cpu()) for batch in loader]
other = [batch.image for batch in forebay.DataLoader(
    sys.argv[1], batch_size=12, transform=T.CenterCrop(8))]
assert all(torch.equal(one, two) for (_, one), two in zip(seen, other))
print(json.dumps(len({place for place, _ in seen})))
""", photos) == 1


def test_a_forked_child_reads_on_its_own(host, photos):
    assert host.run("""
import os
loader = forebay.DataLoader(sys.argv[1], batch_size=12, device="cuda:0",
                            transform=T.CenterCrop(8))
batches = iter(loader)
next(batches)
child = os.fork()
if child == 0:
    try:
        next(batches)
    except forebay.errors.StateError as error:
        os.write(1, str(error).encode() + b"\\n")
    os._exit(0)
os.waitpid(child, 0)
print(json.dumps(len(list(batches))))
""", photos) == 3


def test_a_process_may_end_while_kernels_run(host, photos):
    for ending in ("del loader, batches", "loader.close()", "os._exit(0)",
                   "sys.exit(0)", "pass"):
        trainer = host.start(f"""
import os
loader = forebay.DataLoader(sys.argv[1], batch_size=12, device="cuda:0",
                            transform=T.CenterCrop(8))
batches = iter(loader)
held = [next(batches), next(batches)]
{ending}
""", photos, delay_micros=20000)
        _, error = trainer.communicate(timeout=60)
        assert trainer.returncode == 0 and not error, error.decode()
