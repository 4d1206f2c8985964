"""The data loader."""

from __future__ import annotations

import operator
import os
import threading
from typing import (Any, Callable, Dict, Generic, Iterable, Iterator, Optional,
                    Sequence, TypeVar, Union)

from . import _detached, _order, _stage, errors
from ._epoch import Epoch
from ._leading import Leading
from ._opening import OpenedLoader
from ._stage import batches
from ._torch_attributes import TorchAttributes


# torch's DataLoader has this parameter, too: the type of a sample.
_Sample = TypeVar("_Sample", covariant=True)


class DataLoader(TorchAttributes, Leading, OpenedLoader, Generic[_Sample]):
    """Batches of a dataset, which the host's daemon reads, decodes and augments.

    Each `iter()` starts the next epoch (one that was dropped before it gave a batch
    begins again). An iterator that is used beside a later one goes on as a loader of
    its own. A batch is a named tuple of the dataset's fields, with the attribute
    `sample_ids`; of an object of torch's, a list with these names. A folder of class
    folders has the fields `image` (or `audio`) and `label`, .npy files have `array`; of
    tar shards and manifests you choose them. Field names become identifiers: others
    become "_" ("left.png" is `left_png`), "jpg;png" is named after the first, and a
    name that is taken or does not begin with a letter is prefixed by "f_". Images and
    arrays are the memory that the daemon wrote: writable, private to this process, and
    valid while something refers to it. Texts, JSON and bytes are lists.

    The daemon may restart at any moment. Batches in use keep their content, and the
    loader goes on with the next sample once a daemon is back; the log ("forebay")
    says so. It gives up after 60 s, or $FOREBAY_REATTACH_SECONDS: with
    DaemonUnavailable, or SourceUnavailable if the dataset cannot be reached.

    May be used by several threads. After a fork, the child's copy of a loader
    opens a session of its own at its next `iter()`.

    Args:
      dataset: a path or file:// URI, or a URI that the daemon reads as itself:
        "gs://bucket/...", "s3://...", or (all but folders) "https://...". A folder has
        the semantics of torchvision's ImageFolder; so has a zip archive, or a folder in
        one ("/data/all.zip/train"). A name that ends in ".npy", also with braces or
        wildcards, or in ".npz", means the rows of NumPy's files, all of one type and
        shape; in a folder, each is a sample. ".tfrecord", ".h5", ".array_record" and
        ".mds" mean files of these formats. One that ends in ".tar", ".tar.zst", or has
        braces or wildcards ("/data/{00000..00127}.tar"), means tar shards as webdataset
        writes them. Or `forebay.manifest`, `lmdb`, `npy_folder`, `audio_folder` and the
        like. Or torchvision's ImageFolder, ImageNet, LSUN, CIFAR10, CIFAR100, MNIST and
        its like, with their transforms (that of targets runs in the trainer); torch's
        TensorDataset (fields `tensor0`, ...), Subset and ConcatDataset of these. Any
        other's code runs in this user's processes; batches are as torch's. An object
        and its transforms count as they are at each iter(). Only a sampler, or rank=,
        splits an object among ranks.
      fields: of tar shards, the fields of a batch, in this order: members'
        extensions, such as ("jpg", "cls"). Several with semicolons between ("jpg;png")
        stand for the first that a sample has. The part after the last dot says how a
        field is decoded: jpg, jpeg, png, webp, avif, gif, bmp, tif, tiff, ppm, pgm, pbm
        and pnm as images; cls, cls2, class, count, index, inx and id as integers; txt,
        text and transcript as texts; json and jsn as JSON; npy as arrays of one type
        and shape, but for the first axis (see ragged); wav, flac, ogg, opus and mp3
        as audio; else bytes.
      batch_size: samples, 1 to 65536; None: see collate_fn.
      shuffle: whether each epoch has a new random order, keyed by the seed.
        "block" puts blocks of some megabytes of consecutive samples in random
        order, and then shuffles the samples of every 32 successive blocks. If the
        cache has room for these (about 170 MiB), each block is read as a whole: for
        large shards far away, or on disks that are bad at random reads.
      sampler: instead of shuffle. DistributedSampler sets rank, world size, seed
        and pad, and which epoch `iter()` begins (its set_epoch). RandomSampler
        and SequentialSampler stand for Forebay's own orders. The indices of any
        other are all that this process sees. They are drawn at each `iter()`, or as
        needed if there are millions, or no end.
      batch_sampler, collate_fn: of dataset objects, as torch's; also
        batch_size=None. They run in processes of this user's.
      num_workers, timeout, worker_init_fn, multiprocessing_context,
        persistent_workers: of those processes, as torch's; None: as many as CPUs,
        or one for an IterableDataset; 0: the code runs in this process. Else without
        effect, as are prefetch_factor, pin_memory_device and in_order.
      pin_memory: whether to copy batches to page-locked memory; torch only.
      generator: a torch.Generator, whose initial seed becomes the seed.
      batch_transform: a function of a batch's fields, such as MixUp, that runs in
        the trainer and returns the batch. A tuple or list of as many values gets
        the fields' names.
      seed: of the order and of every augmentation. None: drawn from torch's generator
        when the loader is made, if the script has seeded that by less than 2**32, and
        if there is one rank and no sampler; else 0. A loaded state brings its own.
      drop_last: whether to leave out a smaller last batch.
      transform: from forebay.transforms, or a pipeline of torchvision (v1 or v2)
        or Albumentations, which is translated op by op, each within one level of
        255 of the original. Ops without a counterpart run in the trainer, on each
        image, if they come last, else in processes of this user's (a warning names
        them). A pipeline that ends with PIL images delivers uint8 NCHW; one with
        Albumentations' arrays, NHWC. None only decodes, to uint8 NCHW.
        Of all images of a sample, with the same random draws; or a dict by field.
      rank, world_size: which part of each epoch this process sees.
      distributed: whether to take both from torch.distributed if that runs, else
        from Ray Train, or torchrun's, SLURM's or Horovod's variables. Hosts do not
        communicate: order and partition depend on the seed alone.
      pad: if samples do not divide among ranks, "wrap" repeats the first ones,
        "drop" leaves out the last ones, and "none" gives each exactly once.
      device: "cpu", or a GPU of this process: "cuda:N", "cuda" (torch's current
        one, else the first) or a torch.device. Images, labels and arrays (of batches
        that the user's code makes, tensors) are then tensors there, ready for torch's
        current stream. The daemon copies each batch to a GPU once, for all trainers
        on it. Where it cannot, a warning says why, and this process copies.
      static_buffers: whether all batches of one shape come in the same tensors of
        torch's, as CUDA graphs want. Each `next()` overwrites the batch before.
      order: "exact" is the seed's order, whatever other loaders do. With
        "coordinated", the daemon picks an order in which this user's loaders
        want an image at about the same time: those that read the dataset so, and
        whose transforms are equal up to the first random one. Each sees each sample
        once an epoch, in a uniformly random order that differs in each run. Needs
        shuffle=True, one rank and on_error="raise".
      sharing: whether the daemon makes the batches of equal loaders once for all:
        "elastic", each at its own pace; "lockstep", all at the slowest's; "off".
      share_key: of code of this user's: says that loaders of several jobs with this
        key make equal samples, and share them. None: $FOREBAY_SHARE_KEY, if any.
      weight: the job's share of contended resources, 0.001 to 1000.
      name, depth: of this loader, for `forebayctl jobs`, None: "loader N"; and
        batches prepared ahead at most, 1 to 16, None: 2.
      framework: "torch", "numpy", "dlpack" or None: torch if it was imported yet.
        NumPy has no bfloat16: such batches come as uint16. With "dlpack", tensors
        on a GPU are `forebay.DeviceTensor`, which CuPy, JAX and others take.
      ragged: the form of arrays whose first axis differs from sample to sample:
        "offsets" (`forebay.Ragged`), "pad" (`forebay.Padded`), "nested" (a jagged
        tensor; torch 2.2 or newer) or "list". None: "offsets" for torch, else "list".
        With device=, torch's tensors are copied there by this process.
      padding_value: of "pad", a number that the fields' dtypes have. Default: 0.
      bucket_by, max_tokens, max_seconds: by samples' lengths: client/lengths.md.
      on_error: "raise" ends the epoch at a corrupt sample; "substitute" takes
        another in its place, the same in every run, and counts it.
      extra_roots: folders that links inside the dataset may lead to, at most 8.
      autostart: whether to start a daemon for this user if none listens.

    Attributes:
      dataset: a `forebay.Dataset`: uri, classes, version.
      batch_size, rank, world_size: int; with `distributed`, local_rank: of this host.
      sampler, batch_sampler, collate_fn, ...: as those of torch's DataLoader.

    Raises:
      errors.ForebayError: of the fitting class; one sentence says why.
    """

    def __init__(
        self: DataLoader[Any],  # type checkers find no sample type in the arguments
        dataset: Any,
        batch_size: Optional[int] = 1,
        shuffle: Union[bool, str, None] = None,
        sampler: Optional[Iterable[Any]] = None,
        batch_sampler: Optional[Iterable[Sequence[Any]]] = None,
        num_workers: Optional[int] = None,
        collate_fn: Optional[Callable] = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Optional[Callable] = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: Optional[int] = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        batch_transform: Optional[Callable] = None,
        fields: Optional[Sequence[str]] = None,
        seed: Optional[int] = None, transform: Any = None,
        rank: int = 0, world_size: int = 1, distributed: bool = False,
        pad: str = "wrap",
        device: Any = "cpu", static_buffers: bool = False,
        order: str = "exact", sharing: str = "elastic", share_key: Optional[str] = None,
        weight: float = 1.0, name: Optional[str] = None, depth: Optional[int] = None,
        framework: Optional[str] = None,
        ragged: Optional[str] = None, padding_value: float = 0,
        bucket_by: Optional[str] = None, max_tokens: Optional[int] = None,
        max_seconds: Optional[float] = None, on_error: str = "raise",
        extra_roots: Iterable[Union[str, "os.PathLike[str]"]] = (),
        autostart: bool = True,
    ):
        OpenedLoader.__init__(
            self, {name: value for name, value in locals().items()
                   if name not in ("self", "autostart")}, autostart)
        self._lock = threading.RLock()  # guards what follows
        self._detached = _detached.DetachedLoaders()
        self._open(2)

    def _after_fork(self):
        self._lock = threading.RLock()
        self._current = None  # the parent's iterations cannot go on here

    def _check_open(self):
        if self._closed:
            raise errors.StateError("the loader is closed")

    def __len__(self) -> int:
        """Batches in a whole epoch of this rank.

        Raises:
          TypeError: the sampler has no length, or samples' lengths decide.
        """
        return self._progress.batches(self._batches_per_epoch())

    def _samples_per_epoch(self) -> int:
        return self._attachment.connection.samples_per_epoch

    def _draw(self) -> Iterator[int]:
        """The samples of this rank in the coming epoch, in their order."""
        return _order.whole(
            self._options, self._contents.size, self._progress.coming_epoch,
            self._samples_per_epoch(), self._attachment.start_daemon)

    def _batches_per_epoch(self) -> int:
        size = len(self.dataset)
        if size == len(self._contents) or not self._is_followed():
            return self._attachment.connection.batches_per_epoch
        # The next iter() opens the dataset object as it is.
        whole, rest = divmod(batches.samples_of(size, self._options), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def set_epoch(self, epoch: int) -> None:
        """Sets which epoch the next `iter()` starts; 0 is the first."""
        with self._lock:
            self._progress.set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        with self._lock:
            self._check_open()
            self._follow(2)
        if self._is_staged:
            return _stage.iterate(self)
        with self._lock:
            self._check_open()
            position = self._current = self._progress.next_position(2)
            self._start(position)
            epoch = Epoch(self, self._attachment.connection, position)
            self._progress.begin(position, epoch)
            return epoch

    def _detached_type(self) -> type:
        return DataLoader

    def state_dict(self) -> Dict[str, Any]:
        """The loader's position: after what `next()` has returned, prefetched batches
        not counted. A dict of plain values, for `load_state_dict`. If a sampler's
        indices make each epoch, also bytes: the order, 8 per sample, and its generator;
        of a sampler that is drawn as needed, the generators before its first index.
        Of an IterableDataset, what torchdata's StatefulDataLoader can give: for each
        worker, the `state_dict()` of iterator and dataset, as of the batch returned
        last; if they have none, a count of batches, which are made again to go on.

        Ranks that have made equally many steps have equal states: save one of
        them, and load it on all ranks.
        """
        with self._lock:
            return self._progress.save()

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Makes the next `iter()` go on with the sample at which `state` was taken.
        The batch size and the number of ranks may differ. If that number does not
        divide the samples read so far, pad="none" still gives each remaining sample
        exactly once. All ranks make equally many steps with "wrap" and "drop": "wrap"
        repeats fewer than `world_size` of the samples read last, "drop" leaves out as
        few. If ranks had made unequally many steps, load the state with the fewest.

        Raises:
          errors.StateError: the state is damaged, or belongs to another dataset or
            order, or to another seed than was given.
        """
        with self._lock:
            self._follow(2)
            self._load(state, lambda: self._progress.load(
                state, self._samples_per_epoch()), 2)
            self._current = None

    def stats(self) -> Dict[str, int]:
        """Totals since the loader was opened (or re-attached): samples_delivered,
        batches_delivered, bytes_delivered; bytes_read from storage; samples_decoded,
        samples_substituted; cpu_nanos of decoding and transforming; wait_nanos that
        next() slept; batches_copied because more than the quota were in use;
        batches_held at present; of a dataset with code of your own, those of
        iterations under way. A loader that runs code of yours has one more,
        lacks_share_key: 1 if the workers' samples are this job's alone though equal
        jobs could share them, by share_key= or forebay.share; else 0."""
        self._check_open()
        return self._detached.stats(self._attachment)

    def __enter__(self) -> "DataLoader":
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def __repr__(self) -> str:
        batches = -1 if self._closed else operator.length_hint(self, -1)
        state = f"{batches} batches an epoch" if batches >= 0 else "length unknown"
        return (f"DataLoader({self._contents.uri!r}, batch_size={self.batch_size}, "
                f"{'closed' if self._closed else state})")
