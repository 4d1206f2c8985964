"""Runs under the test's own systemd. Uses the unit as an administrator would, and
writes its findings to /result/found.json."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import hung_mount

UNIT, USER, OTHER_USER = "forebayd@daemon", "daemon", "nobody"
WATCHDOG_SECONDS = 2
PATIENCE_SECONDS = 30
TRAINER = """
import forebay
from forebay import transforms as T
loader = forebay.DataLoader(
    "/photos", batch_size=8, framework="numpy", autostart=False,
    transform=T.Compose([T.RandomResizedCrop(64), T.ToImage()]))
print(sum(len(batch.label) for batch in loader))
"""

HUNG_TRAINER = """
import forebay
forebay.open("/hung/file", autostart=False)
"""

# Runs a command in a scope, as a trainer runs in a login session that limits its
# memory. The script makes the session's cgroups itself, because this boot has no login
# sessions.
SCOPE = """
import os, pathlib, subprocess, sys, tempfile
from forebay import _scope
with tempfile.TemporaryDirectory() as root:
    user = f"user.slice/user-{os.getuid()}.slice"
    for path, text in (
            ("proc/self/cgroup", f"0::/{user}/session-1.scope"),
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory"),
            (f"sys/fs/cgroup/{user}/user@{os.getuid()}.service/"
             "cgroup.controllers", "cpu memory"),
            (f"sys/fs/cgroup/{user}/session-1.scope/memory.max", "1073741824"),
            (f"sys/fs/cgroup/{user}/session-1.scope/cpu.max", "50000 100000")):
        file = pathlib.Path(root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    words = _scope.launcher(os.environ, os.getuid(), root)
    subprocess.run([*words, "grep", "0::", "/proc/self/cgroup"], check=True)
"""


def run(*command):
    """Runs a command. Returns (exit code, its output)."""
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode()


def as_user(*command):
    return run("runuser", "-u", USER, "--", *command)


def properties(*names):
    _, text = run("systemctl", "show", UNIT, "-p", ",".join(names))
    return dict(line.split("=", 1) for line in text.splitlines())


def main_pid():
    return int(properties("MainPID")["MainPID"])


def drop_in(name, text):
    """Adds an administrator's setting beside the unit."""
    folder = pathlib.Path("/etc/systemd/system/forebayd@.service.d")
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.conf").write_text(f"[Service]\n{text}\n")
    run("systemctl", "daemon-reload")


def comes_true(condition):
    """Checks the condition again and again. Returns whether it becomes true in time."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if condition():
            return True
    return False


def await_restart(pid):
    """Returns whether another process becomes active in time."""
    return comes_true(lambda: (
        properties("ActiveState")["ActiveState"] == "active" and
        main_pid() not in (0, pid)))


def await_feeding(times):
    """Returns whether the watchdog gets `times` notifications in time."""
    seen = set()

    def fed():
        seen.add(properties("WatchdogTimestampMonotonic").popitem()[1])
        return len(seen) > times

    return comes_true(fed)


def train():
    return as_user("/usr/bin/python3", "-c", TRAINER)


def restart_with_hung_thread():
    """Restarts the unit while a thread of the daemon waits for a hanging file system.
    Returns the results, or why this was not tried."""
    if hung_mount.missing():
        return {"skipped": hung_mount.missing()}
    source = pathlib.Path("/source")
    source.mkdir(exist_ok=True)
    (source / "file").write_text("content")
    with hung_mount.HungMount(source, "/hung") as mount:
        # A client itself only opens the folder.
        mount.stop("open", "read")
        trainer = subprocess.Popen(["runuser", "-u", USER, "--",
                                    "/usr/bin/python3", "-c", HUNG_TRAINER])
        mount.await_held()
        pid = main_pid()
        begun = time.monotonic()
        restart = run("systemctl", "restart", UNIT)
        seconds = time.monotonic() - begun
        trainer.terminate()
        trainer.wait()
        return {"restart": restart, "seconds": seconds,
                "is_another": main_pid() not in (0, pid),
                "still_there": os.path.exists(f"/proc/{pid}"),
                "trained": train()}


def doctor():
    return as_user("forebayctl", "doctor", "--json")


def user_scope():
    """Runs a command in a scope, under the systemd of a user. Returns (exit code, the
    command's cgroup)."""
    runtime = pathlib.Path("/run/user-of-the-test")
    runtime.mkdir(mode=0o700)
    shutil.chown(runtime, USER)
    said = runtime / "said"
    run("systemd-run", f"--uid={USER}", f"--setenv=XDG_RUNTIME_DIR={runtime}",
        "--property=Delegate=yes", "--property=Type=notify",
        "/lib/systemd/systemd", "--user")
    code, _ = run("runuser", "-u", USER, "--", "env",
                  f"XDG_RUNTIME_DIR={runtime}", "systemd-run", "--user",
                  f"--setenv=XDG_RUNTIME_DIR={runtime}",
                  f"--property=StandardOutput=file:{said}",
                  f"--property=StandardError=file:{said}",
                  "/usr/bin/python3", "-c", SCOPE)
    comes_true(lambda: said.exists() and ".scope" in said.read_text())
    return code, said.read_text() if said.exists() else ""


def main():
    found = {"scope": user_scope()}
    drop_in("watchdog", f"WatchdogSec={WATCHDOG_SECONDS}")
    found["start"] = run("systemctl", "start", UNIT)
    found["running"] = properties("ActiveState", "SubState", "Type",
                                  "LimitNOFILE", "LimitMEMLOCK")
    found["status"] = as_user("forebayctl", "status")
    found["doctor"] = doctor()
    found["trained"] = train()
    found["untrusted"] = run("runuser", "-u", OTHER_USER, "--", "forebayctl",
                             "--runtime-dir", "/run/forebay", "status")
    found["second"] = run("systemctl", "start", f"forebayd@{OTHER_USER}")

    found["feeds_the_watchdog"] = await_feeding(times=3)
    found["restarts_when_idle"] = properties("NRestarts")["NRestarts"]
    pid = main_pid()
    os.kill(pid, signal.SIGKILL)
    found["back_after_crash"] = await_restart(pid)
    found["trained_again"] = train()
    # The first run stored no index, because the files were too young.
    found["indexes"] = [
        str(path) for path in pathlib.Path("/var/lib/forebay", USER).rglob("*")
        if path.is_file()]
    pid = main_pid()
    os.kill(pid, signal.SIGSTOP)
    found["back_after_hang"] = await_restart(pid)

    found["hung"] = restart_with_hung_thread()

    found["stop"] = run("systemctl", "stop", UNIT)
    found["stopped"] = properties("ActiveState", "Result")
    found["left_in_run"] = os.path.exists("/run/forebay")

    drop_in("strict", "RestrictSUIDSGID=yes")
    run("systemctl", "start", UNIT)
    found["doctor_without_openat2"] = doctor()
    found["trained_without_openat2"] = train()
    found["journal"] = run("journalctl", "--no-pager", "-o", "cat", "-u", UNIT)
    pathlib.Path("/result/found.json").write_text(json.dumps(found))


main()
