"""Checks the arguments of a DataLoader and makes native options of them."""

from __future__ import annotations

import collections.abc
import json
import numbers
import os
import re
import urllib.parse

from . import (_archives, _job, _lengths, _native, _native_dataset, _patterns,
               _tfrecord, errors, transforms)
from ._lmdb import LMDB
from ._manifest import Manifest
from ._source import Arrays, Concat, Folder, Produced, Rows, Subset
from ._tfrecord import TFRecords


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


_REMOTE = ("gs://", "http://", "https://")


def _is_passable(name):
    """Whether the daemon gets all of a name, which ends at a 0 byte."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def is_remote(uri):
    """Whether the daemon finds what lies there itself."""
    return isinstance(uri, str) and uri.startswith(_REMOTE)


def _path_of_url(url):
    """The path that a file:// URL names."""
    path = url[len("file://"):]
    if path.startswith("localhost/"):
        path = path[len("localhost"):]
    if not path.startswith("/"):
        raise errors.InvalidArgument(f"{url}: is no file:// URL of this host")
    return urllib.parse.unquote(path, errors="surrogateescape")


def location_of(given, what="dataset"):
    """A path as it is given, the path of a file:// URL, or a URI that the daemon
    reads itself.

    Args:
      what: is there, for messages.
    """
    try:
        uri = os.fspath(given)
    except TypeError:
        raise errors.InvalidArgument(
            f"the {what} must be a path or a URI" +
            (", or an object like torch's datasets" if what == "dataset" else "") +
            f", not {given!r}") from None
    if not uri or not _is_passable(uri):
        raise errors.InvalidArgument(f"the {what} {given!r} is no path")
    if isinstance(uri, str):
        if uri.startswith("file://"):
            return _path_of_url(uri)
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", uri) and not is_remote(uri):
            raise errors.Unsupported(
                f"{uri}: datasets are files, or lie at " +
                ", ".join(_REMOTE[:-1]) + f" or {_REMOTE[-1]}")
    return uri


def path_of(dataset):
    """The name by which the daemon knows a dataset: the absolute path for a path
    or a file:// URI, where "~" is the user's home, else a URI that the daemon reads
    itself."""
    uri = location_of(dataset)
    return uri if is_remote(uri) else os.path.abspath(os.path.expanduser(uri))


def _is_shards(path):
    """Whether a path stands for tar shards rather than for a folder."""
    name = os.fsdecode(path)
    return (name.endswith(".tar") or any(c in name for c in "{*?[")) and (
        not os.path.isdir(path))


_TFRECORD = (".tfrecord", ".tfrecords", ".tfrec")


def _are_files(path, endings):
    """Whether a path stands for files with such names."""
    return _patterns.ends_in(os.fsdecode(path), endings) and not os.path.isdir(path)


def is_tfrecord(path):
    """Whether a path stands for TFRecord files."""
    return _are_files(path, _TFRECORD)


def is_mds(path):
    """Whether a path stands for MDS shards, or for a folder of them."""
    return _are_files(path, (".mds",)) or _is_mds_folder(path)


def _mds_options(path, fields):
    """The options of MDS shards, or of the folder that MosaicML's writer has filled;
    None if the path is neither."""
    if not is_mds(path):
        return None
    if not _are_files(path, (".mds",)):
        path = os.path.join(path, "*.mds")
    return {"format": _native.MDS, "uri": os.fsencode(path), "columns": [],
            "fields": [] if fields is None else _check_fields(
                fields, 'columns such as ("photo", "label")', "the shards say")}


