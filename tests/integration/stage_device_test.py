"""Batches on GPUs that the user's own code makes: a real daemon, real trainers and
workers and the real plug-in, on a fake driver that needs no GPU."""

import signal

import gpus
import pytest
from stage_on_gpus import DATA, DLPACK, PAYLOADS, read_together

import trouble

pytestmark = pytest.mark.skipif(gpus.missing() != "", reason=gpus.missing())


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A host with two GPUs, and a daemon on it."""
    made = gpus.Host(tmp_path_factory.mktemp("host"), count=2)
    with made.serving():
        yield made


def test_bytes_of_rows_are_those_of_the_host(host):
    assert host.run(DATA + """
print(json.dumps(compare_all(Rows, 7, shuffle=True, seed=3, num_workers=2)))
""") == 6


def test_trainers_on_one_gpu_share_each_copy_of_rows(tmp_path):
    host = gpus.Host(tmp_path)
    with host.serving():
        first, second = read_together(host, ["cuda:0", "cuda:0"])
    assert len(first) == 5
    assert first == second  # the same processes made both
    assert list(host.copies().values()) == [5]


def test_rows_are_the_same_on_all_gpus(tmp_path):
    host = gpus.Host(tmp_path, count=2)
    with host.serving():
        read = read_together(host, ["cuda:0", "cuda:1", "cpu"])
    bytes_of = [[batch[:2] for batch in batches] for batches in read]
    assert bytes_of[0] == bytes_of[1] == bytes_of[2]


def test_static_buffers_are_the_same_in_all_epochs(host):
    assert host.run(DATA + """
def tensors_of(loader):
    return [(id(batch[0]), batch[0].cpu()) for epoch in range(2) for batch in loader]

for others in ({}, {"collate_fn": lambda samples: [
        torch.stack([sample[0] for sample in samples]), "text"]},
        {"num_workers": 0}):
    others = {"num_workers": 2, **others}
    with forebay.DataLoader(Rows(), 8, device="cuda:0", static_buffers=True,
                            **others) as loader:
        seen = tensors_of(loader)
    expected = read(Rows(), 8, **others)
    assert len({place for place, _ in seen}) == 1
    assert all(torch.equal(one, batch[0])
               for (_, one), batch in zip(seen, expected))
print(json.dumps(len(seen)))
""") == 10


def test_a_batch_transform_gets_tensors_on_the_gpu(host):
    assert host.run(DATA + """
def halve(image, number, rest):
    assert all(str(part.device) == "cuda:0" for part in (image, number))
    return {"image": image}
for workers in (0, 2):
    with forebay.DataLoader(Rows(), 8, device="cuda:0", num_workers=workers,
                            batch_transform=halve) as loader:
        made = list(loader)
print(json.dumps(sorted(made[0])))
""") == ["image"]


def test_functions_of_single_samples_run_in_workers(host, photos):
    """The daemon's own batches are on the GPU."""
    assert host.run(DATA + """
import torchvision
from torchvision import transforms as V

for end in ([], [lambda image: image * 0.5]):
    transform = V.Compose([V.CenterCrop(64), V.ToTensor(), *end])
    dataset = torchvision.datasets.ImageFolder(sys.argv[1], transform,
                                               lambda label: label * 10)
    if end:
        dataset.target_transform = None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = read(dataset, 24, num_workers=2, device="cuda:0")
    wanted = torch.utils.data.DataLoader(dataset, 24)
    assert "worker processes make" in str(told[0].message), told
    for one, other in zip(wanted, found):
        compare(one, other)
print(json.dumps(len(found)))
""", str(photos)) == 2


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("texts", [(), ("a",)])
def test_frameworks_take_tensors_by_dlpack(host, workers, texts):
    assert host.run(DLPACK + f"""
texts = {texts}
found = read(*texts, device="cuda:1", framework="dlpack", num_workers={workers})
expected = read(*texts, framework="numpy", num_workers={workers})
for one, other in zip(found, expected):
    for name in ("array", "number"):
        assert type(one[name]) is forebay.DeviceTensor, one[name]
        assert one[name].device == "cuda:1"
        assert (one[name].shape, one[name].dtype) == (
            other[name].shape, other[name].dtype.name)
        assert numpy.array_equal(from_dlpack(one[name]).numpy(), other[name])
    assert one["text"] == other["text"]
assert "torch" not in sys.modules
print(json.dumps(len(found)))
""", imports=gpus.DLPACK) == 3


