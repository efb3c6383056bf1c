"""What `ble-gateway` spends with fifty links and a thousand advertisements a second, beside a program that does the same
with bleak over bluetoothd and paho-mqtt: processor time and memory, for what arrives at the same broker. In turns, in one
boot. Runs with `run --speed` only."""

from __future__ import annotations

import contextlib
import functools
import json
import statistics
import sys
import time
from collections.abc import Iterator

import pytest

from lab import names
from lab.broker import PORT, Broker, Subscriber
from lab.costs import PROGRAM, record_run, resident, say, spent, spread
from lab.station import Station
from lab.world import RUN, Process

GATEWAY = PROGRAM.with_name("ble-gateway")
RUNS = 3
LINKS = 50
VALUES = 30  # of each link, one a second
WINDOW = 10  # seconds for which an equal advertisement is left out
RATES = ["0", "1000"]  # advertisements a second beside the links
LONG = 300  # seconds until the links are there
QUIET = 20  # seconds without a message, after which no more will come
OURS, BLEAK = "ble-gateway", "bleak over bluetoothd and paho-mqtt"


class Place(Station):
    """The adapter with its sensors, and the broker."""

    def __init__(self):
        super().__init__()
        self.broker = Broker()
        self.sensors = [names.crowd(number) for number in range(LINKS)]

    def stop(self) -> None:
        self.broker.stop()
        super().stop()

    @contextlib.contextmanager
    def gateway(self, turn: int) -> Iterator[dict[str, Process]]:
        """The processes, once all links are there or no more come."""
        prefix = f"ours{turn}"
        file = RUN / f"{prefix}.json"
        characteristics = [{"uuid": names.HEART_RATE_MEASUREMENT}]
        peripherals = [
            {"address": f"{one}/random", "label": name(one), "characteristics": characteristics} for one in self.sensors
        ]
        file.write_text(
            json.dumps(
                {
                    "broker": {"host": "127.0.0.1", "port": PORT},
                    "prefix": prefix,
                    "adapters": [self.adapter],
                    "peripherals": peripherals,
                    "advertisements": {"windowSeconds": WINDOW},
                    "spool": {"folder": str(RUN / f"{prefix}.spool")},
                }
            )
        )
        with self.heard(prefix) as subscriber:
            gateway = Process("gateway", str(GATEWAY), str(file))
            try:
                ready = lambda: [line.split()[0] for line in subscriber.lines if '"ready":true' in line]  # noqa: E731
                self.linked = self.wait_links(subscriber, ready)
                yield {"program": gateway}
            finally:
                gateway.stop()

    @contextlib.contextmanager
    def bleak(self, turn: int) -> Iterator[dict[str, Process]]:
        prefix = f"theirs{turn}"
        with self.heard(prefix), self.bluetoothd() as neighbour:
            words = [self.adapter, str(PORT), prefix, str(WINDOW), *self.sensors]
            program = Process("bleak-gateway", sys.executable, "-m", "peers.bleak_gateway", *words)
            try:
                subscribed = lambda: [line for line in program.lines if line.startswith("subscribed")]  # noqa: E731
                self.linked = self.wait_links(program, subscribed)
                yield {"program": program, "bluetoothd": neighbour.daemon, "bus": neighbour.bus}
            finally:
                program.stop()

    @contextlib.contextmanager
    def heard(self, prefix: str) -> Iterator[Subscriber]:
        self.subscriber = Subscriber(self.broker, prefix)
        try:
            yield self.subscriber
        finally:
            self.subscriber.stop()

    def wait_links(self, teller: Process, links) -> dict:
        """Until all are there; `links` are those that the process tells of."""
        begin = time.monotonic()
        with teller.changed:
            teller.changed.wait_for(lambda: len(set(links())) == LINKS or teller.lines[-1:] == [""], LONG)
        return {"links": len(set(links())), "linking": time.monotonic() - begin}

    def measure(self, processes: dict[str, Process], rate: str) -> dict:
        """What arrives, and what each of the processes spends, while each sensor sends its values."""
        self.peer.command("rate", rate)
        subscriber, former = self.subscriber, len(self.subscriber.messages("value"))
        former_advertisements = len(subscriber.messages("advertisement"))
        measured = processes | {"broker": self.broker}
        heard, begin = int(self.peer.command("heard")), time.monotonic()
        before = {name: spent(process) for name, process in measured.items()}
        sent = int(self.peer.command("count", str(VALUES), within=LONG))
        costs = {name: spent(process) - before[name] for name, process in measured.items()}
        seconds, heard = time.monotonic() - begin, int(self.peer.command("heard")) - heard
        memory = {name: resident(process) for name, process in processes.items()}
        advertisements = len(subscriber.messages("advertisement")) - former_advertisements

        def arrived() -> int:
            return len({(who, message["value"]) for who, message in subscriber.messages("value")[former:]})

        self.peer.command("rate", "0")
        subscriber.wait_for(lambda: arrived() >= sent, QUIET)
        return {
            "seconds": seconds, "heard": heard, "sent": sent, "arrived": arrived(), "advertisements": advertisements,
            "costs": costs, "memory": memory,
        }

    def run(self, what, turn: int) -> dict:
        self.silence()
        self.peer.command("rate", "0")
        self.peer.command("crowd", str(LINKS))
        with what(turn) as processes:
            run = self.linked | {rate: self.measure(processes, rate) for rate in RATES}
        self.management.disconnect_all(self.index)
        self.peer.command("leave")
        return run

    @functools.cached_property
    def turns(self) -> dict[str, list[dict]]:
        programs = {OURS: self.gateway, BLEAK: self.bleak}
        turns: dict[str, list[dict]] = {name: [] for name in programs}
        for turn in range(RUNS):
            for program, what in programs.items():
                turns[program].append(self.run(what, turn))
                record_run(program, turns[program][-1])
        for program, runs in turns.items():
            report(program, runs)
        return turns


