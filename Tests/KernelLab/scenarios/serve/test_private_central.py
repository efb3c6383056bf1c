"""A central that hides behind private addresses, and has paired with `ble serve`, is known by its identity."""

import pytest

from lab import names

ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"
IDENTITY = "E0:00:00:00:00:00"


@pytest.fixture
def strangers(bumble_centrals, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    bumble_centrals.management.forget_keys(bumble_centrals.index)
    bumble_centrals.peer.command("forget 0")
    bumble_centrals.peer.command("manner 0 none")
    yield bumble_centrals.peer
    bumble_centrals.peer.command("unveil 0")
    bumble_centrals.management.forget_keys(bumble_centrals.index)
    bumble_centrals.management.forget_identities(bumble_centrals.index)


def test_a_private_central_comes_back_behind_another_address(bumble_centrals, ble, strangers):
    peer, arguments = strangers, ("--profile", "echo", "--access", "encrypted")
    first = peer.command("veil 0")
    assert names.is_private(first)
    with bumble_centrals.serving(ble, *arguments) as served:
        mark = peer.mark()
        peer.command(f"connect 0 {bumble_centrals.address}")
        assert served.wait("connected")["address"] == first
        peer.command("pair 0")
        peer.wait("paired", mark)
        served.wait("paired", bonded=True)
        peer.command("disconnect 0")
        served.wait("disconnected")
    assert [bond["address"] for bond in ble.good("bonds", "--json").records] == [IDENTITY]
    bumble_centrals.management.forget_keys(bumble_centrals.index)
    bumble_centrals.management.forget_identities(bumble_centrals.index)
    assert peer.command("veil 0") != first
    with bumble_centrals.serving(ble, *arguments) as served:
        peer.command(f"connect 0 {bumble_centrals.address}")
        assert served.wait("connected")["address"] == IDENTITY
        peer.command("encrypt 0")
        assert peer.command(f"read 0 {ECHO}") == b"hello".hex()
        peer.command("disconnect 0")
        served.wait("disconnected")
        assert "paired" not in [event["event"] for event in served.events]
