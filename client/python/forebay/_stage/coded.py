"""A pipeline in which workers run the user's ops, and the daemon runs all others."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .. import _fork, errors
from .. import transforms as T
from .._code import Code, Result
from . import share_key, shared_check, structure
from .host_process import HostProcess
from .images import Ops
from .making import Stage
from .own_samples import OwnImages
from .values import Flat


class Workers(NamedTuple):
    """The processes that run the ops.

    Attributes:
      most: the largest number of processes at once.
      init: worker_init_fn, or None.
      context: the context of multiprocessing.
      seed: the loader's seed.
      are_persistent: whether workers stay between epochs, with the ops as they were
        when the workers started.
      timeout: seconds to wait for a batch; 0: without end.
    """

    most: int
    init: Optional[Callable[[int], None]]
    context: Any
    seed: int
    are_persistent: bool
    timeout: float


class _UserCode(T.Transform):
    """The op that stands, in the daemon's pipeline, for the user's ops."""

    def __init__(self, identity: bytes, result: Result):
        self._identity = identity
        self._result = result

    def _op(self) -> Dict[str, Any]:
        return {"user_code": {
            "identity": self._identity, "dtype": self._result.dtype.upper(),
            "shape": self._result.shape, "finished": not self._result.kind}}


class Coded(NamedTuple):
    """A pipeline, with the user's ops as they are at one moment.

    Attributes:
      code: the ops that workers run.
      result: the type of the ops' result for each image.
      behind: the daemon's ops after them.
      workers: the workers that run them.
    """

    code: Code
    result: Result
    behind: List[T.Transform]
    workers: Workers

    def transform(self, identity: bytes) -> T.Transform:
        """Returns the whole pipeline, for the daemon.

        Args:
          identity: 16 bytes, equal for equal ops.
        """
        return T.Compose([*self.code.before, _UserCode(identity, self.result),
                          *self.behind])

    def start_host(self) -> HostProcess:
        """Starts a worker pool; see HostProcess."""
        return _start_host(self.code, self.workers)

    def made_of_noise(self, host: HostProcess) -> Tuple[List[Flat], List[Flat]]:
        """Returns the results of a worker pool's ops for images of noise: those of one
        worker, and those of another worker.

        Raises:
          RuntimeError: the ops took longer than the timeout.
          errors.SourceUnavailable: the worker pool was killed.
          Exception: an exception of worker_init_fn.
        """
        task = OwnImages(shared_check.FIRST, self.workers.seed)
        return host.make(task, 0), host.make(task, min(1, self.workers.most - 1))

    def share_id(self, key: share_key.ShareKey, epoch: int, made: Any) -> bytes:
        """Returns an id that is equal for loaders that share workers. Workers have the
        ops as they were at one iter(), so they serve only that epoch, unless they are
        persistent.

        Args:
          made: plain values, which are equal if the ops return equal results for images
            of noise.
        """
        return key.identity(
            None if self.workers.are_persistent else epoch, self.workers.seed,
            self.code.kind, tuple(map(share_key.name_of, self.code.ops)),
            share_key.name_of(self.workers.init), made)


def make(code: Code, workers: Workers) -> Coded:
    """Runs the ops on an image of noise to learn what they return, and makes a Coded.

    Raises:
      errors.Unsupported: batches cannot have the result.
      RuntimeError: the ops took longer than the timeout.
      Exception: an exception of the user's code.
    """
    host = _start_host(code, workers)
    try:
        result = host.probe_image(True, workers.seed)
        behind = code.translate_behind(result)
        if behind is None:
            # The daemon cannot run the ops after the user's ops, so workers run those
            # as well.
            code, behind = code.whole(), []
            host.end()
            host = _start_host(code, workers)
            result = host.probe_image(False, workers.seed)
    except structure.Irregular as error:
        raise errors.Unsupported(
            f"{code.names} returns {error}, which the daemon cannot go on with"
        ) from None
    finally:
        host.end()
    return Coded(code, result, behind, workers)


def _start_host(code: Code, workers: Workers) -> HostProcess:
    stage = Stage(Ops.of(code), workers.init, workers.most, workers.seed, tuple,
                  False)
    with _fork.without_interruption():
        return HostProcess(code.names, workers.context, stage, None, False,
                           workers.timeout)
