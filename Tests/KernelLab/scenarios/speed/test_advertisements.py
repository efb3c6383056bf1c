"""A thousand advertisements a second from 200 devices: what a program with five scans, and twenty devices that it waits
for, spends on each; beside it habluetooth's scanner with five listeners, and bleak's over bluetoothd. In turns, in one
boot. Runs with `run --speed` only: it takes the release build."""

from __future__ import annotations

import functools
import statistics
import sys

import pytest

from lab import names
from lab.costs import PROGRAM, record_run, say, spent, spread
from lab.station import Station
from lab.world import Process

RUNS = 5
# Less than the ten seconds after which the kernel ends a discovery: habluetooth begins the next one much later.
COUNT = 6_000
# Ours: anywhere, on the radio's thread, and without anybody that is waited for, as the others are. To wait for somebody the
# kernel scans too, in turns with the discovery.
OURS = {
    "five scans and a fleet that waits": ["anywhere", "20", "all"],
    "the same on the radio's thread": ["on-radio", "20", "all"],
    "five scans": ["anywhere", "0", "all"],
    "five scans of what changes, and a fleet that waits": ["anywhere", "20", "changes"],
    "the same on the radio's thread, of what changes": ["on-radio", "20", "changes"],
}
# What habluetooth's listeners are told too.
CHANGES = [name for name, options in OURS.items() if options[-1] == "changes"]
HABLUETOOTH, BLEAK = "habluetooth's scanner", "bleak over bluetoothd"


class Listening(Station):
    """Everybody who listens."""

    def measure(self, client: Process, **others: Process) -> dict:
        """What each of the processes spends while so many are heard."""
        processes = {"program": client} | others
        before = {name: spent(process) for name, process in processes.items()}
        heard = len(client.lines)
        seconds = float(self.peer.command("until", str(COUNT)))
        costs = {name: (spent(process) - before[name]) / COUNT * 1e6 for name, process in processes.items()}
        told = sum(line.startswith("heard") for line in client.lines[heard:])
        run = {"seconds": seconds, "costs": costs, "thousands": told}
        record_run(client.name, run)
        return run

    def run(self, name: str, *command: str) -> dict:
        self.silence()
        client = Process(name, *command)
        try:
            client.wait_line("listening")
            return self.measure(client)
        finally:
            client.stop()

    def ours(self, *options: str) -> dict:
        return self.run("scans", str(PROGRAM), "--kernel", "scans", self.adapter, *options)

    def habluetooth(self) -> dict:
        module = ["-m", "peers.habluetooth_listener", self.adapter, names.CENTRAL]
        return self.run("habluetooth-scanner", sys.executable, *module)

    def bleak(self) -> dict:
        self.silence()
        with self.bluetoothd() as neighbour:
            client = Process("bleak-scanner", sys.executable, "-m", "peers.bleak_listener", self.adapter)
            try:
                client.wait_line("listening")
                return self.measure(client, bluetoothd=neighbour.daemon, bus=neighbour.bus)
            finally:
                client.stop()

    @functools.cached_property
    def turns(self) -> dict[str, list[dict]]:
        turns: dict[str, list[dict]] = {name: [] for name in [*OURS, HABLUETOOTH, BLEAK]}
        for _ in range(RUNS):
            for name, options in OURS.items():
                turns[name].append(self.ours(*options))
            turns[HABLUETOOTH].append(self.habluetooth())
            turns[BLEAK].append(self.bleak())
        for name, runs in turns.items():
            rate = COUNT / statistics.median(run["seconds"] for run in runs)
            parts = {part: statistics.median(run["costs"][part] for run in runs) for part in runs[0]["costs"]}
            say(
                f"{name}: {rate:,.0f} advertisements a second; processor time of one: "
                f"{spread([cost(run) for run in runs], ' µs', 1)}; "
                f"{', '.join(f'{part} {figure:.1f}' for part, figure in parts.items())}"
            )
        return turns


def cost(run: dict) -> float:
    return sum(run["costs"].values())


def median(runs: list[dict]) -> float:
    return statistics.median(cost(run) for run in runs)


@pytest.fixture(scope="module")
def station():
    station = Listening()
    yield station
    station.stop()


@pytest.mark.parametrize("name", OURS)
def test_an_advertisement_costs_a_fraction_of_what_an_interpreter_takes(station, name):
    ours = median(station.turns[name])
    better = min(median(station.turns[HABLUETOOTH]), median(station.turns[BLEAK]))
    say(f"an advertisement: {name} {ours:.1f} µs, {ours / better:.2f} of the better one's {better:.1f} µs")
    assert ours <= 0.4 * better


def test_all_of_them_are_heard(station):
    """To a thousand: at the beginning and the end some are on their way."""
    for run in station.turns["five scans"]:
        assert run["thousands"] >= COUNT // 1000 - 1, run


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_is_told_once(station, name):
    """Each of the 200 devices before or while the others are counted, and hardly one twice."""
    for run in station.turns[name]:
        assert run["thousands"] <= 3, run
