"""Checks whether a dataset that has changed may be opened again.

A stored index may not show that files were edited in place. The first read of such a
file then shows it. Until a sample was returned, nobody relies on the old version.
"""

from __future__ import annotations

import logging

from . import errors

_log = logging.getLogger("forebay")


def announce(error: errors.StateError) -> None:
    """Logs that a dataset is opened again because of `error`."""
    _log.warning("%s: the dataset is opened anew", error)


def check_successor(uri: str, before, opened, is_new: bool) -> None:
    """Checks that a user of `before` may continue with `opened`.

    Args:
      uri: the dataset's URI.
      before, opened: objects with dataset_version, dataset_size and classes.
      is_new: whether no sample was returned yet. If so, the version may differ.

    Raises:
      errors.StateError: the samples or the classes differ.
    """
    if opened.dataset_version == before.dataset_version:
        return
    if (not is_new or opened.dataset_size != before.dataset_size or
            opened.classes != before.classes):
        raise errors.StateError(
            f"{uri} has changed since it was opened: open another")
