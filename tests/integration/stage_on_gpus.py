"""The code of trainers on GPUs whose batches are made by the user's code."""

import gpus

# Samples of one structure, samples of differing structures, and a comparison of
# batches.
DATA = """
import collections, hashlib, os, random, signal, time, warnings
import numpy
from torch.utils.data import Dataset, IterableDataset

Point = collections.namedtuple("Point", ["x", "y"])

class Rows(Dataset):
    def __init__(self, samples=40):
        self.samples = samples
    def __len__(self):
        return self.samples
    def __getitem__(self, number):
        if not 0 <= number < self.samples:
            raise IndexError(number)
        return (torch.rand(3, 5, 7), number,
                {"drawn": [random.random(), numpy.random.rand(2)],
                 "point": Point(number / 2, number % 2 == 0)})

def flat(batch):
    if isinstance(batch, dict):
        batch = list(batch.values())
    if isinstance(batch, (tuple, list)):
        return [leaf for part in batch for leaf in flat(part)]
    return [batch]

def shape_of(batch):
    if isinstance(batch, dict):
        return {key: shape_of(value) for key, value in batch.items()}
    if isinstance(batch, (tuple, list)):
        return type(batch), [shape_of(value) for value in batch]
    return None

def check(batch, device):
    for leaf in flat(batch):
        if hasattr(leaf, "device"):
            assert str(leaf.device) == device, leaf.device

def equal(one, other):
    if hasattr(one, "cpu"):
        one, other = one.cpu(), other.cpu()
        return (one.dtype == other.dtype and one.shape == other.shape and
                torch.equal(one, other))
    return numpy.array_equal(one, other)

def compare(one, other, device="cuda:0"):
    check(one, "cpu")
    check(other, device)
    assert shape_of(one) == shape_of(other)
    assert all(map(equal, flat(one), flat(other)))

def read(dataset, *arguments, **others):
    with forebay.DataLoader(dataset, *arguments, **others) as loader:
        return list(loader)

def compare_all(make, *arguments, **others):
    host = read(make(), *arguments, **others)
    gpu = read(make(), *arguments, device="cuda:0", **others)
    assert len(host) == len(gpu)
    for one, other in zip(host, gpu):
        compare(one, other)
    return len(gpu)
"""
# Batches of any structure.
PAYLOADS = DATA + """
class Texts(Rows):
    def __getitem__(self, number):
        return f"sample {number}", torch.rand(number % 5 + 1, 3), number

class Box:
    def __init__(self, **values):
        self.__dict__.update(values)

def pad(samples):
    texts, parts, numbers = zip(*samples)
    padded = torch.zeros(len(parts), 5, 300)
    for place, part in enumerate(parts):
        padded[place, :len(part), :3] = part
    labels = torch.tensor(numbers)
    image = torch.rand(2, 3, 8, 9).contiguous(memory_format=torch.channels_last)
    return {"texts": list(texts), "parts": list(parts), "padded": padded,
            "again": (padded, labels, labels), "half": padded.bfloat16(),
            "scalar": torch.tensor(2.5), "empty": torch.empty(3, 0),
            "image": image, "mask": padded > 0, "complex": torch.rand(4) * 1j,
            "kind": torch.nn.Parameter(torch.rand(3), False),
            "host": numpy.arange(2000), "strided": padded[:, ::2],
            "box": Box(inner=labels, name="box")}

def parts_of(batch):
    made = dict(batch)
    made["box"] = [made["box"].inner, made["box"].name]
    return made
"""

# Samples for frameworks that take tensors by DLPack, without torch.
DLPACK = """
class Rows:
    def __init__(self, *texts):
        self.texts = texts
    def __len__(self):
        return 20
    def __getitem__(self, number):
        return {"array": numpy.full((3, 4), number, numpy.float16)[:, ::2],
                "number": number, "text": list(self.texts)}

def read(*texts, **arguments):
    with forebay.DataLoader(Rows(*texts), 8, seed=3, shuffle=True,
                            **arguments) as loader:
        return list(loader)
"""

# Reads an epoch of a dataset in lockstep with other trainers, and waits for a line at
# each step. Prints the samples' bytes, and the process that made each sample.
TOGETHER = DATA + """
class Told(Rows):
    def __getitem__(self, number):
        return torch.full((4, 4), number / 7), number, os.getpid()

device, others = sys.argv[1], eval(sys.argv[2])
loader = forebay.DataLoader(Told(), 8, shuffle=True, seed=3, device=device,
                            num_workers=2, sharing="lockstep", share_key="told",
                            **others)
print("open", flush=True)
sys.stdin.readline()
batches = iter(loader)
print("begun", flush=True)
sys.stdin.readline()
digests = []
for image, number, pid in batches:
    check((image, number, pid), device)
    seen = hashlib.sha256(image.cpu().numpy().tobytes())
    digests.append([seen.hexdigest(), number.cpu().tolist(), pid.cpu().tolist()])
print(json.dumps(digests))
"""


def read_together(host, devices, others="{}"):
    trainers = [host.start(TOGETHER, device, others) for device in devices]
    return gpus.read_together(trainers)
