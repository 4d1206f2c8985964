"""Datasets whose own code fails. There is one clear error, and nothing is left
behind."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import forebay
from own_processes import hosts, workers
from stage_test import leaves_nothing, numbers_of, reachable  # noqa: F401
from trouble import pause, trainer, until

SAMPLES = 40


class Refusal(Exception):
    """An exception whose constructor needs two arguments."""

    def __init__(self, code, text):
        super().__init__(code, text)


class Faulty(Dataset):
    """A dataset that calls `fault` when it makes sample number `at`."""

    def __init__(self, fault, at=20):
        self.fault, self.at = fault, at

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        if number == self.at:
            return self.fault()
        return torch.zeros(2), number


def fail(error):
    raise error


def loader_of(fault, **arguments):
    arguments = {"batch_size": 8, "num_workers": 2, **arguments}
    return forebay.DataLoader(Faulty(fault), **arguments)


@pytest.mark.parametrize("error", [
    ValueError("no such thing"), KeyError("key"), IndexError("far away"),
    StopIteration("here"), FileNotFoundError(2, "gone", "photo.jpg")])
def test_an_exception_keeps_its_type_and_traceback(error):
    with loader_of(lambda: fail(error)) as loader:
        batches = iter(loader)
        assert [next(batches)[1][0].item() for _ in range(2)] == [0, 8]
        kind = RuntimeError if isinstance(error, StopIteration) else type(error)
        with pytest.raises(kind) as raised:
            next(batches)
        text = str(raised.value)
        assert "in a worker process of Faulty, making sample 20.\n" in text
        assert raised.value.__suppress_context__  # its context would have the same text
        assert "Traceback (most recent call last)" in text and "in fail" in text
        # The next batches come, as with torch.
        assert [batch[1][0].item() for batch in batches] == [24, 32]


@pytest.mark.parametrize("fault, arguments, doing", [
    (lambda: fail(ValueError("bad")), {"collate_fn": list}, "making sample 20"),
    (lambda: None, {}, r"collating the batch of samples \[16, 17, 18, 19, 20, "),
    (lambda: (lambda: None), {"collate_fn": list}, "pickling the batch")])
def test_an_exception_says_what_was_being_done(fault, arguments, doing):
    with loader_of(fault, **arguments) as loader:
        with pytest.raises(Exception, match=doing) as raised:
            list(loader)
    # The worker's error does not contain errors of the trainer itself.
    assert "During handling" not in str(raised.value)


def test_any_text_of_an_exception_arrives():
    with loader_of(lambda: fail(ValueError("a \0 b \ud800 c"))) as loader:
        with pytest.raises(ValueError, match=r"a \\x00 b \\ud800 c"):
            list(loader)


def test_an_exception_that_cannot_be_made_again_is_a_runtime_error():
    with loader_of(lambda: fail(Refusal(7, "because"))) as loader:
        with pytest.raises(RuntimeError, match="Caught Refusal"):
            list(loader)


def outcomes(loader):
    """Returns the batches of an epoch, or the classes of their errors."""
    found, batches = [], iter(loader)
    while True:
        try:
            found.append(next(batches))
        except StopIteration:
            return found
        except Exception as error:
            found.append(type(error))


# A dataset may itself use the package forebay.
OWN_CLASSES = [forebay.NotFound, forebay.StateError, forebay.SourceUnavailable,
               forebay.DataError]


@pytest.mark.parametrize("arguments", [{}, {"collate_fn": list}, {"num_workers": 0}])
@pytest.mark.parametrize("kind", OWN_CLASSES)
def test_an_error_of_the_packages_class_is_as_any_other(kind, arguments):
    with loader_of(lambda: fail(kind("gone")), **arguments) as loader:
        found = outcomes(loader)
    assert found.pop(2) is kind and len(found) == SAMPLES / 8 - 1


@pytest.mark.parametrize("kind", OWN_CLASSES)
def test_a_first_sample_that_fails_so_is_made_once(kind, tmp_path):
    def fault():
        with open(tmp_path / "made", "a") as file:
            file.write(".")
        raise kind("gone")

    with forebay.DataLoader(Faulty(fault, 0), 8, num_workers=2) as loader:
        with pytest.raises(kind, match="Caught .* making sample 0"):
            iter(loader)
    assert (tmp_path / "made").read_text() == "."


@pytest.mark.parametrize("status", [0, 1])
def test_a_first_sample_that_ends_its_process_is_named(status):
    with forebay.DataLoader(Faulty(lambda: os._exit(status), 0), 8,
                            num_workers=1) as loader:
        with pytest.raises(Exception, match=f"made sample 0 .exit status {status}"):
            iter(loader)


def test_an_iteration_that_an_error_ended_says_so():
    with loader_of(lambda: pause(60), timeout=2) as loader:
        batches = iter(loader)
        with pytest.raises(RuntimeError, match="timed out"):
            list(batches)
        with pytest.raises(forebay.StateError, match="of Faulty is over, by an error"):
            next(batches)


@pytest.mark.parametrize("kind", OWN_CLASSES)
def test_a_sampler_that_fails_so_does_not_end_the_epoch_in_silence(kind):
    class Sampler:
        def __iter__(self):
            yield from range(at)
            raise kind("gone")

    for at in (0, 8):
        with loader_of(None, sampler=Sampler(), collate_fn=list) as loader:
            with pytest.raises(kind, match="gone"):
                list(loader)


@pytest.mark.parametrize("made", [
    lambda: (torch.zeros(3), 1), lambda: (torch.zeros(2).double(), 1),
    lambda: (torch.zeros(2), 1.5), lambda: (torch.zeros(2),), lambda: None,
    lambda: (numpy.zeros(2, object), 1), lambda: (torch.zeros(2), "a text")])
@pytest.mark.parametrize("at", [0, 20])
def test_a_sample_unlike_the_others_does_what_it_does_with_torch(made, at):
    theirs = outcomes(DataLoader(Faulty(made, at), 8, num_workers=1))
    with forebay.DataLoader(Faulty(made, at), 8, num_workers=2) as loader:
        # Outcomes are stored as text, because torch's errors keep this function's frame
        # alive.
        ours = list(map(repr, outcomes(loader)))
    assert ours == list(map(repr, theirs)) and len(ours) == SAMPLES / 8


def test_the_last_batch_that_fails_ends_the_epoch():
    with loader_of(lambda: fail(ValueError("last")), batch_size=12,
                   sampler=list(range(21))) as loader:
        batches = iter(loader)
        assert next(batches)[1][0] == 0
        with pytest.raises(ValueError, match="last"):
            next(batches)
        loader.load_state_dict(loader.state_dict())
        assert list(batches) == []


def test_sys_exit_ends_no_trainer():
    with loader_of(lambda: sys.exit(3)) as loader:
        with pytest.raises(RuntimeError, match="SystemExit: 3"):
            list(loader)


def test_a_crash_is_said_to_be_one():
    with loader_of(lambda: os.kill(os.getpid(), signal.SIGSEGV)) as loader:
        batches = iter(loader)
        assert [next(batches)[1][0].item() for _ in range(2)] == [0, 8]
        with pytest.raises(RuntimeError,
                           match="3 worker processes ended while they made "
                                 r"sample 20 \(killed by SIGSEGV\)"):
            next(batches)
        assert [batch[1][0].item() for batch in batches] == [24, 32]


@pytest.mark.parametrize("deaths", [2, 3])
def test_a_first_sample_that_is_killed_is_made_again(tmp_path, deaths):
    def die_of_it():
        died = len(list(tmp_path.iterdir()))
        if died == deaths:
            return torch.zeros(2), 0
        (tmp_path / str(died)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    with forebay.DataLoader(Faulty(die_of_it, at=0), batch_size=8,
                            num_workers=1) as loader:
        if deaths == 2:
            assert len(list(loader)) == SAMPLES // 8
        else:
            with pytest.raises(RuntimeError, match=r"sample 0 \(killed by SIGKILL"):
                list(loader)


def test_a_crash_names_the_batch():
    with loader_of(lambda: os.kill(os.getpid(), signal.SIGSEGV),
                   collate_fn=len) as loader:
        batches = iter(loader)
        assert [next(batches) for _ in range(2)] == [8, 8]
        with pytest.raises(RuntimeError,
                           match="ended while they made the batch of samples "
                                 r"\[16, 17, 18, 19, 20, 21, .*SIGSEGV\)"):
            next(batches)
        assert list(batches) == [8, 8]


def test_a_sample_that_sleeps_for_ever_is_timed_out():
    with loader_of(signal.pause, timeout=1) as loader:
        # The sample's task may also contain samples of earlier batches.
        with pytest.raises(RuntimeError, match="timed out after 1 seconds: Faulty has "
                           "not made batch [012]$"):
            list(loader)


def test_a_first_sample_that_sleeps_for_ever_is_timed_out():
    with forebay.DataLoader(Faulty(signal.pause, at=0), 8, num_workers=2,
                            timeout=1) as loader:
        with pytest.raises(RuntimeError, match="timed out after 1 seconds: Faulty has "
                           "not made sample 0$"):
            list(loader)


def test_a_trainer_that_dies_while_the_first_sample_sleeps_leaves_no_process():
    with trainer("""
