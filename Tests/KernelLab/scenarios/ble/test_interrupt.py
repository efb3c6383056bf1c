"""Ctrl-C at any time leaves the radio clean, and the status is 130."""

import pytest

from lab import names

pytestmark = pytest.mark.usefixtures("clean_radio")


def test_while_scanning(ble, bumble):
    run = ble.start("scan", "--json")
    run.wait_lines()
    run.interrupt()
    assert run.end().status == 130, run
    bumble.management.wait_discovering(bumble.index, on=True)
    bumble.management.wait_discovering(bumble.index, on=False)


def test_while_notified(ble, bumble):
    run = ble.start("notify", names.NEAR, "2A37", "--json")
    run.wait_lines()
    run.interrupt()
    assert run.end().status == 130, run
    bumble.peer.wait("cccd", bumble.mark, char="heart-rate", on=0)
    bumble.peer.wait("disconnected", bumble.mark)


def test_while_connecting(ble, bumble):
    bumble.peer.command("advertise", "off")
    run = ble.start("read", f"{names.NEAR}/random", "2A38")
    bumble.peer.wait("scanning", bumble.mark, on=1)
    run.interrupt()
    assert run.end().status == 130, run
    bumble.peer.wait("scanning", bumble.mark, on=0)
    bumble.peer.command("advertise", "on")
    assert ble.good("read", names.NEAR, "2A38", "--json").values == [b"\x01"]
    bumble.peer.wait("disconnected", bumble.mark)


def test_while_a_read_is_not_answered(ble, bumble):
    run = ble.start("read", names.NEAR, names.SILENT)
    bumble.peer.wait("read", bumble.mark, char="silent")
    run.interrupt()
    assert run.end().status == 130, run
    bumble.peer.wait("disconnected", bumble.mark)


def test_while_transferring(ble, bumble):
    """Heart rates never end with a mark."""
    run = ble.start("transfer", names.NEAR, "2A37")
    bumble.peer.wait("cccd", bumble.mark, char="heart-rate", on=1)
    run.interrupt()
    assert run.end().status == 130, run
    bumble.peer.wait("cccd", bumble.mark, char="heart-rate", on=0)
    bumble.peer.wait("disconnected", bumble.mark)
