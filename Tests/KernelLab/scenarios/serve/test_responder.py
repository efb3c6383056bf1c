"""Bumble as a central that pairs with `ble serve`, alone and beside bluetoothd."""

import pytest

from lab.neighbour import Neighbour

ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"
PASSKEY = "062481"
# With and without LE Secure Connections.
manners = pytest.mark.parametrize("words", ["", " legacy"], ids=["secure", "legacy"])


@pytest.fixture
def strangers(bumble_central, tmp_path, monkeypatch):
    """No bonds anywhere; answers what the central is told by."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    bumble_central.management.forget_keys(bumble_central.index)
    bumble_central.peer.command("forget 0")
    bumble_central.peer.command("manner 0 none")
    yield bumble_central.peer
    bumble_central.management.forget_keys(bumble_central.index)


@pytest.fixture
def neighbour(bumble_central, strangers):
    """A bluetoothd on the same adapter, once it is started."""
    neighbour = Neighbour(bumble_central.management, bumble_central.index)
    yield neighbour
    neighbour.stop()


def connect(world) -> int:
    world.peer.command(f"connect 0 {world.address}")
    return world.peer.mark()


def pair(peer, mark, served, **facts) -> None:
    """Where nobody at a terminal is asked."""
    peer.command("pair 0")
    peer.wait("paired", mark)
    served.wait("paired", **facts)


def leave(peer, served) -> None:
    peer.command("disconnect 0")
    served.wait("disconnected")


def refused(peer) -> None:
    with pytest.raises(AssertionError, match="INSUFFICIENT"):
        peer.command(f"read 0 {ECHO}")


def may_read(peer) -> None:
    assert peer.command(f"read 0 {ECHO}") == b"hello".hex()


@manners
def test_just_works_without_anybody_else(bumble_central, ble, strangers, words):
    peer = strangers
    peer.command(f"manner 0 none{words}")
    with bumble_central.serving(ble, "--profile", "echo", "--access", "encrypted") as served:
        mark = connect(bumble_central)
        refused(peer)
        pair(peer, mark, served, bonded=True, authenticated=False)
        may_read(peer)
        leave(peer, served)


@manners
def test_a_bond_outlives_the_program_and_the_kernel(bumble_central, ble, strangers, words):
    peer = strangers
    peer.command(f"manner 0 none{words}")
    with bumble_central.serving(ble, "--profile", "echo", "--access", "encrypted") as served:
        mark = connect(bumble_central)
        pair(peer, mark, served)
        leave(peer, served)
    bumble_central.management.forget_keys(bumble_central.index)
    with bumble_central.serving(ble, "--profile", "echo", "--access", "encrypted") as served:
        connect(bumble_central)
        refused(peer)
        peer.command("encrypt 0")
        may_read(peer)
        leave(peer, served)
        assert "paired" not in [event["event"] for event in served.events]
    assert len(ble.good("bonds", "--json").records) == 1


@manners
def test_a_passkey_that_we_show(bumble_central, ble, strangers, words):
    peer = strangers
    peer.command(f"manner 0 enters{words}")
    arguments = ("--profile", "echo", "--access", "authenticated")
    with bumble_central.serving(ble, *arguments, at_terminal=True) as served:
        mark = connect(bumble_central)
        refused(peer)
        peer.command("pair 0")
        served.run.wait_question(" on the central.")
        peer.command(f"types 0 {served.run.stderr.split('Type ')[1][:6]}")
        peer.wait("paired", mark)
        served.wait("paired", bonded=True, authenticated=True)
        may_read(peer)


@manners
@pytest.mark.parametrize("is_headless", [False, True], ids=["person", "headless"])
def test_a_passkey_that_the_central_shows(bumble_central, ble, strangers, words, is_headless):
    peer = strangers
    peer.command(f"manner 0 shows {PASSKEY}{words}")
    arguments = ["--profile", "echo", "--access", "authenticated"] + (["--passkey", PASSKEY] if is_headless else [])
    with bumble_central.serving(ble, *arguments, at_terminal=not is_headless) as served:
        mark = connect(bumble_central)
        refused(peer)
        peer.command("pair 0")
        if not is_headless:
            served.run.wait_question("shows (")
            served.run.type(PASSKEY)
        peer.wait("paired", mark)
        served.wait("paired", authenticated=True)
        may_read(peer)
        assert PASSKEY not in served.run.stdout


def test_nobody_may_pair(bumble_central, ble, strangers):
    peer = strangers
    with bumble_central.serving(ble, "--profile", "echo", "--no-pairing") as served:
        mark = connect(bumble_central)
        peer.command("pair 0")
        peer.wait("unpaired", mark)
        served.wait("pairing failed", reason="refused")
        may_read(peer)
    assert ble.good("bonds", "--json").records == []


def test_just_works_replaces_no_bond_that_somebody_made_sure_of(bumble_central, ble, strangers):
    """Anybody may claim the central's address."""
    peer = strangers
    peer.command(f"manner 0 shows {PASSKEY}")
    with bumble_central.serving(ble, "--profile", "echo", "--passkey", PASSKEY) as served:
        mark = connect(bumble_central)
        pair(peer, mark, served, authenticated=True)
        leave(peer, served)
        peer.command("forget 0")
        peer.command("manner 0 none")
        mark = connect(bumble_central)
        peer.command("pair 0")
        peer.wait("unpaired", mark)
        served.wait("pairing failed", reason="wouldWeakenBond")


