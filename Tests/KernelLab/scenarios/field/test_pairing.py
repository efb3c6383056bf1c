"""Pairing without numbers: the bond is kept by the command, used by its next run, and removed again."""

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab import names
from lab.world import Process

# Whether the kernel asks the programs on this machine to confirm a pairing without numbers that one of them began.
ASKS = os.environ.get("LAB_KERNEL") != "6.1"


class Neighbour:
    """bluetoothd beside the command, with nobody whom it could ask, and no bonds at first."""

    def __init__(self, bumble):
        self.bumble = bumble
        Path("/run/dbus").mkdir(exist_ok=True)
        for folder in Path("/var/lib/bluetooth").iterdir():
            shutil.rmtree(folder)
        self.bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
        self.bus.wait_line("unix:")
        self.start()

    def start(self) -> None:
        debug = "--debug=src/agent.c:src/adapter.c"
        self.daemon = Process("bluetoothd", "/usr/libexec/bluetooth/bluetoothd", "--nodetach", debug)
        self.daemon.wait_line("sap-server")
        # It has replaced the kernel's keys then.
        self.daemon.wait_line(f"LTKs loaded for hci{self.bumble.index}")
        self.bumble.management.power(self.bumble.index, True)

    def restart(self) -> None:
        self.daemon.stop()
        self.start()

    def stop(self) -> None:
        for process in (self.daemon, self.bus):
            process.stop()
        self.bumble.management.power(self.bumble.index, True)


@pytest.fixture
def bluetoothd(bumble):
    neighbour = Neighbour(bumble)
    yield neighbour
    neighbour.stop()


@pytest.fixture
def other_agent(bluetoothd):
    """An agent that somebody else has registered, the default one; it would say no."""
    agent = Process("agent", sys.executable, "-m", "peers.bluez_agent")
    agent.wait_line("ready")
    yield agent
    agent.stop()


@pytest.fixture
def no_debugfs():
    """What a program that isn't root sees: nothing of the keys that the kernel has."""
    subprocess.run(["umount", "/sys/kernel/debug"], check=True)
    yield
    subprocess.run(["mount", "-t", "debugfs", "debugfs", "/sys/kernel/debug"], check=True)


@pytest.fixture
def strangers(bumble, tmp_path, monkeypatch):
    """No bonds anywhere, before and after; answers the folder in which the command keeps its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield tmp_path / "blestreams"
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


@pytest.fixture
def veiled(bumble):
    """The peripheral's private address."""
    yield bumble.peer.command("veil")
    bumble.management.disconnect_all(bumble.index)
    bumble.peer.command("reset")
    bumble.peer.command("unveil")


def refused(ble):
    ble.bad("read", names.NEAR, names.SECRET, status=1, says=[("encrypt", "authenti"), "pair"])


@pytest.mark.main_job
def test_a_protected_value_is_read_after_pairing(ble, bumble, strangers):
    refused(ble)
    record = ble.good("pair", names.NEAR, "--json").records[-1]
    assert record == {"address": names.NEAR, "addressType": "random", "encrypted": True, "authenticated": False}
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    bonds = ble.good("bonds", "--json").records
    assert [bond["address"] for bond in bonds] == [names.NEAR]


def test_pairing_for_the_sake_of_a_value(ble, bumble, strangers):
    """The flow that is refused first, pairs then, reads, and has nothing to pair for the next time."""
    first = ble.good("pair", names.NEAR, "--read", names.SECRET, "--json").records[-1]
    assert first["encrypted"] and first["wasPaired"] and first["addressType"] == "random"
    assert bytes.fromhex(first["hex"]) == names.SECRET_BYTES
    second = ble.good("pair", names.NEAR, "--read", names.SECRET, "--json").records[-1]
    assert second["encrypted"] and not second["wasPaired"]
    assert second["hex"] == first["hex"]


def test_nobody_else_reads_the_keys(ble, bumble, strangers):
    ble.good("pair", names.NEAR)
    files = [path for path in strangers.iterdir() if path.suffix == ".json"]
    assert len(files) == 1
    assert stat.S_IMODE(os.stat(files[0]).st_mode) == 0o600
    key = json.loads(files[0].read_text())["record"]["bonds"][0]["encryptionKeys"][0]["value"]
    said = "".join(run.stdout + run.stderr for run in ble.runs)
    assert key not in said


