"""Turns errors of the operating system into this package's exceptions and messages."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from typing import Dict, Iterator, Type

from . import errors

KINDS: Dict[int, Type[errors.ForebayError]] = {
    errno.ENOENT: errors.NotFound, errno.ENOTDIR: errors.NotFound,
    errno.EACCES: errors.PermissionDenied, errno.EPERM: errors.PermissionDenied,
    errno.EISDIR: errors.IsADirectory,
    **dict.fromkeys((errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC,
                     errno.EDQUOT, errno.EAGAIN), errors.ResourceExhausted)}
_REMEDIES = {
    errno.ENFILE: "sysctl fs.file-max raises the limit of this host",
    errno.ENOMEM: "the cgroup's memory limit, ulimit -v or sysctl vm.max_map_count "
                  "may be too low",
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some space there, or raise the quota",
    errno.EAGAIN: "ulimit -u or the cgroup's pids.max may be too low"}


def reason(error: OSError) -> str:
    """Returns a text that says what the error is, and what to do about it."""
    text = error.strerror or str(error)
    number = error.errno
    if number == errno.EMFILE:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        text += f" (the limit of this process is {limit}: ulimit -n raises it)"
    elif number in (errno.EACCES, errno.EPERM):
        text += f" (for user id {os.geteuid()})"
    elif number in _REMEDIES:
        text += f" ({_REMEDIES[number]})"
    return text


def is_exhaustion(error: OSError) -> bool:
    """Whether an error says that the host or this process has run out of a
    resource."""
    return (not isinstance(error, errors.ForebayError) and
            KINDS.get(error.errno or 0) is errors.ResourceExhausted)


@contextlib.contextmanager
def exhaustion_of(what: str) -> Iterator[None]:
    """Raises ResourceExhausted in place of an OSError that says that the host or this
    process has run out of a resource.

    Args:
      what: a clause that says what cannot be done.
    """
    try:
        yield
    except OSError as error:
        if not is_exhaustion(error):
            raise
        raise errors.ResourceExhausted(f"{what}: {reason(error)}") from error
