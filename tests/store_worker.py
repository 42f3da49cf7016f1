"""One process of a `torchrun` job for tests: evidence and a memory from all processes."""

import json
import sys
from pathlib import Path

import torch.distributed as dist

import kanerva
from kanerva import Evidence
from kanerva.store import reduce_evidence, write_together
from store_cases import vectors


def main(folder: Path, backend: str) -> None:
    device = "cuda" if backend == "nccl" else "cpu"
    dist.init_process_group(backend)
    rank, count = dist.get_rank(), dist.get_world_size()
    items = vectors(300).double()
    own = items[rank::count].to(device)
    evidence = reduce_evidence(Evidence.of(own[:, :6], own[:, 6:]))
    assert evidence.squares is not None
    with kanerva.open(folder) as store:
        state = write_together(store, "a", vectors(300)[rank::count].split(20), time=0.0)
        fading = write_together(store, "fading", vectors(300)[rank::count], time=7.0)
    if rank == 0:
        report = {
            "count": evidence.count,
            "gram": evidence.gram.cpu().tolist(),
            "squares": evidence.squares.item(),
            "state": state,
            "fading": fading,
            "world": count,
        }
        print(json.dumps(report))
    dist.barrier()  # gloo of torch 2.6 may hang if the group is destroyed right after a reduction
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
