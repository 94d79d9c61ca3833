"""torch's data loader: batches are calls, and nothing of the program is called that torch does not call."""
import json

import pytest

from conftest import run_program
from test_auto import start_hooked

CALLS = """
    import json, strobe, torch
    from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler
    calls = {}
    def called(what):
        calls[what] = calls.get(what, 0) + 1

    class Clips(Dataset):
        def __len__(self):
            called("length of the dataset")
            return 6
        def __getitem__(self, i):
            called("item")
            return i

    class Chosen(Sampler):
        def __init__(self, chosen):
            self.chosen = chosen
        def __iter__(self):
            for one in self.chosen:
                called("choice")
                yield one
        def __len__(self):
            called("length of the sampler")
            raise TypeError("not known")

    class Streamed(IterableDataset):
        def __init__(self, size):
            self.size = size
        def __iter__(self):
            return iter(range(self.size))

    class Own(DataLoader):
        def _get_iterator(self):
            class Iterator(torch.utils.data.dataloader._SingleProcessDataLoaderIter):
                pass
            return Iterator(self)

    cases = {
        "an iterator of its own": lambda: Own(Clips(), batch_size=4),
        "in order": lambda: DataLoader(Clips(), batch_size=2),
        "last one smaller": lambda: DataLoader(Clips(), batch_size=4),
        "last one dropped": lambda: DataLoader(Clips(), batch_size=4, drop_last=True),
        "one by one": lambda: DataLoader(Clips(), batch_size=None),
        "shuffled": lambda: DataLoader(Clips(), batch_size=2, shuffle=True, generator=torch.Generator().manual_seed(3)),
        "chosen": lambda: DataLoader(Clips(), batch_size=2, sampler=Chosen([5, 0, 3, 1])),
        "chosen in batches": lambda: DataLoader(Clips(), batch_sampler=Chosen([[0], [1, 2, 3]])),
        "none": lambda: DataLoader(Clips(), batch_sampler=Chosen([])),
        "worker": lambda: DataLoader(Clips(), batch_size=2, num_workers=1),
        "no batch for a worker": lambda: DataLoader(Clips(), batch_sampler=Chosen([]), num_workers=1),
        "stream": lambda: DataLoader(Streamed(5), batch_size=2),
        "whole stream": lambda: DataLoader(Streamed(4), batch_size=2),
    }
    for case, make in cases.items():
        calls.clear()
        with strobe.section(case):
            loader = make()
            epochs = [[batch.tolist() if hasattr(batch, "tolist") else batch for batch in loader] for _ in range(2)]
        print(json.dumps({"case": case, "epochs": epochs, "calls": calls}))
"""
ENDS_UNSEEN = {"whole stream"}  # its last batch is whole: only the call that finds nothing tells


@pytest.fixture(scope="module")
def ways(tmp_path_factory):
    """What the program printed, case by case, with and without the hook; and its zones."""
    pytest.importorskip("torch", reason="torch is not installed")
    watched = start_hooked(tmp_path_factory.mktemp("watched"), CALLS)
    alone = run_program(tmp_path_factory.mktemp("alone"), CALLS)
    assert not alone.recordings
    return ([json.loads(line) for line in done.stdout.splitlines()] for done in (watched, alone)), watched.recordings


def test_batches_are_calls_and_the_program_is_asked_what_torch_asks(ways):
    (watched, alone), recordings = ways
    assert watched == alone and len(alone) == 13
    zones = [zone for recording in recordings for zone in recording.zones if zone.name.startswith("data_loading")]
    assert not any("error" in zone.attrs for zone in zones)
    for case in alone:
        batches = sum(map(len, case["epochs"])) + (2 if case["case"] in ENDS_UNSEEN else 0)
        assert sum(zone.path == (case["case"], "data_loading") for zone in zones) == batches, case
        assert any(zone.path[0] == case["case"] for zone in zones), case


def test_an_error_of_the_dataset_is_the_batches(torch, tmp_path):
    done = start_hooked(tmp_path, """
    import torch
    from torch.utils.data import DataLoader
    try:
        for batch in DataLoader([torch.ones(1), torch.ones(2)], batch_size=2):
            pass
    except RuntimeError as error:
        print("passed on")
    """)
    assert done.stdout == "passed on\n"
    loading, = done.recordings[0].named("data_loading")
    assert loading.attrs["error"] == "RuntimeError"
