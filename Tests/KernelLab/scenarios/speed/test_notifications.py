"""20,000 notifications at full blast from a C peripheral: nothing lost or unaccounted for, and what each costs next to
a plain C client over the same virtual controllers. Beside it what bleak receives and what that costs, with bluetoothd
and the bus that work for it: told, and asserted only to be there. Runs with `run --speed` only: it takes the release
build."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from lab import names
from lab.ble import UNPRIVILEGED, let_everybody_run
from lab.world import OUT, Process, VirtualPair

PROGRAM = Path(os.environ.get("LAB_PRODUCTS", "/nowhere")).resolve().parent / "release" / "Benchmarks"
COUNT = 20_000
SIZE = 20
RUNS = 7
BLEAK_RUNS = 3
PAUSE = 100  # milliseconds after each thousand
# Where the loop runs: anywhere, or on the radio's own thread.
CONSUMERS = ["streams", "streams-on-radio"]


def say(text: str) -> None:
    with (OUT / "report").open("a") as report:
        print(text, file=report)


class World:
    """btvirt's two adapters, and the C peripheral on the second one."""

    def __init__(self):
        self.pair = VirtualPair()
        self.serve()

    def serve(self) -> None:
        self.peripheral = Process(
            "notifier", str(PROGRAM), "--kernel", "peripheral", names.BTVIRT_SERVER, str(COUNT), str(SIZE)
        )
        self.peripheral.wait_line("ready")
        self.pair.management.advertise(self.pair.server)

    def receive(self, *arguments: str, prefix: list[str] | None = None) -> dict:
        command = [*(prefix or []), str(PROGRAM), "--kernel", *arguments]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.pair.management.disconnect_all(self.pair.client)
        assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
        return json.loads(run.stdout)

    def plain(self, pause: int = 0, prefix: list[str] | None = None) -> dict:
        return self.receive("plain", names.BTVIRT_CLIENT, names.BTVIRT_SERVER, str(COUNT), str(pause), prefix=prefix)

    def streams(self, pause: int = 0, prefix: list[str] | None = None, consumer: str = "streams") -> dict:
        adapter = f"hci{self.pair.client}"
        return self.receive(consumer, adapter, names.BTVIRT_SERVER, str(COUNT), str(pause), prefix=prefix)

    @functools.cached_property
    def turns(self) -> dict[str, list[dict]]:
        """Runs of plain C and of the streams, which took turns."""
        turns = {"plain C": []} | {consumer: [] for consumer in CONSUMERS}
        for _ in range(RUNS):
            turns["plain C"].append(self.plain())
            for consumer in CONSUMERS:
                turns[consumer].append(self.streams(consumer=consumer))
        return turns

    @property
    def costs(self) -> dict[str, float]:
        """The processor time of a notification, microseconds: medians of these runs."""
        return {
            name: statistics.median(run["processorMicroseconds"] for run in runs) for name, runs in self.turns.items()
        }

    def stop(self) -> None:
        self.peripheral.stop()
        self.pair.stop()


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
    cost, plain_cost = world.costs[consumer], world.costs["plain C"]
    ratio = cost / plain_cost
    # Of runs that followed each other, so that both saw the same machine.
    pairs = [ours["processorMicroseconds"] / theirs["processorMicroseconds"] for theirs, ours in zip(plain, streams)]
    say(
        f"processor time of a notification: plain C {plain_cost:.2f} µs, {consumer} {cost:.2f} µs, "
        f"ratio {ratio:.2f} (of pairs of runs: {min(pairs):.2f} … {max(pairs):.2f})"
    )
    say(f"plain C   {plain}\n{consumer}   {streams}")
    assert ratio <= 1.5


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


def test_bleak_is_reported(world):
    """Over bluetoothd, in the same boot, in both of the ways that it has to subscribe. Whatever it receives is told.

    The kernel drops what bluetoothd is too slow for, and with AcquireNotify bluetoothd what bleak is too slow for.
    """
    costs = world.costs
    Path("/run/dbus").mkdir(exist_ok=True)
    world.peripheral.stop()
    with contextlib.ExitStack() as processes:

        def start(name: str, *command: str) -> Process:
            process = Process(name, *command)
            processes.callback(process.stop)
            return process

        bus = start("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
        bus.wait_line("unix:")
        daemon = start("bluetoothd", "/usr/libexec/bluetooth/bluetoothd", "--nodetach")
        daemons = [f"bluetoothd={daemon.process.pid}", f"bus={bus.process.pid}"]
        receiver = ["peers.bleak_receiver", f"hci{world.pair.client}", names.BTVIRT_SERVER, str(COUNT), str(BLEAK_RUNS)]
        bleak = start("bleak", sys.executable, "-m", *receiver, *daemons)
        # bluetoothd has taken the adapters: the newest listener gets the link, and its advertisement stays.
        bleak.wait_line("ready")
        world.serve()
        receptions = {way: [] for way in ("StartNotify", "AcquireNotify")}
        for run in range(BLEAK_RUNS):
            for way, runs in receptions.items():
                runs.append(json.loads(bleak.wait_line(f'"{way} {run + 1}"', within=400)))
    for way, runs in receptions.items():
        reception = sorted(runs, key=bleak_cost)[BLEAK_RUNS // 2]
        parts = " + ".join(f"{name} {cost:.2f}" for name, cost in reception["processorMicroseconds"].items())
        say(
            f"bleak over bluetoothd, {way}: {reception['received']:,} of {COUNT:,} received, "
            f"{'in order' if reception['inOrder'] else 'NOT IN ORDER'}, {reception['rate']:,} a second; "
            f"processor time of one that it received: {parts} = {bleak_cost(reception):.2f} µs; "
            f"beside it {', '.join(f'{name} {cost:.2f} µs' for name, cost in costs.items())}\n"
            f"all runs  {runs}"
        )
        for reception in runs:
            assert 0 < reception["received"] <= COUNT, reception
            assert all(reception["processorMicroseconds"][name] > 0 for name in ("bleak", "bluetoothd")), reception


def bleak_cost(reception: dict) -> float:
    """What one value took of all the processes that had to do with it, microseconds of processor time."""
    return sum(reception["processorMicroseconds"].values())
