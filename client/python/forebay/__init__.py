"""Forebay: one daemon per host feeds every training job on it.

    import forebay
    from forebay import transforms as T

    loader = forebay.DataLoader("/data/train", batch_size=256, shuffle=True,
                                transform=T.Compose([T.RandomResizedCrop(224),
                                                     T.RandomHorizontalFlip()]))
    for images, labels in loader:
        ...

`Dataset` gives single samples to other loaders.
"""

from . import errors, transforms
from ._device_tensor import DeviceTensor
from ._manifest import Manifest, manifest
from ._map_style import Dataset
from ._native import lib as _lib
from .errors import (DaemonUnavailable, DataError, ForebayError,
                     InvalidArgument, NotFound, PermissionDenied,
                     ResourceExhausted, SourceUnavailable, StateError,
                     Unsupported)
from .loader import DataLoader

__version__ = _lib.forebay_version().decode()

__all__ = [
    "DaemonUnavailable", "DataError", "DataLoader", "Dataset", "DeviceTensor",
    "ForebayError", "InvalidArgument", "Manifest", "NotFound", "PermissionDenied",
    "ResourceExhausted", "SourceUnavailable", "StateError", "Unsupported", "errors",
    "manifest", "transforms",
]