def name(address: str) -> str:
    """A label, which is a part of a topic."""
    return address.replace(":", "-")


def cost(run: dict) -> float:
    """The processor time for each value that arrived, milliseconds; the broker's is the same for all."""
    spent = sum(seconds for part, seconds in run["costs"].items() if part != "broker")
    return spent / max(run["arrived"], 1) * 1e3


def memory(run: dict) -> float:
    """What all processes have in use; the files that two of them share count twice."""
    return sum(resident for resident, _ in run["memory"].values())


def report(program: str, runs: list[dict]) -> None:
    say(
        f"{program}: {spread([run['links'] for run in runs], ' links', 0)}, "
        f"in {spread([run['linking'] for run in runs], ' s', 1)}"
    )
    for rate in RATES:
        measured = [run[rate] for run in runs]
        say(
            f"{program}, {statistics.median(run['heard'] / run['seconds'] for run in measured):,.0f} "
            "advertisements a second: "
            f"{spread([run['arrived'] / max(run['sent'], 1) * 100 for run in measured], ' %', 1)} of "
            f"{statistics.median(run['sent'] for run in measured):,.0f} values arrived, and "
            f"{spread([run['advertisements'] for run in measured], ' advertisements', 0)}; "
            f"processor time for each value: {spread([cost(run) for run in measured], ' ms', 2)}; "
            f"memory {spread([memory(run) for run in measured], ' MiB', 1)}; "
            + ", ".join(part_of(part, measured) for part in measured[0]["costs"])
        )


def part_of(name: str, measured: list[dict]) -> str:
    """What one of the processes takes."""
    share = statistics.median(run["costs"][name] / run["seconds"] * 100 for run in measured)
    sizes = [run["memory"][name] for run in measured if name in run["memory"]]
    text = f"{name} {share:.1f} % of a processor"
    if sizes:
        resident, own = (statistics.median(figures) for figures in zip(*sizes))
        text += f", {resident:.1f} MiB, {own:.1f} of it no file's"
    return text


@pytest.fixture(scope="module")
def place():
    place = Place()
    yield place
    place.stop()


def test_every_value_arrives(place):
    for run in place.turns[OURS]:
        assert run["links"] == LINKS, run
        for rate in RATES:
            assert run[rate]["arrived"] == run[rate]["sent"] == LINKS * VALUES, run


@pytest.mark.parametrize("rate", RATES)
def test_a_value_costs_no_more(place, rate):
    costs = {name: statistics.median(cost(run[rate]) for run in runs) for name, runs in place.turns.items()}
    assert costs[OURS] <= costs[BLEAK], costs


@pytest.mark.parametrize("rate", RATES)
def test_it_takes_no_more_memory(place, rate):
    sizes = {name: statistics.median(memory(run[rate]) for run in runs) for name, runs in place.turns.items()}
    assert sizes[OURS] <= sizes[BLEAK], sizes
