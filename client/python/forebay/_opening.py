"""The part of a data loader that opens it at the daemon."""

from __future__ import annotations

import contextlib
import functools
import os
from typing import Any, Callable, Dict, Iterator, Optional

from . import (_batch, _daemon, _fork, _job, _lengths, _manifest, _native, _options,
               _plan, _position, _reader, _retry, _stage, _torch_data, _torch_seed,
               errors)
from ._attachment import Attachment
from ._dataset import DatasetInfo
from ._epoch_order import EpochOrder
from ._position import Position
from ._progress import Progress
from ._watched import Watched


class OpenedLoader:
    """The part of a DataLoader that opens the loader, and that opens it again when the
    dataset object has changed.

    A single thread at a time uses it.
    """

    _closed = True  # until it is open
    _current: Optional[Position] = None  # the current iterator's position
    # The dataset object and its transforms as they were when the loader was last
    # opened. None: their changes do not matter.
    _watched: Optional[Watched] = None
    _has_failed = False  # whether the last try to open the loader anew failed
    _attachment: Attachment
    _progress: Progress
    # The attributes below are those of DataLoader's other bases.
    _arguments: Any
    _forget: Any
    _keep_order: Any
    _kind: Any
    _note: Any
    _show: Any
    _show_order: Any
    _detached: Any
    _is_staged = False  # whether this is a StagedLoader
    _has_open_seed = False  # whether a loaded state may set the seed

    def __init__(self, given: Dict[str, Any], autostart: bool):
        """
        Args:
          given: DataLoader's arguments.
          autostart: whether to start a daemon if none listens.
        """
        roots = given["extra_roots"]
        given = {**given, "extra_roots":
                 tuple(roots) if isinstance(roots, Iterator) else roots}
        self._has_open_seed = _torch_seed.is_open(given)
        if given["seed"] is None:
            given["seed"] = _torch_seed.draw(given)
        self._note({**given, "autostart": autostart})
        self._given = given
        self._autostart = autostart
        # The directory is determined only once: while the machine's daemon is away, its
        # clients wait for it, and do not use another daemon.
        self._directory = _native.runtime_dir()

    def _daemon_starter(self) -> Any:
        return (functools.partial(_daemon.ensure_running, self._directory)
                if self._autostart else None)

    def _open(self, stacklevel: int) -> None:
        """Opens the loader. Turns it into a StagedLoader if only the user's own code
        can make the samples.

        Args:
          stacklevel: that of warnings, as seen from the caller.

        Raises:
          errors.ForebayError: of the fitting class; one sentence says why.
        """
        self._forget()
        dataset = self._given["dataset"]
        # The objects' state is recorded first. A change during the opening is therefore
        # noticed later.
        self._watched = None if _torch_data.has_own_code(dataset) else Watched(
            dataset if _torch_data.is_object(dataset) else None,
            self._given["transform"])
        for is_listed in (False, True):
            self.__class__ = self._kind  # the first try may have changed the class
            plan = _plan.make(stacklevel + 1, is_listed, **self._given)
            if isinstance(plan, _plan.NeedsWorkers):
                self._watched = None
                _stage.become(self, plan, self._given, self._autostart, stacklevel + 1)
                return
            if self._has_parts(plan) and self._take(plan, stacklevel + 1):
                return
            if not plan.has_places:
                raise errors.Unsupported(
                    f"{os.fsdecode(plan.options['uri'])} has another number of samples "
                    f"than the {type(dataset).__name__}: make that anew")

    def _follow(self, stacklevel: int) -> None:
        """Opens the loader anew if its dataset object, or its transform, has changed.
        torch's persistent workers would not see a change once an epoch has begun.

        Args:
          stacklevel: that of warnings, as seen from the caller.
        """
        if self._has_failed or self._is_outdated():
            self._open_anew(stacklevel + 1)

    def _load(self, state: Any, load: Callable[[], None], stacklevel: int) -> None:
        """Continues at a state. If the loader has no seed argument, takes the state's
        seed. If the state is refused, the seed stays as it was.

        Args:
          load: a function that loads the state once the loader has the state's seed.
          stacklevel: as _follow's.
        """
        before: int = self._given["seed"]
        seed = (_position.seed_of(state, self._contents) if self._has_open_seed else
                None)
        if seed is None or seed == before:
            load()
            return
        try:
            self._take_seed(seed, stacklevel + 1)
            load()
        except BaseException:
            # If the loader cannot be opened now, the next iter() tries again.
            with contextlib.suppress(errors.ForebayError):
                self._take_seed(before, stacklevel + 1)
            raise

    def _take_seed(self, seed: int, stacklevel: int) -> None:
        self._given["seed"] = self._arguments["seed"] = seed
        self._seed_anew(stacklevel + 1)

    def _seed_anew(self, stacklevel: int) -> None:
        self._open_anew(stacklevel + 1)

    def _open_anew(self, stacklevel: int) -> None:
        progress = self._progress
        self._has_failed = True  # remains True unless all steps below succeed
        self._current = None
        if not self._attachment.is_inherited():
            self._attachment.close()
        self._wrapper.close()
        before = dict(vars(self))
        try:
            self._open(stacklevel + 1)
        except BaseException:
            self._restore(before)  # the next iter() may succeed
            raise
        present, self._progress = self._progress, progress
        self._has_failed = False
        progress.follow(present)
        if isinstance(progress.sampler, EpochOrder):
            self._keep_order(progress.sampler)

    def _restore(self, before: Dict[str, Any]) -> None:
        """Gives the loader the attributes that it had before a failed try to open it
        anew.

        Args:
          before: these attributes.
        """
        if self._attachment is not before["_attachment"]:
            self._attachment.close()
        self.__class__ = self._kind
        for name in vars(self).keys() - before.keys():
            del vars(self)[name]
        vars(self).update(before)

    def _is_outdated(self) -> bool:
        return (self._is_followed() and self._watched is not None and
                self._watched.has_changed())

    def _is_followed(self) -> bool:
        return self._watched is not None and not (
            self._given["persistent_workers"] and self._progress.has_begun)

    def _has_parts(self, plan: _plan.Plan) -> bool:
        """Whether the daemon finds as many samples in each part of the dataset as the
        dataset object has."""
        return all(self._count(place) == size for place, size in set(plan.parts))

    def _count(self, place: Any) -> int:
        """Returns the number of samples that the daemon finds in a place."""
        options = _options.build(
            place, fields=None, batch_size=1, shuffle=False, seed=0, drop_last=False,
            transform=None, rank=0, world_size=1, pad="wrap", on_error="raise",
            sharing="off", weight=1.0, name=None, depth=None,
            extra_roots=self._given["extra_roots"])
        options["runtime_dir"] = os.fsencode(self._directory)
        start_daemon = self._daemon_starter()

        def count() -> int:
            if start_daemon is not None:
                start_daemon()
            return _reader.Reader(options, None, False).dataset_size

        return _retry.until_available(os.fsdecode(options["uri"]), count, start_daemon)

    def _take(self, plan: _plan.Plan, stacklevel: int) -> bool:
        """Opens the loader by the plan. Returns False if the daemon and the dataset
        object disagree about the number of samples."""
        dataset = self._given["dataset"]
        self._options = plan.options
        self._options["runtime_dir"] = os.fsencode(self._directory)
        self._wrapper = _batch.Wrapper(plan.framework, plan.gpu, plan.ragged,
                                       plan.size is not None)
        self._post_processing = plan.post_processing
        self.batch_size = self._options["batch_size"]
        self.rank = self._options["rank"]
        self.world_size = self._options["world_size"]
        self.local_rank = (_job.distributed_rank().local_rank
                           if self._given["distributed"] else 0)
        self.drop_last = bool(self._given["drop_last"])
        self.num_workers = 0
        _fork.watch(self)
        if plan.coded is not None:
            _stage.become_coded(self)
        self._attachment = self._attach(plan, self._daemon_starter())
        self._closed = False
        connection = self._attachment.connection
        if plan.size not in (None, connection.dataset_size):
            self.close()
            return False
        self._contents = DatasetInfo(
            os.fsdecode(self._options["uri"]), plan.classes or connection.classes,
            self._attachment.version, connection.dataset_size)
        self._wrapper.warn_of_refusal(connection.refusal, stacklevel + 1)
        _manifest.warn_of_numbers(dataset, self._contents.classes, stacklevel + 1)
        self._progress = Progress(plan.sampling, self._options, self._contents)
        self.dataset: Any = self._contents if plan.size is None else dataset
        self._show_order(self._given, None if _lengths.vary(self._options) else
                         self.batch_size, self.drop_last, plan.sampling.sampler)
        self._show(self._given, plan.coded is not None, plan.collate_fn,
                   None if plan.coded is None else plan.coded.workers.context)
        return True

    def _attach(self, plan: _plan.Plan, start_daemon: Any) -> Attachment:
        return Attachment(self._options, plan.transform, start_daemon)

    def close(self) -> None:
        """Stops making batches, and returns memory to the daemon. Batches in use stay
        valid."""
        if self._closed:
            return
        self._closed = True
        self._current = None
        self._detached.close()
        self._attachment.close()
        self._wrapper.close()
