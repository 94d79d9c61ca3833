"""Opening, forking, growing and stopping in any order, with the threads scheduled at random: a
zone is recorded or counted as lost. These seeds are the bounded part; `make fuzz` goes on."""
import pytest

from chance import round_of


@pytest.mark.parametrize("build", ["chance", "chance_scheduled"])
@pytest.mark.parametrize("seed", range(1, 9))
def test_a_zone_is_recorded_or_counted_whatever_happens_around_it(tmp_path, seed, build):
    certain, found, _, _ = round_of(seed, tmp_path / "run", build)
    assert certain and found
