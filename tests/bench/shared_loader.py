"""A torch DataLoader that one process iterates for all trainers: by forebay.share,
or by TensorSocket.

The script is TensorSocket's producer, which runs until it is ended. The argument is
JSON: the arguments of `serve`.
"""

import json
import logging
import os
import sys
import time

import python_stage
import torch

SHARE, BY_NAME, AS_SHIPPED = "forebay", "tensorsocket by name", "tensorsocket"
PARTS = 2  # of what TensorSocket sends: with one, it sends nothing
_opened = {}  # storages of the producer's, by name


def _loader(uri, batch_size, workers):
    dataset = python_stage.Photos(uri, os.devnull)
    # TensorSocket copies each batch over an earlier one: all are of one size.
    return torch.utils.data.DataLoader(dataset, batch_size, shuffle=True,
                                       num_workers=workers, drop_last=True)


def join(kind, uri, batch_size, workers, ports):
    """Returns the batches, for a trainer.

    Args:
      kind: SHARE, BY_NAME or AS_SHIPPED.
      uri: the folder of photographs.
      batch_size: samples.
      workers: of the loader that is iterated.
      ports: four, of TensorSocket's producer; None for SHARE.
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
    # TensorSocket would log to standard output, among the answers.
    logging.basicConfig(level=logging.WARNING)


def _packed(batch):
    """Says where tensors lie in shared memory; moves them there if need be.

    TensorSocket keeps ten batches and writes later ones over them. So it moves only
    those, and their names stay valid.
    """
    parts = []
    for tensor in batch:
        place = tensor.storage().untyped()._share_filename_cpu_()
        parts.append((*place, str(tensor.dtype).partition(".")[2],
                      tensor.storage_offset(), tuple(tensor.shape),
                      tensor.stride()))
    return parts


def _unpacked(parts):
    """Returns tensors that lie where the producer's do; maps each name once."""
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
    """Runs TensorSocket's producer without end.

    Args:
      jobs: consumers that it waits for before it begins.
      kind, uri, batch_size, workers, ports: as those of `join`.
    """
    _log_to_stderr()
    from tensorsocket import TensorProducer
    # torch 1.13 has `_typed_storage` by another name.
    if not hasattr(torch.Tensor, "_typed_storage"):
        torch.Tensor._typed_storage = torch.Tensor.storage
    options = {"port": ports[0], "ack_port": ports[1],
               "heart_ports": tuple(ports[2:]), "producer_batch_size": PARTS}
    if kind == AS_SHIPPED:
        # Each part that TensorSocket sends carries the whole: so it sends one part.
        batch_size //= PARTS
    else:
        options["pack_fn"] = _packed
    producer = TensorProducer(_loader(uri, batch_size, workers), **options)
    print("ready", flush=True)
    # A consumer that comes after the first batches gets none of this epoch.
    while len(producer.hb.hearts) < jobs:
        time.sleep(0.1)
    while True:
        for _ in producer:
            # ZeroMQ takes in connections of consumers when the socket is used, and
            # until then drops what they send. The loss of an acknowledgement would
            # make the producer send the same batches for ever.
            producer.ack_socket.poll(0)


if __name__ == "__main__":
    serve(**json.loads(sys.argv[1]))
