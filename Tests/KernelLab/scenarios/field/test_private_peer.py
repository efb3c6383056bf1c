"""A bond with a peripheral that hides behind private addresses survives their change: in scans, connects and sessions."""

import pytest

from lab import names


@pytest.fixture
def strangers(bumble, tmp_path, monkeypatch):
    """No bonds anywhere, before and after; the peripheral shows its own address again in the end."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield
    bumble.management.disconnect_all(bumble.index)
    bumble.peer.command("reset")
    bumble.peer.command("unveil")
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


def found(ble) -> str:
    return ble.good("scan", "--name-prefix", names.NEAR_NAME, "--count", "1", "--json").records[0]["address"]


def test_its_identity_is_what_is_seen_and_named(ble, bumble, strangers):
    first = bumble.peer.command("veil")
    assert names.is_private(first) and found(ble) == first
    ble.good("pair", f"{first}/random")
    bumble.peer.command("veil")
    assert found(ble) == names.NEAR
    # As after a restart of the machine: the next program has the keys, and the kernel hasn't.
    bumble.management.forget_keys(bumble.index)
    bumble.management.forget_identities(bumble.index)
    assert found(ble) == names.NEAR
    # By the identity, and by an address that it has no more.
    for name in (names.NEAR, f"{first}/random"):
        assert ble.good("read", name, names.SECRET, "--json").values == [names.SECRET_BYTES]
        bumble.wait_silence()
        bumble.peer.command("veil")


def test_a_session_goes_on_behind_another_address(ble, bumble, strangers):
    ble.good("pair", f"{bumble.peer.command('veil')}/random")
    run = ble.start("notify", names.NEAR, names.HEART_RATE_MEASUREMENT, "--reconnect", "--json")
    run.wait_lines(2)
    bumble.peer.command("advertise off")
    bumble.peer.command("drop")
    bumble.wait_silence()
    seen = len(run.stdout.splitlines())
    bumble.peer.command("veil")
    bumble.peer.command("advertise on")
    run.wait_lines(seen + 2)
    run.interrupt()
    assert run.end().status == 130, run