def test_the_adapter_is_left_as_it_was(bumble_central, ble, strangers):
    """What a pairing needs is switched on for as long as the peripheral is served."""
    management, index = bumble_central.management, bumble_central.index
    before = management.settings(index)
    with bumble_central.serving(ble, "--profile", "echo"):
        assert management.settings(index) & 1 << 4
    assert management.settings(index) == before


@manners
def test_just_works_beside_bluetoothd(bumble_central, ble, strangers, neighbour, words):
    """It has no agent, and would say no: so it asks us."""
    peer = strangers
    neighbour.start()
    peer.command(f"manner 0 none{words}")
    with bumble_central.serving(ble, "--profile", "echo", "--access", "encrypted") as served:
        mark = connect(bumble_central)
        refused(peer)
        pair(peer, mark, served, bonded=True)
        may_read(peer)
        leave(peer, served)
    neighbour.daemon.wait_line("unregister_agent")


@manners
def test_a_passkey_beside_bluetoothd(bumble_central, ble, strangers, neighbour, words):
    peer = strangers
    neighbour.start()
    peer.command(f"manner 0 shows {PASSKEY}{words}")
    arguments = ("--profile", "echo", "--access", "authenticated", "--passkey", PASSKEY)
    with bumble_central.serving(ble, *arguments) as served:
        mark = connect(bumble_central)
        pair(peer, mark, served, authenticated=True)
        may_read(peer)
        leave(peer, served)
    neighbour.daemon.wait_line("Calling Agent.RequestPasskey")


@pytest.mark.parametrize("is_replaced", [False, True], ids=["gone", "replaced"])
def test_a_bluetoothd_that_is_killed_while_a_person_is_asked(bumble_central, ble, strangers, neighbour, is_replaced):
    """It has passed the question on, and nobody is there for the answer: the kernel gets it."""
    peer = strangers
    neighbour.start()
    peer.command(f"manner 0 shows {PASSKEY}")
    with bumble_central.serving(ble, "--profile", "echo", at_terminal=True) as served:
        mark = connect(bumble_central)
        peer.command("pair 0")
        served.run.wait_question("shows (")
        neighbour.daemon.wait_line("Calling Agent.RequestPasskey")
        neighbour.crash()
        if is_replaced:
            neighbour.start()
            neighbour.daemon.wait_line("Default agent set to")
        served.run.type(PASSKEY)
        peer.wait("paired", mark)
        served.wait("paired", authenticated=True)
        leave(peer, served)


def test_numbers_are_compared_beside_bluetoothd(bumble_central, ble, strangers, neighbour):
    peer = strangers
    neighbour.start()
    peer.command("manner 0 compares")
    with bumble_central.serving(ble, "--profile", "echo", at_terminal=True) as served:
        mark = connect(bumble_central)
        peer.command("pair 0")
        number = peer.wait("asked", mark, what="comparison").facts["number"]
        served.run.wait_question(f"show {number}? (y/n)")
        peer.command("types 0 yes")
        served.run.type("y")
        peer.wait("paired", mark)
        served.wait("paired", authenticated=True)
        leave(peer, served)
    neighbour.daemon.wait_line("Calling Agent.RequestConfirmation")


def test_a_bluetoothd_that_starts_later_asks_us_too(bumble_central, ble, strangers, neighbour):
    peer = strangers
    with bumble_central.serving(ble, "--profile", "echo", "--access", "encrypted") as served:
        neighbour.start()
        neighbour.daemon.wait_line("Default agent set to")
        served.take(bumble_central)
        mark = peer.mark()
        pair(peer, mark, served, bonded=True)
        may_read(peer)
        leave(peer, served)
