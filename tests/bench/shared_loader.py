"""A torch DataLoader that one process iterates for all trainers, by forebay.share or by
TensorSocket.

Run as a script, it is TensorSocket's producer, which runs until it is killed. The
argument is JSON: the arguments of `serve`.
"""

import json
import logging
import os
import sys
import time

import python_stage
import torch

SHARE, BY_NAME, AS_SHIPPED = "forebay", "tensorsocket by name", "tensorsocket"
PARTS = 2  # parts of a batch; TensorSocket sends nothing if there is just one
_opened = {}  # the producer's storages that this process has mapped, by name


def _loader(uri, batch_size, workers):
    dataset = python_stage.Photos(uri, os.devnull)
    # TensorSocket writes each batch over an earlier one, so all must have one size.
    return torch.utils.data.DataLoader(dataset, batch_size, shuffle=True,
                                       num_workers=workers, drop_last=True)


def join(kind, uri, batch_size, workers, ports):
    """Returns an iterable of the batches, for a trainer.

    Args:
      kind: SHARE, BY_NAME or AS_SHIPPED.
      uri: the folder of photographs.
      batch_size: samples in a batch.
      workers: num_workers of the loader that is iterated.
      ports: the four ports of TensorSocket's producer; None for SHARE.
    """
    if kind == SHARE:
        import forebay
        return forebay.share(lambda: _loader(uri, batch_size, workers), key="bench")
    _log_to_stderr()
    from tensorsocket import TensorConsumer
    options = {} if kind == AS_SHIPPED else {"unpack_fn": _unpacked}
    return TensorConsumer(port=ports[0], ack_port=ports[1],
                          heart_ports=tuple(ports[2:]), batch_size=batch_size,
                          **options)


def _log_to_stderr():
    # By default, TensorSocket logs to standard output, which has the answers.
    logging.basicConfig(level=logging.WARNING)


def _packed(batch):
    """Returns where the batch's tensors lie in shared memory, and moves them there if
    needed.

    TensorSocket keeps ten batches and writes later ones over them. Only these ten are
    ever moved, and their names stay valid.
    """
    parts = []
    for tensor in batch:
        place = tensor.storage().untyped()._share_filename_cpu_()
        parts.append((*place, str(tensor.dtype).partition(".")[2],
                      tensor.storage_offset(), tuple(tensor.shape),
                      tensor.stride()))
    return parts


def _unpacked(parts):
    """Returns tensors in the producer's memory; maps each name once."""
    batch = []
    for server, name, size, dtype, offset, shape, stride in parts:
        if name not in _opened:
            kind = type(torch.empty(0).storage().untyped())
            _opened[name] = kind._new_shared_filename_cpu(server, name, size)
        empty = torch.empty(0, dtype=getattr(torch, dtype))
        batch.append(empty.set_(torch.storage.TypedStorage(
            wrap_storage=_opened[name], dtype=empty.dtype), offset, shape, stride))
    return tuple(batch)


def serve(kind, uri, batch_size, workers, ports, jobs):
    """Runs TensorSocket's producer until it is killed.

    Args:
      jobs: the number of consumers that the producer waits for before it begins.
      kind, uri, batch_size, workers, ports: as in `join`.
    """
    _log_to_stderr()
    from tensorsocket import TensorProducer
    # torch 1.13 has this method under another name, `storage`.
    if not hasattr(torch.Tensor, "_typed_storage"):
        torch.Tensor._typed_storage = torch.Tensor.storage
    options = {"port": ports[0], "ack_port": ports[1],
               "heart_ports": tuple(ports[2:]), "producer_batch_size": PARTS}
    if kind == AS_SHIPPED:
        # Each part that TensorSocket sends carries the whole batch, so one part is
        # sent.
        batch_size //= PARTS
    else:
        options["pack_fn"] = _packed
    producer = TensorProducer(_loader(uri, batch_size, workers), **options)
    print("ready", flush=True)
    # A consumer that comes after the first batches gets nothing of this epoch.
    while len(producer.hb.hearts) < jobs:
        time.sleep(0.1)
    while True:
        for _ in producer:
            # ZeroMQ accepts connections of consumers only when the socket is used.
            # Until then it drops what the consumers send. After the loss of an
            # acknowledgement, the producer would send the same batches for ever.
            producer.ack_socket.poll(0)


if __name__ == "__main__":
    serve(**json.loads(sys.argv[1]))
