"""`ble doctor` on a machine that has none of the lab's own adapters: each fault is really made, and named."""

import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from lab import without_bluetooth
from lab.ble import Ble
from lab.mgmt import INDEX_ADDED, INDEX_REMOVED, LE_BIT, SET_LE, Management
from lab.world import BumbleWorld, PeerProcess, Process

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


DONGLE = "00:1A:7D:DA:71:13"
CSR, BARROT = 10, 2279  # makers' numbers
BLUETOOTH_4_0, BLUETOOTH_5_0 = 6, 9


@contextmanager
def dongle(maker: int, version: int, release: str):
    """A USB dongle that says that it is by CSR (peers/dongle.py), switched on: its adapter's name."""
    kernel = f"{os.environ['LAB_CACHE']}/kernel-{os.environ['LAB_KERNEL']}"
    for module in ("vhci-hcd", "btusb"):
        subprocess.run(["modprobe", "-d", kernel, module], check=True)
    management = Management()
    process = PeerProcess("dongle", "peers.dongle", DONGLE, str(maker), str(version), release)
    index = None
    try:
        process.wait_line(" ready")
        index = management.index_of(DONGLE)
        management.power(index, True)
        yield f"hci{index}"
    finally:
        process.stop()
        while index in management.indices():
            management.wait(lambda code, index, data: code == INDEX_REMOVED)
        management.close()


@pytest.mark.parametrize(
    "maker, version, release, signs",
    [
        (CSR, BLUETOOTH_4_0, "8891", []),
        (BARROT, BLUETOOTH_5_0, "8891", ["maker's number is 2279, not 10", "Bluetooth later than 4.0"]),
        (CSR, BLUETOOTH_4_0, "2520", ["version 2520 is known from copies"]),
    ],
    ids=["genuine", "another_maker", "known_copy"],
)
def test_a_dongle_that_claims_to_be_a_csr(ble, maker, version, release, signs):
    with dongle(maker, version, release) as name:
        found = examine(ble, 0, name)
        assert ("counterfeit" in found) == bool(signs), found
        if signs:
            assert found["counterfeit"]["severity"] == "limitation", found
            assert "replace it" in found["counterfeit"]["remedy"], found
            assert all(sign in found["counterfeit"]["cause"] for sign in signs), found
