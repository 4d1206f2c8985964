"""Tensors on GPUs that users copy, or that meet interrupts, forks, and the process's
end."""

import gpus
import pytest

from device_tensor_test import DELAYS, OPEN
from trouble import until

pytestmark = pytest.mark.skipif(gpus.missing() != "", reason=gpus.missing())


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A host with a GPU, and a daemon on it."""
    made = gpus.Host(tmp_path_factory.mktemp("host"))
    with made.serving():
        yield made


@pytest.fixture
def run(host, photos):
    """Runs OPEN and then `code` in a trainer. Returns the last line of output,
    parsed."""
    return lambda code: host.run(OPEN + code, photos, imports=gpus.DLPACK, **DELAYS)


def test_python_makes_no_copies(run):
    said, = run("""
import copy, gc, pickle
tensor = next(iter(open_loader())).image
said = set()
for make in (copy.copy, copy.deepcopy, pickle.dumps):
    try:
        make(tensor)
    except TypeError as error:
        said.add(str(error))
gc.collect()
assert numpy.array_equal(from_dlpack(tensor).numpy(), host()[0][0])
print(json.dumps(list(said)))
""")
    assert "neither copied nor pickled" in said


def test_interrupts_lose_no_batch_and_no_memory(tmp_path, photos):
    host = gpus.Host(tmp_path)
    whole = host.free_bytes()
    with host.serving(config="[session]\nidle_seconds = 0"):
        whole_epochs, caught = host.run(OPEN + """
import random, signal
class Interrupt(Exception):
    pass

def ring(_, frame):
    # Not behind next(): the batch would be lost before this code has it.
    if forebay.__path__[0] in frame.f_code.co_filename:
        raise Interrupt

signal.signal(signal.SIGALRM, ring)
chance = random.Random(7)
whole = caught = 0
with open_loader() as loader:
    for _ in range(20):
        seen, batches = [], iter(loader)
        while True:
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.random() * 0.004 + 1e-5)
                batch = next(batches)
                signal.setitimer(signal.ITIMER_REAL, 0)
                seen += batch.sample_ids.tolist()
                del batch
            except StopIteration:
                signal.setitimer(signal.ITIMER_REAL, 0)
                break
            except Interrupt:
                caught += 1
        whole += sorted(seen) == list(range(48))
print(json.dumps([whole, caught]))
""", photos, imports=gpus.DLPACK, **DELAYS)
        assert whole_epochs == 20 and caught > 0
        until(lambda: host.free_bytes() == whole, "the GPU's memory")


FORKED = ("StateError: the GPU belongs to the parent of this process: CUDA does not "
          "work in a forked child")


def test_a_forked_child_has_no_tensors(run):
    assert run("""
import os
loader = open_loader()
batches = iter(loader)
tensor = next(batches).image
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    said = []
    for call in (tensor.__dlpack__, lambda: tensor.__dlpack__(stream=-1),
                 lambda: next(batches), lambda: open_loader()):
        try:
            call()
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    del tensor, batches, loader
    os.write(writer, json.dumps(said).encode())
    os._exit(0)
said = json.loads(os.read(reader, 10000))
assert os.waitpid(child, 0)[1] == 0
assert numpy.array_equal(from_dlpack(tensor).numpy(), host()[0][0])
print(json.dumps(said))
""") == [FORKED, FORKED, "StateError: this iteration belongs to the process that this "
         "one was forked from: call iter() again", FORKED]


def test_the_interpreter_exits_with_tensors_in_use(host, photos):
    assert host.run(OPEN + """
import dlpack_stand_in
loader = open_loader()
batches = iter(loader)
batch = next(batches)
capsule = batch.image.__dlpack__()
array = from_dlpack(next(batches).image)
dlpack_stand_in.kept = [next(batches), batch, capsule, array]
print(json.dumps(True))
""", photos, imports=gpus.DLPACK, **DELAYS)
