"""TensorSocket's producer: shares torch's DataLoader until it is killed.

The argument is JSON: uri, batch_size, threads, ports.
"""

import json
import sys

import loader_torch
import torch
from tensorsocket import TensorProducer

# torch 1.13 has this method under another name, `storage`.
if not hasattr(torch.Tensor, "_typed_storage"):
    torch.Tensor._typed_storage = torch.Tensor.storage

PARTS = 2


def main():
    options = json.loads(sys.argv[1])
    ports = options["ports"]
    # TensorSocket copies each batch over an earlier one, so all batches must have one
    # size. In host memory each part that it sends carries the whole batch, so one part
    # is sent at a time. TensorSocket makes a part of at least two of the loader's
    # batches.
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
