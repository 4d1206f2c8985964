"""What can go wrong, as exceptions."""


class ForebayError(Exception):
    """The base of all errors of this package."""


class InvalidArgument(ForebayError, ValueError):
    """An argument, or the daemon's answer to one, says that it makes no sense."""


class NotFound(ForebayError, FileNotFoundError):
    """A dataset, or a folder of it, does not exist."""


class PermissionDenied(ForebayError, PermissionError):
    """A folder may not be read, or a daemon is not to be trusted."""


class ResourceExhausted(ForebayError, MemoryError):
    """The daemon's memory budget, or another bounded resource, is spent."""


class Unsupported(ForebayError, NotImplementedError):
    """This version cannot do what was asked for."""


class DaemonUnavailable(ForebayError, ConnectionError):
    """No daemon listens, or it went away and did not come back."""


class SourceUnavailable(ForebayError, ConnectionError):
    """The daemon cannot reach what the dataset is read from just now."""


# Errors that may be gone at the next try.
PASSING = (DaemonUnavailable, SourceUnavailable)


class DataError(ForebayError):
    """A sample cannot be used; the message names it. The epoch is over."""


class StateError(ForebayError):
    """The call does not fit the state of the loader."""
