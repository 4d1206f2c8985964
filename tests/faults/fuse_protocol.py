"""The protocol of /dev/fuse. Codes and layouts have the names of linux/fuse.h."""

import struct

LOOKUP, FORGET, GETATTR, READLINK = 1, 2, 3, 5
OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 14, 15, 17, 18, 25, 26
OPENDIR, READDIR, RELEASEDIR = 27, 28, 29
INTERRUPT, DESTROY, BATCH_FORGET = 36, 38, 42
OPERATIONS = {
    "lookup": LOOKUP, "getattr": GETATTR, "readlink": READLINK, "open": OPEN,
    "read": READ, "statfs": STATFS, "flush": FLUSH, "opendir": OPENDIR,
    "readdir": READDIR}
UNANSWERED = (FORGET, BATCH_FORGET)
NEVER_HELD = (INIT, INTERRUPT, DESTROY, RELEASE, RELEASEDIR, *UNANSWERED)

IN_HEADER = struct.Struct("<IIQQIIIHH")
OUT_HEADER = struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
ENTRY = struct.Struct("<QQQQII")
VALIDITY = struct.Struct("<QII")
READ_IN = struct.Struct("<QQI")
OPEN_OUT = struct.Struct("<QIi")
DIRENT = struct.Struct("<QQII")
INIT_OUT = struct.Struct("<IIIIHHIIHHI28x")
STATFS_OUT = struct.Struct("<QQQQQIIII24x")

ROOT_NODE = 1
MINOR = 31  # the minor version of protocol 7
ASYNC_READ, PARALLEL_DIROPS, MAX_PAGES = 1 << 0, 1 << 18, 1 << 22
MAX_BACKGROUND = 4096  # with the default of 12, readers would wait for each other
MAX_WRITE = 128 << 10


class Request:
    """A request from the kernel."""

    def __init__(self, message):
        (_, self.opcode, self.unique, self.node, _, _, self.thread, _,
         _) = IN_HEADER.unpack_from(message)
        self.body = message[IN_HEADER.size:]