import forebay, signal
from stage_failure_test import Faulty
list(forebay.DataLoader(Faulty(signal.pause, at=0), 8, num_workers=2))
""") as process:
        found = until(lambda: workers(process.pid), "the first sample is made")
        found += hosts(process.pid)
        process.kill()
        until(lambda: not any(is_alive(pid) for pid in found), "all end")


def is_alive(pid):
    """Returns whether a process exists and is not just waiting to be reaped."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def test_samples_that_sleep_or_spin_hold_up_no_other_job():
    def spin():
        while True:
            pass

    slow = [loader_of(fault, num_workers=4)
            for fault in (spin, signal.pause)]
    iterators = [iter(loader) for loader in slow]
    with forebay.DataLoader(Faulty(None, at=-1), 8, num_workers=2) as loader:
        for _ in range(3):
            assert numbers_of(loader) == list(range(SAMPLES))
    del iterators
    for loader in slow:
        loader.close()


def test_what_the_first_sample_cannot_be_is_said():
    with loader_of(lambda: fail(ValueError("bad")), sampler=[20]) as loader:
        with pytest.raises(ValueError,
                           match="worker process of Faulty, making sample 20"):
            list(loader)
    with loader_of(lambda: os.abort(), sampler=[20]) as loader:
        with pytest.raises(RuntimeError, match="worker process of Faulty: it ended "
                           r"while it made sample 20 \(killed by SIGABRT\)"):
            list(loader)


