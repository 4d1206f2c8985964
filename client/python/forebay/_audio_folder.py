"""Folders of audio files; each file is a sample."""

from __future__ import annotations

import os
from typing import List, Optional, Union

from . import _folder_endings, errors

_ENDINGS = {".wav", ".flac", ".ogg", ".opus", ".mp3"}


class AudioFolder:
    """The result of `audio_folder`, for DataLoader.

    Attributes:
      path: of the folder.
      labels: whether the folders in it are classes.
    """

    def __init__(self, path, labels):
        self.path = path
        self.labels: bool = labels

    def __repr__(self) -> str:
        return f"audio_folder({os.fspath(self.path)!r}, labels={self.labels})"


def audio_folder(path: Union[str, "os.PathLike[str]"], *,
                 labels: bool = True) -> AudioFolder:
    """A dataset of a folder of WAV, FLAC, Ogg, Opus and MP3 files, each a sample: a
    DataLoader's `dataset`.

    A batch has the field "audio": float32 of (frames, channels).

    Args:
      path: of the folder, a path or a URI; also of a zip archive, or a folder in one.
      labels: with True, the folders in it are classes, as torchvision's
        DatasetFolder has them: a batch has the field "label", too. With False, the
        files directly in the folder are the samples, in the order of their names.

    Returns:
      An AudioFolder, to pass to DataLoader as `dataset`.
    """
    if labels not in (True, False):
        raise errors.InvalidArgument(
            f"labels must be True or False, not {labels!r}")
    return AudioFolder(path, labels)


def field_names(dataset: AudioFolder) -> List[bytes]:
    """Returns the fields by which the native options say what a sample is."""
    return [b"audio", b"label"] if dataset.labels else [b"audio"]


def find(path: Union[str, bytes]) -> Optional[AudioFolder]:
    """Returns the dataset of a local folder of audio files: with labels, unless files
    lie directly in it. None if there are no audio files, or its folders have images."""
    found = _folder_endings.look(path)
    if found is None or found.has_images:
        return None
    if _ENDINGS & found.own:
        return AudioFolder(path, False)
    return AudioFolder(path, True) if _ENDINGS & found.below else None