@pytest.mark.parametrize("imports", [gpus.TORCH, gpus.DLPACK])
def test_a_gpu_that_the_daemon_lacks_is_served_by_the_host(tmp_path, imports):
    host = gpus.Host(tmp_path)
    framework = "torch" if imports == gpus.TORCH else "dlpack"
    with host.serving(gpus=[]):
        warned = host.run(DLPACK + f"""
import numpy, warnings
def content(value):
    return (value.cpu().numpy() if hasattr(value, "cpu") else
            from_dlpack(value).numpy())
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for texts in ((), ("a",)):
        found = read(*texts, device="cuda:0", framework={framework!r}, num_workers=2)
        for one, other in zip(found, read(*texts, framework="numpy", num_workers=2)):
            for name in ("array", "number"):
                assert str(one[name].device) == "cuda:0"
                assert numpy.array_equal(content(one[name]), other[name])
print(json.dumps([str(one.message) for one in caught]))
""", imports=imports)
    assert len(warned) == 1 and "the daemon has no GPU: " in warned[0], warned


@pytest.mark.parametrize("arguments, words", [
    ('device="cuda:2"', "this process has 2 GPUs"),
    ('device="gpu"', 'device must be "cpu" or such as "cuda:0"'),
    ('device="cuda:0", framework="numpy"', "NumPy has no arrays on GPUs"),
    ('device="cuda:0", framework="dlpack", static_buffers=True',
     'static_buffers=True needs framework="torch"'),
    ("static_buffers=True", "give a device"),
    ('framework="dlpack"', "give a device"),
    ('device="cuda:0", num_workers=0, collate_fn=lambda samples: lambda: 0',
     "cannot be pickled"),
])
def test_what_cannot_lie_on_a_gpu_is_named(host, arguments, words):
    said = host.run(DATA + f"""
try:
    next(iter(forebay.DataLoader(Rows(), {arguments})))
except forebay.errors.ForebayError as error:
    print(json.dumps(str(error)))
""")
    assert words in said


@pytest.mark.parametrize("collate", ["None", "pad"])
def test_killed_workers_lose_and_double_nothing(host, collate):
    assert host.run(PAYLOADS + f"""
class Killing(Rows if {collate} is None else Texts):
    def __init__(self, path):
        super().__init__()
        self.path = path
    def __getitem__(self, number):
        if number % 9 == 4:
            try:
                os.close(os.open(self.path + str(number), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(number)

import tempfile
def numbers(batch):
    labels = batch[1] if {collate} is None else batch["again"][1]
    return [batch[0] if {collate} is None else batch["padded"], labels]
with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
    arguments = dict(collate_fn={collate}, num_workers=2, shuffle=True)
    host = read(Killing(one + "/"), 8, **arguments)
    gpu = read(Killing(two + "/"), 8, device="cuda:0", **arguments)
    assert len(os.listdir(two)) == 4
for one, other in zip(host, gpu):
    compare(numbers(one), numbers(other))
print(json.dumps(len(gpu)))
""") == 5


