"""When a daemon that a trainer starts gets a cgroup of its own."""

import pytest

from forebay import _scope

UID = 1000
SLICE = f"user.slice/user-{UID}.slice"
SESSION = f"{SLICE}/session-3.scope"
ALL = "cpuset cpu io memory pids"


class Host:
    """The files of a host with systemd, and a trainer in a login session."""

    def __init__(self, folder, cgroup=SESSION, delegated=ALL):
        self.root = folder / "root"
        self.runtime = folder / "runtime"
        self.write("proc/self/cgroup", f"0::/{cgroup}\n")
        self.write("sys/fs/cgroup/cgroup.controllers", ALL)
        self.write(f"sys/fs/cgroup/{SLICE}/user@{UID}.service/"
                   "cgroup.controllers", delegated)
        (self.runtime / "systemd").mkdir(parents=True)
        (self.runtime / "systemd" / "private").touch()
        programs = folder / "bin"
        programs.mkdir()
        self.systemd_run = programs / "systemd-run"
        self.systemd_run.touch(mode=0o755)
        self.environment = {"XDG_RUNTIME_DIR": str(self.runtime),
                            "PATH": str(programs)}

    def write(self, path, text=""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def limit(self, cgroup, **limits):
        for name, text in limits.items():
            self.write(f"sys/fs/cgroup/{cgroup}/{name.replace('_', '.', 1)}",
                       text + "\n")

    def launcher(self):
        return _scope.launcher(self.environment, UID, str(self.root))

    def properties(self):
        """Returns the properties that the scope gets, by name."""
        words = [word[len("--property="):] for word in self.launcher()
                 if word.startswith("--property=")]
        return dict(word.split("=", 1) for word in words)


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_a_login_session_is_left(host):
    words = host.launcher()
    assert words[:3] == [str(host.systemd_run), "--user", "--scope"]
    assert words[-1] == "--"
    assert host.properties() == {}


def test_so_is_a_unit_of_the_users_own(tmp_path):
    unit = f"{SLICE}/user@{UID}.service/app.slice/editor.service"
    assert Host(tmp_path, unit).launcher()


@pytest.mark.parametrize("cgroup", [
    "", "init.scope", "system.slice/training.service",
    "system.slice/slurmstepd.scope/job_7/step_0", f"{SLICE}",
    "user.slice/user-1001.slice/session-3.scope",
    "kubepods.slice/kubepods-pod7.slice/cri-7.scope",
    "system.slice/docker-7.scope"])
def test_every_other_cgroup_is_stayed_in(tmp_path, cgroup):
    assert Host(tmp_path, cgroup).launcher() == []


@pytest.mark.parametrize("file", [".dockerenv", "run/.containerenv",
                                  "run/systemd/container"])
def test_a_container_is_stayed_in(host, file):
    host.write(file)
    assert host.launcher() == []


@pytest.mark.parametrize("name", [
    "container", "KUBERNETES_SERVICE_HOST", "SLURM_JOB_ID", "PBS_JOBID",
    "LSB_JOBID", "SGE_TASK_ID", "_CONDOR_SCRATCH_DIR"])
def test_so_is_a_job_of_a_batch_scheduler(host, name):
    host.environment[name] = "7"
    assert host.launcher() == []


def test_without_a_systemd_of_the_users_own_there_is_no_scope(host):
    (host.runtime / "systemd" / "private").unlink()
    assert host.launcher() == []
    del host.environment["XDG_RUNTIME_DIR"]
    assert host.launcher() == []


def test_nor_without_systemd_run(host):
    host.systemd_run.unlink()
    assert host.launcher() == []


@pytest.mark.parametrize("lines", [
    "4:memory:/user\n0::/" + SESSION + "\n", "1:name=systemd:/" + SESSION,
    "nonsense", ""])
def test_nor_with_cgroups_of_version_1(host, lines):
    host.write("proc/self/cgroup", lines)
    assert host.launcher() == []


def test_the_limits_are_taken_along(host):
    host.limit(SESSION, memory_max="4294967296", memory_high="max",
               cpu_max="150000 100000", pids_max="500", cpuset_cpus="0-3,8",
               cpuset_mems="")
    assert host.properties() == {
        "MemoryMax": "4294967296", "CPUQuota": "150.00%", "TasksMax": "500",
        "AllowedCPUs": "0-3 8"}


def test_the_lowest_limit_of_all_levels_holds(tmp_path):
    app = f"{SLICE}/user@{UID}.service/app.slice"
    host = Host(tmp_path, f"{app}/editor.scope")
    host.limit(f"{app}/editor.scope", memory_max="2000", cpu_max="max 100000")
    host.limit(app, memory_max="1000", cpu_max="50000 100000")
    # The slice into which the daemon moves has a limit, too. That needs no log line.
    host.limit(SLICE, memory_max="10")
    assert host.properties() == {"MemoryMax": "1000", "CPUQuota": "50.00%"}


def test_a_limit_that_cannot_be_taken_along_is_not_escaped(tmp_path):
    host = Host(tmp_path, delegated="cpu memory pids")
    host.limit(SESSION, memory_max="1000")
    assert host.properties() == {"MemoryMax": "1000"}
    host.limit(SESSION, cpuset_cpus="0-3")
    assert host.launcher() == []
    host.limit(SESSION, cpuset_cpus="", io_max="8:0 rbps=1000 wbps=max")
    assert host.launcher() == []
