"""Checks the arguments of a DataLoader and makes native options of them."""

from __future__ import annotations

import collections.abc
import numbers
import os
from typing import Any, Dict, List

from . import (_archives, _array_record, _audio_folder, _job, _lengths, _mds,
               _native, _native_dataset, _npy_folder, _npz, _paths, _tfrecord,
               _tokens, errors, transforms)
from ._array_record import ArrayRecords
from ._audio_folder import AudioFolder
from ._hdf5 import HDF5, hdf5, names_and_types
from ._lmdb import LMDB
from ._manifest import Manifest
from ._npy_folder import NpyFolder
from ._npz import Npz
from ._source import (Arrays, Concat, Folder, LabelledFiles, NpyClasses, Produced,
                      Rows, Subset)
from ._tfrecord import TFRecords
from ._tokens import Tokens

# The classes of datasets that have their own fields, and the functions of this package
# that make them.
_NAMED = {TFRecords: "tfrecord", LMDB: "lmdb", Npz: "npz", NpyFolder: "npy_folder",
          AudioFolder: "audio_folder",
          Tokens: "tokens", ArrayRecords: "array_record", HDF5: "hdf5"}


def _integer(value, name, low, high):
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise errors.InvalidArgument(
            f"{name} must be an integer, not {value!r}")
    if not low <= value <= high:
        raise errors.InvalidArgument(
            f"{name} must be between {low} and {high}, not {value}")
    return int(value)


def _choice(value, name, choices):
    if value not in choices:
        wanted = ", ".join(repr(choice) for choice in choices)
        raise errors.InvalidArgument(
            f"{name} must be one of {wanted}, not {value!r}")
    return choices[value]


def _mds_options(path, fields):
    """Returns the options of MDS shards, or of a folder that MosaicML's writer has
    filled. Returns None if the path is neither."""
    uri = os.fsencode(path)
    place: Dict[str, Any] = {"uri": uri}
    if not _paths.are_files(path, (".mds",)):
        shards = _paths.mds_shards(path)
        if shards is None:
            return None
        place.update(root=uri, shards=[os.fsencode(pattern) for pattern in
                                       _mds.patterns_of(shards)])
    names: List[bytes] = []
    types: List[bytes] = []
    if isinstance(fields, collections.abc.Mapping):
        names, types = _tfrecord.names_and_types(
            _tfrecord.checked_fields(fields, '{"sound": "audio"}'))
    elif fields is not None:
        names = _check_fields(fields, 'columns such as ("photo", "label")')
        types = [b""] * len(names)
    return {"format": _native.MDS, **place, "fields": names, "columns": types}


def _check_fields(fields, wanted='extensions such as ("jpg", "cls")'):
    """Returns the names of fields as bytes.

    Args:
      wanted: examples of such names, for messages.
    """
    if isinstance(fields, (str, bytes)):
        raise errors.InvalidArgument(
            f"fields must be a sequence such as ({fields!r},)")
    try:
        names = list(fields)
        for name in names:
            if not os.fspath(name) or not _paths.is_passable(name):
                raise errors.InvalidArgument(f"fields: {name!r} can be no field's name")
    except TypeError:
        raise errors.InvalidArgument(
            f"fields must be a sequence of {wanted}, not {fields!r}") from None
    if not names:
        raise errors.InvalidArgument("fields must name at least one")
    return [os.fsencode(name) for name in names]


def _shard_fields(fields):
    """Returns the fields of tar shards. `fields` is a sequence of extensions, or a dict
    that says which TIFF images are arrays."""
    if not isinstance(fields, collections.abc.Mapping):
        return _check_fields(fields)
    names = _check_fields(list(fields))
    for name, kind in fields.items():
        if kind not in (None, "array"):
            raise errors.InvalidArgument(
                f"fields: the extension of {name!r} says its type, which may be "
                f'"array" or None, not {kind!r}')
    return [name if kind is None else name + b"=array"
            for name, kind in zip(names, fields.values())]


