"""Faults of sources: mounts and hosts that hang while jobs read from them."""

import contextlib
import time

from .data import HUNG, SMALL_CACHE
from .process import Process

PATIENCE = 60.0  # seconds until a job that does not answer counts as hanging
# The time from a fault's begin until everything that depends on it stands still.
SPREAD_SECONDS = 0.5
GO, STOP = "read", "rest"


class Fault:
    """A fault that comes and goes. In between, the jobs that suffer from the fault
    rest.

    Attributes:
      victims: the names of the victims that are measured.
      environment: dict of variables for the daemon.
      config: text of the daemon's TOML file.
      contends: whether the fault's jobs compete with the victims for the CPU.
    """

    victims = ("open", "hit", "miss", "python")
    config = SMALL_CACHE
    contends = False

    @staticmethod
    def missing():
        """Returns why this machine cannot make the fault, or "" if it can."""
        return ""

    def __init__(self, data):
        """Prepares the fault, before there is a daemon."""
        self.data = data
        self.environment = {}
        self.stack = contextlib.ExitStack()
        self.jobs = []

    def start(self, server):
        """Starts the jobs that suffer the fault."""

    def begin(self):
        """Begins the fault. Returns when the fault has taken effect."""
        self.run_jobs()

    def end(self):
        """Ends the fault completely, and lets all jobs rest.

        Raises:
          TimeoutError: a job does not come to rest.
        """
        self.rest_jobs()

    def close(self):
        """Ends the fault and all jobs."""
        for job in self.jobs:
            job.kill()
        self.jobs = []
        self.stack.close()

    def add_job(self, server, kind, stopped_while=None, **options):
        """Starts a job, which rests at first."""
        job = Process("job.py", server.environment, f"job-{len(self.jobs)}",
                      kind=kind, options=options, stopped_while=stopped_while)
        self.jobs.append(job)
        return job

    def run_jobs(self, is_awaited=True):
        """Lets all jobs read. If `is_awaited`, waits until each has a batch."""
        for job in self.jobs:
            job.say(GO)
        if is_awaited:
            self._await("reading")

    def rest_jobs(self):
        """Lets all jobs rest."""
        for job in self.jobs:
            job.say(STOP)
        self._await("resting")

    def _await(self, word):
        end = time.monotonic() + PATIENCE
        for job in self.jobs:
            said = None
            while said != word:  # it may not yet have said that it reads
                said = job.answer(end - time.monotonic())
                if said is None:
                    raise TimeoutError(f"a job is not {word} after {PATIENCE} s")


def hung_mount_missing():
    """Returns why no mount can be made, or "" if one can be made."""
    import hung_mount
    return hung_mount.missing()


def store_missing():
    """Returns why there is no server of objects, or "" if there is one."""
    import fake_gcs
    return fake_gcs.missing()


class NoFault(Fault):
    """No fault: measures the victims alone twice."""

    victims = ("open", "hit", "miss", "python", "fetch")


class Mounted(Fault):
    """Jobs that read a mount, which hangs."""

    missing = staticmethod(hung_mount_missing)

    def __init__(self, data, jobs, batch):
        super().__init__(data)
        self._count, self._batch = jobs, batch
        self._mount = None

    def mount(self, source, mountpoint):
        """Makes the mount."""
        from hung_mount import HungMount
        self._mount = self.stack.enter_context(HungMount(source, mountpoint))

    def place(self):
        """Makes the mount and the dataset, and returns the options of its loader."""
        path = self.data.folder / "mounted"
        self.mount(self.data.some, path)
        return {"uri": str(path)}

    def start(self, server):
        options = self.place()
        for _ in range(self._count):
            self.add_job(server, "photographs", batch_size=self._batch, **options)

    def begin(self):
        self.run_jobs()
        self._mount.stop()
        self._mount.await_held()
        time.sleep(SPREAD_SECONDS)

    def end(self):
        if self._mount.held() == 0:
            raise RuntimeError("nobody waits for the mount any longer")
        self._mount.go()
        self.rest_jobs()

    def close(self):
        if self._mount is not None:
            self._mount.close()
        super().close()


class Linked(Mounted):
    """Jobs that read a local folder in which some class folders are links to the
    mount."""

    def place(self):
        mounted = self.data.folder / "linked"
        self.mount(self.data.some, mounted)
        root = self.data.folder / "links"
        if not root.exists():
            root.mkdir()
            for number, folder in enumerate(sorted(self.data.some.iterdir())):
                target = mounted if number % 2 else self.data.some
                (root / folder.name).symlink_to(target / folder.name)
        return {"uri": str(root),
                "extra_roots": [str(mounted), str(self.data.some)]}


