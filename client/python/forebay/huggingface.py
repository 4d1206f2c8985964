"""Hugging Face's Trainer, with Forebay's loaders.

    from forebay.huggingface import Trainer  # for: from transformers import Trainer

Any arguments that work with transformers.Trainer work here. Datasets may also be
loaders: `Trainer(train_dataset=forebay.DataLoader(...))`.
"""

from __future__ import annotations

import copy
import logging
import math
import os
from typing import Any, Dict, Iterator, Optional, Tuple

import accelerate
import torch
import transformers
from accelerate.data_loader import BatchSamplerShard
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_callback import TrainerState
from transformers.trainer_utils import get_last_checkpoint

from . import _job
from .accelerate import PreparedLoader
from .loader import DataLoader

_log = logging.getLogger("forebay")
# The file of the loader's position in a checkpoint's folder.
_STATE_FILE = "forebay_loader.pt"
# From version 5 on, transformers counts batches that it skips as read. The epoch's last
# step consists of the batches that are left.
_COUNTS_SKIPPED = hasattr(transformers.Trainer, "_run_epoch")


class Trainer(transformers.Trainer):
    """A transformers.Trainer whose batches Forebay makes.

    Worker processes run the dataset's code and `data_collator`, once for all equal runs
    of this user's on this machine. There are at most `dataloader_num_workers` workers;
    0, the default, means as many as there are CPUs. Random order and augmentation
    depend only on `data_seed`, or on `seed` if `data_seed` is not set.

    A dataset may be a forebay.DataLoader: its batches are the model's keyword
    arguments, so let `batch_transform` return a dict. With several processes, each
    process needs the loader for its rank: make the loader with `distributed=True`,
    after the TrainingArguments.

    Checkpoints hold the loader's position: training goes on with the very next sample,
    without reading the samples before. Without a position, the epoch begins again.
    torch's loaders are still used with dispatch_batches or split_batches. With several
    processes, they are also used with group_by_length, samplers of a subclass and
    IterableDataset, because Forebay cannot split these orders among ranks.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._training: Optional[_TrainingLoader] = None
        self._checkpoint: Optional[str] = None  # checkpoint to resume from
        self._run_trial: Any = None  # the trial of a hyperparameter search
        # The dataset, its loader's arguments and the loader, by the dataset's id.
        self._evaluation: Dict[int, Tuple[Any, Dict[str, Any], PreparedLoader]] = {}
        self.add_callback(_SavePosition(self))
        # This callback comes first, so that all others see the corrected epoch.
        self.callback_handler.callbacks.insert(0, _CountEpoch(self))

    def __getstate__(self) -> Dict[str, Any]:
        # Ray Tune sends a trainer to other processes, where it opens its own loaders.
        handler = copy.copy(self.callback_handler)
        handler.train_dataloader = handler.eval_dataloader = None
        return {**vars(self), "callback_handler": handler, "_training": None,
                "_evaluation": {}}

    def train(self, resume_from_checkpoint: Any = None, trial: Any = None, *args: Any,
              **kwargs: Any) -> Any:
        """Trains; see transformers.Trainer.train."""
        self._run_trial = trial
        checkpoint = resume_from_checkpoint or None
        if checkpoint is True:
            checkpoint = get_last_checkpoint(self.args.output_dir)
        self._checkpoint = checkpoint
        skips = self.args.ignore_data_skip
        try:
            if checkpoint is not None and self._is_ours(self.train_dataset):
                self.args.ignore_data_skip = True
            return super().train(resume_from_checkpoint, trial, *args, **kwargs)
        finally:
            self.args.ignore_data_skip = skips
            self._checkpoint = None

    def get_train_dataloader(self) -> Any:
        """Returns the training batches: a PreparedLoader, or torch's loader."""
        if not self._is_ours(self.train_dataset):
            self._training = None
            return super().get_train_dataloader()
        if self._training is not None and self._training.loader is not (
                self.train_dataset):
            self._training.loader.close()
        self._training = self._prepared_training()
        if self._checkpoint is not None:
            self._go_on(self._training, self._checkpoint)
        return self._training

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        """Returns the batches of a dataset, in its order: a PreparedLoader, or torch's
        loader."""
        dataset = self.eval_dataset if eval_dataset is None else eval_dataset
        if isinstance(dataset, str):
            dataset = self.eval_dataset[dataset]
        if not self._is_ours(dataset, for_training=False):
            return super().get_eval_dataloader(eval_dataset)
        return self._evaluation_loader(dataset)

    def get_test_dataloader(self, test_dataset: Any) -> Any:
        """Returns the batches of a test dataset, as get_eval_dataloader does."""
        if not self._is_ours(test_dataset, for_training=False):
            return super().get_test_dataloader(test_dataset)
        return self._evaluation_loader(test_dataset)

    def _is_ours(self, dataset: Any, for_training: bool = True) -> bool:
        if isinstance(dataset, DataLoader):
            return True
        accelerator = self.accelerator
        if dataset is None or accelerator.split_batches or (
                accelerator.dispatch_batches):
            return False
        if self.args.world_size == 1:
            return True
        return hasattr(dataset, "__len__") and not isinstance(
            dataset, torch.utils.data.IterableDataset) and (
                type(self._get_train_sampler()) is RandomSampler if for_training else
                self._own_sampler(dataset) is None)

    def _prepared_training(self) -> _TrainingLoader:
        dataset, args = self.train_dataset, self.args
        if isinstance(dataset, DataLoader):
            return _TrainingLoader(self.accelerator, dataset)
        order: Dict[str, Any] = {}
        if not isinstance(dataset, torch.utils.data.IterableDataset):
            sampler = self._get_train_sampler()
            order = ({"shuffle": True} if type(sampler) is RandomSampler else
                     {"sampler": sampler})
            order.update(drop_last=args.dataloader_drop_last, rank=args.process_index,
                         world_size=args.world_size)
        return _TrainingLoader(self.accelerator, self._loader(
            dataset, "training", batch_size=self._train_batch_size, **order))

    def _evaluation_loader(self, dataset: Any) -> PreparedLoader:
        """Returns the loader of a dataset. Uses the last one again, unless the
        arguments have changed since."""
        args = self.args
        if isinstance(dataset, DataLoader):
            return PreparedLoader(self.accelerator, dataset)
        given = {"batch_size": args.eval_batch_size, **self._common_arguments()}
        if not isinstance(dataset, torch.utils.data.IterableDataset):
            given["drop_last"] = args.dataloader_drop_last
            given["sampler"] = self._own_sampler(dataset)
        known = self._evaluation.get(id(dataset))
        if known is None or known[1] != given:
            known = self._evaluation[id(dataset)] = (
                dataset, given, self._prepared_evaluation(dataset, dict(given)))
        return known[2]

    def _own_sampler(self, dataset: Any) -> Any:
        """Returns the sampler for evaluation that a subclass or an argument asks for.
        None: evaluation has the dataset's own order."""
        sampler = self._get_eval_sampler(dataset)
        return None if type(sampler) is SequentialSampler else sampler

    def _prepared_evaluation(self, dataset: Any,
                             given: Dict[str, Any]) -> PreparedLoader:
        args = self.args
        if args.world_size == 1:
            return PreparedLoader(self.accelerator, self._loader(
                dataset, "evaluation", **given))
        # Shards repeat samples so that all ranks have equally many. gather_for_metrics
        # drops the repeats.
        batches = BatchSamplerShard(
            BatchSampler(SequentialSampler(dataset), args.eval_batch_size,
                         args.dataloader_drop_last),
            args.world_size, args.process_index, even_batches=True)
        loader = self._loader(dataset, "evaluation", batch_sampler=batches)
        return PreparedLoader(self.accelerator, loader, batches)

    def _loader(self, dataset: Any, description: str, **kwargs: Any) -> DataLoader:
        given = {**self._common_arguments(), **kwargs}
        if hasattr(dataset, "column_names") and hasattr(dataset, "features"):
            dataset = self._remove_unused_columns(dataset, description=description)
        else:
            given["collate_fn"] = self._get_collator_with_removed_columns(
                given["collate_fn"], description=description)
        return DataLoader(dataset, framework="torch",
                          name=f"{_job.job_name()} {description}", **given)

    def _common_arguments(self) -> Dict[str, Any]:
        """Returns the arguments that all loaders have in common."""
        args = self.args
        return {"collate_fn": self.data_collator,
                "seed": args.seed if args.data_seed is None else args.data_seed,
                "num_workers": args.dataloader_num_workers or None,
                "pin_memory": args.dataloader_pin_memory and torch.cuda.is_available()}

    def _tune_save_checkpoint(self, checkpoint_dir: str) -> None:
        super()._tune_save_checkpoint(checkpoint_dir)
        self._save_position(checkpoint_dir)

    def _save_position(self, run: str) -> None:
        """Writes the training loader's position into the last checkpoint in a run's
        folder."""
        if self._training is None or not self.args.should_save:
            return
        folder = os.path.join(run, f"checkpoint-{self.state.global_step}")
        if os.path.isdir(folder):
            torch.save(self._training.state_dict(), os.path.join(folder, _STATE_FILE))
        else:
            _log.warning("%s is not a folder: the position of the loader is not saved, "
                         "and a run that goes on from there begins the epoch again",
                         folder)

    def _go_on(self, loader: _TrainingLoader, checkpoint: str) -> None:
        path = os.path.join(checkpoint, _STATE_FILE)
        if os.path.exists(path):
            loader.go_on(torch.load(path))
            steps = os.path.join(checkpoint, TRAINER_STATE_NAME)
            if _COUNTS_SKIPPED and os.path.isfile(steps):
                self.args.ignore_data_skip = not loader.is_end_of(
                    TrainerState.load_from_json(steps).global_step,
                    self.args.gradient_accumulation_steps)
        else:
            _log.warning("%s holds no position of Forebay's: the epoch begins again",
                         checkpoint)