def _place_options(place, extra_roots):
    if isinstance(place, LMDB):
        return {**_record_options(place), "extra_roots": extra_roots}
    if isinstance(place, NpyClasses):
        return {**_named_options(_npy_folder.npy_folder(place.path, labels=True)),
                "extra_roots": extra_roots}
    if isinstance(place, LabelledFiles):
        names = [b"image", b"label"]
        return {"format": _native.MANIFEST, "uri": os.fsencode(place.path),
                "fields": names, "columns": names, "extra_roots": extra_roots}
    return {"format": (_native.NPY if isinstance(place, Rows) else
                       _native.IMAGE_FOLDER),
            "uri": os.fsencode(_paths.path_of(place.path)), "extra_roots": extra_roots}


def _source_options(source, extra_roots):
    dataset = _native_dataset.build(
        source, lambda place: _native.loader_options(
            _place_options(place, extra_roots)))
    return {"dataset": dataset, "fields": [], "columns": [],
            "uri": os.fsencode(_native_dataset.describe(source))}


def _named_options(dataset):
    uri = os.fsencode(_paths.path_of(dataset.path))
    if isinstance(dataset, Npz):
        names, layouts = _npz.names_and_layouts(dataset)
        return {"format": _native.NPZ, "uri": uri, "fields": names, "columns": layouts}
    if isinstance(dataset, NpyFolder):
        place = ({"uri": uri.rstrip(b"/") + b"/"} if _paths.is_remote(dataset.path) else
                 {"uri": uri, "root": uri})
        return {"format": _native.NPY, **place,
                "fields": _npy_folder.field_names(dataset), "columns": []}
    if isinstance(dataset, AudioFolder):
        archives = _archives.split(uri, _paths.is_remote(dataset.path))
        if archives is not None:
            if not dataset.labels:
                raise errors.InvalidArgument(
                    f"{dataset!r}: in zip archives, audio files lie in class folders")
            return {**_zip_options(*archives),
                    "fields": _audio_folder.field_names(dataset)}
        return {"format": _native.IMAGE_FOLDER, "uri": uri,
                "fields": _audio_folder.field_names(dataset), "columns": []}
    if isinstance(dataset, Tokens):
        names, values = _tokens.names_and_values(dataset)
        return {"format": _native.TOKENS, "uri": uri, "fields": names,
                "columns": values}
    if isinstance(dataset, HDF5):
        names, types = names_and_types(dataset.fields)
        return {"format": _native.HDF5, "uri": uri, "fields": names, "columns": types}
    return _record_options(dataset)


def _folder_options(path, fields):
    """Returns the options of a local folder whose NumPy or audio files are samples.
    Returns None if the path is not such a folder."""
    if _paths.is_remote(path) or not os.path.isdir(path):
        return None
    ending = _npy_folder.ending_in(path)
    if ending == ".npz":
        return _named_options(_npz.npz(path, fields=fields))
    if ending == ".npy" and fields is None:
        return _named_options(_npy_folder.npy_folder(path))
    if ending is None and fields is None:
        audio = _audio_folder.find(path)
        return None if audio is None else _named_options(audio)
    return None


def _record_options(dataset):
    names, types = _tfrecord.names_and_types(dataset.fields)
    uri = os.fsencode(_paths.path_of(dataset.path))
    if isinstance(dataset, LMDB):
        return {"format": _native.LMDB, "uri": uri.rstrip(b"/"), "fields": names,
                "columns": types, "database": dataset.database}
    kind = (_native.ARRAY_RECORD if isinstance(dataset, ArrayRecords) else
            _native.TFRECORD)
    return {"format": kind, "uri": uri, "fields": names, "columns": types}


def _zip_options(archives, folder):
    if not folder:
        return {"format": _native.ZIP, "uri": os.fsencode(archives),
                "fields": [], "columns": []}
    return {"format": _native.ZIP, "uri": os.fsencode(f"{archives}/{folder}"),
            "folder": os.fsencode(folder), "fields": [], "columns": []}


