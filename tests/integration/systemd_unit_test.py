"""The systemd unit under a real systemd, which runs in namespaces of its own."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOOT = pathlib.Path(__file__).with_name("systemd") / "boot.sh"
TIMEOUT_SECONDS = 300
REFUSED = 77


@pytest.fixture(scope="module")
def found(tmp_path_factory, photos):
    """The findings of guest.py."""
    if os.geteuid() != 0:
        pytest.skip("only root may boot a systemd")
    folder = tmp_path_factory.mktemp("systemd")
    installed, result = folder / "installed", folder / "result"
    result.mkdir()
    subprocess.run([ROOT / "tools" / "install"], check=True,
                   env=dict(os.environ, DESTDIR=str(installed)))
    boot = subprocess.Popen([BOOT, installed, photos, result],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            start_new_session=True)
    try:
        said, _ = boot.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(boot.pid, signal.SIGKILL)
        said, _ = boot.communicate()
    if boot.returncode == REFUSED:
        pytest.skip(f"no systemd can be booted here: {said.decode()}")
    log = result / "guest.log"
    answer = result / "found.json"
    assert answer.exists(), (
        said.decode() + (log.read_text() if log.exists() else ""))
    return json.loads(answer.read_text())


def test_starts_and_says_when_it_is_ready(found):
    code, said = found["start"]
    assert code == 0, said + found["journal"][1]
    assert found["running"]["Type"] == "notify"
    assert found["running"]["ActiveState"] == "active"
    assert found["running"]["SubState"] == "running"
    assert found["running"]["LimitNOFILE"] == "65536"
    assert found["running"]["LimitMEMLOCK"] == "infinity"


def test_the_user_sees_a_healthy_daemon(found):
    code, said = found["status"]
    assert code == 0, said
    assert "/run/forebay" in said
    code, said = found["doctor"]
    assert code == 0, said
    assert json.loads(said)["healthy"]


def test_trainers_get_their_batches(found, photos):
    samples = str(sum(1 for _ in photos.glob("*/*.jpg")))
    for key in ("trained", "trained_again"):
        code, said = found[key]
        assert code == 0, said
        assert said.strip() == samples
    assert found["indexes"]


def test_nobody_else_is_let_in(found):
    code, said = found["untrusted"]
    assert code != 0, said


def test_a_second_daemon_is_refused(found):
    code, said = found["second"]
    assert code != 0
    assert "Assert" in said, said


def test_the_watchdog_leaves_a_daemon_alone_that_works(found):
    assert found["feeds_the_watchdog"]
    assert found["restarts_when_idle"] == "0"


def test_comes_back_after_a_crash_and_a_hang(found):
    assert found["back_after_crash"]
    assert found["back_after_hang"]


def test_restarts_although_a_thread_hangs(found):
    hung = found["hung"]
    if "skipped" in hung:
        pytest.skip(hung["skipped"])
    code, said = hung["restart"]
    assert code == 0, said + found["journal"][1]
    assert hung["is_another"] and hung["still_there"], hung
    code, said = hung["trained"]
    assert code == 0, said


def test_stops_and_tidies_up(found):
    code, said = found["stop"]
    assert code == 0, said
    assert found["stopped"] == {"ActiveState": "inactive", "Result": "success"}
    assert not found["left_in_run"]


def test_a_sandbox_without_openat2_is_told_of(found):
    code, said = found["doctor_without_openat2"]
    assert code != 0
    problems = [finding["sentence"] for finding in json.loads(said)["findings"]
                if finding["level"] == "problem"]
    assert any("openat2" in problem for problem in problems), said
    code, said = found["trained_without_openat2"]
    assert code != 0
    assert "openat2" in said.splitlines()[-1]


def test_a_trainer_gives_its_daemon_a_scope(found):
    code, said = found["scope"]
    assert code == 0, said
    assert "/app.slice/" in said and said.strip().endswith(".scope"), said
