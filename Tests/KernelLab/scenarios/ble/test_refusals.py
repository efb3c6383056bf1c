"""What can't be done is refused with one clear message: unknown things, and an adapter that is off."""

import pytest

from lab import names
from lab.ble import Ble

pytestmark = pytest.mark.program


def test_an_unknown_characteristic(ble, bumble):
    ble.bad("read", names.NEAR, names.UNKNOWN, status=1, says=[names.UNKNOWN])


def test_a_handle_without_an_attribute(ble, bumble):
    ble.bad("read", names.NEAR, "0x0fff", status=1, says=["0fff"])


def test_a_write_to_what_is_read_only(ble, bumble):
    ble.bad("write", names.NEAR, names.READ_ONLY, "00", status=1, says=["write"])


def test_a_file_that_is_not_there(ble, bumble):
    ble.bad("write", names.NEAR, names.VALUE, "@/no/such/file", says=["/no/such/file"])
    assert bumble.peer.since(bumble.mark, "write") == []


def test_notifications_from_what_can_only_be_read(ble, bumble):
    ble.bad("notify", names.NEAR, names.READ_ONLY, status=1, says=["notif"])


def test_an_adapter_that_is_not_there(ble, bumble):
    ble.adapter = "hci7"
    for command in (("scan",), ("read", names.NEAR, "2A38")):
        ble.bad(*command, status=1, says=["hci7"])


def test_a_peripheral_that_is_not_there(ble, bumble):
    ble.bad("read", f"{names.ABSENT}/random", "2A38", status=1, says=[names.ABSENT])


@pytest.mark.parametrize("command", [("scan",), ("read", names.NEAR, "2A38")], ids=lambda command: command[0])
def test_an_adapter_that_is_off(ble, bumble, command):
    bumble.management.power(bumble.index, False)
    ble.bad(*command, status=1, says=[bumble.adapter, ("off", "power")])


def test_an_adapter_switched_off_under_a_scan(ble, bumble):
    run = ble.start("scan", "--json", "--duplicates")
    run.wait_lines()
    bumble.management.power(bumble.index, False)
    assert run.end().status == 1, run
    assert run.stderr.strip(), run


def test_an_adapter_switched_off_under_a_stream(ble, bumble):
    run = ble.start("notify", names.NEAR, "2A37", "--json")
    run.wait_lines()
    bumble.management.power(bumble.index, False)
    assert run.end().status == 1, run
    assert run.stderr.strip(), run


def test_an_adapter_without_an_address(ble, bumble):
    """The kernel lists it as unconfigured. Nobody can configure one of /dev/vhci: its setup makes it unconfigured each time."""
    bumble.peer.command("unplug")
    bumble.peer.command("plug", "unconfigured")
    try:
        adapter = Ble(f"hci{bumble.management.wait_unconfigured()}")
        ble.runs = adapter.runs
        for command in (["scan", "--timeout", "5"], ["adapter", "on"]):
            run = adapter.bad(*command, status=1, says=["unconfigured"])
            assert "btmgmt --index" in run.stderr and "public-addr" in run.stderr, run
    finally:
        bumble.peer.command("unplug")
        bumble.peer.command("plug")
        bumble.index = bumble.management.index_of(names.CENTRAL)
        bumble.management.power(bumble.index, True)
