"""The C interface of client/forebay.h, by ctypes. Each type and function has its
counterpart in libforebay.so."""

from __future__ import annotations

import ctypes as c
import os
import pathlib
from typing import Optional

from . import errors

OK, END_OF_EPOCH, INTERRUPTED, TIMEOUT = range(4)
FORKED = 12

_EXCEPTIONS = {
    4: errors.InvalidArgument,
    5: errors.NotFound,
    6: errors.PermissionDenied,
    7: errors.ResourceExhausted,
    8: errors.StateError,
    9: errors.DaemonUnavailable,
    10: errors.DataError,
    11: errors.Unsupported,
    FORKED: errors.StateError,
    14: errors.SourceUnavailable,
    15: errors.ProducerFailed,
}

(UINT8, FLOAT16, BFLOAT16, FLOAT32, INT64, FLOAT64, INT32, INT16, INT8, BOOL,
 UINT16, UINT32, UINT64) = range(1, 14)
DTYPE_NAMES = dict(enumerate((
    "uint8", "float16", "bfloat16", "float32", "int64", "float64", "int32",
    "int16", "int8", "bool", "uint16", "uint32", "uint64"), 1))
DTYPES = {name: number for number, name in DTYPE_NAMES.items()}
ON_DEVICE = 1  # forebay_place: a field on a GPU
IMAGE, LABEL, SAMPLE_ID, TEXT, JSON, BYTES, ARRAY = range(1, 8)
IMAGE_FOLDER, WEBDATASET, MANIFEST = range(1, 4)
NPY, TFRECORD, ZIP, LMDB, MDS, HDF5, NPZ, TOKENS, ARRAY_RECORD = range(9, 18)
SEQUENTIAL, SHUFFLE, BLOCK_SHUFFLE, LISTED, COORDINATED = range(1, 6)
SHARING = {"elastic": 1, "lockstep": 2, "off": 3}
UNEVEN = {"wrap": 1, "drop": 2, "none": 3}
EPOCHS = 2 ** 63  # epochs are 0 to EPOCHS - 1
ON_ERROR = {"raise": 1, "substitute": 2}


def _all(kind, *names):
    """Returns fields of one type, for a Structure's _fields_."""
    return [(name, kind) for name in names]


class LoaderOptions(c.Structure):
    _fields_ = [
        ("size", c.c_size_t),
        *_all(c.c_char_p, "runtime_dir", "job_key", "job_name", "name"),
        ("weight", c.c_double),
        *_all(c.c_char_p, "uri", "root"),
        ("format", c.c_int),
        ("extra_roots", c.POINTER(c.c_char_p)),
        ("extra_root_count", c.c_size_t),
        ("order", c.c_int),
        ("seed", c.c_uint64),
        *_all(c.c_uint32, "rank", "world_size"),
        ("uneven", c.c_int),
        ("batch_size", c.c_uint32),
        *_all(c.c_int, "drop_last", "on_error"),
        ("depth", c.c_uint32),
        ("shards", c.POINTER(c.c_char_p)),
        ("shard_count", c.c_size_t),
        ("fields", c.POINTER(c.c_char_p)),
        ("field_count", c.c_size_t),
        ("columns", c.POINTER(c.c_char_p)),
        ("sharing", c.c_int),
        ("reattach_seconds", c.c_double),
        ("dataset", c.c_void_p), ("device", c.c_int32),
        *_all(c.c_char_p, "folder", "database", "length_field"),
        ("max_length", c.c_uint64), *_all(c.c_int, "by_length", "padded"),
        ("max_seconds", c.c_double),
    ]


class Array(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        *_all(c.c_int, "kind", "dtype"),
        ("rank", c.c_uint32),
        ("shape", c.c_uint64 * 6),
        ("data", c.c_void_p),
    ]


class LoaderInfo(c.Structure):
    _fields_ = [
        *_all(c.c_uint64, "dataset_size", "samples_per_epoch",
              "batches_per_epoch", "class_count", "slot_bytes"),
        ("dataset_version", c.c_uint8 * 16),
    ]


