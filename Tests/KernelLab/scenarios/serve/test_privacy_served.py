"""`ble serve` on an adapter that hides behind addresses that change: a central that has paired knows it again."""

import pytest

from lab import names
from lab.ble import Ble

ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"


@pytest.fixture
def private(bumble_central, ble, tmp_path, monkeypatch):
    """The adapter's own command, with no bonds anywhere; the adapter is private until the end."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    bumble_central.management.forget_keys(bumble_central.index)
    bumble_central.peer.command("forget 0")
    bumble_central.peer.command("manner 0 none")
    command = Ble(f"hci{bumble_central.index}")
    command.runs = ble.runs
    command.good("adapter", "privacy", "--set", "on")
    yield command
    bumble_central.management.privacy(bumble_central.index, False)
    bumble_central.management.forget_keys(bumble_central.index)


def meet(bumble_central) -> tuple[str, str]:
    address, who = bumble_central.peer.command("meet 0").split()
    assert names.is_private(address) and address != bumble_central.address
    return address, who


def test_a_private_peripheral_is_known_again(bumble_central, ble, private):
    peer = bumble_central.peer
    arguments = ("--profile", "echo", "--access", "encrypted")
    with bumble_central.serving(ble, *arguments) as served:
        first, stranger = meet(bumble_central)
        assert stranger == first
        mark = peer.mark()
        peer.command("pair 0")
        peer.wait("paired", mark)
        served.wait("paired", bonded=True)
        peer.command("disconnect 0")
        served.wait("disconnected")
    private.good("adapter", "cycle")
    with bumble_central.serving(ble, *arguments) as served:
        second, known = meet(bumble_central)
        assert (second != first, known) == (True, bumble_central.address)
        peer.command("encrypt 0")
        assert peer.command(f"read 0 {ECHO}") == b"hello".hex()
        peer.command("disconnect 0")
        served.wait("disconnected")
        assert "paired" not in [event["event"] for event in served.events]


def test_privacy_is_not_set_below_an_advertisement(bumble_central, ble, private):
    bumble_central.management.privacy(bumble_central.index, False)
    with bumble_central.serving(ble, "--profile", "echo"):
        private.bad("adapter", "privacy", "--set", "on", status=1, says=["busy", "advertising"])
