#!/usr/bin/python3
"""Writes distributed_sampler_golden.inc: the indices of torch's DistributedSampler.

Each case has a row: {dataset size, world size, rank, drop_last, {indices}}.
Usage: distributed_sampler_golden.py > distributed_sampler_golden.inc
"""

import torch
from torch.utils.data import DistributedSampler

SIZES = (1, 2, 3, 5, 7, 8, 13, 16)
WORLDS = (1, 2, 3, 4, 7, 16, 35)


def main():
    print("// Made by distributed_sampler_golden.py with torch "
          f"{torch.__version__}.")
    for size in SIZES:
        for world in WORLDS:
            for drop in (False, True):
                for rank in {0, 1, world // 2, world - 1}:
                    if rank >= world:
                        continue
                    sampler = DistributedSampler(
                        range(size), num_replicas=world, rank=rank,
                        shuffle=False, drop_last=drop)
                    indices = ", ".join(map(str, sampler))
                    print(f"{{{size}, {world}, {rank}, {str(drop).lower()}, "
                          f"{{{indices}}}}},")


if __name__ == "__main__":
    main()
