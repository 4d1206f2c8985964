"""Batches of any structure that the user's own code makes, on simulated GPUs."""

import gpus
import pytest
from stage_on_gpus import DATA, PAYLOADS, read_together

pytestmark = pytest.mark.skipif(gpus.missing() != "", reason=gpus.missing())


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A host with one GPU, and a daemon on it."""
    made = gpus.Host(tmp_path_factory.mktemp("host"))
    with made.serving():
        yield made


@pytest.mark.parametrize("workers", [0, 2])
def test_tensors_of_any_batch_lie_on_the_gpu(host, workers):
    assert host.run(PAYLOADS + f"""
made = [read(Texts(), 8, shuffle=True, seed=3, num_workers={workers}, collate_fn=pad,
             device=device) for device in ("cpu", "cuda:0")]
for one, other in zip(*made):
    assert other["again"][0] is other["padded"]
    assert other["again"][1] is other["again"][2] is other["box"].inner
    assert isinstance(other["host"], numpy.ndarray) and other["image"].shape == (
        2, 3, 8, 9)
    compare(parts_of(one), parts_of(other))
print(json.dumps(len(made[1])))
""") == 5


@pytest.mark.parametrize("arguments", [
    "7, num_workers=2",
    "None, num_workers=2", "8, num_workers=0",
    "8, sampler=list(range(30)) * 2, num_workers=2",
    "batch_sampler=[[1, 2], [3], [4, 5, 6]], num_workers=2"])
def test_other_batches_are_those_of_the_host(host, arguments):
    assert host.run(PAYLOADS + f"""
class Named(Rows):
    def __getitem__(self, number):
        return (f"sample {{number}}", *super().__getitem__(number))
print(json.dumps(compare_all(Named, {arguments})))
""") > 0


@pytest.mark.parametrize("workers", [0, 3])
def test_iterated_batches_are_those_of_the_host(host, workers):
    assert host.run(DATA + f"""
class Counted(IterableDataset):
    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for number in range(first, 50, step):
            yield torch.rand(3, 4), number
print(json.dumps(compare_all(Counted, 8, num_workers={workers})))
""") > 5


def test_batches_larger_than_all_before_get_larger_slots(host):
    assert host.run(DATA + """
class Growing(Rows):
    def __getitem__(self, number):
        return [torch.full((1 << number % 17, 16), number / 3), "x" * (number * 9000)]
print(json.dumps(compare_all(Growing, None, num_workers=2)))
""") == 40


OTHER = """
class Scaled(Rows):
    def __getitem__(self, number):
        return torch.full((4, 4), number * float(sys.argv[1])), number
with forebay.DataLoader(Scaled(), 8, shuffle=True, seed=3, num_workers=2,
                        share_key="scaled", device="cuda:0", **eval(sys.argv[2])
                        ) as loader:
    said = "no batch"
    try:
        for batch in loader:
            said = "a batch"
            print(said, flush=True)
            sys.stdin.readline()
    except forebay.errors.StateError as error:
        said += ": " + str(error)
print(json.dumps(said))
"""


@pytest.mark.parametrize("others", ["{}", '{"static_buffers": True}', """{
    "collate_fn": lambda samples: [torch.stack(part) if torch.is_tensor(part[0]) else
                                   torch.tensor(part) for part in zip(*samples)]}"""])
def test_other_code_under_one_key_is_found(host, others):
    first = host.start(DATA + OTHER, "1.0", others)
    assert first.stdout.readline() == b"a batch\n", first.stderr.read()
    assert host.run(DATA + OTHER, "2.0", others).startswith(
        "no batch: Scaled: ")
    assert gpus.result_of(first, b"\n" * 5) == "a batch"


def test_trainers_on_one_gpu_share_each_copy_of_any_batch(tmp_path):
    host = gpus.Host(tmp_path)
    others = '{"collate_fn": lambda samples: [torch.stack(list(part)) if ' \
        'torch.is_tensor(part[0]) else torch.tensor(part) for part in zip(*samples)]}'
    with host.serving():
        first, second = read_together(host, ["cuda:0", "cuda:0"], others)
    assert len(first) == 5
    assert first == second
    assert list(host.copies().values()) == [5]
