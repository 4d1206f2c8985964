"""Gives loaders the attributes of torch's DataLoader, and copies loaders."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Callable, Dict, FrozenSet, Optional

from . import errors
from ._epoch_order import BatchOrder, EpochOrder

# The attributes that follow from the arguments alone.
_FIXED = ("batch_size", "batch_sampler", "collate_fn", "dataset", "drop_last",
          "persistent_workers", "sampler")


def _prefetch_factor(given: Any, has_workers: bool) -> Any:
    """Returns the value that torch's loader would have. Without workers, torch allows
    only the default, which depends on torch's version."""
    torch = sys.modules.get("torch")
    if has_workers:
        return 2 if given is None else given
    if torch is None:
        return None
    original = torch.utils.data.dataloader.DataLoader  # forebay.torch.install leaves it
    return inspect.signature(original).parameters[
        "prefetch_factor"].default


class TorchAttributes:
    """The public attributes of torch's DataLoader, which a loader has as well.

    Attributes:
      collate_fn, generator, pin_memory, pin_memory_device, in_order, worker_init_fn:
        the arguments. Without the argument collate_fn, the framework's default.
      sampler: the argument, or an EpochOrder if there is none.
      batch_sampler: the argument, or a BatchOrder if there is none. None without
        batching, or if the lengths of samples decide the batches.
      timeout, prefetch_factor, persistent_workers, multiprocessing_context: the
        arguments, or torch's defaults if no worker runs.
    """

    batch_sampler: Any
    collate_fn: Optional[Callable[..., Any]]
    generator: Any
    in_order: bool
    multiprocessing_context: Any
    persistent_workers: bool
    pin_memory: bool
    pin_memory_device: str
    prefetch_factor: Optional[int]
    sampler: Any
    timeout: float
    worker_init_fn: Optional[Callable[[int], None]]
    _progress: Any
    _has_open_seed: bool
    _kind: type  # the class that the user has called
    _arguments: Dict[str, Any]
    _own_names: FrozenSet[str] = frozenset()  # the attributes after initialisation

    def _note(self, arguments: Dict[str, Any]) -> None:
        """Begins the initialisation of a loader with these arguments."""
        self._kind = type(self)
        self._arguments = arguments
        self._foreign_names = frozenset(vars(self))

    def _forget(self) -> None:
        """Begins the initialisation again, with the same arguments."""
        self._own_names = frozenset()

    def _keep_order(self, sampler: EpochOrder) -> None:
        """Keeps the `sampler` that the loader had before it was initialized anew."""
        names = self._own_names
        self._forget()
        sampler.follow(self)
        self.sampler = sampler
        if isinstance(self.batch_sampler, BatchOrder):
            self.batch_sampler = BatchOrder(sampler, self.batch_sampler.batch_size,
                                            self.batch_sampler.drop_last)
        self._own_names = names

    def _show(self, given: Dict[str, Any], has_workers: bool, collate_fn: Any,
              context: Any) -> None:
        """Ends the initialisation.

        Args:
          given: DataLoader's arguments.
          has_workers: whether workers run the user's code.
          collate_fn: the function that makes batches of samples.
          context: the context of multiprocessing, for workers.
        """
        self.generator = given["generator"]
        self.pin_memory = bool(given["pin_memory"])
        self.pin_memory_device = given["pin_memory_device"]
        self.in_order = bool(given["in_order"])
        self.worker_init_fn = given["worker_init_fn"]
        self.collate_fn = collate_fn
        self.timeout = float(given["timeout"]) if has_workers else 0.0
        self.persistent_workers = has_workers and bool(given["persistent_workers"])
        self.prefetch_factor = _prefetch_factor(given["prefetch_factor"], has_workers)
        self.multiprocessing_context = (
            context if has_workers and given["multiprocessing_context"] is not None
            else None)
        self._own_names = frozenset(vars(self)) - self._foreign_names

    def _show_order(self, given: Dict[str, Any], batch_size: Optional[int],
                    drop_last: bool, sampler: Any) -> None:
        """Sets the attributes of order and batches.

        Args:
          batch_size: None: there is no batching, or the lengths of samples decide the
            batches.
        """
        if given["sampler"] is None and isinstance(sampler, EpochOrder):
            sampler.follow(self)
        self.sampler = sampler
        self.batch_sampler = given["batch_sampler"]
        if self.batch_sampler is None and batch_size is not None:
            self.batch_sampler = BatchOrder(sampler, batch_size, drop_last)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self._own_names:
            raise errors.InvalidArgument(
                f"{name}: the loader has its batches from the arguments that it was "
                "made with: make another loader")
        super().__setattr__(name, value)

    def __reduce__(self) -> Any:
        if not self._own_names or self._progress.is_used:
            raise TypeError("a DataLoader that has begun can be neither copied nor "
                            "pickled: make one in each process")
        users = {name: value for name, value in vars(self).items()
                 if name not in self._own_names and name != "_own_names"}
        told = self.sampler.epoch if self._arguments["sampler"] is None and isinstance(
            self.sampler, EpochOrder) else None
        return _copy, (self._kind, self._arguments, self._progress.state.epoch, told,
                       self._has_open_seed, users)


def _copy(kind: Any, arguments: Dict[str, Any], epoch: int, told: Optional[int],
          has_open_seed: bool, users: Dict[str, Any]) -> Any:
    """Makes a copy of a loader. The copy has not begun an epoch.

    Args:
      epoch: the next epoch.
      told: the epoch to which the loader's own sampler was set, or None.
      has_open_seed: whether a loaded state may set the seed.
      users: the attributes that the user has added.
    """
    from .loader import DataLoader
    made = kind.__new__(kind)
    vars(made).update(users)
    DataLoader.__init__(made, **arguments)
    made._has_open_seed = has_open_seed
    if epoch:
        made.set_epoch(epoch)
    if told is not None:
        made.sampler.set_epoch(told)
    return made
