"""Two ranks that send to each other in all ways there are, and a broadcast: program_pairs.py FOLDER RANK."""
import os
import sys

SENT, SENT_LATER, BROADCAST, NUMBERS = 3, 2, 2, 1024


def main(folder, rank):
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method="file://" + os.path.join(folder, "meeting"), rank=rank, world_size=2)
    x = torch.ones(NUMBERS)
    for _ in range(SENT):  # the one way of calling meets the other
        dist.send(x, 1) if rank == 0 else dist.irecv(x, 0).wait()
    for _ in range(SENT_LATER):
        dist.isend(x, 1).wait() if rank == 0 else dist.recv(x, 0)
    for _ in range(BROADCAST):
        dist.broadcast(x, 1)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
