"""The check whether a dataset that turns out to be out of date may be opened again.

A stored index may not show that files were edited in place; the first read of
such a file does. Until a sample was returned, nobody relies on the version.
"""

from __future__ import annotations

import logging

from . import errors

_log = logging.getLogger("forebay")


def announce(error: errors.StateError) -> None:
    """Logs that a dataset is opened again because of `error`."""
    _log.warning("%s: the dataset is opened anew", error)


def check_successor(uri: str, before, opened, is_new: bool) -> None:
    """Checks that a reader of `before` may go on with `opened`.

    Args:
      uri: of the dataset.
      before, opened: objects with dataset_version, dataset_size and classes.
      is_new: whether no sample was returned: the version may then differ.

    Raises:
      errors.StateError: the samples or the classes differ.
    """
    if opened.dataset_version == before.dataset_version:
        return
    if (not is_new or opened.dataset_size != before.dataset_size or
            opened.classes != before.classes):
        raise errors.StateError(
            f"{uri} has changed since it was opened: open another")
