"""20,000 notifications at full blast from a C peripheral: nothing lost or unaccounted for, and what each costs next to
a plain C client over the same virtual controllers. Beside it what `ble notify --json`, habluetooth's own stack and bleak
receive and what that costs, bleak's with bluetoothd and the bus that work for it: told, and of the others' asserted only
to be there. All of them take turns in one boot. Runs with `run --speed` only: it takes the release build."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import names
from lab.bench_pair import BenchPair
from lab.ble import UNPRIVILEGED, let_everybody_run
from lab.costs import PROGRAM, record_run, run_ble, say, spread
from lab.world import Process

COUNT = 20_000
SIZE = 20
RUNS = 5
PAUSE = 100  # milliseconds after each thousand
# Where the loop runs, and what a notification may cost of plain C's: anywhere, or on the radio's own thread, there also
# by `receive` in place of the loop.
CONSUMERS = {"streams": 2.0, "streams-on-radio": 1.5, "receive-on-radio": 1.5}
# The command, which prints each value: into a file in memory, or into a pipe. Its start-up is counted apart.
COMMAND = {"ble --json": False, "ble --json, piped": True}
# As it is, habluetooth loses what its socket has no room for; with the receive buffer of the others it doesn't.
HABLUETOOTH = {
    "habluetooth": [],
    "habluetooth, 16 MB buffer": ["--buffer"],
    "habluetooth, 16 MB buffer, as JSON": ["--buffer", "--json"],
}
# The two ways in which bleak subscribes through bluetoothd.
BLEAK = ["StartNotify", "AcquireNotify"]


class World(BenchPair):
    """Everybody who receives."""

    def __init__(self):
        super().__init__(COUNT, SIZE)

    def plain(self, pause: int = 0, prefix: list[str] | None = None) -> dict:
        return self.receive("plain", names.BTVIRT_CLIENT, names.BTVIRT_SERVER, str(COUNT), str(pause), prefix=prefix)

    def streams(self, pause: int = 0, prefix: list[str] | None = None, consumer: str = "streams") -> dict:
        pauses = [] if consumer == "receive-on-radio" else [str(pause)]
        return self.receive(consumer, self.adapter, names.BTVIRT_SERVER, str(COUNT), *pauses, prefix=prefix)

    def habluetooth(self, *options: str) -> dict:
        addresses = [names.BTVIRT_CLIENT, names.BTVIRT_SERVER]
        return self.told_by([sys.executable, "-m", "peers.habluetooth_receiver", *addresses, str(COUNT), *options])

    def command(self, piped: bool) -> dict:
        """What the command prints of all, and what one costs beyond what a run for one value takes."""
        start, _ = self.printed(1, piped)
        whole, records = self.printed(COUNT, piped)
        numbers = [int.from_bytes(bytes.fromhex(record["value"])[:4], "little") for record in records]
        return {
            "received": len(numbers),
            "inOrder": numbers == sorted(set(numbers)),
            "processorMicroseconds": (whole - start) / (COUNT - 1) * 1e6,
            "startMilliseconds": start * 1e3,
        }

    def printed(self, count: int, piped: bool) -> tuple[float, list[dict]]:
        device = f"{names.BTVIRT_SERVER}/public"
        options = ["--json", "--count", str(count), "--timeout", "200", "--adapter", self.adapter]
        seconds, records = run_ble("notify", device, "A001", *options, piped=piped)
        self.pair.management.disconnect_all(self.pair.client)
        return seconds, [record for record in records if "value" in record]

    def bleak(self) -> dict[str, dict]:
        """What bleak receives in each of its ways, with a bluetoothd that is there for as long."""
        Path("/run/dbus").mkdir(exist_ok=True)
        self.peripheral.stop()
        with contextlib.ExitStack() as processes:

            def start(name: str, *command: str) -> Process:
                process = Process(name, *command)
                processes.callback(process.stop)
                return process

            bus = start("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
            bus.wait_line("unix:")
            daemon = start("bluetoothd", "/usr/libexec/bluetooth/bluetoothd", "--nodetach")
            daemons = [f"bluetoothd={daemon.process.pid}", f"bus={bus.process.pid}"]
            receiver = ["peers.bleak_receiver", self.adapter, names.BTVIRT_SERVER, str(COUNT), "1"]
            bleak = start("bleak", sys.executable, "-m", *receiver, *daemons)
            # bluetoothd has taken the adapters: the newest listener gets the link, and its advertisement stays.
            bleak.wait_line("ready")
            self.serve()
            receptions = {way: json.loads(bleak.wait_line(f'"{way} 1"', within=400)) for way in BLEAK}
        # It switches the adapters off when it ends.
        self.peripheral.stop()
        self.pair.power()
        self.serve()
        return receptions

    def turn(self) -> Iterator[tuple[str, dict]]:
        """A run of each."""
        yield "plain C", self.plain()
        for consumer in CONSUMERS:
            yield consumer, self.streams(consumer=consumer)
        for name, piped in COMMAND.items():
            yield name, self.command(piped)
        for name, options in HABLUETOOTH.items():
            yield name, self.habluetooth(*options)
        yield from self.bleak().items()

    @functools.cached_property
    def turns(self) -> dict[str, list[dict]]:
        """Runs of all clients, which took turns."""
        turns = {name: [] for name in ["plain C", *CONSUMERS, *COMMAND, *HABLUETOOTH, *BLEAK]}
        self.printed(1, False)  # the services are known from then on
        for _ in range(RUNS):
            for name, reception in self.turn():
                turns[name].append(reception)
                record_run(name, reception)
        for name, runs in turns.items():
            received = sorted(run["received"] for run in runs)
            say(
                f"{name}: {received[0]:,} … {received[-1]:,} of {COUNT:,} received; processor time of one: "
                f"{spread([cost(run) for run in runs], ' µs')}, "
                f"{self.cost(runs) / self.cost(turns['plain C']):.2f} times plain C's"
            )
        for name in COMMAND:
            say(f"{name}: start-up {spread([run['startMilliseconds'] for run in turns[name]], ' ms', 0)}")
        say(f"load of the machine inside, of two processors: {os.getloadavg()}")
        return turns

    @staticmethod
    def cost(runs: list[dict]) -> float:
        """The processor time of a notification, microseconds: the median of these runs."""
        return statistics.median(cost(run) for run in runs)


def cost(reception: dict) -> float:
    """What one value took of all the processes that had to do with it, microseconds of processor time."""
    told = reception["processorMicroseconds"]
    return sum(told.values()) if isinstance(told, dict) else told


@pytest.fixture(scope="module")
def world():
    world = World()
    yield world
    world.stop()


def everything(reception: dict) -> bool:
    return (reception["received"], reception["dropped"], reception["inOrder"]) == (COUNT, 0, True)


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_all_arrive_in_order_at_little_more_than_plain_c_costs(world, consumer):
    plain, streams = world.turns["plain C"], world.turns[consumer]
    assert all(everything(reception) for reception in streams), streams
    ours, plain_cost = world.cost(streams), world.cost(plain)
    ratio = ours / plain_cost
    # Of runs that followed each other, so that both saw the same machine.
    pairs = [cost(run) / cost(beside) for beside, run in zip(plain, streams)]
    say(
        f"processor time of a notification: plain C {plain_cost:.2f} µs, {consumer} {ours:.2f} µs, "
        f"ratio {ratio:.2f} (of pairs of runs: {min(pairs):.2f} … {max(pairs):.2f})"
    )
    say(f"plain C   {plain}\n{consumer}   {streams}")
    assert ratio <= CONSUMERS[consumer]


def test_a_consumer_that_pauses_loses_nothing(world):
    reception = world.streams(PAUSE)
    say(f"streams, pausing {PAUSE} ms each thousand: {reception}")
    assert everything(reception), reception


@pytest.mark.parametrize("pause", [0, PAUSE])
def test_somebody_without_privileges_knows_of_all_that_is_missing(world, pause):
    let_everybody_run(PROGRAM)
    reception = world.streams(pause, prefix=UNPRIVILEGED)
    say(f"streams without privileges, pausing {pause} ms each thousand: {reception}")
    say(f"plain C without privileges, pausing {pause} ms each thousand: {world.plain(pause, prefix=UNPRIVILEGED)}")
    assert reception["received"] + reception["dropped"] == COUNT, reception
    assert reception["inOrder"], reception


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_it_costs_a_fraction_of_what_an_interpreter_does(world, consumer):
    """habluetooth with the buffer, so that both receive all, and only count."""
    ours, theirs = world.cost(world.turns[consumer]), world.cost(world.turns["habluetooth, 16 MB buffer"])
    say(
        f"processor time of a notification: {consumer} {ours:.2f} µs, "
        f"{ours / theirs:.2f} of habluetooth's {theirs:.2f} µs"
    )
    assert ours <= 0.4 * theirs


@pytest.mark.parametrize("name", COMMAND)
def test_the_command_costs_half_of_what_an_interpreter_does(world, name):
    """Both print each value as JSON; habluetooth into a file in memory."""
    runs = world.turns[name]
    assert all(run["received"] == COUNT and run["inOrder"] for run in runs), runs
    ours, theirs = world.cost(runs), world.cost(world.turns["habluetooth, 16 MB buffer, as JSON"])
    say(f"processor time of a printed value: {name} {ours:.2f} µs, {ours / theirs:.2f} of habluetooth's {theirs:.2f} µs")
    assert ours <= 0.5 * theirs


def test_the_others_are_reported(world):
    """habluetooth's own stack and bleak over bluetoothd. Whatever they receive is told.

    The kernel drops what they, or bluetoothd, are too slow for, and with AcquireNotify bluetoothd what bleak is too slow
    for.
    """
    for name in [*HABLUETOOTH, *BLEAK]:
        for reception in world.turns[name]:
            assert 0 < reception["received"] <= COUNT, reception
        say(f"{name}   {world.turns[name]}")
    for way in BLEAK:
        for reception in world.turns[way]:
            assert all(reception["processorMicroseconds"][name] > 0 for name in ("bleak", "bluetoothd")), reception
