"""The class of all transforms."""

from __future__ import annotations

from typing import Any, Dict

from . import _native
from ._message_codec import encode


class Transform:
    """A step of a pipeline."""

    def _op(self) -> Dict[str, Any]:
        """Returns the step's op: its name in proto/job.proto's Op, and its fields.

        Returns nothing for a step that changes nothing.
        """
        raise NotImplementedError

    def _append(self, lib: Any, pipeline: Any) -> int:
        """Adds the step to a native pipeline; returns a status."""
        op = encode("Op", self._op())
        if not op:
            return _native.OK
        return lib.forebay_pipeline_add_op(pipeline, op, len(op))

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in vars(self).items()
                 if not name.startswith("_"))
        return f"{type(self).__name__}({', '.join(shown)})"


class AudioTransform(Transform):
    """A transform of audio."""
