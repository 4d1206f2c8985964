"""The description of a loader's dataset, for users."""

from __future__ import annotations

from typing import Dict, List


class DatasetInfo:
    """The dataset that a loader reads, in one version.

    Attributes:
      uri: str, the dataset's path or URI.
      classes: list of str, the classes' names in label order.
      version: str, 32 hexadecimal digits that change with the samples.
      size: int, the number of samples.
    """

    def __init__(self, uri: str, classes: List[str], version: str, size: int):
        self.uri = uri
        self.classes = classes
        self.version = version
        self.size = size

    @property
    def class_to_idx(self) -> Dict[str, int]:
        """The label of each class, by the class's name."""
        return {name: label for label, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return (f"DatasetInfo({self.uri!r}, {self.size} samples, "
                f"{len(self.classes)} classes)")