def test_a_worker_init_fn_that_fails_is_said():
    with forebay.DataLoader(
            Faulty(None, at=-1), 8, num_workers=2,
            worker_init_fn=lambda number: fail(OSError("no disk"))) as loader:
        with pytest.raises(OSError, match="running worker_init_fn"):
            list(loader)


def test_a_trainer_that_is_killed_leaves_nothing():
    pid = os.fork()
    if pid == 0:
        loader = loader_of(signal.pause)
        next(iter(loader))
        signal.pause()
    pause(0.5)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_ctrl_c_ends_the_epoch_alone():
    with loader_of(signal.pause) as loader:
        threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            list(loader)


def test_a_worker_that_forks_or_leaks_is_no_matter():
    kept = []

    def odd():
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        kept.append(bytearray(100 << 20))
        return torch.zeros(2), 20

    with loader_of(odd) as loader:
        assert numbers_of(loader) == list(range(SAMPLES))


@pytest.mark.parametrize("argument, kind, says", [
    ({"num_workers": -1}, ValueError, "num_workers must be 0 to 256"),
    ({"num_workers": 300}, ValueError, "num_workers must be 0 to 256"),
    ({"multiprocessing_context": "thread"}, ValueError,
     "multiprocessing_context must be one of .*'fork'.*, not 'thread'"),
    ({"multiprocessing_context": threading}, ValueError, "not <module"),
    ({"batch_size": 0}, ValueError, "batch_size must be between 1 and 65536, not 0"),
    ({"timeout": "3"}, ValueError, "timeout must be a number of seconds, not '3'"),
    ({"timeout": float("nan")}, ValueError, "timeout must not be negative"),
    ({"timeout": -1}, ValueError, "timeout must not be negative"),
    ({"timeout": 1, "num_workers": 0}, ValueError, "timeout is of workers"),
    ({"collate_fn": 3}, ValueError, "collate_fn must be a function"),
    ({"batch_sampler": [[1]]}, ValueError, "batch_size are mutually exclusive"),
    ({"batch_size": 1, "batch_sampler": [[1]], "shuffle": True}, ValueError,
     "shuffle are mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, ValueError, "drop_last=True"),
    ({"shuffle": "block"}, NotImplementedError, 'shuffle="block"'),
    ({"order": "coordinated", "shuffle": True}, NotImplementedError,
     "coordinated"),
    ({"transform": forebay.transforms.ToImage()}, NotImplementedError,
     "transform= is for files")])
def test_wrong_arguments_are_named(argument, kind, says):
    with pytest.raises(kind, match=says):
        loader_of(None, **argument)


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_a_script_that_works_whenever_it_is_imported_is_told(tmp_path, context):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(f"""
        import forebay

        class Numbers:
            def __len__(self):
                return 40

            def __getitem__(self, number):
                return number

        list(forebay.DataLoader(Numbers(), 8, num_workers=2,
                                multiprocessing_context="{context}"))
        """))
    ended = subprocess.run([sys.executable, str(script)], stderr=subprocess.PIPE)
    said = ended.stderr.decode().splitlines()[-1]
    assert ended.returncode == 1 and "code of Numbers has ended at its start" in said
    assert 'must do its work below if __name__ == "__main__"' in said


def test_a_closed_loader_says_so():
    loader = loader_of(None)
    batches = iter(loader)
    next(batches)
    loader.close()
    with pytest.raises(forebay.StateError, match="closed"):
        next(batches)
    with pytest.raises(forebay.StateError, match="closed"):
        iter(loader)
