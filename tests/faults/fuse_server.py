"""Serves a directory through FUSE, read-only, and stops answering on demand.

    fuse_server.py SOURCE MOUNTPOINT VALID_SECONDS PARENT

HungMount starts this program, with its own process id as PARENT. The program speaks
the protocol of /dev/fuse itself (linux/fuse.h), so that it can decide about each
request. Commands come as lines on standard input; each is answered by a line:

    stop CALLER FOLDER [OPERATION...]
                         Holds requests of these kinds (default: all kinds) once
                         the answer is printed: their callers wait. CALLER is the
                         process whose requests are held; 0 means all processes.
                         FOLDER, below SOURCE, has the requested files; "." means
                         all files.
    go                   Answers the held requests, and holds no more.
    await COUNT SECONDS  Waits until COUNT requests are held. The answer is the
                         number of held requests.
    unmount PATH         Another mount, at PATH, will end with this one.

The mount ends when standard input ends, or when the parent or this program dies. The
kernel then closes the connection's last descriptor, and fails all waiting calls.

The caller of a held request waits in state D. SIGKILL does not end its wait, since
this program has already read the request.
"""

import ctypes
import errno
import os
import select
import signal
import stat
import struct
import sys
import threading
import time

from fault_process import end_with
from fuse_protocol import (
    ASYNC_READ, ATTRIBUTES, DESTROY, DIRENT, ENTRY, FLUSH, GETATTR, INIT, INIT_OUT,
    INTERRUPT, LOOKUP, MAX_BACKGROUND, MAX_PAGES, MAX_WRITE, MINOR, NEVER_HELD,
    OPEN, OPENDIR, OPEN_OUT, OPERATIONS, OUT_HEADER, PARALLEL_DIROPS, READ, READDIR,
    READLINK, READ_IN, RELEASE, RELEASEDIR, ROOT_NODE, Request, STATFS, STATFS_OUT,
    UNANSWERED, VALIDITY)

BUFFER = 1 << 20
MS_RDONLY, MS_NOSUID, MS_NODEV = 1, 2, 4
MNT_DETACH = 2
# The server looks this name up to make the kernel send an INTERRUPT.
PROBE = ".interrupt"


def _process_of(thread):
    """Returns the process of a thread, or 0 if the thread is gone or the kernel's."""
    try:
        with open(f"/proc/{thread}/status") as status:
            return next(int(line.split()[1]) for line in status
                        if line.startswith("Tgid:"))
    except OSError:
        return 0


def _nanos(seconds):
    return int(seconds), int(seconds % 1 * 1e9)


def _attributes(info):
    times = [divmod(nanos, 10 ** 9) for nanos in
             (info.st_atime_ns, info.st_mtime_ns, info.st_ctime_ns)]
    return ATTRIBUTES.pack(
        info.st_ino, info.st_size, info.st_blocks, *[each[0] for each in times],
        *[each[1] for each in times], info.st_mode, info.st_nlink, info.st_uid,
        info.st_gid, 0, info.st_blksize, 0)


