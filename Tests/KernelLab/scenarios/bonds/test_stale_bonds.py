"""Bonds that don't fit any more: the error says exactly which side has lost, or replaced, what."""

import shutil
import subprocess
from pathlib import Path

import pytest

from lab import names
from lab.world import Process, start_bluetoothd

PASSKEY = "062481"


@pytest.fixture
def states(bumble, tmp_path, monkeypatch):
    """Has the command keep its bonds in one folder or another; no bonds anywhere, before and after."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "first"))
    yield lambda name: monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
    bumble.peer.command("manner none")
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


class Neighbour:
    """bluetoothd, which can be started more than once."""

    def __init__(self, bumble):
        self.bumble, self.daemon = bumble, None
        Path("/run/dbus").mkdir(exist_ok=True)
        self.bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
        self.bus.wait_line("unix:")

    def start(self) -> None:
        self.daemon = start_bluetoothd("--debug=src/adapter.c")
        self.daemon.wait_line("sap-server")
        self.daemon.wait_line(f"LTKs loaded for hci{self.bumble.index}")
        self.bumble.management.power(self.bumble.index, True)

    def stop(self) -> None:
        if self.daemon:
            self.daemon.stop()
        self.daemon = None
        self.bumble.management.power(self.bumble.index, True)


@pytest.fixture
def bluetoothd(bumble):
    for folder in Path("/var/lib/bluetooth").glob("*"):
        shutil.rmtree(folder)
    neighbour = Neighbour(bumble)
    yield neighbour
    neighbour.stop()
    neighbour.bus.stop()
    for folder in Path("/var/lib/bluetooth").glob("*"):
        shutil.rmtree(folder)


def read(ble) -> list[bytes]:
    return ble.good("read", names.NEAR, names.SECRET, "--json").values


def refused(ble, *says) -> None:
    mark = len(ble.runs)
    ble.bad("read", names.NEAR, names.SECRET, status=1, says=says)
    assert len(ble.runs) == mark + 1


def test_who_has_lost_the_keys_and_who_has_others_is_told(ble, bumble, states):
    ble.good("pair", names.NEAR)
    bumble.peer.command("forget")
    refused(ble, "the peripheral no longer has the keys", "ble unpair")
    # Another program has paired since: its keys are the kernel's, and stay there.
    bumble.management.unpair(bumble.index, names.NEAR)
    states("second")
    ble.good("pair", names.NEAR)
    states("first")
    assert read(ble) == [names.SECRET_BYTES]
    # They are gone: what is left are those of before.
    bumble.management.forget_keys(bumble.index)
    refused(ble, "the peripheral's keys differ from this machine's", "ble unpair")


def test_a_bluetoothd_that_brings_older_keys_back_is_named(ble, bumble, states, bluetoothd):
    bluetoothd.start()
    ble.good("pair", names.NEAR)
    bluetoothd.stop()
    # bluetoothd isn't there to be told.
    ble.good("unpair", names.NEAR)
    bumble.peer.command("forget")
    ble.good("pair", names.NEAR)
    assert read(ble) == [names.SECRET_BYTES]
    bluetoothd.start()
    refused(ble, "differ from this program's bond", "bluetoothd", f"bluetoothctl remove {names.NEAR}")
    ble.good("unpair", names.NEAR)
    assert names.NEAR not in bumble.management.keys(bumble.index)


def test_a_peripheral_that_offers_less_than_before(ble, bumble, states, bluetoothd):
    """bluetoothd has taken the kernel's keys, and who may not look can't give them back. The kernel would pair anew, before 6.12
    without asking anybody; of a bond that somebody made sure of no weaker one takes the place."""
    bumble.peer.command(f"manner shows {PASSKEY}")
    ble.good("pair", names.NEAR, "--passkey", PASSKEY)
    bluetoothd.start()
    bumble.peer.command("forget")
    bumble.peer.command("manner none legacy")
    subprocess.run(["umount", "/sys/kernel/debug"], check=True)
    try:
        refused(ble, "bluetoothd is running and has set the adapter's keys", "ble unpair")
    finally:
        subprocess.run(["mount", "-t", "debugfs", "debugfs", "/sys/kernel/debug"], check=True)
    assert names.NEAR not in bumble.management.keys(bumble.index)
    assert ble.good("bonds", "--json").records[0]["authenticated"]
