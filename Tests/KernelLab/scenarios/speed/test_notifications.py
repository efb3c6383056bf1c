"""20,000 notifications at full blast from a C peripheral: nothing lost or unaccounted for, and what each costs next to a
plain C client over the same virtual controllers. Beside it what bleak receives, over bluetoothd, which is told and not
asserted. Runs with `run --speed` only: it takes the release build."""

from __future__ import annotations

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
PAUSE = 100  # milliseconds after each thousand


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

    def streams(self, pause: int = 0, prefix: list[str] | None = None) -> dict:
        adapter = f"hci{self.pair.client}"
        return self.receive("streams", adapter, names.BTVIRT_SERVER, str(COUNT), str(pause), prefix=prefix)

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


def test_all_arrive_in_order_at_little_more_than_plain_c_costs(world):
    plain, streams = [], []
    for _ in range(RUNS):
        plain.append(world.plain())
        streams.append(world.streams())
    assert all(everything(reception) for reception in streams), streams
    costs = [statistics.median(run["processorMicroseconds"] for run in runs) for runs in (plain, streams)]
    ratio = costs[1] / costs[0]
    # Of runs that followed each other, so that both saw the same machine.
    pairs = [ours["processorMicroseconds"] / theirs["processorMicroseconds"] for theirs, ours in zip(plain, streams)]
    say(
        f"processor time of a notification: plain C {costs[0]:.2f} µs, streams {costs[1]:.2f} µs, "
        f"ratio {ratio:.2f} (of pairs of runs: {min(pairs):.2f} … {max(pairs):.2f})"
    )
    say(f"plain C   {plain}\nstreams   {streams}")
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
    """Over bluetoothd, in the same boot. Whatever it receives is told."""
    Path("/run/dbus").mkdir(exist_ok=True)
    world.peripheral.stop()
    bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
    bus.wait_line("unix:")
    daemon = Process("bluetoothd", "/usr/libexec/bluetooth/bluetoothd", "--nodetach")
    try:
        bleak = Process("bleak", sys.executable, "-m", "peers.bleak_receiver", names.BTVIRT_SERVER, str(COUNT))
        # bluetoothd has taken the adapters: the newest listener gets the link, and its advertisement stays.
        bleak.wait_line("ready")
        world.serve()
        say(f"bleak over bluetoothd: {bleak.wait_line('received').strip()}")
        bleak.stop()
    except AssertionError as error:
        say(f"bleak over bluetoothd: nothing was measured: {error}")
        pytest.skip(f"bleak did not get as far: {str(error).splitlines()[0]}")
    finally:
        daemon.stop()
        bus.stop()
