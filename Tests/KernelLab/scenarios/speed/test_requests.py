"""Reads one after the other, and writes without response, over the kernel's links: the rate beside that of plain C loops,
in turns. Runs with `run --speed` only: it takes the release build."""

from __future__ import annotations

import functools
import statistics

import pytest

from lab import names
from lab.bench_pair import BenchPair
from lab.costs import record_run, say, spread

RUNS = 5
COUNTS = {"reads": 300, "writes": 2_000}
GOALS = {"reads": 0.8, "writes": 0.85}
WHERE = ["plain", "anywhere", "on-radio"]


class World(BenchPair):
    def __init__(self):
        super().__init__(1, 20)

    @functools.cached_property
    def turns(self) -> dict[tuple[str, str], list[dict]]:
        turns: dict[tuple[str, str], list[dict]] = {(kind, where): [] for kind in COUNTS for where in WHERE}
        for _ in range(RUNS):
            for kind, where in turns:
                local = names.BTVIRT_CLIENT if where == "plain" else self.adapter
                arguments = [kind, where, local, names.BTVIRT_SERVER, str(COUNTS[kind])]
                turns[kind, where].append(self.receive("requests", *arguments))
                record_run(f"{kind}, {where}", turns[kind, where][-1])
        for (kind, where), runs in turns.items():
            say(
                f"{kind}, {where}: {spread([run['rate'] for run in runs], ' a second', 0)}; processor time of one: "
                f"{spread([run['processorMicroseconds'] for run in runs], ' µs', 1)}"
            )
        return turns

    def rate(self, kind: str, where: str) -> float:
        return statistics.median(run["rate"] for run in self.turns[kind, where])


@pytest.fixture(scope="module")
def world():
    world = World()
    yield world
    world.stop()


@pytest.mark.parametrize("where", WHERE[1:])
@pytest.mark.parametrize("kind", COUNTS)
def test_requests_are_as_fast_as_the_link(world, kind, where):
    ratio = world.rate(kind, where) / world.rate(kind, "plain")
    say(f"{kind}, {where}: {ratio:.2f} of plain C's rate")
    assert ratio >= GOALS[kind]
