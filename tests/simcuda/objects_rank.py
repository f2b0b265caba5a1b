"""One rank of a program that sends Python objects over NCCL: `python objects_rank.py RANK RANKS FOLDER`.

Prints whether each call gave what was sent, as one JSON line.
"""

import json
import pathlib
import sys

import torch
from torch import distributed

LARGE = {"numbers": list(range(2000)), "name": "x" * 3000}


def broadcast(objects, rank, source):
    received = objects if rank == source else [None] * len(objects)
    distributed.broadcast_object_list(received, src=source)
    return received == objects


def gather_all(objects, rank):
    received = [None] * len(objects)
    distributed.all_gather_object(received, objects[rank])
    return received == objects


def gather(objects, rank):
    received = [None] * len(objects) if rank == 0 else None
    distributed.gather_object(objects[rank], received)
    return received == (objects if rank == 0 else None)


def scatter(objects, rank):
    received = [None]
    distributed.scatter_object_list(received, objects if rank == 0 else None)
    return received == [objects[rank]]


def gather_tensors(rank, ranks):
    own = torch.tensor([rank + 0.5, 2], device="cuda")
    received = [torch.empty_like(own) for _ in range(ranks)]
    distributed.all_gather(received, own)
    return [tensor.tolist() for tensor in received] == [[peer + 0.5, 2] for peer in range(ranks)]


def too_large(rank):
    """More than is kept between processes: the receiver cannot read it, and is told why on stderr."""
    try:
        return broadcast([b"x" * (2 << 20)], rank, 0) == (rank == 0)
    except Exception:
        return rank != 0


def main(rank, ranks, folder):
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", init_method=(pathlib.Path(folder) / "store").as_uri(), rank=rank,
                                   world_size=ranks)
    answers = {
        "one": broadcast(["/tmp/checkpoints"], rank, 0),
        "several": broadcast(["version_0", None, LARGE, 5], rank, 0),
        "from_another": broadcast([LARGE, {}], rank, 1),
        # Of one process's training, which leaves nothing kept.
        "after_a_step": torch.nn.Linear(4, 4).cuda()(torch.ones(2, 4, device="cuda")).sum().backward() is None
                        and broadcast([LARGE, "after"], rank, 0),
        "gathered_by_all": gather_all([LARGE] + ["small"] * (ranks - 1), rank),
        "gathered": gather([list(range(peer + 1)) for peer in range(ranks)], rank),
        "scattered": scatter([LARGE] + ["small"] * (ranks - 1), rank),
        "tensors": gather_tensors(rank, ranks),
        "too_large": too_large(rank),
    }
    print(json.dumps(answers), flush=True)
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
