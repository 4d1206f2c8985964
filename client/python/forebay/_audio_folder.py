"""Folders of audio files; each file is a sample."""

from __future__ import annotations

import os
from typing import List, Optional, Union

from . import _folder_endings, errors

_ENDINGS = {".wav", ".flac", ".ogg", ".opus", ".mp3"}


class AudioFolder:
    """The result of `audio_folder`, for DataLoader.

    Attributes:
      path: the folder's path.
      labels: whether the folders in it are classes.
    """

    def __init__(self, path, labels):
        self.path = path
        self.labels: bool = labels

    def __repr__(self) -> str:
        return f"audio_folder({os.fspath(self.path)!r}, labels={self.labels})"


def audio_folder(path: Union[str, "os.PathLike[str]"], *,
                 labels: bool = True) -> AudioFolder:
    """Describes a folder of WAV, FLAC, Ogg, Opus and MP3 files as a dataset. Each file
    is a sample.

    A batch has the field "audio": float32 of (frames, channels).

    Args:
      path: the path or URI of the folder, of a zip archive, or of a folder in an
        archive.
      labels: with True, the folders in the folder are classes, as in torchvision's
        DatasetFolder, and batches also have the field "label". With False, the samples
        are the files directly in the folder, in the order of their names.

    Returns:
      An AudioFolder, to pass to DataLoader as `dataset`.
    """
    if labels not in (True, False):
        raise errors.InvalidArgument(
            f"labels must be True or False, not {labels!r}")
    return AudioFolder(path, labels)


def field_names(dataset: AudioFolder) -> List[bytes]:
    """Returns the `fields` of the native options for this dataset."""
    return [b"audio", b"label"] if dataset.labels else [b"audio"]


def find(path: Union[str, bytes]) -> Optional[AudioFolder]:
    """Returns the dataset of a local folder of audio files. It has labels unless audio
    files lie directly in the folder. Returns None if there are no audio files, or if
    the folders in it have images."""
    found = _folder_endings.look(path)
    if found is None or found.has_images:
        return None
    if _ENDINGS & found.own:
        return AudioFolder(path, False)
    return AudioFolder(path, True) if _ENDINGS & found.below else None