def dataset_options(dataset, fields, extra_roots=()):
    """Returns the native options that describe the dataset in DataLoader's
    arguments."""
    if isinstance(dataset, Produced):
        return {"fields": [], "columns": [], "uri": dataset.name.encode()}
    if isinstance(dataset, (Arrays, Concat, Folder, LabelledFiles, NpyClasses, Rows,
                            Subset)):
        if fields is not None:
            raise errors.InvalidArgument(
                "fields are of tar shards; a dataset object has its own")
        return _source_options(dataset, extra_roots)
    if isinstance(dataset, Manifest):
        if fields is not None:
            raise errors.InvalidArgument(
                "fields are of tar shards; forebay.manifest names a "
                "manifest's columns")
        return {
            "format": _native.MANIFEST,
            "uri": os.fsencode(_paths.path_of(dataset.path)),
            "fields": [name.encode() for name in dataset.columns],
            "columns": [name.encode() for name in dataset.columns.values()],
        }
    if type(dataset) in _NAMED:
        if fields is not None:
            raise errors.InvalidArgument(
                "fields are of tar shards; "
                f"forebay.{_NAMED[type(dataset)]} names its own")
        if isinstance(dataset, LMDB) and dataset.keys is not None:
            return _source_options(dataset, extra_roots)
        return _named_options(dataset)
    path = _paths.path_of(dataset)
    if _paths.is_tfrecord(path):
        return _record_options(_tfrecord.tfrecord(dataset, fields=fields))
    if _paths.is_array_record(path):
        return _record_options(_array_record.array_record(dataset, fields=fields))
    if _paths.is_hdf5(path):
        return _named_options(hdf5(dataset, fields=fields))
    mds = _mds_options(os.fsdecode(path), fields)
    if mds is not None:
        return mds
    if _paths.are_files(path, (".npy",)):
        if fields is not None:
            raise errors.InvalidArgument(
                "fields are of tar shards; samples of .npy files have the one "
                'field "array"')
        return {"format": _native.NPY, "uri": os.fsencode(path),
                "fields": [], "columns": []}
    if _paths.are_files(path, (".npz",)):
        return _named_options(_npz.npz(path, fields=fields))
    options = _folder_options(path, fields)
    if options is not None:
        return options
    archives = _archives.split(path, _paths.is_remote(path))
    if archives is not None:
        if fields is not None:
            raise errors.InvalidArgument(
                "fields are of tar shards; samples of zip archives have the fields "
                '"image" and "label"')
        return _zip_options(*archives)
    if fields is None:
        if not _paths.is_shards(path):
            if _paths.is_table(path):
                raise errors.InvalidArgument(
                    f"{os.fsdecode(path)}: is not a folder of images: a table is "
                    'passed as forebay.manifest(path, image="its column", label=...), '
                    "or with audio= instead of image=")
            if not _paths.is_remote(path) and os.path.isfile(path):
                raise errors.InvalidArgument(
                    f"{os.fsdecode(path)}: is a file whose name tells no format that "
                    "is read: forebay.inspect(path) says how to read it, if it can be")
            return {"format": _native.IMAGE_FOLDER, "uri": os.fsencode(path),
                    "fields": [], "columns": []}
        raise errors.InvalidArgument(
            f"{os.fsdecode(path)}: fields must say what of the shards' samples "
            'a batch is made of, such as fields=("jpg", "cls")')
    if os.path.isdir(path):
        raise errors.InvalidArgument(
            f"{os.fsdecode(path)}: is a folder, which has no fields to choose: name "
            'the files in it, such as "*.tar"')
    return {"format": _native.WEBDATASET, "uri": os.fsencode(path),
            "fields": _shard_fields(fields), "columns": []}