class _TrainingLoader(PreparedLoader):
    """The training batches, from a checkpoint's position on.

    transformers computes the first epoch from the checkpoint's steps. If an epoch's
    batches do not make whole steps, the computed epoch may be later than the
    position's. If transformers does not know the epoch's length, it may be earlier.
    """

    def __init__(self, accelerator: Any, loader: DataLoader):
        super().__init__(accelerator, loader)
        # True while transformers' first epoch after a checkpoint runs.
        self._is_resumed = False
        self._first = 0  # the position's epoch
        self._read = 0  # the number of that epoch's batches before the position
        self._asked = 0  # transformers' first epoch
        self._ahead = 0  # the number of epochs by which transformers' count is too low

    def go_on(self, state: Dict[str, Any]) -> None:
        """Begins at the position of this state."""
        self.load_state_dict(state)
        self._is_resumed = True
        self._first = self._asked = self.state_dict()["epoch"]
        self._read = self.batches_before()

    def is_end_of(self, steps: int, batches_per_step: int) -> bool:
        """Whether transformers computes from `steps` the same position as this loader
        has."""
        try:
            steps_per_epoch = math.ceil(len(self) / batches_per_step)
        except TypeError:  # the length is unknown
            return False
        epoch, steps_in_epoch = divmod(steps, max(1, steps_per_epoch))
        return (epoch, steps_in_epoch * batches_per_step) == (self._first, self._read)

    def skip(self) -> _TrainingLoader:
        """Returns this loader, which continues at its position. transformers would skip
        batches instead."""
        self._is_resumed = False
        return self

    def set_epoch(self, epoch: int) -> None:
        """Begins transformers' epoch of that number."""
        if self._is_resumed:
            self._asked = epoch
            self._ahead = max(0, self._first - epoch)
        else:
            super().set_epoch(epoch + self._ahead)

    def __iter__(self) -> Iterator[Any]:
        if not self._is_resumed or self._read < _length(self, self._read + 1):
            yield from super().__iter__()
        if self._is_resumed:
            # An uninterrupted run has also read these epochs when transformers' epoch
            # ends.
            for epoch in range(self._first + 1, self._asked + 1):
                super().set_epoch(epoch)
                yield from super().__iter__()

    def end_epoch(self) -> None:
        """Ends transformers' epoch."""
        self._is_resumed = False

    def undisturbed(self, epoch: float, batches: int) -> float:
        """Returns the epoch that an uninterrupted run would have, where transformers
        says `epoch`.

        Args:
          batches: the number of an epoch's batches, as transformers counts them.
        """
        if not self._is_resumed:
            return epoch + self._ahead
        read = self._read + round((epoch - self._asked) * batches)
        return self._first + read // batches + read % batches / batches


