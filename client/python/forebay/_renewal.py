"""Opens a dataset anew, once, that turns out to be out of date.

An index that was kept may not show that files were edited in place: the first
read of one tells. While nothing was returned, nobody has relied on what the
dataset was.
"""

from __future__ import annotations

import logging

from . import errors

_log = logging.getLogger("forebay")


def changed(what: str) -> errors.StateError:
    """Says that `what` is not what was opened."""
    return errors.StateError(
        f"{what} has changed since it was opened: open another")


def renew(uri: str, before, reopen, error: errors.StateError):
    """What `reopen()` opens; says in the log that it is for `error`.

    Args:
      uri: of the dataset.
      before, and what is opened: have dataset_size and classes, which must be
        the same.

    Raises:
      errors.StateError: there are other samples, or classes.
    """
    _log.warning("%s: the dataset is opened anew", error)
    opened = reopen()
    if (opened.dataset_size != before.dataset_size or
            opened.classes != before.classes):
        raise changed(uri)
    return opened


def renew_loader(loader, epoch, error: errors.StateError) -> None:
    """Lets `epoch` go on with a dataset that was opened anew.

    Raises:
      errors.StateError: `error`, if a batch was returned before, or a state
        loaded; those of `renew`.
    """
    with loader._lock:
        position = epoch._position
        if (loader._current is not position or position.samples or
                not loader._progress.is_new):
            raise error
        loader._progress.is_new = False
        loader._connection.close()  # gives its memory back
        opened = renew(loader._contents.uri, loader._connection,
                       loader._connect, error)
        loader._connection = opened
        loader._contents.version = opened.dataset_version.hex()
        loader._start(position)
        epoch.read_from(opened)  # of the iteration that has begun
