"""Makes a plan of a DataLoader's arguments. Datasets, samplers and transforms may come
from several libraries."""

from __future__ import annotations

import collections.abc
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

from . import (_batch, _device, _effects, _field_transforms, _gpu, _job, _options,
               _paths, _ragged, _sampling, _stage, _torch_arguments, _torch_data,
               _translate, errors)
from ._effects import Kind
from ._post_processing import PostProcessing
from ._sampling import Sampling
from ._source import Concat, Folder, Source, Subset
from ._stage import collation
from .transforms import Transform

# The arguments of DataLoader that go to the daemon as they are.
_OF_OPTIONS = ("drop_last", "fields", "on_error", "sharing", "weight", "name", "depth",
               "extra_roots", "bucket_by", "max_tokens", "max_seconds")


class NeedsWorkers(NamedTuple):
    """The result of `make` if only the user's own code can make the samples.

    Attributes:
      why: the reason, for people.
      is_expected: whether the user expects this, and so needs no warning.
    """

    why: str
    is_expected: bool


class Plan(NamedTuple):
    """The daemon's part and the trainer's part of a loader's work.

    Attributes:
      options: dict of fields of _native.LoaderOptions.
      transform: the transform that the daemon runs, or None.
      framework: "torch", "numpy" or "dlpack".
      gpu: the GPU on which batches lie; None: on the host.
      ragged: the _ragged.Form of arrays that differ in length.
      post_processing: the trainer's work on each batch; None: there is none.
      sampling: the order.
      coded: the pipeline, if workers run some of its ops; None in all other cases.
      timeout: the seconds for which the loader waits for these workers.
      size: the number of samples of a dataset object; None if only the daemon knows.
      classes: the classes of a dataset object, or None if it does not tell them.
      collate_fn: the function that makes batches of samples, for the loader's
        attribute.
      has_places: whether parts of the dataset object are places (folders, LMDB
        environments) that the daemon lists itself. If a place does not have the
        object's samples, `make` is called again with `is_listed`.
      parts: these places, each with the number of its samples in the dataset object.
        The daemon must find the same number.
    """

    options: Dict[str, Any]
    transform: Optional[Transform]
    framework: str
    gpu: Optional[_gpu.Gpu]
    ragged: _ragged.Form
    post_processing: Optional[PostProcessing]
    sampling: Sampling
    coded: Any
    timeout: float
    size: Optional[int]
    classes: Optional[List[str]]
    collate_fn: Callable[..., Any]
    has_places: bool
    parts: Tuple[Tuple[Source, int], ...]


