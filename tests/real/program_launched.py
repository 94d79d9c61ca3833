"""An unmodified program that a launcher starts once for each rank: forwards, then a sum over the ranks.
usage: program_launched.py RESULT accelerate|environment; started without a program of its own it is a launcher as
deepspeed's: program_launched.py --ranks N PROGRAM ARGUMENT..."""
import json
import os
import subprocess
import sys

RANKS, FORWARDS = 2, 5


def launch(ranks, command):
    """One process for each rank, told by its environment."""
    around = dict(os.environ, WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    started = [subprocess.Popen([sys.executable, "-u", *command], env=dict(around, RANK=str(i), LOCAL_RANK=str(i))) for i in range(ranks)]
    return max(process.wait() for process in started)


def sum_over_ranks(how, model):
    """(the rank, the model as the framework wants it, the sum); the ranks meet in a file where no launcher gave a port."""
    if how == "accelerate":
        from accelerate import Accelerator
        accelerator = Accelerator(cpu=True)
        return accelerator.process_index, accelerator.prepare(model), accelerator.reduce
    import torch.distributed as dist
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meeting"), rank=rank, world_size=int(os.environ["WORLD_SIZE"]))

    def reduce(value):
        dist.all_reduce(value)
        return value
    return rank, model, reduce


def main(out, how):
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rank, model, reduce = sum_over_ranks(how, torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)))
    with torch.no_grad():
        for index in range(FORWARDS):
            y = model(torch.full((4, 8), float(rank + index)))
    found = float(reduce(y.sum().clone()))
    with open("%s.%d" % (out, rank), "w") as to:
        json.dump({"rank": rank, "world": int(os.environ["WORLD_SIZE"]), "sum": found}, to)


if __name__ == "__main__":
    if sys.argv[1] == "--ranks":
        sys.exit(launch(int(sys.argv[2]), sys.argv[3:]))
    main(*sys.argv[1:])
