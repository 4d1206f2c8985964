"""The class of all transforms."""

from __future__ import annotations

from typing import Any


class Transform:
    """A step of a pipeline."""

    def _append(self, lib: Any, pipeline: Any) -> int:
        """Adds the step to a native pipeline; returns a status."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in vars(self).items()
                 if not name.startswith("_"))
        return f"{type(self).__name__}({', '.join(shown)})"
