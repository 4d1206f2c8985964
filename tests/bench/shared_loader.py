"""A torch DataLoader that one process iterates for all trainers: by forebay.share,
or by TensorSocket.

As a script: TensorSocket's producer, which runs until it is killed.
"""

import json
import os
import sys

import python_stage
import torch
import torch.multiprocessing

KINDS = ("forebay", "tensorsocket", "tensorsocket-as-shipped")
_opened = {}  # storages of the producer's, by name


def _loader(uri, batch_size, workers):
    dataset = python_stage.Photos(uri, os.devnull)
    return torch.utils.data.DataLoader(dataset, batch_size, shuffle=True,
                                       num_workers=workers)


def join(kind, uri, batch_size, workers):
    """The batches, for a trainer; of `kind` among KINDS."""
    if kind == "forebay":
        import forebay
        return forebay.share(lambda: _loader(uri, batch_size, workers), key="bench")
    from tensorsocket import TensorConsumer
    return TensorConsumer(batch_size=batch_size, unpack_fn=(
        tuple if kind == "tensorsocket-as-shipped" else _unpacked))


def _packed(batch):
    """Says where tensors lie in shared memory; moves them there if need be."""
    parts = []
    for tensor in batch:
        manager, name, size = tensor.storage().untyped()._share_filename_cpu_()
        parts.append((manager, name, size, str(tensor.dtype).partition(".")[2],
                      tensor.storage_offset(), tuple(tensor.shape),
                      tensor.stride()))
    return parts


def _unpacked(parts):
    batch = []
    for manager, name, size, dtype, offset, shape, stride in parts:
        if name not in _opened:
            kind = type(torch.empty(0).storage().untyped())
            _opened[name] = kind._new_shared_filename_cpu(manager, name, size)
        empty = torch.empty(0, dtype=getattr(torch, dtype))
        batch.append(empty.set_(torch.storage.TypedStorage(
            wrap_storage=_opened[name], dtype=empty.dtype), offset, shape, stride))
    return tuple(batch)


def serve(uri, batch_size, workers, kind):
    """Runs TensorSocket's producer without end."""
    from tensorsocket import TensorProducer
    torch.multiprocessing.set_sharing_strategy("file_system")
    producer = TensorProducer(
        _loader(uri, batch_size, workers), producer_batch_size=8,
        rubber_band_pct=0.05,
        pack_fn=tuple if kind == "tensorsocket-as-shipped" else _packed)
    while True:
        for _ in producer:
            pass


if __name__ == "__main__":
    serve(**json.loads(sys.argv[1]))
