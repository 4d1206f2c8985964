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


# The type of a sample, which is a type parameter of torch's DataLoader, too.
_Sample = TypeVar("_Sample", covariant=True)


class DataLoader(TorchAttributes, Leading, OpenedLoader, Generic[_Sample]):
    """Batches of a dataset, which the host's daemon reads, decodes and augments.

    Each `iter()` starts the next epoch (an epoch that was dropped before it gave a
    batch begins again). An iterator that is used after a later one has begun goes on as
    a loader of its own. A batch is a named tuple of the dataset's fields, with the
    attribute `sample_ids`. For a dataset object of torch's, it is a list with these
    names. A folder of class folders has the fields `image` (or `audio`) and `label`;
    .npy files have `array`; for tar shards and manifests, you choose the fields. Field
    names become identifiers. Other characters become "_" ("left.png" is `left_png`).
    "jpg;png" is named after the first. A name that is taken, or does not begin with a
    letter, gets the prefix "f_". Images and arrays are the memory that the daemon
    wrote: writable, private to this process, and valid while something refers to it.
    Texts, JSON and bytes are lists.

    The daemon may restart at any moment. Batches in use keep their content, and the
    loader goes on with the next sample once a daemon is back; the log ("forebay")
    says so. It gives up after 60 s, or $FOREBAY_REATTACH_SECONDS: with
    DaemonUnavailable, or SourceUnavailable if the dataset cannot be reached.

    May be used by several threads. After a fork, the child's copy of a loader
    opens a session of its own at its next `iter()`.

    Args:
      dataset: a path or file:// URI, or a URI that the daemon reads as itself:
        "gs://bucket/...", "s3://..."; or "https://...", which does not work for
        folders. A folder has the semantics of torchvision's ImageFolder; so has a zip
        archive, or a folder in one ("/data/all.zip/train"). A name that ends in ".npy"
        or ".npz", also with braces or wildcards, means NumPy's files, whose rows are
        samples of one type and shape. If a folder of such files is given, each file is
        a sample. ".tfrecord", ".h5", ".array_record" and ".mds" mean files of these
        formats. A name that ends in ".tar" or ".tar.zst", or has braces or wildcards
        ("/data/{00000..00127}.tar"), means tar shards as webdataset writes them. Or
        `forebay.manifest`, `lmdb`, `npy_folder`, `audio_folder` and the like. Or
        torchvision's ImageFolder, ImageNet, LSUN, CIFAR10, CIFAR100, MNIST and its
        like, with their transforms (transforms of targets run in the trainer); torch's
        TensorDataset (fields `tensor0`, ...), Subset and ConcatDataset of these. The
        code of any other object runs in processes of this user's; batches are as
        torch's. Changes of an object and its transforms take effect at the next iter().
        Only a sampler, or rank=, splits an object among ranks.
      fields: of tar shards, the fields of a batch, in this order: members'
        extensions, such as ("jpg", "cls"). Several with semicolons between ("jpg;png")
        mean the first that a sample has. The part after the last dot says how a field
        is decoded: jpg, jpeg, png, webp, avif, gif, bmp, tif, tiff, ppm, pgm, pbm and
        pnm as images; cls, cls2, class, count, index, inx and id as integers; txt, text
        and transcript as texts; json and jsn as JSON; npy as arrays of one type and one
        shape, except for the first axis (see ragged); wav, flac, ogg, opus and mp3 as
        audio; all others as bytes.
      batch_size: samples, 1 to 65536; None: see collate_fn.
      shuffle: whether each epoch has a new random order, keyed by the seed.
        "block" puts blocks of some megabytes of consecutive samples in random
        order, and then shuffles the samples of every 32 successive blocks. If the
        cache has room for these (about 170 MiB), each block is read as a whole. This
        suits large shards that are far away, or on disks that are bad at random reads.
      sampler: instead of shuffle. DistributedSampler sets rank, world size, seed
        and pad, and which epoch `iter()` begins (its set_epoch). RandomSampler
        and SequentialSampler stand for Forebay's own orders. For any other sampler, its
        indices are all that this process sees. They are drawn at each `iter()`, or as
        needed if there are millions or infinitely many.
      batch_sampler, collate_fn: for dataset objects, as torch's; so is batch_size=None.
        They run in processes of this user's.
      num_workers, timeout, worker_init_fn, multiprocessing_context,
        persistent_workers: settings of those processes, as torch's. num_workers=None
        means as many as there are CPUs, or one for an IterableDataset; with 0, the code
        runs in this process. Without such processes, these have no effect;
        prefetch_factor, pin_memory_device and in_order never have one.
      pin_memory: whether to copy batches to page-locked memory; torch only.
      generator: a torch.Generator, whose initial seed becomes the seed.
      batch_transform: a function of a batch's fields, such as MixUp, that runs in
        the trainer and returns the batch. If it returns a tuple or list of as many
        values, these get the fields' names.
      seed: of the order and of every augmentation. None: drawn from torch's generator
        when the loader is made, if the script has seeded that generator by less than
        2**32, and if there is one rank and no sampler; 0 in all other cases. A loaded
        state brings its own seed.
      drop_last: whether to leave out a smaller last batch.
      transform: from forebay.transforms, or a pipeline of torchvision (v1 or v2)
        or Albumentations, which is translated op by op, each within one level of
        255 of the original. If ops without a counterpart come last, they run in the
        trainer, on each image. If not, they run in processes of this user's. A warning
        names them. A pipeline that ends with PIL images delivers uint8 NCHW; a pipeline
        that ends with Albumentations' arrays delivers NHWC. None only decodes, to uint8
        NCHW. All images of a sample get the transform, with the same random draws; or
        give a dict of transforms by field.
      rank, world_size: which part of each epoch this process sees.
      distributed: whether to take both from torch.distributed, if that runs. If it does
        not, Ray Train or the variables of torchrun, SLURM or Horovod tell them. Hosts
        do not communicate: order and partition depend on the seed alone.
      pad: if samples do not divide among ranks, "wrap" repeats the first ones,
        "drop" leaves out the last ones, and "none" gives each exactly once.
      device: "cpu", or a GPU of this process: "cuda:N", "cuda" (torch's current
        one, else the first) or a torch.device. Images, labels and arrays are then
        tensors there (if the user's code makes batches, their tensors are), ready for
        torch's current stream. The daemon copies each batch to a GPU once, for all
        trainers on it. If the daemon cannot do so, a warning says why, and this process
        copies.
      static_buffers: whether all batches of one shape come in the same tensors of
        torch's, as CUDA graphs want. Each `next()` overwrites the batch before.
      order: "exact" is the seed's order, whatever other loaders do. With
        "coordinated", the daemon picks an order in which this user's loaders
        want an image at about the same time: loaders that read the dataset in this
        order, and whose transforms are equal up to the first random one. Each loader
        sees each sample once an epoch, in a uniformly random order that differs in each
        run. Needs shuffle=True, one rank and on_error="raise".
      sharing: whether the daemon makes the batches of equal loaders once for all:
        "elastic": each loader at its own pace; "lockstep": all at the pace of the
        slowest; "off": not at all.
      share_key: for datasets and ops whose code is the user's: loaders of several jobs
        with this key make equal samples, and share them. None: $FOREBAY_SHARE_KEY, if
        set.
      weight: the job's share of contended resources, 0.001 to 1000.
      name, depth: the loader's name in `forebayctl jobs` (None: "loader N"), and the
        most batches that are prepared ahead, 1 to 16 (None: 2).
      framework: "torch", "numpy", "dlpack" or None. None means "torch" if torch is
        imported, and "numpy" if not. NumPy has no bfloat16: such batches come as
        uint16. With "dlpack", tensors on a GPU are `forebay.DeviceTensor`, which CuPy,
        JAX and others take.
      ragged: the form of arrays whose first axis differs from sample to sample:
        "offsets" (`forebay.Ragged`), "pad" (`forebay.Padded`), "nested" (a jagged
        tensor; torch 2.2 or newer) or "list". None: "offsets" for torch, "list" for all
        others. With device=, torch's tensors are copied there by this process.
      padding_value: the value of the elements that "pad" adds, a number that the
        fields' dtypes have. Default: 0.
      bucket_by, max_tokens, max_seconds: batches by the lengths of samples: see
        client/lengths.md.
      on_error: "raise" ends the epoch at a corrupt sample; "substitute" takes
        another in its place, the same in every run, and counts it.
      extra_roots: folders that links inside the dataset may lead to, at most 8.
      autostart: whether to start a daemon for this user if none listens.

    Attributes:
      dataset: a `forebay.Dataset`: uri, classes, version.
      batch_size, rank, world_size: int. With `distributed`, also local_rank: the rank
        among the processes of this host.
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
        self._lock = threading.RLock()  # guards the attributes set below
        self._detached = _detached.DetachedLoaders()
        self._open(2)

    def _after_fork(self):
        self._lock = threading.RLock()
        self._current = None  # the parent's iterations cannot go on here

    def _check_open(self):
        if self._closed:
            raise errors.StateError("the loader is closed")

    def __len__(self) -> int:
        """Returns the number of batches in a whole epoch of this rank.

        Raises:
          TypeError: the sampler has no length, or samples' lengths decide.
        """
        return self._progress.batches(self._batches_per_epoch())

    def _samples_per_epoch(self) -> int:
        return self._attachment.connection.samples_per_epoch

    def _draw(self) -> Iterator[int]:
        """Yields the samples of this rank in the coming epoch, in their order."""
        return _order.whole(
            self._options, self._contents.size, self._progress.coming_epoch,
            self._samples_per_epoch(), self._attachment.start_daemon)

    def _batches_per_epoch(self) -> int:
        size = len(self.dataset)
        if size == len(self._contents) or not self._is_followed():
            return self._attachment.connection.batches_per_epoch
        # The size is the dataset object's present one, as the next iter() opens the
        # object as it is.
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
        """Returns the loader's position: a dict of plain values, for
        `load_state_dict`. The position is after the samples that `next()` has returned;
        prefetched batches do not count.

        If a sampler's indices make each epoch, the dict has bytes, too: the order, 8
        bytes a sample, and the sampler's generator. For a sampler that is drawn as
        needed, the dict has the generators' states before the first index. For an
        IterableDataset, it has what torchdata's StatefulDataLoader stores: for each
        worker, the `state_dict()` of iterator and dataset, as of the batch returned
        last. If iterator and dataset have no state, the dict has a count of batches. To
        go on, these batches are made again.

        Ranks that have made equally many steps have equal states: save one of
        them, and load it on all ranks.
        """
        with self._lock:
            return self._progress.save()

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Makes the next `iter()` go on with the sample at which `state` was taken.
        The batch size and the number of ranks may differ. If the number of ranks does
        not divide the samples read so far, pad="none" still gives each remaining sample
        exactly once. All ranks make equally many steps with "wrap" and "drop": "wrap"
        repeats fewer than `world_size` of the samples read last, "drop" leaves out as
        few. If ranks had made different numbers of steps, load the state with the
        fewest steps.

        Raises:
          errors.StateError: the state is damaged, or belongs to another dataset or
            order, or its seed differs from the one given.
        """
        with self._lock:
            self._follow(2)
            self._load(state, lambda: self._progress.load(
                state, self._samples_per_epoch()), 2)
            self._current = None

    def stats(self) -> Dict[str, int]:
        """Returns totals since the loader was opened (or re-attached):
        samples_delivered, batches_delivered, bytes_delivered; bytes_read from storage;
        samples_decoded, samples_substituted; cpu_nanos of decoding and transforming;
        wait_nanos that next() slept; batches_copied because the user held as many
        batches as the daemon leases at once; batches_held at present, which for a
        dataset with code of your own counts only iterations under way.

        A loader that runs code of yours also has lacks_share_key. It is 1 if equal jobs
        could share the workers' samples by share_key= or forebay.share, but do not. If
        not, it is 0."""
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