class BatchInfo(c.Structure):
    _fields_ = [
        *_all(c.c_uint64, "sample_count", "epoch", "first_sample"),
        ("field_count", c.c_uint32),
        ("is_copy", c.c_int),
    ]


class FieldLayout(c.Structure):
    _fields_ = [
        ("name", c.c_char * 32),
        *_all(c.c_int, "kind", "dtype"),
        *_all(c.c_uint32, "rank", "place"),
        ("shape", c.c_uint64 * 6),
        *_all(c.c_uint64, "offset", "bytes", "row_splits_offset"),
    ]


class BatchView(c.Structure):
    _fields_ = [
        *_all(c.c_void_p, "batch", "data"),
        *_all(c.c_uint64, "bytes", "layout", "next_sample"),
        ("info", BatchInfo),
        ("iteration", c.c_uint64),
        ("fields", FieldLayout * 16),
    ]


class ReaderInfo(c.Structure):
    _fields_ = [
        *_all(c.c_uint64, "dataset_size", "class_count"),
        ("field_count", c.c_uint32),
        ("dataset_version", c.c_uint8 * 16),
    ]


class Field(c.Structure):
    _fields_ = [
        ("name", c.c_char_p),
        *_all(c.c_int, "kind", "dtype"),
        ("rank", c.c_uint32),
        ("shape", c.c_uint64 * 6),
        ("data", c.c_void_p),
        ("bytes", c.c_uint64),
        ("row_splits", c.POINTER(c.c_int64)),
    ]


class TensorType(c.Structure):
    _fields_ = [("dtype", c.c_int), ("rank", c.c_uint32),
                ("shape", c.c_uint64 * 6)]


class ObjectVersion(c.Structure):
    _fields_ = [
        ("size", c.c_uint64), ("stamp", c.c_int64), ("inode", c.c_uint64),
        ("ctime_nanos", c.c_int64),
    ]


class ObjectRange(c.Structure):
    _fields_ = [
        ("root", c.c_char_p), ("directory", c.c_int), ("name", c.c_char_p),
        ("version", c.POINTER(ObjectVersion)),
        *_all(c.c_uint64, "offset", "length"),
        ("block_bytes", c.c_uint32),
    ]


class ObjectPart(c.Structure):
    _fields_ = [("version", ObjectVersion), ("data", c.c_void_p),
                ("bytes", c.c_uint64)]


_U32, _U64, _F64, _INT, _PTR = c.c_uint32, c.c_uint64, c.c_double, c.c_int, c.c_void_p