class SubMounted(Mounted):
    """Jobs that read a local folder of which one subfolder is the mount."""

    def place(self):
        root = self.data.folder / "local"
        if not root.exists():
            (root / "near").mkdir(parents=True)
            for path in sorted(self.data.some.glob("*/*.jpg"))[:200]:
                (root / "near" / f"{path.parent.name}-{path.name}").write_bytes(
                    path.read_bytes())
        # The class folder "far" has subfolders.
        self.mount(self.data.some, root / "far")
        return {"uri": str(root)}


class Hosted(Fault):
    """A job that reads shards from a host, which hangs, stalls or dies."""

    victims = ("open", "hit", "miss", "python", "web")
    missing = staticmethod(store_missing)

    def __init__(self, data, how, scheme="http"):
        super().__init__(data)
        self._how, self._scheme = how, scheme
        from hung_host import HungHost
        self._host = self.stack.enter_context(
            HungHost(data.store().url, "127.0.0.2"))
        self.environment = {
            "STORAGE_EMULATOR_HOST":
                self._host.url if scheme == "gs" else data.store().url}

    def start(self, server):
        place = self._host.url if self._scheme == "http" else "gs:/"
        self.add_job(server, "photographs", batch_size=64,
                     **self.data.shards_at(place, HUNG))

    def begin(self):
        self.run_jobs()
        getattr(self._host, self._how)()
        if self._how != "die":
            self._host.await_held()
        time.sleep(SPREAD_SECONDS)

    def end(self):
        if self._how != "die" and self._host.held() == 0:
            raise RuntimeError("nobody waits for the host any longer")
        self._host.go()
        self.rest_jobs()


class Openers(Fault):
    """Many jobs that open datasets and files but get no answer."""

    victims = ("open", "hit", "miss", "python", "fetch")
    EACH = 32

    def start(self, server):
        self._server = server
        self._process = None

    def places(self):
        """Returns the datasets and files to open, and the datasets' fields."""
        raise NotImplementedError

    def open_all(self):
        """Begins to open all datasets and files."""
        datasets, files, fields = self.places()
        self._process = Process(
            "opener.py", self._server.environment, "opener", datasets=datasets,
            files=files, fields=fields)
        if self._process.answer(PATIENCE) != "opening":
            raise TimeoutError("nothing is opened")

    def stop_opening(self):
        """Kills all jobs that open."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def close(self):
        self.stop_opening()
        super().close()


class HostOpeners(Openers):
    """Jobs that open datasets and files on a host that hangs."""

    missing = staticmethod(store_missing)

    def __init__(self, data):
        super().__init__(data)
        from hung_host import HungHost
        self._host = self.stack.enter_context(
            HungHost(data.store().url, "127.0.0.2"))

    def places(self):
        uri = f"{self._host.url}/{HUNG}"
        return ([f"{uri}/{number}/train-0.tar" for number in range(self.EACH)],
                [f"{uri}/file-{number}" for number in range(self.EACH)],
                ["jpg", "cls"])

    def begin(self):
        self._host.stop()
        self.open_all()
        self._host.await_held()
        time.sleep(2 * SPREAD_SECONDS)

    def end(self):
        self.stop_opening()
        self._host.go()


class MountOpeners(Openers):
    """Jobs that open datasets and files on a mount that hangs. The mount answers the
    trainers' own calls, which come first, but not the daemon's."""

    missing = staticmethod(hung_mount_missing)

    def start(self, server):
        super().start(server)
        from hung_mount import HungMount
        root = self.data.folder / "many"
        if not root.exists():
            for number in range(self.EACH):
                folder = root / f"{number:02}" / "class"
                folder.mkdir(parents=True)
                (folder / "image.jpg").write_bytes(b"")
        self._mount = self.stack.enter_context(
            HungMount(root, self.data.folder / "mounted"))

    def places(self):
        folders = [str(self._mount.path / f"{number:02}")
                   for number in range(self.EACH)]
        return folders, [f"{folder}/class/image.jpg" for folder in folders], None

    def begin(self):
        self._mount.stop(caller=self._server.pid)
        self.open_all()
        self._mount.await_held()
        time.sleep(2 * SPREAD_SECONDS)

    def end(self):
        self._mount.go()
        self.stop_opening()

    def close(self):
        self._mount.close()
        super().close()
