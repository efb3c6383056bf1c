"""The adapter hides behind addresses that change, as a central: who has paired knows it again."""

import shutil
from pathlib import Path

import pytest

from lab import names
from lab.world import Process, start_bluetoothd


@pytest.fixture
def strangers(bumble, tmp_path, monkeypatch):
    """No bonds anywhere, and no privacy, before and after."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield
    bumble.management.privacy(bumble.index, False)
    # What `ble` has switched on, it notes until the machine is restarted.
    for note in Path("/run/blestreams").glob("privacy-*"):
        note.unlink()
    bumble.management.unpair(bumble.index, names.NEAR)
    bumble.peer.command("forget")


def connected(bumble, mark) -> tuple[str, str]:
    """By which address the adapter has connected, and who that is to the peripheral."""
    facts = bumble.peer.wait("connected", mark).facts
    behind, peer = (facts[name].split("/")[0] for name in ("behind", "peer"))
    assert names.is_private(behind) and behind != names.CENTRAL
    return behind, peer


def read_as_one_who_is_known(ble, bumble) -> str:
    mark = bumble.peer.mark()
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    behind, peer = connected(bumble, mark)
    assert peer == names.CENTRAL
    return behind


def test_a_private_central_is_known_again(ble, bumble, strangers):
    """After its address has changed, and after the kernel has forgotten its key, as by a restart of the machine."""
    assert ble.good("adapter", "privacy", "--json").records == [{"adapter": bumble.adapter, "private": False}]
    assert ble.good("adapter", "privacy", "--set", "on", "--json").records[-1]["private"]
    mark = bumble.peer.mark()
    ble.good("pair", names.NEAR)
    first, stranger = connected(bumble, mark)
    assert stranger == first
    assert read_as_one_who_is_known(ble, bumble) == first
    ble.good("adapter", "cycle")
    second = read_as_one_who_is_known(ble, bumble)
    bumble.management.privacy(bumble.index, False)
    ble.good("adapter", "privacy", "--set", "on")
    assert len({first, second, read_as_one_who_is_known(ble, bumble)}) == 3


def test_privacy_that_is_set_is_not_set_again(ble, bumble, strangers):
    ble.good("adapter", "privacy", "--set", "on")
    bumble.management.forget_events()
    ble.good("adapter", "privacy", "--set", "on")
    assert not [event for event in bumble.management.events if event[0] == 0x0006], "it was switched off"


def test_a_link_is_not_dropped_for_privacy(ble, bumble, strangers):
    run = ble.start("notify", names.NEAR, names.HEART_RATE_MEASUREMENT, "--json")
    run.wait_lines()
    ble.bad("adapter", "privacy", "--set", "on", status=1, says=["busy", "link with", names.NEAR, "--interrupt"])
    run.wait_lines(len(run.stdout.splitlines()) + 2)
    ble.good("adapter", "privacy", "--set", "on", "--interrupt")
    assert run.end().status == 1, run


def test_bluetoothd_has_the_setting(ble, bumble, strangers):
    Path("/run/dbus").mkdir(exist_ok=True)
    bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
    bus.wait_line("unix:")
    daemon = start_bluetoothd("--debug=src/adapter.c")
    daemon.wait_line(f"LTKs loaded for hci{bumble.index}")
    bumble.management.power(bumble.index, True)
    try:
        ble.bad("adapter", "privacy", "--set", "on", status=1, says=["bluetoothd", "Privacy = device", "main.conf"])
        ble.good("adapter", "privacy", "--set", "off")
    finally:
        daemon.stop()
        bus.stop()
        for folder in Path("/var/lib/bluetooth").iterdir():
            shutil.rmtree(folder)
        bumble.management.power(bumble.index, True)