class _CountEpoch(transformers.TrainerCallback):
    """Gives all other callbacks the epoch that an uninterrupted run would have."""

    def __init__(self, trainer: Trainer):
        self._trainer = trainer

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        loader = self._trainer._training
        if loader is not None:
            state.epoch = loader.undisturbed(state.epoch, _length(
                loader, args.max_steps * args.gradient_accumulation_steps))

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._trainer._training is not None:
            self._trainer._training.end_epoch()


def _skip_first_batches(loader: Any, *args: Any, **kwargs: Any) -> Any:
    """Replaces accelerate.skip_first_batches, which would read the batches that it
    skips: a loader with a position need not read them."""
    if isinstance(loader, _TrainingLoader):
        return loader.skip()
    return accelerate.skip_first_batches(loader, *args, **kwargs)


if _COUNTS_SKIPPED:
    transformers.trainer.skip_first_batches = _skip_first_batches


def _length(loader: Any, unknown: int) -> int:
    """Returns the number of batches of an epoch; `unknown` if it is not known before
    the end."""
    try:
        return len(loader)
    except TypeError:
        return unknown


class _SavePosition(transformers.TrainerCallback):
    """Writes the training loader's position into each checkpoint."""

    def __init__(self, trainer: Trainer):
        self._trainer = trainer

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        trainer = self._trainer
        trainer._save_position(trainer._get_output_dir(trial=trainer._run_trial))
