"""Iterations of samples of one structure, which the user's code makes."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from .. import _native, _native_dataset, _order
from .._position import Position
from . import failure, own_samples, seeds, structure
from .host_process import HostProcess
from .listed import Listed
from .own_samples import OwnRows
from .plan import Plan
from .run import Run, identity
from .values import Flat
from .worker import RowFeed


class RowRun(Run):
    """Samples of one structure, each in its row of a batch."""

    def __init__(self, plan: Plan, position: Position, size: int,
                 listed: Optional[Listed], share_id: Optional[bytes],
                 on_end: Callable[[Position], None]):
        """
        Args:
          size: the number of samples in the dataset.
          listed: the samples' keys; the daemon's numbers are places in this list. None:
            the daemon has the samples' numbers, from the position's list if there is
            one.
        """
        super().__init__(plan, position, share_id, on_end)
        self._size = size if listed is None else len(listed.keys)
        self._listed = listed
        self._layout: Any = None
        self._feed = RowFeed(plan.options["batch_size"], listed)

    def _post_processing(self, batch: Any) -> Any:
        fields = list(batch)
        self._compare_some(fields[0].shape[0], lambda rows: self._own_rows(
            fields, batch.sample_ids, rows))
        if self._plan.gpu is None:
            self._detach_numbers(fields)
        return self._plan.finish(structure.collated(self._layout, fields))

    def _own_rows(self, fields: Any, numbers: Any, rows: List[int]) -> Tuple[
            OwnRows, List[str], List[Flat]]:
        """Returns the task that makes some rows of a batch itself, the rows' names, and
        their values in the batch."""
        keys = tuple(self._key_of(int(numbers[row])) for row in rows)
        return (OwnRows(self._layout, keys), [f"sample {key}" for key, _ in keys],
                [own_samples.of_row(self._layout, [field[row] for field in fields])
                 for row in rows])

    def _key_of(self, number: int, repeat: int = 0) -> Tuple[int, int]:
        """Returns the key and the seed of the sample with the daemon's number `number`.

        Args:
          repeat: how often the daemon's list has had the sample before. Samples that
            only pad a rank do not count.
        """
        position, seed = self._position, self._plan.stage.seed
        if self._listed is not None:
            return (int(self._listed.keys[number]),
                    self._listed.seed(seed, position.epoch, number))
        return number, seeds.of_sample(seed, position.epoch, number, repeat)

    def _detach_numbers(self, fields: Any) -> None:
        for index, leaf in enumerate(structure.leaves(self._layout)):
            if not leaf.shape:
                # Labels are copied, so that a label does not keep its whole batch
                # alive.
                fields[index] = (fields[index].clone()
                                 if self._plan.framework == "torch" else
                                 fields[index].copy())

    def _prepare(self, host: HostProcess) -> None:
        if self._layout is None:
            number = self._first_number()
            self._layout = host.probe(*self._key_of(number, self._repeat_of(number)))

    def _place(self) -> int:
        """Returns the place, in the epoch, of the sample that the daemon wants
        first."""
        return self._position.first + self._position.samples

    def _repeat_of(self, number: int) -> int:
        """Returns how often the daemon's list has had the sample at the place before; 0
        if the daemon has no list."""
        indices = self._position.indices
        if self._listed is not None or indices is None:
            return 0
        return int((indices[:self._place()] == number).sum())

    def _first_number(self) -> int:
        """Returns the daemon's number of the sample that it wants first."""
        position, options = self._position, self._plan.options
        place = self._place()
        if self._listed is not None or (options["order"] == _native.SEQUENTIAL and
                                        options["world_size"] == 1):
            return place
        if position.indices is not None:
            return int(position.indices[place])
        return next(iter(_order.draw(options, self._size, position.epoch, place, 1)),
                    0)

    def _options(self) -> Dict[str, Any]:
        if self._listed is None:
            return super()._options()
        return {**super()._options(), "order": _native.SEQUENTIAL, "rank": 0,
                "world_size": 1, "uneven": _native.UNEVEN["none"]}

    def _dataset(self) -> Any:
        plan = self._plan
        fields = tuple((f"field{number}", leaf.dtype, leaf.shape)
                       for number, leaf in
                       enumerate(structure.leaves(self._layout)))
        return _native_dataset.from_workers(
            plan.options["uri"],
            identity(plan, self._size, (
                self.share_id, fields, structure.names(self._layout))),
            self._size, fields)

    def _order(self) -> Tuple[Any, ...]:
        return "rows", self._layout

    def _start_epoch(self) -> None:
        position = self._position
        self._connection.start_epoch(position.epoch, self._place(),
                                     position.list_to_send()
                                     if self._listed is None else None)

    def _fail(self, text: str) -> None:
        if failure.is_of(text, structure.Irregular):
            self.close()  # another run continues
            raise structure.Irregular(failure.message(text)) from None
        self._position.samples = min(
            self._position.samples + self._plan.options["batch_size"],
            self._samples() - self._position.first)
        if self._listed is not None:
            text = re.sub(r"(?<=made sample )(\d+)(?=:|$)", self._name_of_key, text)
        raise self._restored(text) from None

    def _name_of_key(self, place: "re.Match[str]") -> str:
        assert self._listed is not None
        return f"{self._listed.keys[int(place.group(1))]}"

    def _samples(self) -> int:
        """Returns the number of samples of this rank in the epoch."""
        indices = self._position.indices
        return (self._connection.samples_per_epoch
                if indices is None or self._listed is not None else len(indices))