class Tree:
    """The served directory, which answers requests by its files.

    An answer is the bytes that follow the header. An error is raised as OSError.
    """

    def __init__(self, source, valid_seconds):
        self._valid = _nanos(valid_seconds)
        self._paths = {ROOT_NODE: source}
        self._nodes = {source: ROOT_NODE}
        self._answers = {
            LOOKUP: self._lookup, GETATTR: self._getattr, READLINK: self._readlink,
            OPEN: self._open, READ: self._read, RELEASE: self._release,
            FLUSH: lambda request: b"", STATFS: self._statfs,
            OPENDIR: self._opendir, READDIR: self._readdir,
            RELEASEDIR: lambda request: b""}

    def answer(self, request):
        """Returns the answer to a request."""
        if request.opcode not in self._answers:
            raise OSError(errno.ENOSYS, "")
        return self._answers[request.opcode](request)

    def has(self, folder, node):
        """Whether a node is the folder `folder` or lies below it."""
        path = os.path.relpath(self._paths.get(node, "/"), self._paths[ROOT_NODE])
        return folder == "." or f"{path}/".startswith(f"{folder}/")

    def _lookup(self, request):
        name = os.fsdecode(request.body.split(b"\0", 1)[0])
        path = os.path.join(self._paths[request.node], name)
        info = os.lstat(path)
        node = self._nodes.setdefault(path, len(self._nodes) + 1)
        self._paths[node] = path
        seconds, nanos = self._valid
        return ENTRY.pack(node, 0, seconds, seconds, nanos,
                          nanos) + _attributes(info)

    def _getattr(self, request):
        info = os.lstat(self._paths[request.node])
        return VALIDITY.pack(*self._valid, 0) + _attributes(info)

    def _readlink(self, request):
        return os.fsencode(os.readlink(self._paths[request.node]))

    def _open(self, request):
        flags, = struct.unpack_from("<I", request.body)
        if flags & os.O_ACCMODE != os.O_RDONLY:
            raise OSError(errno.EROFS, "")
        file = os.open(self._paths[request.node], os.O_RDONLY)
        return OPEN_OUT.pack(file, 0, 0)

    def _read(self, request):
        file, offset, size = READ_IN.unpack_from(request.body)
        return os.pread(file, size, offset)

    def _release(self, request):
        file, = struct.unpack_from("<Q", request.body)
        os.close(file)
        return b""

    def _statfs(self, request):
        info = os.statvfs(self._paths[request.node])
        return STATFS_OUT.pack(
            info.f_blocks, info.f_bfree, info.f_bavail, info.f_files, info.f_ffree,
            info.f_bsize, info.f_namemax, info.f_frsize, 0)

    def _opendir(self, request):
        return OPEN_OUT.pack(0, 0, 0)

    def _readdir(self, request):
        _, offset, size = READ_IN.unpack_from(request.body)
        with os.scandir(self._paths[request.node]) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        answer = b""
        for number, entry in enumerate(entries[offset:], offset + 1):
            name = os.fsencode(entry.name)
            mode = entry.stat(follow_symlinks=False).st_mode
            dirent = DIRENT.pack(entry.inode(), number, len(name),
                                 stat.S_IFMT(mode) >> 12) + name
            dirent += bytes(-len(dirent) % 8)
            if len(answer) + len(dirent) > size:
                break
            answer += dirent
        return answer


