"""A pipeline in which workers run the user's ops between those of the daemon."""

from __future__ import annotations

import ctypes as c
import os
from typing import Any, Callable, List, NamedTuple, Optional

from .. import _native, errors
from .. import transforms as T
from .._code import Code, Result
from . import digest, structure
from .host_process import HostProcess
from .images import Ops
from .making import Stage

_DTYPES = {name: dtype for dtype, name in _native.DTYPE_NAMES.items()}


class Workers(NamedTuple):
    """The processes that run the ops.

    Attributes:
      most: how many at once.
      init: worker_init_fn, or None.
      context: of multiprocessing.
      seed: of the loader.
      are_persistent: whether they stay with the ops as they began.
      share_key: tells equal ops by hand; None: by what they are.
      timeout: seconds to wait for a batch; 0: without end.
    """

    most: int
    init: Optional[Callable[[int], None]]
    context: Any
    seed: int
    are_persistent: bool
    share_key: Optional[str]
    timeout: float


class _UserCode(T.Transform):
    """Tells the daemon of the ops, which it does not know."""

    def __init__(self, identity: bytes, result: Result):
        self._identity = identity
        self._result = result

    def _append(self, lib: Any, pipeline: Any) -> int:
        shape = (c.c_uint64 * len(self._result.shape))(*self._result.shape)
        return lib.forebay_pipeline_add_user_code(
            pipeline, self._identity, _DTYPES[self._result.dtype], shape,
            len(shape), not self._result.kind)


class Coded(NamedTuple):
    """The ops as they are at one time.

    Attributes:
      code: the ops that workers run.
      result: of each image.
      behind: what the daemon does after them.
      workers: that run them.
      digest: equal for loaders that may share; None: this one may with none.
    """

    code: Code
    result: Result
    behind: List[T.Transform]
    workers: Workers
    digest: Optional[bytes]

    @property
    def transform(self) -> T.Transform:
        """The whole pipeline, for the daemon."""
        identity = self.digest or os.urandom(16)
        return T.Compose([*self.code.before, _UserCode(identity, self.result),
                          *self.behind])

    def start_host(self) -> HostProcess:
        """Starts a host of the workers."""
        return _start_host(self.code, self.workers, self.digest is not None)

    def present(self) -> "Coded":
        """The same ops as they are now."""
        found = _digest(self.code, self.workers)
        if found is not None and found == self.digest:
            return self
        return self._replace(digest=found)


def make(code: Code, workers: Workers) -> Coded:
    """Learns what the ops return, by an image of noise.

    Raises:
      errors.Unsupported: that is nothing that batches can have.
      RuntimeError: the ops took longer than the timeout.
      Exception: that of the user's code.
    """
    host = _start_host(code, workers, False)
    try:
        result = host.probe_image(True, workers.seed)
        behind = code.translate_behind(result)
        if behind is None:
            # Workers run what comes behind, too.
            code, behind = code.whole(), []
            host.end()
            host = _start_host(code, workers, False)
            result = host.probe_image(False, workers.seed)
    except structure.Irregular as error:
        raise errors.Unsupported(
            f"{code.names} returns {error}, which the daemon cannot go on with"
        ) from None
    finally:
        host.end()
    return Coded(code, result, behind, workers, _digest(code, workers))


def _start_host(code: Code, workers: Workers, is_shared: bool) -> HostProcess:
    stage = Stage(Ops.of(code), workers.init, workers.most, workers.seed, tuple,
                  False)
    return HostProcess(code.names, workers.context, stage, None, is_shared,
                       workers.timeout)


def _digest(code: Code, workers: Workers) -> Optional[bytes]:
    if workers.share_key is not None:
        return digest.of_key(workers.share_key)
    try:
        return digest.of((code.kind, code.ops, workers.init))
    except digest.Unknown:
        return None