def make(stacklevel: int, is_listed: bool, *, device: Any, static_buffers: bool,
         order: str, framework: Optional[str], dataset: Any, shuffle: Any, sampler: Any,
         generator: Any, transform: Any, batch_transform: Optional[Callable],
         pin_memory: bool, batch_size: int, batch_sampler: Any, collate_fn: Any,
         seed: int, rank: int, world_size: int, distributed: bool, pad: str,
         ragged: Optional[str], padding_value: float,
         **others: Any) -> Union[Plan, NeedsWorkers]:
    """Makes a plan of a DataLoader's arguments, or a NeedsWorkers if the daemon cannot
    make the samples, but workers can.

    Args:
      stacklevel: that of warnings, as seen from the caller.
      is_listed: whether the plan must list the samples of a dataset object one by one.
      All other arguments: those of DataLoader.

    Raises:
      errors.ForebayError: of the fitting class; one sentence says why.
    """
    daemon_kind = Kind.OBJECT if _torch_data.is_object(dataset) else Kind.FILES
    _effects.refuse(daemon_kind, dataset, others)
    if collate_fn is None:
        _paths.check_no_list_of_files(dataset, others["fields"] is not None)
    if _torch_data.has_own_code(dataset):
        return NeedsWorkers("", True)
    try:
        _torch_arguments.check(batch_size, batch_sampler, collate_fn)
    except errors.Unsupported as error:
        if _torch_data.is_object(dataset):
            return NeedsWorkers(str(error), True)
        raise
    _options.check_order(order, shuffle)
    if batch_transform is not None and not callable(batch_transform):
        raise errors.InvalidArgument(
            f"batch_transform must be a function, not {batch_transform!r}")
    own: Dict[str, Transform] = {}  # transforms of all fields except the first image
    name, by_name = None, False
    if isinstance(transform, collections.abc.Mapping):
        transform, name, own, by_name = _field_transforms.split(
            transform, dataset, others["fields"])
    kind = _batch.resolve_framework(framework)
    gpu = _device.choose(device, static_buffers, kind)
    form = _ragged.form(ragged, padding_value, kind)
    data, size, is_own = None, None, False
    places: Tuple[Tuple[Source, int], ...] = ()
    if _torch_data.is_object(dataset):
        try:
            data = _torch_data.read(dataset, is_listed)
        except errors.Unsupported as error:
            return NeedsWorkers(str(error), False)
        if not data.size:
            return NeedsWorkers("", True)  # the daemon refuses an empty dataset
        is_own = data.transform is not None
        transform = _the_transform(data, transform)
        size, dataset, places = data.size, data.source, data.places
        if isinstance(dataset, Folder):
            dataset = dataset.path
    else:
        _check_transform(transform)
    try:
        split = (_translate.translate(transform) if data is None else
                 _translate.translate(transform, data.channels, data.extent))
        coded = None if split.code is None else _stage.code(
            split.code, order, seed, others, stacklevel + 2)
    except errors.Unsupported as error:
        if is_own:
            return NeedsWorkers(str(error), False)
        raise
    if (split.is_opaque and data is not None and _suits_workers(data, dataset, {
            **others, "shuffle": shuffle, "order": order, "ragged": ragged,
            "padding_value": padding_value})):
        return NeedsWorkers(
            f"the dataset's transform is {_translate.names_of(split.trailing)}, which "
            "has no counterpart in forebay.transforms", False)
    for_daemon = split.transform
    if (is_own and coded is None and data is not None and data.channels and
            data.extent is None and not _translate.makes_one_size(for_daemon)):
        return NeedsWorkers(
            "the dataset's images may differ in size behind its transform: put "
            "RandomResizedCrop(size), or Resize(size) and CenterCrop(size), into it",
            False)
    if by_name and name is not None and coded is None:
        own = {**own, name: for_daemon or _field_transforms.DecodeOnly()}
        for_daemon = None
    if own:
        if coded is not None:
            raise errors.Unsupported(
                "transform: those of several fields do not go with Python code between "
                "those of the image")
        for_daemon = _field_transforms.FieldTransforms(for_daemon, own)
    label_function = None if data is None else data.target_transform
    if gpu is not None:
        pin_memory = False  # the batch lies on the GPU already
        try:
            _check_functions(gpu, split.trailing, label_function)
        except errors.Unsupported as error:
            if data is not None and (is_own or not split.trailing):
                return NeedsWorkers(str(error), False)
            raise
    _effects.warn(daemon_kind if coded is None else Kind.OPS, dataset, others,
                  stacklevel + 1)
    if split.trailing:
        _translate.warn_of(split.trailing, stacklevel + 1)
    processing = PostProcessing(
        kind, split.trailing, split.input_kind, name, label_function,
        batch_transform, pin_memory)
    if distributed:
        rank, world_size, _ = _job.distributed_rank()
    sampling = _sampling.read(sampler, size, shuffle, generator).completed(
        seed, rank, world_size, pad)
    options = _options.build(
        dataset, batch_size=batch_size, shuffle=sampling.shuffle,
        seed=sampling.seed, transform=for_daemon, rank=sampling.rank,
        world_size=sampling.world_size, pad=sampling.pad,
        listed=sampling.listed, coordinated=order == "coordinated",
        device=None if gpu is None else gpu.ordinal, padded=form.name == "pad",
        **{key: others[key] for key in _OF_OPTIONS})
    return Plan(options, for_daemon, kind, gpu, form,
                None if processing.is_empty else processing, sampling, coded,
                others["timeout"], size, None if data is None else data.classes,
                collate_fn or collation.default(kind, True), bool(places),
                places if isinstance(dataset, (Subset, Concat)) else ())


def _suits_workers(data: _torch_data.TorchData, dataset: Any,
                   given: Dict[str, Any]) -> bool:
    """Whether workers make samples faster than daemon and trainer do. This is so if the
    dataset lies in memory, and has its own transform, none of whose ops the daemon can
    run.

    Args:
      given: those of the loader's arguments that may need the daemon to make samples.
    """
    if data.transform is None or data.extent is None or given["num_workers"] == 0:
        return False
    try:
        _effects.refuse(Kind.NUMBERED, dataset, given)
    except errors.Unsupported:
        return False
    return True


def _check_functions(gpu: _gpu.Gpu, trailing: Any,
                     label_function: Any) -> None:
    """Refuses Python functions of single samples, because the samples lie on a GPU."""
    if trailing:
        raise errors.Unsupported(
            f"{gpu}: {_translate.names_of(trailing)} would run in the "
            'trainer, on each image: use batch_transform, or device="cpu"')
    if label_function is not None:
        raise errors.Unsupported(
            f"{gpu}: target_transform would run in the trainer, on "
            'each label: use batch_transform, or device="cpu"')


def _check_transform(transform: Any) -> None:
    if not (transform is None or isinstance(transform, Transform) or
            _translate.is_foreign(transform)):
        raise errors.InvalidArgument(
            "transform must come from forebay.transforms, torchvision or "
            f"Albumentations, not {transform!r}: code for whole batches goes "
            "into batch_transform")


def _the_transform(data: _torch_data.TorchData, transform: Any) -> Any:
    if transform is None:
        return data.transform
    if data.transform is not None:
        raise errors.InvalidArgument(
            "the dataset has a transform, and transform= is another: give one of "
            "them")
    if not data.channels:
        raise errors.Unsupported(
            "a TensorDataset's tensors are delivered as they are: use "
            "batch_transform instead of transform")
    _check_transform(transform)
    return transform
