"""A central that pairs with `ble serve` by what the two have told each other by other means than Bluetooth."""

import pytest

from lab.ble import Ble

ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"
# LE Bluetooth Device Address: the central's, random.
NAME = "081b" + bytes.fromhex("E00000000000")[::-1].hex() + "01"


@pytest.fixture
def strangers(bumble_centrals, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    bumble_centrals.management.forget_keys(bumble_centrals.index)
    bumble_centrals.peer.command("forget 0")
    bumble_centrals.peer.command("manner 0 none")
    # The kernel makes out-of-band data for no other controller.
    switch(bumble_centrals, "on")
    yield bumble_centrals.peer
    switch(bumble_centrals, "off")
    bumble_centrals.peer.command("manner 0 none")
    bumble_centrals.management.forget_keys(bumble_centrals.index)


def switch(world, state: str) -> None:
    world.peer.command(f"simple {state}")
    world.management.power(world.index, False)
    world.management.power(world.index, True)


@pytest.mark.parametrize("who", ["ours", "theirs", "both"])
def test_a_central_that_pairs_out_of_band(bumble_centrals, ble, strangers, who):
    peer = strangers
    arguments = ["--profile", "echo", "--access", "authenticated"]
    if who != "theirs":
        command = Ble(f"hci{bumble_centrals.index}")
        command.runs = ble.runs
        peer.command(f"hear 0 {command.good('oob', '--json').records[-1]['oob']}")
    if who != "ours":
        arguments += ["--oob", NAME + peer.command("share 0")]
    with bumble_centrals.serving(ble, *arguments) as served:
        mark = peer.mark()
        peer.command(f"connect 0 {bumble_centrals.address}")
        peer.command("pair 0")
        peer.wait("paired", mark)
        served.wait("paired", bonded=True, authenticated=True)
        assert peer.command(f"read 0 {ECHO}") == b"hello".hex()
        peer.command("disconnect 0")
        served.wait("disconnected")
