"""Shares torch's DataLoader by TensorSocket until it is ended: the producer.

The argument is JSON: uri, batch_size, threads, ports.
"""

import json
import sys

import loader_torch
import torch
from tensorsocket import TensorProducer

# torch 1.13 has `_typed_storage` by another name.
if not hasattr(torch.Tensor, "_typed_storage"):
    torch.Tensor._typed_storage = torch.Tensor.storage

PARTS = 2


def main():
    options = json.loads(sys.argv[1])
    ports = options["ports"]
    # TensorSocket copies each batch over an earlier one, so all must be of one size.
    # In host memory each part that it sends carries the whole batch. So it sends one
    # part at a time, which it makes of two of the loader's batches, the fewest it can.
    options["batch_size"] //= PARTS
    producer = TensorProducer(
        loader_torch.loader(drop_last=True, **options), port=ports[0],
        ack_port=ports[1], heart_ports=tuple(ports[2:]), producer_batch_size=PARTS)
    print("ready", flush=True)
    while True:
        for _ in producer:
            pass


if __name__ == "__main__":
    main()
