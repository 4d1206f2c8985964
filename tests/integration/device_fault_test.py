"""GPUs, drivers and copies that fail. The jobs concerned get one clear error, and every
other job goes on."""

import signal

import gpus
import pytest

import trouble

pytestmark = pytest.mark.skipif(gpus.missing() != "", reason=gpus.missing())


def reads_well(host, photos, device):
    """Returns whether another trainer gets its whole epoch."""
    (digests, _), = gpus.read_together([host.start(gpus.READ, photos, device)])
    return len(digests) == gpus.BATCHES


FAILS = """
loader = forebay.DataLoader(sys.argv[1], batch_size=7, device="cuda:0",
                            transform=T.RandomResizedCrop(32))
try:
    for batch in loader:
        del batch
    print(json.dumps("nothing failed"))
except forebay.errors.ForebayError as error:
    print(json.dumps(str(error)))
"""


def test_memory_that_is_spent_is_named(tmp_path, photos):
    host = gpus.Host(tmp_path)
    with host.serving(config='memory = "4MiB"'):
        said = host.run("""
try:
    forebay.DataLoader(sys.argv[1], device="cuda:0", transform=T.CenterCrop(8))
except forebay.errors.ResourceExhausted as error:
    print(json.dumps(str(error)))
""", photos)
    assert "GPU 0" in said


def test_a_copy_that_fails_is_one_clear_error(tmp_path, photos):
    host = gpus.Host(tmp_path)
    fault = {"call": "cuMemcpyHtoDAsync", "first": 3,
             "error": "CUDA_ERROR_INVALID_VALUE"}
    with host.serving(faults=[fault]):
        assert "GPU 0: a copy to the GPU failed" in host.run(FAILS, photos)
        # The next trainer works.
        assert reads_well(host, photos, "cuda:0")


def test_a_gpu_lost_to_the_daemon_harms_no_other_job(tmp_path, photos):
    host = gpus.Host(tmp_path)
    lost = {"call": "copy", "first": 3, "sticky": True,
            "error": "CUDA_ERROR_ILLEGAL_ADDRESS"}
    with host.serving(faults=[lost]) as daemon:
        other = host.start(gpus.READ, photos, "cpu")
        gpus.step([other], "open")
        assert "GPU 0" in host.run(FAILS, photos)
        said = host.run("""
try:
    forebay.DataLoader(sys.argv[1], device="cuda:0")
except forebay.errors.ForebayError as error:
    print(json.dumps(str(error)))
""", photos)
        assert "a copy to the GPU failed" in said
        gpus.step([other], "begun")
        assert len(gpus.result_of(other)[0]) == gpus.BATCHES
        # The daemon leaves when it has no clients, so that systemd starts another one.
        assert daemon.process.wait(timeout=60) == 1


def test_a_driver_that_hangs_holds_up_no_other_job(tmp_path, photos):
    host = gpus.Host(tmp_path)
    hangs = {"call": "cuMemCreate", "times": 0, "stall": True}
    with host.serving(faults=[hangs]) as daemon:
        # There are more of these trainers than the daemon has threads for requests.
        stuck = [host.start(FAILS, photos, "cuda:0") for _ in range(6)]
        try:
            trouble.until(lambda: trouble.ctl(daemon, "status")["loaders"] == 6,
                          "the loaders on the GPU")
            assert reads_well(host, photos, "cpu")
        finally:
            for trainer in stuck:
                trainer.kill()
                trainer.communicate()
            # Otherwise the daemon would wait for its driver.
            daemon.stop(signal.SIGKILL)


def test_a_gpu_lost_to_the_trainer_ends_its_epoch_alone(tmp_path, photos):
    host = gpus.Host(tmp_path)
    lost = {"call": "kernel", "first": 3, "sticky": True,
            "error": "CUDA_ERROR_ILLEGAL_ADDRESS"}
    with host.serving():
        well = host.start(gpus.READ, photos, "cuda:0")
        said = host.run(FAILS.replace("forebay.errors.ForebayError",
                                      "Exception"), photos, faults=[lost])
        assert "700" in said or "ILLEGAL" in said
        assert len(gpus.read_together([well])[0][0]) == gpus.BATCHES


def test_a_release_that_the_driver_never_takes_is_said(tmp_path, photos):
    host = gpus.Host(tmp_path)
    with host.serving():
        said = host.run(FAILS, photos, faults=[
            {"call": "cuEventRecord", "times": 0,
             "error": "CUDA_ERROR_OUT_OF_MEMORY"}])
        assert "OUT_OF_MEMORY" in said


def test_a_gpu_that_left_the_bus_is_lost(tmp_path, photos):
    host = gpus.Host(tmp_path)
    unknown = {"call": "copy", "first": 3, "times": 0,
               "error": "CUDA_ERROR_UNKNOWN"}
    with host.serving(faults=[unknown]) as daemon:
        assert "GPU 0" in host.run(FAILS, photos)
        assert daemon.process.wait(timeout=60) == 1