# The types of each function's result and arguments; None stands for void.
_PROTOTYPES = {
    "forebay_version": (c.c_char_p, []),
    "forebay_last_error": (c.c_char_p, []),
    "forebay_runtime_dir": (_INT, [c.c_char_p, c.c_size_t]),
    "forebay_ping": (_INT, [c.c_char_p]),
    "forebay_pipeline_new": (_PTR, []),
    "forebay_pipeline_free": (None, [_PTR]),
    "forebay_pipeline_add_op": (_INT, [_PTR, c.c_char_p, c.c_size_t]),
    "forebay_pipeline_add_array": (_INT, [_PTR, c.c_char_p, _PTR]),
    "forebay_loader_options_init": (None, [c.POINTER(LoaderOptions), c.c_size_t]),
    "forebay_loader_create": (_INT, [c.POINTER(LoaderOptions), _PTR, c.POINTER(_PTR)]),
    "forebay_loader_open": (_INT, [_PTR, _F64]),
    "forebay_loader_get_info": (_INT, [_PTR, c.POINTER(LoaderInfo)]),
    "forebay_loader_class_name":
        (_INT, [_PTR, c.c_uint64, c.POINTER(_PTR), c.POINTER(c.c_size_t)]),
    "forebay_loader_start_epoch": (_INT, [_PTR, c.c_uint64, c.c_uint64]),
    "forebay_loader_start_listed_epoch": (_INT, [_PTR, _U64, _PTR, c.c_size_t, _U64]),
    "forebay_loader_iteration": (c.c_uint64, [_PTR]),
    "forebay_loader_next_view": (_INT, [_PTR, _F64, c.POINTER(BatchView)]),
    "forebay_loader_reattach": (_INT, [_PTR, _F64]),
    "forebay_loader_is_attached": (_INT, [_PTR]),
    "forebay_loader_stop_epoch": (_INT, [_PTR]),
    "forebay_loader_stats_message": (_INT, [_PTR, c.c_char_p, c.POINTER(c.c_size_t)]),
    "forebay_loader_refusal": (c.c_char_p, [_PTR]),
    "forebay_loader_close": (None, [_PTR]),
    "forebay_loader_free": (None, [_PTR]),
    "forebay_batch_put": (_INT, [_PTR, _U32, _PTR, _PTR]),
    "forebay_batch_put_part": (_INT, [_PTR, _U32, c.c_uint64, c.c_uint64, _PTR, _PTR]),
    "forebay_batch_release": (None, [_PTR]),
    "forebay_tensor_pool_open": (_INT, [c.c_int32, c.POINTER(_PTR)]),
    "forebay_tensor_pool_close": (None, [_PTR]),
    "forebay_tensor_make": (_INT, [_PTR, _PTR, _U32, c.POINTER(_PTR)]),
    "forebay_tensor_make_part":
        (_INT, [_PTR, _PTR, _U32, c.c_uint64, c.POINTER(TensorType), c.POINTER(_PTR)]),
    "forebay_tensor_from_host":
        (_INT, [_PTR, _PTR, c.POINTER(TensorType), c.POINTER(_PTR)]),
    "forebay_tensor_copy": (_INT, [_PTR, c.POINTER(_PTR)]),
    "forebay_tensor_export": (_INT, [_PTR, _INT, c.c_ssize_t, c.POINTER(_PTR)]),
    "forebay_tensor_use_anywhere": (_INT, [_PTR]),
    "forebay_tensor_release": (None, [_PTR]),
    "forebay_capsule_name": (_PTR, [_INT]),
    "forebay_capsule_get_destructor": (_PTR, [_PTR, _PTR]),
    "forebay_dataset_from_place": (_INT, [c.POINTER(LoaderOptions), c.POINTER(_PTR)]),
    "forebay_dataset_from_table": (_INT, [_PTR, c.c_char_p, c.c_size_t, _PTR]),
    "forebay_dataset_from_arrays":
        (_INT, [c.c_char_p, c.POINTER(Array), c.c_size_t, c.POINTER(_PTR)]),
    "forebay_dataset_from_producers":
        (_INT, [c.c_char_p, c.c_char_p, c.c_uint64, c.POINTER(Array), c.c_size_t,
                c.POINTER(_PTR)]),
    "forebay_dataset_set_lanes": (_INT, [_PTR, _U32]),
    "forebay_dataset_set_live": (_INT, [_PTR]),
    "forebay_dataset_set_host_fields": (_INT, [_PTR, _U32]),
    "forebay_loader_start_producers": (_INT, [_PTR, _U32, c.POINTER(_INT)]),
    "forebay_loader_start_persistent_producers": (_INT, [_PTR, _U32, _PTR]),
    "forebay_draw_order":
        (_INT, [c.POINTER(LoaderOptions), c.c_uint64, c.c_uint64, c.c_uint64,
                c.POINTER(c.c_uint64), c.POINTER(c.c_size_t)]),
    "forebay_dataset_subset": (_INT, [_PTR, _PTR, c.c_size_t, c.POINTER(_PTR)]),
    "forebay_dataset_select": (_INT, [_PTR, _PTR, _PTR, c.c_size_t, c.POINTER(_PTR)]),
    "forebay_dataset_concatenate": (_INT, [_PTR, c.c_size_t, c.POINTER(_PTR)]),
    "forebay_dataset_free": (None, [_PTR]),
    "forebay_object_reader_open": (_INT, [c.POINTER(LoaderOptions), c.POINTER(_PTR)]),
    "forebay_object_ask": (_INT, [_PTR, c.POINTER(ObjectRange)]),
    "forebay_object_await": (_INT, [_PTR, _F64, c.POINTER(ObjectPart)]),
    "forebay_object_reader_free": (None, [_PTR]),
    "forebay_reader_create":
        (_INT, [c.POINTER(LoaderOptions), _PTR, _INT, c.POINTER(_PTR)]),
    "forebay_reader_open": (_INT, [_PTR, _F64]),
    "forebay_reader_get_info": (_INT, [_PTR, c.POINTER(ReaderInfo)]),
    "forebay_reader_class_name":
        (_INT, [_PTR, c.c_uint64, c.POINTER(_PTR), c.POINTER(c.c_size_t)]),
    "forebay_reader_field_name": (_INT, [_PTR, _U32, c.POINTER(c.c_char_p)]),
    "forebay_reader_ask": (_INT, [_PTR, c.POINTER(c.c_int64), c.c_size_t]),
    "forebay_reader_await": (_INT, [_PTR, _F64]),
    "forebay_reader_field": (_INT, [_PTR, c.c_size_t, _U32, c.POINTER(Field)]),
    "forebay_reader_free": (None, [_PTR]),
}


