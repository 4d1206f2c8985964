"""When the process that iterates for all jobs ends."""

import pytest

from forebay._share import idleness


@pytest.fixture
def daemon():
    """Whether no daemon listens, as the process is told."""
    return {"is_away": False}


@pytest.fixture
def process(daemon):
    return idleness.Idleness(lambda: daemon["is_away"])


def seconds_until(process, most=1000):
    """Returns the seconds after which the process ends, from now on."""
    looks = 0
    while not process.is_over() and looks < most:
        process.look()
        looks += 1
    return looks * idleness.LOOK_SECONDS


def wait(process, seconds):
    for _ in range(int(seconds / idleness.LOOK_SECONDS)):
        process.look()
        assert not process.is_over()


def test_it_lingers_for_some_seconds(process):
    assert seconds_until(process) == pytest.approx(5, abs=1)


def test_who_waits_for_an_answer_listens(process):
    wait(process, 3)
    with process.listened():
        wait(process, 100)
    assert seconds_until(process) == pytest.approx(5, abs=1)


def test_all_have_to_leave(process):
    process.begin()
    process.begin()
    process.end()
    wait(process, 100)
    process.end()
    assert seconds_until(process) == pytest.approx(5, abs=1)


def test_it_waits_for_a_daemon(process, daemon):
    process.begin()
    daemon["is_away"] = True
    process.end()
    assert seconds_until(process) == pytest.approx(60, abs=1)


def test_it_waits_as_long_as_the_trainers_do(daemon):
    process = idleness.Idleness(lambda: daemon["is_away"], 300.0)
    daemon["is_away"] = True
    assert seconds_until(process) == pytest.approx(300, abs=1)


@pytest.mark.parametrize("away", [0, 2, 9, 50])
def test_trainers_have_a_step_s_time_once_the_daemon_is_back(process, daemon, away):
    process.begin()
    daemon["is_away"] = True
    process.end()
    wait(process, away)
    daemon["is_away"] = False
    wait(process, 50)
    with process.listened():
        pass
    assert seconds_until(process) == pytest.approx(5, abs=1)


def test_one_that_has_not_ended_hangs(process):
    seconds_until(process)
    assert not process.hangs()
    for _ in range(20):
        process.look()
    assert process.hangs()
    with process.listened():
        assert not process.hangs() and not process.is_over()


def test_one_that_leaves_hangs_never(process):
    process.leave()
    for _ in range(100):
        process.look()
    assert process.is_over() and not process.hangs()