def _is_mds_folder(path):
    if is_remote(path) or any(c in path for c in "{*?["):
        return False
    index = os.path.join(path, "index.json")
    if not os.path.isfile(index):  # what else has that name may have no end
        return False
    try:
        with open(index, "rb") as file:
            shards = json.load(file)["shards"]
        names = sorted(shard["raw_data"]["basename"] for shard in shards
                       if shard["format"] == "mds")
        found = sorted(name for name in os.listdir(path) if name.endswith(".mds"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
    if names and not found:
        raise errors.Unsupported(
            f"{path}: its MDS shards are compressed or lack: write them without "
            "compression=")
    if names == found:
        return bool(found)
    raise errors.InvalidArgument(
        f"{path}: its index.json names other shards than there are: name those "
        'that are meant, such as "shard.{00000..00012}.mds"')


def _is_table(path):
    """Whether a path stands for a table, which only forebay.manifest describes."""
    return os.fsdecode(path).endswith((".csv", ".jsonl", ".json")) and (
        not os.path.isdir(path))


def _check_fields(fields, wanted='extensions such as ("jpg", "cls")',
                  who_says="the extensions say"):
    """The names of fields as bytes.

    Args:
      wanted: are such names, for messages.
      who_says: the fields' types, likewise.
    """
    if isinstance(fields, (str, bytes)):
        raise errors.InvalidArgument(
            f"fields must be a sequence such as ({fields!r},)")
    if isinstance(fields, collections.abc.Mapping):
        raise errors.InvalidArgument(
            f"fields must be a sequence of {wanted}, not {fields!r}: {who_says} the "
            "types")
    try:
        names = list(fields)
        for name in names:
            if not os.fspath(name) or not _is_passable(name):
                raise errors.InvalidArgument(f"fields: {name!r} can be no field's name")
    except TypeError:
        raise errors.InvalidArgument(
            f"fields must be a sequence of {wanted}, not {fields!r}") from None
    if not names:
        raise errors.InvalidArgument("fields must name at least one")
    return [os.fsencode(name) for name in names]


def _place_options(place, extra_roots):
    return {"format": (_native.NPY if isinstance(place, Rows) else
                       _native.IMAGE_FOLDER),
            "uri": os.fsencode(path_of(place.path)), "extra_roots": extra_roots}


def _source_options(source, extra_roots):
    dataset = _native_dataset.build(
        source, lambda place: _native.loader_options(
            _place_options(place, extra_roots)))
    return {"dataset": dataset, "fields": [], "columns": [],
            "uri": os.fsencode(_native_dataset.describe(source))}


def _record_options(dataset):
    names, types = _tfrecord.names_and_types(dataset.fields)
    uri = os.fsencode(path_of(dataset.path))
    if isinstance(dataset, LMDB):
        return {"format": _native.LMDB, "uri": uri.rstrip(b"/"), "fields": names,
                "columns": types, "database": dataset.database}
    return {"format": _native.TFRECORD, "uri": uri, "fields": names,
            "columns": types}


def _zip_options(archives, folder):
    if not folder:
        return {"format": _native.ZIP, "uri": os.fsencode(archives),
                "fields": [], "columns": []}
    return {"format": _native.ZIP, "uri": os.fsencode(f"{archives}/{folder}"),
            "folder": os.fsencode(folder), "fields": [], "columns": []}


def dataset_options(dataset, fields, extra_roots=()):
    """The options that describe a dataset, from DataLoader's arguments."""
    if isinstance(dataset, Produced):
        return {"fields": [], "columns": [], "uri": dataset.name.encode()}
    if isinstance(dataset, (Arrays, Concat, Folder, Rows, Subset)):
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
            "uri": os.fsencode(path_of(dataset.path)),
            "fields": [name.encode() for name in dataset.columns],
            "columns": [name.encode() for name in dataset.columns.values()],
        }
    if isinstance(dataset, (TFRecords, LMDB)):
        if fields is not None:
            name = "lmdb" if isinstance(dataset, LMDB) else "tfrecord"
            raise errors.InvalidArgument(
                f"fields are of tar shards; forebay.{name} names its own")
        return _record_options(dataset)
    path = path_of(dataset)
    if is_tfrecord(path):
        return _record_options(_tfrecord.tfrecord(dataset, fields=fields))
    mds = _mds_options(os.fsdecode(path), fields)
    if mds is not None:
        return mds
    if _are_files(path, (".npy",)):
        if fields is not None:
            raise errors.InvalidArgument(
                "fields are of tar shards; samples of .npy files have the one "
                'field "array"')
        return {"format": _native.NPY, "uri": os.fsencode(path),
                "fields": [], "columns": []}
    archives = _archives.split(path, is_remote(path))
    if archives is not None:
        if fields is not None:
            raise errors.InvalidArgument(
                "fields are of tar shards; samples of zip archives have the fields "
                '"image" and "label"')
        return _zip_options(*archives)
    if fields is None:
        if not _is_shards(path):
            if _is_table(path):
                raise errors.InvalidArgument(
                    f"{os.fsdecode(path)}: is no folder of images: a table is passed "
                    'as forebay.manifest(path, image="its column", label=...)')
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
            "fields": _check_fields(fields), "columns": []}


def _check_extra_roots(extra_roots, dataset):
    if isinstance(extra_roots, (str, bytes, os.PathLike)):
        raise errors.InvalidArgument(
            f"extra_roots must be a sequence of folders such as [{extra_roots!r}]")
    roots = [os.fsencode(os.path.abspath(r)) for r in extra_roots]
    place = (dataset.path if isinstance(dataset, (Manifest, TFRecords, LMDB))
             else dataset)
    if roots and is_remote(place):
        raise errors.InvalidArgument(
            f"extra_roots are for links in folders; {place} has none")
    return roots


def check_order(order, shuffle):
    """Refuses unknown values."""
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
          bucket_by=None, max_tokens=None, padded=False):
    """A dict of fields of _native.LoaderOptions.

    Args:
      device: the number of the GPU on which batches lie; None: on the host.
      listed: whether each epoch comes with a list of its samples. Order, rank,
        world size and pad then have no effect.
      coordinated: whether the daemon picks the order.
      padded: whether arrays of a batch are padded to the longest.

    Raises:
      errors.InvalidArgument: an argument is wrong; names it.
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
    extra_roots = _check_extra_roots(extra_roots, dataset)
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
        **_lengths.options(bucket_by, max_tokens, batch_size, padded),
    }
    if name is not None:
        options["name"] = str(name).encode()
    return options
