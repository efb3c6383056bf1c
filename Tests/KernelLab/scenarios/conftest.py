"""Fixtures of the scenarios. All of them run in the guest, as root, with nobody else about."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from lab.ble import Ble
from lab.leaks import Witness
from lab.world import OUT, BluetoothdWorld, BumbleWorld


@pytest.fixture(scope="session")
def bumble_world():
    """Bumble's peripherals and the adapter that hears them; started by the first scenario that wants them."""
    world = BumbleWorld()
    yield world
    world.stop()


@pytest.fixture
def bumble(bumble_world, request):
    """The same, as every scenario expects to find it: powered, nobody connected, values fresh, NEAR advertising."""
    yield from fresh(bumble_world, request, lambda: bumble_world.peer.command("reset"))


@pytest.fixture
def clean_radio(bumble):
    """When the scenario is over, the radio is silent: no discovery, no monitor, no connection, no listening."""
    yield
    bumble.wait_silence()
    assert not bumble.management.discovering(bumble.index)
    assert bumble.management.monitors(bumble.index) == 0
    assert bumble.management.connections(bumble.index) == []


@pytest.fixture(scope="module")
def bluetoothd_world():
    """bluetoothd takes every adapter there is, so it is gone before the next file's scenarios."""
    world = BluetoothdWorld()
    yield world
    world.stop()


@pytest.fixture
def bluetoothd(bluetoothd_world, request):
    """bluetoothd as the peripheral, with nobody connected."""
    yield from fresh(bluetoothd_world, request, lambda: bluetoothd_world.peer.command("reset"))


def fresh(world, request, reset):
    # What nobody has read meanwhile may fill the socket's queue, and then nothing can be asked any more.
    world.management.forget_events()
    world.management.power(world.index, True)
    world.management.disconnect_all(world.index)
    reset()
    world.management.forget_events()
    world.mark = world.peer.mark()
    request.node.world = world
    yield world


@pytest.fixture
def ble(request):
    """The `ble` command. With a world, it is told that world's adapter."""
    worlds = [request.getfixturevalue(name) for name in ("bumble", "bluetoothd") if name in request.fixturenames]
    command = Ble(worlds[0].adapter if worlds else None)
    request.node.ble = command
    witness = Witness()
    yield command
    with (OUT / "ble.log").open("a") as log:
        print(f"# {request.node.name}", file=log)
        for run in command.runs:
            run.kill()
            print(run, file=log)
    witness.expect_silence(command.runs)
    witness.close()


def pytest_collection_modifyitems(config, items):
    """Names the scenarios that meet a bluetoothd, for those who have another one. Of a run's share, those are left out
    that belong to other shares, by their names, so that a new scenario moves no other one; the main job is in each."""
    for item in items:
        if {"bluetoothd", "bluetoothd_central"} & set(item.fixturenames):
            item.add_marker("bluetoothd")
    if share := os.environ.get("LAB_SHARE"):
        number, count = map(int, share.split("/"))
        others = [item for item in items if not item.get_closest_marker("main_job") and its_share(item, count) != number]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def its_share(item, count: int) -> int:
    """The number of the share, of so many, that a scenario belongs to."""
    return zlib.crc32(item.nodeid.encode()) % count


def busy() -> float:
    """The seconds in which the guest's processor was not idle, since it was booted."""
    user, nice, system, _, _, interrupts, late = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + interrupts + late) / os.sysconf("SC_CLK_TCK")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    item.busy = busy()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where a scenario failed, its report ends with what was run and what the peer saw meanwhile. The results say of
    each how busy it kept the guest: that, more than how long it took, is what a run costs."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append(("busy", f"{busy() - item.busy:.1f}"))
    if report.failed:
        if command := getattr(item, "ble", None):
            report.sections.append(("What ble said", "\n".join(map(str, command.runs))))
        if world := getattr(item, "world", None):
            events = "\n".join(str(event) for event in world.peer.since(world.mark))
            report.sections.append(("What the peer saw", events or "nothing"))
    return report
