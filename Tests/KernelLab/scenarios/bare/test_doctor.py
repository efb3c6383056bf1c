"""`ble doctor` on a machine that has none of the lab's own adapters: each fault is really made, and named."""

import sys
from contextlib import contextmanager

import pytest

from lab import without_bluetooth
from lab.ble import Ble
from lab.mgmt import INDEX_ADDED, LE_BIT, SET_LE, Management
from lab.world import BumbleWorld, Process

pytestmark = pytest.mark.program


def examine(ble, status: int, adapter: str | None = None) -> dict[str, dict]:
    """The findings by name, of each the most severe."""
    run = ble("doctor", "--json", *(("--adapter", adapter) if adapter else ()))
    assert run.status == status and run.stderr == "", run
    found: dict[str, dict] = {}
    for record in run.records:
        if "finding" in record:
            found.setdefault(record["finding"], record)
    assert all(record["remedy"] for record in found.values()), run
    return found


@contextmanager
def adapter(*options: str):
    """An adapter by btvirt: its index, and the management socket."""
    management = Management()
    process = Process("btvirt", "btvirt", "-l1", *options)
    try:
        while not (indices := management.indices()):
            management.wait(lambda code, index, data: code == INDEX_ADDED)
        yield indices[0], management
    finally:
        process.stop()
        management.close()


def test_an_adapter_without_low_energy(ble):
    with adapter("-B") as (index, _):
        found = examine(ble, 1, f"hci{index}")
        assert found["noLowEnergy"]["severity"] == "obstacle", found


def test_low_energy_is_off_and_its_remedy(ble):
    with adapter() as (index, management):
        management.power(index, True)
        assert "lowEnergyOff" not in examine(ble, 0, f"hci{index}")
        management.set(SET_LE, index, b"\x00", LE_BIT)
        found = examine(ble, 1, f"hci{index}")
        assert found["lowEnergyOff"]["severity"] == "obstacle", found
        assert "`ble adapter on`" in found["lowEnergyOff"]["remedy"], found
        ble.good("adapter", "on", "--adapter", f"hci{index}")
        assert "lowEnergyOff" not in examine(ble, 0, f"hci{index}")


def test_two_adapters_with_one_address(ble):
    world = BumbleWorld("two alike")
    try:
        assert examine(ble, 0)["sharedAddress"]["severity"] == "limitation"
        found = examine(ble, 1, world.adapter)
        assert found["sharedAddress"]["severity"] == "obstacle", found
        assert "Switch" in found["sharedAddress"]["remedy"], found
    finally:
        world.stop()


def test_another_network_namespace(ble):
    contained = Ble(prefix=["unshare", "--net"])
    ble.runs = contained.runs
    found = examine(contained, 1)
    assert found["noBluetooth"]["severity"] == "obstacle", found
    assert "--network=host" in found["noBluetooth"]["remedy"], found


def test_sockets_are_refused(ble):
    contained = Ble(prefix=[sys.executable, without_bluetooth.__file__])
    ble.runs = contained.runs
    found = examine(contained, 1)
    assert found["socketsRefused"]["severity"] == "obstacle", found
    assert "AF_BLUETOOTH" in found["socketsRefused"]["remedy"], found

