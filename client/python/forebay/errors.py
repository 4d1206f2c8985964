"""The exceptions of this package."""


class ForebayError(Exception):
    """The base of all errors of this package."""


class InvalidArgument(ForebayError, ValueError):
    """An argument is invalid."""


class NotFound(ForebayError, FileNotFoundError):
    """A dataset or one of its folders does not exist."""


class IsADirectory(ForebayError, IsADirectoryError):
    """A path names a directory, but a file is needed."""


class PermissionDenied(ForebayError, PermissionError):
    """A folder may not be read, or a daemon cannot be trusted."""


class ResourceExhausted(ForebayError, MemoryError):
    """The daemon's memory budget or another bounded resource is used up."""


class Unsupported(ForebayError, NotImplementedError):
    """This version cannot do what the caller asked for."""


class DaemonUnavailable(ForebayError, ConnectionError):
    """No daemon listens, or it went away and did not come back."""


class SourceUnavailable(ForebayError, ConnectionError):
    """The daemon cannot reach the dataset's storage at present."""


# The errors after which another try may succeed.
PASSING = (DaemonUnavailable, SourceUnavailable)


class DataError(ForebayError):
    """A sample cannot be used; the message names it. The epoch is over."""


class ProducerFailed(ForebayError):
    """The user's own code that makes a sample failed."""


class StateError(ForebayError):
    """The call does not fit the state of the loader."""


class FileChanged(StateError, OSError):
    """A file was changed, replaced or removed while it was open."""
