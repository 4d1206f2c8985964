"""A client of session.sock that can send anything: raw packets and raw memory."""

import fcntl
import functools
import mmap
import os
import socket
import struct
import traceback

from proto_modules import proto_module
from trouble import PATIENCE

VERSION = 4  # of the protocol
MAX_MESSAGE = 64 * 1024
RING_BYTES = 8192
RELEASE_ENTRIES = 64  # offset of the entries in the release ring
# The values of the seals against sealing, shrinking, growing and writing, for which
# Python 3.9 has no names.
ALL_SEALS = 0x1 | 0x2 | 0x4 | 0x8
INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED = 3, 5, 7
RESOURCE_EXHAUSTED, FAILED_PRECONDITION, OUT_OF_RANGE = 8, 9, 11


def messages():
    """Returns the modules (job_pb2, session_pb2) that protoc makes from proto/."""
    return proto_module("job"), proto_module("session")


def loader_spec(uri="data", batch_size=4):
    """Returns a valid LoaderSpec."""
    job, _ = messages()
    spec = job.LoaderSpec()
    spec.dataset.uri = os.fsencode(uri)
    spec.dataset.image_folder.SetInParent()
    spec.sampler.order = job.SamplerSpec.SEQUENTIAL
    spec.sampler.pad = job.SamplerSpec.WRAP
    spec.pipeline.ops.add().center_crop.height = 72
    spec.pipeline.ops[0].center_crop.width = 96
    spec.batch.batch_size = batch_size
    return spec


def memfd(content):
    """Returns a memfd that holds these bytes."""
    fd = os.memfd_create("hostile")
    os.write(fd, content)
    return fd


def sealed(content, size=None):
    """Returns a sealed memfd with these bytes. If `size` is given, the memfd is
    extended to that size."""
    fd = os.memfd_create("hostile", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, content)
    if size is not None:
        os.ftruncate(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, ALL_SEALS)
    return fd


def text(error):
    """Returns an Error's text."""
    return error.message.decode(errors="replace")


def in_child(check):
    """Forks. The child runs `check`. Returns the child's exit status."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            check()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def forked(test):
    """Makes a test run in a child process, which holds everything until it ends."""
    @functools.wraps(test)
    def run(*arguments, **named):
        messages()
        assert in_child(lambda: test(*arguments, **named)) == 0
    return run


def refused(session, code, *words):
    """Checks that the daemon gives a reason and hangs up."""
    answer, _ = session.receive()
    assert answer is not None, "no reason was given"
    assert answer.error.code == code, answer
    for word in words:
        assert word in text(answer.error)
    assert session.hung_up()


class RawSession:
    """A connection to the daemon's session socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(path))
        self._last_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.socket.close()

    def send(self, data, fds=()):
        """Sends one packet of these bytes."""
        self.socket.sendmsg([data], [(
            socket.SOL_SOCKET, socket.SCM_RIGHTS,
            struct.pack(f"{len(fds)}i", *fds))] if fds else [])

    def receive(self):
        """Returns the next DaemonMessage and its descriptors; None if the daemon has
        hung up."""
        data, control, _, _ = self.socket.recvmsg(
            MAX_MESSAGE, socket.CMSG_SPACE(64 * 4))
        if not data:
            return None, []
        fds = []
        for _, _, content in control:
            fds += struct.unpack(f"{len(content) // 4}i", content)
        answer = messages()[1].DaemonMessage()
        answer.ParseFromString(data)
        return answer, fds

    def hung_up(self):
        """Returns whether the daemon hangs up without a further message."""
        try:
            return self.receive()[0] is None
        except ConnectionResetError:
            return True

    def encode(self, **kind):
        """Returns a ClientMessage's bytes. `kind` is one field of it and the field's
        message."""
        request = messages()[1].ClientMessage()
        self._last_id += 1
        request.request_id = self._last_id
        for name, value in kind.items():
            getattr(request, name).CopyFrom(value)
        return request.SerializeToString()

    def call(self, fds=(), **kind):
        """Sends a request. Returns its answer or error, and the descriptors."""
        self.send(self.encode(**kind), fds)
        answer, answer_fds = self.receive()
        assert answer is not None, "the daemon hung up"
        assert answer.request_id == self._last_id
        return getattr(answer, answer.WhichOneof("kind")), answer_fds

    def hello(self, version=VERSION, key="raw", **job):
        """Returns a greeting, which is valid unless arguments change it."""
        greeting = messages()[1].Hello(protocol_version=version,
                                       client_version="raw")
        greeting.job.key = key.encode()
        for name, value in job.items():
            setattr(greeting.job, name,
                    value.encode() if isinstance(value, str) else value)
        return greeting

    def greet(self):
        """Sends the greeting of a proper client. Returns self."""
        pidfd = os.pidfd_open(os.getpid())
        answer, _ = self.call([pidfd], hello=self.hello())
        os.close(pidfd)
        assert answer.protocol_version == VERSION
        return self

    def open_loader(self, spec, folder, extra_fds=()):
        """Sends OpenLoader. Returns the answer and its descriptors."""
        root = os.open(folder, os.O_RDONLY)
        try:
            return self.call(
                [root, *extra_fds],
                open_loader=messages()[1].OpenLoader(spec=spec))
        finally:
            os.close(root)

    def start_epoch(self, loader_id, epoch=0, first_sample=0):
        return self.call(start_epoch=messages()[1].StartEpoch(
            loader_id=loader_id, epoch=epoch, first_sample=first_sample))


class RawRings:
    """The mapped rings of a loader."""

    def __init__(self, fds):
        self.ready_fd, self.release_fd, self.event_fd = fds
        self.ready = mmap.mmap(self.ready_fd, RING_BYTES, prot=mmap.PROT_READ)
        self.release = mmap.mmap(self.release_fd, RING_BYTES)

    def tail(self):
        """Returns how many entries the daemon has published."""
        return struct.unpack_from("I", self.ready, 64)[0]

    def entry(self, number):
        """Returns (kind, slot, generation) of a published entry."""
        at = RING_BYTES_OF_READY_HEAD + 32 * number
        return struct.unpack_from("III", self.ready, at)

    def push(self, number, slot, generation):
        """Writes release number `number` into the ring without waking the daemon."""
        struct.pack_into("II", self.release, RELEASE_ENTRIES + 8 * number,
                         slot, generation)
        struct.pack_into("I", self.release, 0, number + 1)

    def notify(self):
        os.write(self.event_fd, struct.pack("Q", 1))


# The first bytes of the ready ring. Its magic and version, its tail, and its error code
# and text each begin on a new cache line.
RING_BYTES_OF_READY_HEAD = (64 + 64 + 4 + 2048 + 63) // 64 * 64