def test_the_bond_outlives_the_kernel(ble, bumble, strangers):
    """What a restart of the machine does to the kernel's keys: they are gone, and given to it again."""
    ble.good("pair", names.NEAR)
    bumble.management.forget_keys(bumble.index)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


def test_a_peripheral_that_was_reset(ble, bumble, strangers):
    ble.good("pair", names.NEAR)
    bumble.peer.command("forget")
    ble.bad("read", names.NEAR, names.SECRET, status=1, says=["unpair"])
    ble.good("unpair", names.NEAR)
    assert ble.good("bonds", "--json").records == []
    refused(ble)
    ble.good("pair", names.NEAR)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


def test_pairing_needs_a_permission_that_is_named(ble, bumble, strangers):
    ble.unprivileged().bad("pair", names.NEAR, status=1, says=["cap_net_admin"])


def test_no_bond_to_remove(ble, bumble, strangers):
    ble.bad("unpair", names.NEAR, status=1, says=["no bond"])


def test_beside_a_bluetoothd_without_an_agent(ble, bumble, strangers, bluetoothd):
    """bluetoothd is asked as every program on the management socket is, and has nobody to ask: so it asks us."""
    ble.good("pair", names.NEAR)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    if ASKS:
        bluetoothd.daemon.wait_line("Calling Agent.RequestAuthorization")
    bluetoothd.daemon.wait_line("unregister_agent")


def test_beside_a_bluetoothd_with_an_agent_of_somebody_else(ble, bumble, strangers, other_agent, bluetoothd):
    """Who pairs is asked; the other agent, which would say no, has its place back afterwards."""
    ble.good("pair", names.NEAR)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    bluetoothd.daemon.wait_line("unregister_agent")
    assert not [line for line in other_agent.lines if "asked" in line or "released" in line], other_agent.lines


def test_a_bond_made_beside_bluetoothd_outlives_it(ble, bumble, strangers, bluetoothd):
    """bluetoothd replaces the kernel's list of keys at each start; those of such a bond are among its own."""
    ble.good("pair", names.NEAR)
    bluetoothd.restart()
    assert names.NEAR in bumble.management.keys(bumble.index)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


def test_a_bluetoothd_that_takes_our_keys_away(ble, bumble, strangers, request):
    """It starts over a bond that it doesn't know; root may look what the kernel has, and adds to it."""
    ble.good("pair", names.NEAR)
    request.getfixturevalue("bluetoothd")
    assert names.NEAR not in bumble.management.keys(bumble.index)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


@pytest.mark.skipif(not ASKS, reason="this kernel pairs again by itself, and asks nobody")
def test_a_bluetoothd_that_took_our_keys_away_is_named(ble, bumble, strangers, request, no_debugfs):
    """Who may not look says whose the list is; a new pairing beside bluetoothd mends it."""
    ble.good("pair", names.NEAR)
    request.getfixturevalue("bluetoothd")
    ble.bad("read", names.NEAR, names.SECRET, status=1, says=["bluetoothd", "unpair"])
    ble.good("unpair", names.NEAR)
    bumble.peer.command("forget")
    ble.good("pair", names.NEAR)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


def test_a_link_goes_by_the_identity_that_was_told(ble, bumble, strangers, veiled):
    """The kernel renames a link when a private peer has told its identity, and finds it under that name only."""
    ble.good("pair", f"{veiled}/random")
    # So it was dropped by that name. A command under the old one misses, and the kernel keeps the link two seconds.
    assert bumble.management.connections(bumble.index) == []
    assert [bond["address"] for bond in ble.good("bonds", "--json").records] == [names.NEAR]


def test_keys_of_another_program_stay(ble, bumble, strangers):
    """Another program gives the kernel the keys of its own bonds, and takes ours away by that; we don't do likewise."""
    ble.good("pair", names.NEAR)
    bumble.management.load_key(bumble.index, names.FAR)
    assert bumble.management.keys(bumble.index) == {names.FAR}
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    assert bumble.management.keys(bumble.index) == {names.FAR, names.NEAR}
    bumble.management.forget_keys(bumble.index)


@pytest.mark.skipif(not ASKS, reason="this kernel asks nobody to confirm Just Works")
def test_a_bluetoothd_that_can_not_be_told_is_named(ble, bumble, strangers, bluetoothd, monkeypatch):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere/bus")
    ble.bad("pair", names.NEAR, status=1, says=["bluetoothd", "no agent", "/nowhere/bus", "default-agent"])
