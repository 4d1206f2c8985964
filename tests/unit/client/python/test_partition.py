"""Positions of distributed epochs: which rank goes on where, after a change of the
number of ranks."""

import collections
import dataclasses
import random

import pytest

from forebay._partition import Partition

SEED = 4
SCHEDULES = 1500


def places_of(rank, world_size, pad, places):
    """Returns a rank's places by the rules of server/sampler/partition.h."""
    if pad == "wrap":
        count = -(-places // world_size)
    elif pad == "drop":
        count = places // world_size
    else:
        count = len(range(rank, places, world_size))
    return [(rank + i * world_size) % places for i in range(count)]


@dataclasses.dataclass
class Fleet:
    """A number of ranks that start at the same position."""
    places: int
    world_size: int
    batch_size: int
    pad: str
    place: int

    def __post_init__(self):
        self.partitions = [
            Partition(places=self.places, rank=rank, pad=self.pad,
                      world_size=self.world_size, batch_size=self.batch_size)
            for rank in range(self.world_size)]
        self.start = self.partitions[0].start_at(self.place)
        self.rests = []
        for rank, partition in enumerate(self.partitions):
            whole = places_of(rank, self.world_size, self.pad, self.places)
            self.rests.append(
                whole[partition.first_sample(self.start, len(whole)):])

    def steps(self):
        """Returns the number of steps of each rank to the end of the epoch."""
        return [-(-len(rest) // self.batch_size) for rest in self.rests]

    def run(self, steps):
        """Each rank does `steps[rank]` steps. Returns the visited places and the ranks'
        states. A rank that is asked for more steps than it has ends the epoch."""
        seen, states = collections.Counter(), []
        for partition, rest, step, most in zip(self.partitions, self.rests,
                                               steps, self.steps()):
            taken = rest[:step * self.batch_size]
            seen.update(taken)
            states.append(
                self.places if step > most else
                partition.place_of(self.start, len(taken)))
        return seen, states


def draw_fleet(chance, places, pad, place):
    return Fleet(places, chance.randint(1, 9), chance.randint(1, 7), pad, place)


@pytest.mark.parametrize("pad", ["wrap", "drop", "none"])
def test_fleets_that_follow_each_other(pad):
    """Ranks stop after equal numbers of steps, and other ranks go on from the state of
    any of them. This repeats until the end of the epoch."""
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    for _ in range(SCHEDULES):
        places, place = chance.randint(1, 120), 0
        seen, extra = collections.Counter(), 0
        while place < places:
            fleet = draw_fleet(chance, places, pad, place)
            most = max(fleet.steps())
            if pad != "none":
                assert min(fleet.steps()) == most
            step = chance.randint(0, most + 1)
            extra += fleet.world_size - 1
            visited, states = fleet.run([step] * fleet.world_size)
            seen.update(visited)
            assert len(set(states)) == 1
            place = states[0]
            if step >= most:
                extra += fleet.world_size - 1
                break
        counts = [seen[number] for number in range(places)]
        if pad == "none":
            assert counts == [1] * places
        elif pad == "wrap":
            assert min(counts) >= 1 and sum(counts) - places <= extra
        else:
            assert max(counts, default=0) <= 1
            assert places - sum(counts) <= extra


@pytest.mark.parametrize("pad", ["wrap", "drop", "none"])
def test_numbers_that_divide_lose_and_repeat_nothing(pad):
    chance = random.Random(SEED)
    for _ in range(200):
        places = 16 * chance.randint(1, 20)
        first = Fleet(places, 8, 2, pad, 0)
        step = chance.randint(0, max(first.steps()))
        seen, states = first.run([step] * 8)
        second = Fleet(places, chance.choice([1, 2, 4, 8, 16]),
                       chance.randint(1, 5), pad, states[3])
        rest, _ = second.run(second.steps())
        assert seen + rest == collections.Counter(range(places))


@pytest.mark.parametrize("pad", ["wrap", "none"])
def test_the_least_of_unequal_states_misses_nothing(pad):
    chance = random.Random(SEED)
    for _ in range(500):
        places = chance.randint(1, 120)
        first = draw_fleet(chance, places, pad, 0)
        seen, states = first.run(
            [chance.randint(0, most) for most in first.steps()])
        second = draw_fleet(chance, places, pad, min(states))
        rest, _ = second.run(second.steps())
        assert set(range(places)) == set(seen) | set(rest)


def test_a_finished_epoch_stays_finished():
    for pad in ("wrap", "drop", "none"):
        fleet = Fleet(10, 3, 2, pad, 10)
        assert fleet.steps() == [0, 0, 0]
        assert fleet.run([0] * 3)[1] == [10] * 3
