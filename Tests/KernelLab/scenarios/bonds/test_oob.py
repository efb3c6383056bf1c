"""Pairing by what the two devices have told each other by other means than Bluetooth. LE Secure Connections alone: the
kernel refuses the values of legacy pairing (net/bluetooth/mgmt.c, add_remote_oob_data)."""

import pytest

from lab import names


@pytest.fixture
def strangers(bumble, tmp_path, monkeypatch):
    """No bonds anywhere, before and after, and nothing told."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield
    bumble.peer.command("manner none")
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


def pairs(ble, *arguments) -> bool:
    record = ble.good("pair", names.NEAR, *arguments, "--json").records[-1]
    assert record["encrypted"]
    return record["authenticated"]


def values(data: str) -> list[str]:
    """The two secrets in out-of-band data."""
    return [data[data.index("1122") + 4 :][:32], data[data.index("1123") + 4 :][:32]]


def test_what_the_peripheral_has_told(ble, bumble, strangers):
    data = bumble.peer.command("share")
    assert pairs(ble, "--oob", data)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    said = "".join(run.stdout + run.stderr for run in ble.runs)
    assert not [value for value in values(data) if value in said]


def test_what_is_told_holds_no_more_once_it_is_told_anew(ble, bumble, strangers):
    data = bumble.peer.command("share")
    bumble.peer.command("share")
    words = "out-of-band data is another device's or out of date"
    run = ble.bad("pair", names.NEAR, "--oob", data, status=1, says=[words])
    assert not [value for value in values(data) if value in run.stderr]
    assert ble.good("bonds", "--json").records == []
    # The kernel has forgotten it too.
    bumble.peer.command("manner none")
    assert not pairs(ble)


@pytest.fixture
def simple(bumble, strangers):
    """A controller that has classic Bluetooth's Secure Simple Pairing: the kernel makes out-of-band data for no other."""
    switch(bumble, "on")
    yield
    switch(bumble, "off")


def switch(bumble, state: str) -> None:
    bumble.peer.command(f"simple {state}")
    bumble.management.power(bumble.index, False)
    bumble.management.power(bumble.index, True)


def test_a_controller_for_which_the_kernel_makes_none(ble, bumble, strangers):
    ble.bad("oob", status=1, says=["not supported", "Secure Simple Pairing"])


@pytest.mark.parametrize("both", [False, True], ids=["ours", "both"])
def test_what_we_have_told(ble, bumble, simple, both):
    told = ble.good("oob", "--json").records[-1]
    assert told["address"] == names.CENTRAL
    bumble.peer.command(f"hear {told['oob']}")
    assert pairs(ble, *(["--oob", bumble.peer.command("share")] if both else []))