@pytest.mark.parametrize("collate, workers", [("None", 2), ("pad", 2), ("pad", 0)])
def test_what_fails_is_told_and_the_next_batch_follows(host, collate, workers):
    assert host.run(PAYLOADS + f"""
class Failing(Rows if {collate} is None else Texts):
    def __getitem__(self, number):
        if number == 11:
            raise KeyError("eleven")
        return super().__getitem__(number)
found = []
with forebay.DataLoader(Failing(), 8, device="cuda:0", num_workers={workers},
                        collate_fn={collate}) as loader:
    batches = iter(loader)
    while True:
        try:
            batch = next(batches)
            labels = batch[1] if {collate} is None else batch["again"][1]
            found.append(labels.cpu().tolist()[0])
        except KeyError as error:
            assert "eleven" in str(error)
            found.append("error")
        except StopIteration:
            break
print(json.dumps(found))
""") == [0, "error", 16, 24, 32]


@pytest.mark.parametrize("others", ["{}", '{"collate_fn": list}'])
def test_the_epoch_goes_on_after_the_daemon_was_killed(tmp_path, others):
    host = gpus.Host(tmp_path)
    code = DATA + """
class Alone(Rows):
    def __getitem__(self, number):
        return torch.full((4, 4), float(number)), number
numbers = []
loader = forebay.DataLoader(Alone(), 8, device="cuda:0", num_workers=2,
                            **eval(sys.argv[1]))
for batch in loader:
    pairs = batch if isinstance(batch[0], tuple) else [batch]
    numbers += [number for image, label in pairs
                for number in numpy.ravel(label.cpu() if hasattr(label, "cpu")
                                          else label).tolist()]
    assert all(str(image.device) == "cuda:0" for image, _ in pairs)
    if len(numbers) == 16:
        print("half", flush=True)
        sys.stdin.readline()
print(json.dumps(numbers))
"""
    with host.serving() as daemon:
        trainer = host.start(code, others)
        assert trainer.stdout.readline() == b"half\n", trainer.stderr.read()
        daemon.stop(signal.SIGKILL)
        daemon.start("--config", str(tmp_path / "forebayd.toml"))
        assert gpus.result_of(trainer, b"\n") == list(range(40))


def test_memory_goes_back_to_the_gpu(tmp_path):
    host = gpus.Host(tmp_path)
    whole = host.free_bytes()
    with host.serving(config="[session]\nidle_seconds = 0"):
        host.run(PAYLOADS + """
read(Rows(), 8, num_workers=2, device="cuda:0")
read(Texts(), 8, num_workers=2, device="cuda:0", collate_fn=pad)
print(0)
""")
        trouble.until(lambda: host.free_bytes() == whole, "the GPU's memory")


@pytest.mark.parametrize("collate", ["None", "list"])
def test_a_forked_child_reads_on_its_own(host, collate):
    assert host.run(DATA + f"""
loader = forebay.DataLoader(Rows(), 8, device="cuda:0", num_workers=2,
                            collate_fn={collate})
batches = iter(loader)
next(batches)
child = os.fork()
if child == 0:
    try:
        next(batches)
    except forebay.errors.StateError as error:
        os.write(1, str(error).encode() + b"\\n")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(json.dumps(len(list(batches))))
""") == 4


def test_a_part_that_is_not_there_is_refused(host):
    assert host.run(DATA + """
from forebay import _native
said = []
def wrap(memory, view, real=forebay._batch.Wrapper.wrap):
    to = torch.empty((64,), dtype=torch.uint8, device=torch.device("cuda", 0))
    put = lambda *which: _native.lib.forebay_batch_put_part(
        memory.batch, *which, to.data_ptr(), 0)
    for which in ((0, 0, 1 << 40), (0, (1 << 64) - 1, 2), (9, 0, 1)):
        assert put(*which) != _native.OK
        said.append(_native.lib.forebay_last_error().decode())
    assert put(0, 0, 0) == _native.OK
    return real(loader._plan.wrapper, memory, view)
loader = forebay.DataLoader(Rows(8), 8, device="cuda:0", num_workers=1)
loader._plan.wrapper.wrap = wrap
next(iter(loader))
print(json.dumps(said))
""") == ["the field has no such part"] * 2 + ["the batch has no such field"]
