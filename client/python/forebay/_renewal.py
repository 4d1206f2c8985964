"""Whether a dataset that turns out to be out of date may be opened anew.

An index that was kept may not show that files were edited in place: the first
read of one tells. While nothing was returned, nobody has relied on what the
dataset was.
"""

from __future__ import annotations

import logging

from . import errors

_log = logging.getLogger("forebay")


def announce(error: errors.StateError) -> None:
    """Says in the log that a dataset is opened anew for `error`."""
    _log.warning("%s: the dataset is opened anew", error)


def check_successor(uri: str, before, opened, is_new: bool) -> None:
    """Checks that who has read from `before` may go on with `opened`.

    Args:
      uri: of the dataset.
      before, opened: have dataset_version, dataset_size and classes.
      is_new: whether nobody has had a sample: the version may then be another.

    Raises:
      errors.StateError: there are other samples, or classes.
    """
    if opened.dataset_version == before.dataset_version:
        return
    if (not is_new or opened.dataset_size != before.dataset_size or
            opened.classes != before.classes):
        raise errors.StateError(
            f"{uri} has changed since it was opened: open another")
