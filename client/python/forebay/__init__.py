"""Forebay: one daemon per host feeds every training job on it.

    import forebay
    from forebay import transforms as T

    loader = forebay.DataLoader("/data/train", batch_size=256, shuffle=True,
                                transform=T.Compose([T.RandomResizedCrop(224),
                                                     T.RandomHorizontalFlip()]))
    for images, labels in loader:
        ...

`inspect` says what is in a dataset, and how to read it. `Dataset` gives single samples
to other loaders. `open` reads files.
"""

from . import errors, torch, transforms
from ._array_record import ArrayRecords, array_record
from ._audio_folder import AudioFolder, audio_folder
from ._device_tensor import DeviceTensor
from ._hdf5 import HDF5, hdf5
from ._inspect import Inspection, inspect
from ._lmdb import LMDB, lmdb
from ._manifest import Manifest, manifest
from ._map_style import Dataset
from ._native import lib as _lib
from ._npy_folder import NpyFolder, npy_folder
from ._npz import Npz, npz
from ._open import File, open
from ._ragged import Padded, Ragged
from .errors import (DaemonUnavailable, DataError, FileChanged, ForebayError,
                     InvalidArgument, IsADirectory, NotFound,
                     PermissionDenied, ResourceExhausted, SourceUnavailable,
                     StateError, Unsupported)
from ._share.shared import Shared, share
from ._tfrecord import TFRecords, tfrecord
from ._tokens import Tokens, tokens
from .loader import DataLoader

__version__ = _lib.forebay_version().decode()

__all__ = [
    "ArrayRecords", "AudioFolder", "DaemonUnavailable", "DataError", "DataLoader",
    "Dataset", "DeviceTensor", "File", "FileChanged", "ForebayError", "HDF5",
    "Inspection", "InvalidArgument", "IsADirectory", "LMDB", "Manifest", "NotFound",
    "NpyFolder", "Npz", "Padded", "PermissionDenied", "Ragged", "ResourceExhausted",
    "Shared", "SourceUnavailable", "StateError", "TFRecords", "Tokens", "Unsupported",
    "array_record", "audio_folder", "errors", "hdf5", "inspect", "lmdb", "manifest",
    "npy_folder",
    "npz", "open", "share", "tfrecord", "tokens", "torch", "transforms",
]