class Connection:
    """A mount's connection with the kernel, and the requests that it holds."""

    def __init__(self, device, tree, probed):
        """Calls `probed()` when PROBE is looked up. Holds that request until an
        INTERRUPT comes."""
        self._device, self._tree, self._probed = device, tree, probed
        self._probe = None
        self._stopped = frozenset()
        self._caller = 0
        self._folder = "."
        self.held = []

    def stop(self, operations, caller, folder):
        """From now on, holds requests of these opcodes. They are those of one process,
        or of all if `caller` is 0, for files in `folder`."""
        self._stopped = frozenset(operations)
        self._caller = caller
        self._folder = folder

    def go(self):
        """Answers the held requests, and holds no more."""
        self._stopped = frozenset()
        waiting, self.held = self.held, []
        for request in waiting:
            self._answer(request)

    def take(self):
        """Takes one request. Returns whether more may come."""
        try:
            request = Request(os.read(self._device, BUFFER))
        except OSError as error:
            # ENOENT: the caller has left meanwhile. ENODEV: somebody unmounted.
            return error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN)
        if request.opcode == INIT:
            self._send(request, 0, self._init(request))
        elif request.opcode == INTERRUPT:
            self._interrupt(request)
        elif request.opcode == LOOKUP and \
                request.body.startswith(PROBE.encode() + b"\0"):
            self._probe = request
            self._probed()
        elif self._holds(request):
            self.held.append(request)
        elif request.opcode not in UNANSWERED:
            self._answer(request)
        return request.opcode != DESTROY

    def _holds(self, request):
        return request.opcode in self._stopped and (
            self._caller in (0, _process_of(request.thread))) and (
            self._tree.has(self._folder, request.node))

    @staticmethod
    def _init(request):
        _, _, readahead, flags = struct.unpack_from("<IIII", request.body)
        return INIT_OUT.pack(
            7, MINOR, readahead, flags & (ASYNC_READ | PARALLEL_DIROPS | MAX_PAGES),
            MAX_BACKGROUND, MAX_BACKGROUND, MAX_WRITE, 1, MAX_WRITE // 4096, 0, 0)

    def _interrupt(self, request):
        # After ENOSYS the kernel sends no more INTERRUPTs, and callers wait in state D.
        self._send(request, errno.ENOSYS)
        if self._probe is not None:
            self._send(self._probe, errno.ENOENT)
            self._probe = None

    def _answer(self, request):
        try:
            self._send(request, 0, self._tree.answer(request))
        except OSError as error:
            self._send(request, error.errno or errno.EIO)

    def _send(self, request, error, body=b""):
        header = OUT_HEADER.pack(OUT_HEADER.size + len(body), -error,
                                 request.unique)
        try:
            os.write(self._device, header + body)
        except OSError as problem:
            # ENOENT: the caller has left. ENODEV: the connection has ended.
            if problem.errno not in (errno.ENOENT, errno.ENODEV):
                raise


class Commands:
    """Obeys the commands from standard input, and prints their answers."""

    def __init__(self, connection, mount):
        self._connection, self._mount = connection, mount
        self._rest = b""
        self._awaited = self._deadline = None

    def take(self):
        """Obeys the lines that have come. Returns whether more may come."""
        text = os.read(sys.stdin.fileno(), 4096)
        *lines, self._rest = (self._rest + text).split(b"\n")
        for line in lines:
            self._obey(*line.decode().split())
        return text != b""

    def _obey(self, command, *words):
        if command == "stop":
            caller, folder, *operations = words
            self._connection.stop(
                {OPERATIONS[word] for word in operations} or
                set(range(256)) - set(NEVER_HELD), int(caller), folder)
            print("stopped", flush=True)
        elif command == "go":
            self._connection.go()
            print("going", flush=True)
        elif command == "unmount":
            self._mount.end_with(*words)
            print("noted", flush=True)
        elif command == "await":
            self._awaited = int(words[0])
            self._deadline = time.monotonic() + float(words[1])

    def look(self):
        """Answers an `await` that is over. Returns the seconds until the next look, or
        None if nothing is awaited."""
        if self._awaited is None:
            return None
        left = self._deadline - time.monotonic()
        if len(self._connection.held) < self._awaited and left > 0:
            return left
        print(len(self._connection.held), flush=True)
        self._awaited = None
        return None


def _checked(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Mount:
    """The mount itself, and the mounts that end with it."""

    def __init__(self, mountpoint):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._mountpoint = os.fsencode(mountpoint)
        self._above = []
        # O_NONBLOCK is needed because a request may go away between select and read.
        self.device = os.open("/dev/fuse",
                              os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        options = (f"fd={self.device},rootmode=40000,user_id=0,group_id=0,"
                   "allow_other,default_permissions")
        _checked(self._libc.mount(
            b"hung_mount", self._mountpoint, b"fuse",
            ctypes.c_ulong(MS_RDONLY | MS_NOSUID | MS_NODEV), options.encode()))

    def end_with(self, path):
        """Makes another mount, which lies above this one, end with this one."""
        self._above.append(os.fsencode(path))

    def end(self):
        """Unmounts the mounts, even while they are in use."""
        for path in (*self._above, self._mountpoint):
            self._libc.umount2(path, MNT_DETACH)


def _ending():
    """Returns a descriptor that becomes readable at the first SIGTERM.

    A handler that raised an exception could interrupt the unmounting.
    """
    ending, write = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.write(write, b"."))
    return ending


def _serve(mount, connection, ending):
    commands = Commands(connection, mount)
    going = True
    while going:
        seconds = commands.look()
        ready, _, _ = select.select([mount.device, sys.stdin, ending], [], [],
                                    seconds)
        going = ending not in ready
        if going and sys.stdin in ready:
            going = commands.take()
        if going and mount.device in ready:
            going = connection.take()


def main(source, mountpoint, valid_seconds, parent):
    """Serves until standard input ends."""
    signal.signal(signal.SIGUSR1, lambda *_: None)
    ending = _ending()
    end_with(int(parent))
    mount = Mount(mountpoint)
    try:
        # The thread's call ends as soon as the kernel has learned ENOSYS.
        probe = threading.Thread(
            target=os.path.lexists, args=(os.path.join(mountpoint, PROBE),),
            daemon=True)
        connection = Connection(
            mount.device, Tree(os.path.abspath(source), float(valid_seconds)),
            lambda: signal.pthread_kill(probe.ident, signal.SIGUSR1))
        probe.start()
        while probe.is_alive():
            if select.select([mount.device], [], [], 0.01)[0]:
                connection.take()
        print("serving", flush=True)
        _serve(mount, connection, ending)
    finally:
        mount.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