def checkout() -> Optional[pathlib.Path]:
    """Returns the root of the source tree that contains this package, if one does."""
    package = pathlib.Path(__file__).resolve().parent
    if package.parts[-3:] != ("client", "python", "forebay"):
        return None
    root = package.parents[2]
    return root if (root / "WORKSPACE").is_file() else None


def _find() -> pathlib.Path:
    given = os.environ.get("FOREBAY_LIBRARY")
    if given:
        return pathlib.Path(given)
    places = [pathlib.Path(__file__).with_name("libforebay.so")]
    root = checkout()
    if root is not None:
        places.append(root / "bazel-bin" / "client" / "libforebay.so")
    for place in places:
        if place.exists():
            return place
    raise errors.ForebayError(
        "libforebay.so is neither beside the forebay package nor in the "
        "checkout's bazel-bin: set FOREBAY_LIBRARY, or build "
        "//client:libforebay.so")


def _load() -> c.CDLL:
    try:
        library = c.CDLL(str(path))
    except OSError as error:
        raise errors.ForebayError(f"cannot load {path}: {error}") from None
    for name, (result, arguments) in _PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


path = _find()
lib = _load()


def last_error() -> str:
    return lib.forebay_last_error().decode(errors="replace")


def check(status: int) -> None:
    """Raises the exception for a status, unless it is OK."""
    if status != OK:
        raise _EXCEPTIONS.get(status, errors.ForebayError)(last_error())


def loader_options(options) -> LoaderOptions:
    """Returns native options: the defaults, changed by `options`.

    Args:
      options: dict of fields; extra_roots, shards, fields and columns are lists of
        bytes, and dataset a NativeDataset or None.
    """
    native = LoaderOptions()
    lib.forebay_loader_options_init(c.byref(native), c.sizeof(native))
    options = dict(options)
    for name, count in (("extra_roots", "extra_root_count"), ("columns", None),
                        ("shards", "shard_count"), ("fields", "field_count")):
        strings = options.pop(name, [])
        setattr(native, name, (c.c_char_p * len(strings))(*strings))
        if count is not None:
            setattr(native, count, len(strings))
    dataset = options.pop("dataset", None)
    if dataset is not None:
        native.dataset = dataset.handle
    for name, value in options.items():
        setattr(native, name, value)
    return native


def class_names(get_name, handle, count):
    """Returns the names of `count` classes. `get_name` is the native function that
    finds the name of one class."""
    names, name, length = [], c.c_void_p(), c.c_size_t()
    for label in range(count):
        check(get_name(handle, label, c.byref(name), c.byref(length)))
        names.append(c.string_at(name, length.value).decode(errors="surrogateescape"))
    return names


def runtime_dir() -> str:
    """Returns the directory of the daemon's socket."""
    path = c.create_string_buffer(4096)
    check(lib.forebay_runtime_dir(path, len(path)))
    return os.fsdecode(path.value)


def ping(directory: str) -> bool:
    """Whether a daemon accepts connections in a directory.

    Raises:
      errors.PermissionDenied: the daemon cannot be trusted.
    """
    status = lib.forebay_ping(os.fsencode(directory))
    if status == 9:
        return False
    check(status)
    return True