def check_extra_roots(extra_roots, dataset):
    """Returns the absolute paths, as bytes, of the folders to which links in a dataset
    may lead."""
    if isinstance(extra_roots, (str, bytes, os.PathLike)):
        raise errors.InvalidArgument(
            f"extra_roots must be a sequence of folders such as [{extra_roots!r}]")
    try:
        roots = [os.fsencode(os.path.abspath(r)) for r in extra_roots]
    except TypeError:
        raise errors.InvalidArgument(
            f"extra_roots must be a sequence of folders, not {extra_roots!r}"
        ) from None
    place = (dataset.path if isinstance(dataset, (Manifest, *_NAMED)) else dataset)
    if roots and _paths.is_remote(place):
        raise errors.InvalidArgument(
            f"extra_roots are for links in folders; {place} has none")
    return roots


def check_order(order, shuffle):
    """Refuses unknown values of DataLoader's `order` and `shuffle`."""
    _choice(order, "order", {"exact": 0, "coordinated": 0})
    if shuffle not in (True, False, None, "block"):
        raise errors.InvalidArgument(
            f'shuffle must be True, False or "block", not {shuffle!r}')


def _check_coordinated(shuffle, listed, world_size):
    if listed:
        raise errors.InvalidArgument(
            'order="coordinated": the daemon picks the order, but the sampler '
            "says another: give one of them")
    if shuffle is not True:
        raise errors.InvalidArgument(
            'order="coordinated" is a random one: it needs shuffle=True, not '
            f"{shuffle!r}")
    if world_size > 1:
        raise errors.InvalidArgument(
            'order="coordinated" is one host\'s and has no ranks, but '
            f"world_size is {world_size}")


def build(dataset, *, fields, batch_size, shuffle, seed, drop_last, transform,
          rank, world_size, pad, on_error, sharing, weight, name, depth,
          extra_roots, device=None, listed=False, coordinated=False,
          bucket_by=None, max_tokens=None, max_seconds=None, padded=False):
    """Returns a dict of fields of _native.LoaderOptions.

    Args:
      device: the number of the GPU on which batches lie; None: on the host.
      listed: whether each epoch comes with a list of its samples. Order, rank,
        world size and pad then have no effect.
      coordinated: whether the daemon picks the order.
      padded: whether arrays of a batch are padded to the longest.

    Raises:
      errors.InvalidArgument: an argument is wrong; the message names it.
    """
    if transform is not None and not isinstance(transform,
                                                transforms.Transform):
        raise errors.InvalidArgument(
            f"transform must come from forebay.transforms, not {transform!r}")
    if (not isinstance(weight, numbers.Real) or
            not 0.001 <= float(weight) <= 1000):
        raise errors.InvalidArgument(
            f"weight must be between 0.001 and 1000, not {weight!r}")
    world_size = _integer(world_size, "world_size", 1, 1 << 20)
    if coordinated:
        _check_coordinated(shuffle, listed, world_size)
    extra_roots = check_extra_roots(extra_roots, dataset)
    options = {
        "job_key": os.fsencode(_job.job_key())[:256],
        "job_name": os.fsencode(_job.job_name())[:256],
        "weight": float(weight),
        "extra_roots": extra_roots,
        "order": (_native.COORDINATED if coordinated else
                  _native.LISTED if listed else
                  _native.BLOCK_SHUFFLE if shuffle == "block" else
                  _native.SHUFFLE if shuffle else _native.SEQUENTIAL),
        "seed": _integer(seed, "seed", -(1 << 63), (1 << 64) - 1) % (1 << 64),
        "rank": _integer(rank, "rank", 0, world_size - 1),
        "world_size": world_size,
        "uneven": _choice(pad, "pad", _native.UNEVEN),
        "batch_size": _integer(batch_size, "batch_size", 1, 65536),
        "drop_last": bool(drop_last),
        "on_error": _choice(on_error, "on_error", _native.ON_ERROR),
        "sharing": _choice(sharing, "sharing", _native.SHARING),
        "device": -1 if device is None else device,
        "depth": 0 if depth is None else _integer(depth, "depth", 1, 16),
        **dataset_options(dataset, fields, extra_roots),
        **_lengths.options(bucket_by, max_tokens, max_seconds, batch_size, padded),
    }
    if name is not None:
        options["name"] = str(name).encode(errors="backslashreplace")
    return options
