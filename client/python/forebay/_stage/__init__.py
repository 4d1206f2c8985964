"""Datasets whose samples only the user's own code can make, in worker processes."""

from __future__ import annotations

import warnings
from typing import Any, Dict, Iterator

from .. import errors


def code(split: Any, order: str, seed: int, given: Dict[str, Any],
         stacklevel: int) -> Any:
    """Makes a coded.Coded of the user's ops in a pipeline, and warns of these ops.

    Args:
      split: a _code.Code.
      order, seed: those of the loader.
      given: the loader's arguments for workers.
      stacklevel: that of the warning.

    Raises:
      errors.Unsupported: one sentence says why.
    """
    from . import arguments, coded
    arguments.check_workers(given["num_workers"], given["timeout"],
                            given["persistent_workers"])
    arguments.check_share_key(given["share_key"])
    if given["num_workers"] == 0 or order == "coordinated":
        raise errors.Unsupported(
            f"{split.names} has no counterpart in forebay.transforms, and runs in "
            'worker processes: num_workers=0 and order="coordinated" have none')
    workers = coded.Workers(
        arguments.workers(given["num_workers"]), given["worker_init_fn"],
        arguments.context(given["multiprocessing_context"]), seed,
        bool(given["persistent_workers"]), float(given["timeout"]))
    try:
        made = coded.make(split, workers)
    except errors.ForebayError:
        raise
    except Exception as error:
        raise errors.Unsupported(
            f"{split.names} cannot be tried on an image of noise: {error}") from None
    warnings.warn(
        f"without a counterpart in forebay.transforms: {split.names}: worker "
        "processes run it, between the ops of the daemon", stacklevel=stacklevel)
    return made


def become_coded(loader: Any) -> None:
    """Turns a DataLoader that is not initialized yet into a CodedLoader."""
    from .coded_loader import CodedLoader
    _change(loader, CodedLoader)


def become(loader: Any, why: Any, given: Dict[str, Any], autostart: bool,
           stacklevel: int) -> None:
    """Turns a DataLoader that is not open into a StagedLoader.

    Args:
      why: a _plan.NeedsWorkers.
      given, autostart: the loader's arguments.
      stacklevel: that of the warning, as seen from the caller.
    """
    from .loader import StagedLoader
    if not why.is_expected:
        warnings.warn(f"worker processes make the samples: {why.why}",
                      stacklevel=stacklevel + 1)
    _change(loader, StagedLoader)
    # The call names StagedLoader's own __init__: if the user has a subclass, the
    # subclass's __init__ is already running.
    StagedLoader.__init__(loader, autostart=autostart, **given)


def iterate(loader: Any) -> Iterator[Any]:
    """Begins an iteration of a loader that has become a StagedLoader."""
    from .loader import StagedLoader
    return StagedLoader.__iter__(loader)


def _change(loader: Any, to: Any) -> None:
    from ..loader import DataLoader
    kind = type(loader)
    loader.__class__ = (to if kind is DataLoader else
                        type(kind.__name__, (kind, to), {}))
