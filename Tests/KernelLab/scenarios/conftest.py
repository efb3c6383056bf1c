"""Fixtures of the scenarios. All of them run in the guest, as root, with nobody else about."""

from __future__ import annotations

import pytest

from lab.world import BluetoothdWorld, BumbleWorld


@pytest.fixture(scope="session")
def bumble_world():
    """Bumble's peripherals and the adapter that hears them; started by the first scenario that wants them."""
    world = BumbleWorld()
    yield world
    world.stop()


@pytest.fixture
def bumble(bumble_world, request):
    """The same, as every scenario expects to find it: nobody connected, values fresh, NEAR advertising."""
    bumble_world.management.disconnect_all(bumble_world.index)
    bumble_world.peer.command("reset")
    mark = bumble_world.peer.mark()
    request.node.peer = (bumble_world.peer, mark)
    return bumble_world


@pytest.fixture(scope="module")
def bluetoothd_world():
    """bluetoothd takes every adapter there is, so it is gone before the next file's scenarios."""
    world = BluetoothdWorld()
    yield world
    world.stop()


@pytest.fixture
def bluetoothd(bluetoothd_world, request):
    """bluetoothd as the peripheral, with nobody connected."""
    bluetoothd_world.management.disconnect_all(bluetoothd_world.index)
    request.node.peer = (bluetoothd_world.peer, bluetoothd_world.peer.mark())
    return bluetoothd_world


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where a scenario failed, its report ends with what the peer saw meanwhile."""
    report = yield
    peer, mark = getattr(item, "peer", (None, 0))
    if report.failed and peer:
        events = "\n".join(str(event) for event in peer.since(mark))
        report.sections.append(("What the peer saw", events or "nothing"))
    return report
