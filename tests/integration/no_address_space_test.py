"""Trainers that for a while have no address space left for a mapping."""

from trouble import PATIENCE, expect_line, nothing_left_behind, trainer

SETUP = """
import contextlib, resource

@contextlib.contextmanager
def no_room():
    'Maps nothing more.'
    with open("/proc/self/status") as status:
        used, = (int(line.split()[1]) << 10 for line in status
                 if line.startswith("VmSize:"))
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
"""

EPOCHS = SETUP + """
with open_loader(sys.argv[1], batch_size=48,
                 transform=T.Resize((300, 300))) as loader:
    for _ in range(3):
        with no_room():
            try:
                next(iter(loader))
            except forebay.ResourceExhausted as error:
                assert "cannot map a slot" in str(error), error
                print("no room", flush=True)
        loader.set_epoch(0)
        ids = [int(i) for batch in loader for i in batch.sample_ids]
        assert ids == list(range(48))
        print("read", flush=True)
"""

SAMPLES = SETUP + """
dataset = forebay.Dataset(sys.argv[1], autostart=False)
for _ in range(3):
    with no_room():
        try:
            dataset.__getitems__(range(48))
        except forebay.ResourceExhausted as error:
            assert "cannot map fetched samples" in str(error), error
            print("no room", flush=True)
    assert len(dataset.__getitems__(range(48))) == 48
    print("read", flush=True)
    dataset = forebay.Dataset(sys.argv[1], autostart=False)
"""


def test_a_loader_goes_on_once_there_is_room(daemon, photos):
    with nothing_left_behind(daemon), trainer(EPOCHS, photos) as process:
        for _ in range(3):
            expect_line(process, "no room")
            expect_line(process, "read")
        assert process.wait(PATIENCE) == 0


def test_a_dataset_goes_on_once_there_is_room(daemon, photos):
    with nothing_left_behind(daemon), trainer(SAMPLES, photos) as process:
        for _ in range(3):
            expect_line(process, "no room")
            expect_line(process, "read")
        assert process.wait(PATIENCE) == 0
