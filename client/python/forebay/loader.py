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


# The type of a sample; torch's DataLoader has the same type parameter.
_Sample = TypeVar("_Sample", covariant=True)


class DataLoader(TorchAttributes, Leading, OpenedLoader, Generic[_Sample]):
    """Batches of a dataset, which the host's daemon reads, decodes and augments.

    Each `iter()` starts the next epoch. (An epoch that was dropped before it gave a
    batch begins again.) An iterator that is used after a later one has begun continues
    as a separate loader. A batch is a named tuple of the dataset's fields, with the
    attribute `sample_ids`. For a dataset object of torch, a batch is a list with these
    names. A folder of class folders has the fields `image` (or `audio`) and `label`;
    .npy files have `array`; for tar shards and manifests, you choose the fields. Field
    names become identifiers: other characters become "_" ("left.png" is `left_png`),
    and "jpg;png" is named after its first extension. A name that is taken already, or
    that does not begin with a letter, gets the prefix "f_". Images and arrays are the
    memory that the daemon wrote: writable, private to this process, and valid while
    something refers to it. Texts, JSON and bytes are lists.

    The daemon may restart at any moment. Batches in use keep their content, and the
    loader goes on with the next sample once a daemon is back; the log ("forebay") says
    so. After 60 s, or $FOREBAY_REATTACH_SECONDS, the loader gives up: it raises
    DaemonUnavailable, or SourceUnavailable if the dataset cannot be reached.

    Several threads may use a loader. After a fork, the child's copy of a loader opens
    its own session at its next `iter()`.

    Args:
      dataset: a path or file:// URI, or a URI that the daemon reads itself:
        "gs://bucket/...", "s3://..." or "https://...", which does not work for folders.
        A folder is read as torchvision's ImageFolder reads it; so is a zip archive, or
        a folder in one ("/data/all.zip/train"). A name that ends in ".npy" or ".npz",
        also with braces or wildcards, means NumPy's files, whose rows are samples of
        one type and shape. In a folder of such files, each file is a sample.
        ".tfrecord", ".h5", ".array_record" and ".mds" mean files of these formats. A
        name that ends in ".tar" or ".tar.zst", or has braces or wildcards
        ("/data/{00000..00127}.tar"), means tar shards as webdataset writes them. Or the
        result of `forebay.manifest`, `lmdb`, `npy_folder`, `audio_folder` or a similar
        function. Or an object of torchvision's ImageFolder, ImageNet, LSUN, CIFAR10,
        CIFAR100, MNIST or a similar class, with its transforms (transforms of targets
        run in the trainer); torch's TensorDataset (fields `tensor0`, ...); or torch's
        Subset and ConcatDataset of these. The code of any other object runs in worker
        processes of this user; batches are then like torch's. Changes of an object and
        its transforms take effect at the next iter(). Only a sampler, or rank=, splits
        an object among ranks.
      fields: for tar shards, the fields of a batch, in this order: members' extensions,
        such as ("jpg", "cls"). Several extensions with semicolons between ("jpg;png")
        mean the first that a sample has. The part of an extension after its last dot
        says how the field is decoded: jpg, jpeg, png, webp, avif, gif, bmp, tif, tiff,
        ppm, pgm, pbm and pnm as images; cls, cls2, class, count, index, inx and id as
        integers; txt, text and transcript as texts; json and jsn as JSON; npy as arrays
        of one type and one shape, except for the first axis (see ragged); wav, flac,
        ogg, opus and mp3 as audio; all others as bytes.
      batch_size: the number of samples in a batch, 1 to 65536; None: see collate_fn.
      shuffle: whether each epoch has a new random order, keyed by the seed. "block"
        puts blocks of some megabytes of consecutive samples in random order, and then
        shuffles the samples of every 32 successive blocks. If the cache has room for 32
        blocks (about 170 MiB), each block is read as a whole. This order suits large
        shards that are far away, or on disks that are slow at random reads.
      sampler: replaces shuffle. A DistributedSampler sets rank, world size, seed, pad,
        and, by its set_epoch, the epoch that `iter()` begins. RandomSampler and
        SequentialSampler stand for Forebay's own orders. With any other sampler, this
        process sees the sampler's indices and no others. They are drawn at each
        `iter()`, or as needed if there are millions or infinitely many.
      batch_sampler, collate_fn: for dataset objects, as in torch; so is
        batch_size=None. They run in worker processes of this user.
      num_workers, timeout, worker_init_fn, multiprocessing_context, persistent_workers:
        settings of these worker processes, as in torch. num_workers=None means as many
        workers as there are CPUs, or one for an IterableDataset; with 0, the code runs
        in this process. Without workers, these arguments have no effect.
        prefetch_factor, pin_memory_device and in_order never have an effect.
      pin_memory: whether to copy batches to page-locked memory; only for torch.
      generator: a torch.Generator, whose initial seed becomes the seed.
      batch_transform: a function of a batch's fields, such as MixUp, that runs in the
        trainer and returns the batch. If the function returns a tuple or list with as
        many values as there are fields, these get the fields' names.
      seed: the seed of the order and of every augmentation. None: when the loader is
        made, the seed is drawn from torch's generator, if the script has seeded that
        generator with a number below 2**32, and there is one rank and no sampler. In
        all other cases, the seed is 0. A loaded state brings its own seed.
      drop_last: whether to leave out a smaller last batch.
      transform: a transform of forebay.transforms, or a pipeline of torchvision (v1 or
        v2) or Albumentations. Such a pipeline is translated op by op; each op's results
        are within one level of 255 of the original's. If ops without a counterpart come
        last, they run in the trainer, on each image. If not, they run in worker
        processes of this user. A warning names these ops. A pipeline that ends with PIL
        images delivers uint8 NCHW; a pipeline that ends with Albumentations' arrays
        delivers NHWC. None only decodes, to uint8 NCHW. All images of a sample get this
        transform, with the same random draws. A dict gives each field its own
        transform.
      rank, world_size: the part of each epoch that this process sees.
      distributed: whether to take rank and world_size from torch.distributed, if that
        runs. If it does not, Ray Train or the variables of torchrun, SLURM or Horovod
        tell them. Hosts do not communicate: order and partition depend only on the
        seed.
      pad: if samples do not divide evenly among ranks, "wrap" repeats the first
        samples, "drop" leaves out the last ones, and "none" gives each sample exactly
        once.
      device: "cpu", or a GPU of this process: "cuda:N", "cuda" (torch's current GPU or,
        without torch, the first) or a torch.device. With a GPU, images, labels and
        arrays are tensors there, ready for torch's current stream. If the user's code
        makes batches, the batches' tensors are. The daemon copies each batch to a GPU
        once, for all trainers on that GPU. If the daemon cannot do this, a warning says
        why, and this process copies.
      static_buffers: whether all batches of one shape come in the same torch tensors,
        as CUDA graphs need. Each `next()` then overwrites the previous batch.
      order: "exact" is the seed's order, whatever other loaders do. With "coordinated",
        the daemon picks an order for several loaders of this user, so that they want
        each image at about the same time. These are all loaders that read the dataset
        with "coordinated", and whose transforms are equal up to the first random one.
        Each loader sees each sample once an epoch, in a uniformly random order that
        differs in each run. Needs shuffle=True, one rank and on_error="raise".
      sharing: how equal loaders share batches, which the daemon then makes once for all
        of them. "elastic": each loader at its own pace. "lockstep": all at the pace of
        the slowest. "off": loaders do not share.
      share_key: only if the user's own code makes samples or runs ops. Loaders of
        several jobs that have the same key make equal samples, and share them. None:
        $FOREBAY_SHARE_KEY, if that is set.
      weight: the job's share of contended resources, 0.001 to 1000.
      name, depth: the loader's name in `forebayctl jobs` (None: "loader N"), and the
        largest number of batches prepared ahead, 1 to 16 (None: 2).
      framework: "torch", "numpy", "dlpack" or None. None means "torch" if torch is
        imported, and "numpy" if not. NumPy has no bfloat16, so batches of that type
        come as uint16. With "dlpack", tensors on a GPU are `forebay.DeviceTensor`,
        which CuPy, JAX and others take.
      ragged: the form of arrays whose first axis differs from sample to sample:
        "offsets" (`forebay.Ragged`), "pad" (`forebay.Padded`), "nested" (a jagged
        tensor; torch 2.2 or newer) or "list". None: "offsets" for torch, "list" for all
        others. With device=, this process copies torch's tensors to the device.
      padding_value: the value of the elements that "pad" adds; the fields' types must
        be able to hold it. Default: 0.
      bucket_by, max_tokens, max_seconds: batches by the lengths of samples: see
        client/lengths.md.
      on_error: "raise" ends the epoch with an error at a corrupt sample. "substitute"
        takes another sample in its place, the same one in every run, and counts it.
      extra_roots: folders to which links inside the dataset may lead, at most 8.
      autostart: whether to start a daemon for this user if none listens.

    Attributes:
      dataset: the argument, if it is a dataset object. In all other cases, an object
        with the attributes uri, classes and version.
      batch_size, rank, world_size: int. With `distributed`, there is also local_rank,
        the rank among the processes of this host.
      sampler, batch_sampler, collate_fn, ...: like those of torch's DataLoader.

    Raises:
      errors.ForebayError: an error of a fitting class; its message is one sentence that
        says why.
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
        self._current = None  # the parent's iterations cannot continue here

    def _check_open(self):
        if self._closed:
            raise errors.StateError("the loader is closed")

    def __len__(self) -> int:
        """Returns the number of batches in a whole epoch of this rank.

        Raises:
          TypeError: the sampler has no length, or the lengths of samples decide the
            batches.
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
        # The size is the present size of the dataset object, which the next iter()
        # opens.
        whole, rest = divmod(batches.samples_of(size, self._options), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch that the next `iter()` starts; 0 is the first."""
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
        """Returns the loader's position: a dict of plain values, for `load_state_dict`.
        The position is the one after the samples that `next()` has returned; prefetched
        batches do not count.

        If the sampler's indices are the samples of each epoch, the dict also has bytes:
        the order, 8 bytes a sample, and the state of the sampler's generator. For a
        sampler that is drawn as needed, the dict has the generators' states before the
        first index. For an IterableDataset, it has what torchdata's StatefulDataLoader
        stores: for each worker, the `state_dict()` of iterator and dataset after the
        batch that was returned last. If iterator and dataset have no state, the dict
        has the number of batches, and these batches are made again before the loader
        continues.

        Ranks that have made equally many steps have equal states: save one of
        them, and load it on all ranks.
        """
        with self._lock:
            return self._progress.save()

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Makes the next `iter()` go on with the sample at which `state` was taken. The
        batch size and the number of ranks may differ. The number of ranks may not
        divide the number of samples read so far. Then pad="none" still gives each
        remaining sample exactly once. "wrap" repeats fewer than `world_size` of the
        last samples, and "drop" leaves out fewer than `world_size`, so that all ranks
        make equally many steps. If ranks had made different numbers of steps, load the
        state with the fewest steps.

        Raises:
          errors.StateError: the state is damaged, or belongs to another dataset or
            order, or its seed differs from the argument `seed`.
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
        wait_nanos, for which next() slept; batches_copied, because the user held as
        many batches as the daemon leases at once; and batches_held at present. For a
        dataset whose code is yours, batches_held counts only iterations under way.

        If a loader runs your own code, the totals also have lacks_share_key. It is 1 if
        equal jobs could share the workers' samples by share_key= or forebay.share, but
        do not. If not, it is 0."""
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
