"""Somebody in the middle: it pairs with each of two devices in the other one's name, by each method, and hands on what is read.

NEAR is the face that it shows to `ble`. Who is meant is elsewhere, out of reach, with the same address (peers/elsewhere.py).
"""

import pytest

from lab import names
from lab.served import Served

# What is on the display of the one who is meant, and what somebody in the middle guesses.
SHOWN, GUESSED = "062481", "555555"
# Each method by Secure Connections is enough for every run; `run --only threats` has all of it.
SECURE = pytest.param("", marks=pytest.mark.essential, id="secure")
manners = pytest.mark.parametrize("words", [SECURE, pytest.param(" legacy", id="legacy")])


@pytest.fixture
def middle(bumble, tmp_path, monkeypatch):
    """Has a link with the one who is meant, and no bonds with anybody."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    bumble.peer.command("elsewhere central meet")
    bumble.peer.command("elsewhere relay")
    yield Middle(bumble)
    bumble.peer.command("elsewhere own")
    bumble.peer.command("elsewhere central leave")
    bumble.peer.command("elsewhere peripheral manner none")
    bumble.peer.command("elsewhere central manner none")
    bumble.peer.command("elsewhere central forget")
    bumble.peer.command("manner none")
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


class Middle:
    def __init__(self, bumble):
        self.bumble, self.peer = bumble, bumble.peer
        self.mark = self.peer.mark()

    def stand(self, face: str, meant: str, other_face: str) -> None:
        """How it shows itself to `ble`, how the one who is meant pairs, and how it shows itself to that one."""
        self.peer.command(f"manner {face}")
        self.peer.command(f"elsewhere peripheral manner {meant}")
        self.peer.command(f"elsewhere central manner {other_face}")

    def pair_elsewhere(self) -> None:
        """Begins to, in the name of `ble`."""
        self.peer.command("elsewhere central pair")

    def said(self, event: str, **facts) -> dict:
        return self.peer.wait(event, self.mark, **facts).facts

    def expect_nothing(self, ble, run, reason: str) -> None:
        """The pairing has failed, says why, and leaves nothing behind."""
        assert run.status == 1 and f'"pairingFailure":"{reason}"' in run.stderr, run
        assert ble.good("bonds", "--json").records == []
        assert names.NEAR not in self.bumble.management.keys(self.bumble.index)


@manners
def test_in_the_middle_of_just_works(ble, middle, words):
    """Nobody notices: the link is encrypted, with whoever was there. It says that nobody has made sure of that."""
    middle.stand(f"none{words}", f"none{words}", f"none{words}")
    middle.pair_elsewhere()
    middle.said("paired", central="elsewhere")
    record = ble.good("pair", names.NEAR, "--json").records[-1]
    assert record["encrypted"] and not record["authenticated"]
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.FAR_SECRET_BYTES]
    assert middle.said("relayed") is not None
    # Who wants to be sure gets no value.
    run = ble.bad("read", names.NEAR, names.SECRET, "--secure", "authenticated", "--passkey", SHOWN, status=1, says=["authenticated"])
    assert names.FAR_SECRET_BYTES.hex() not in run.stdout


def test_in_the_middle_of_a_comparison(ble, middle):
    """The two displays show different numbers. Somebody who looks at both says no, and that is the end of it, on both sides."""
    middle.stand("compares", "compares", "compares")
    run = ble.start_at_terminal("pair", names.NEAR, "--json")
    number = middle.said("asked", what="comparison")["number"]
    run.wait_question(f"show {number}? (y/n)")
    middle.pair_elsewhere()
    other = middle.said("asked", what="comparison", at="elsewhere")["number"]
    assert other != number
    middle.peer.command("types yes")
    run.type("n")
    middle.expect_nothing(ble, run.end(), "refused")
    middle.peer.command("elsewhere central types yes")
    middle.peer.command("elsewhere peripheral types no")
    middle.said("unpaired", central="elsewhere")


@manners
def test_in_the_middle_of_a_passkey_that_the_peripheral_shows(ble, middle, words):
    """It would have to know what is on the display of the one who is meant, before it is entered."""
    middle.stand(f"shows {GUESSED}{words}", f"shows {SHOWN}{words}", f"enters{words}")
    middle.pair_elsewhere()
    assert middle.said("shown", at="elsewhere")["number"] == SHOWN
    run = ble.start_at_terminal("pair", names.NEAR, "--json")
    run.wait_question("shows (")
    run.type(SHOWN)
    middle.expect_nothing(ble, run.end(), "wrongPasskey")
    middle.peer.command(f"elsewhere central types {GUESSED}")
    middle.said("unpaired", central="elsewhere")


@manners
def test_in_the_middle_of_a_passkey_that_is_shown_here(ble, middle, words):
    """The person types it on the one who is meant: whoever is in the middle has no display to read it from."""
    middle.stand(f"enters{words}", f"enters{words}", f"shows {GUESSED}{words}")
    run = ble.start_at_terminal("pair", names.NEAR, "--json")
    run.wait_question(f" on {names.NEAR}.")
    shown = run.stderr.split("Type ")[1][:6]
    middle.pair_elsewhere()
    middle.said("asked", what="passkey", at="elsewhere")
    middle.peer.command(f"elsewhere peripheral types {shown}")
    middle.said("unpaired", central="elsewhere")
    middle.peer.command(f"types {GUESSED}")
    middle.expect_nothing(ble, run.end(), "wrongPasskey")


def test_in_the_middle_of_what_was_told_out_of_band(ble, middle):
    """`ble` was told by the one who is meant; whoever is in the middle has not the key that this tells of."""
    middle.stand("none", "none", "none")
    told = middle.peer.command("elsewhere peripheral share")
    middle.peer.command("share")
    run = ble("pair", names.NEAR, "--oob", told, "--json")
    middle.expect_nothing(ble, run, "wrongOutOfBandData")


# `ble` is the peripheral: the central beside it is the one face, the peripheral elsewhere the other, shown to the central that
# is meant, there.

STRANGER = "E1:F2:17:0A:0A:0A"


@pytest.fixture
def served(ble, middle):
    """`ble serve`, with the face that is a central connected to it."""
    middle.peer.command("hasten 0.1")
    run = ble.start_at_terminal("serve", "--profile", "echo", "--access", "encrypted", "--json")
    served = Served(run)
    middle.peer.command(f"central become 0 {STRANGER}")
    yield served
    middle.peer.command("central leave 0")
    served.stop()
    middle.peer.command("central manner 0 none")
    middle.peer.command("central forget 0")
    middle.bumble.management.unpair(middle.bumble.index, STRANGER)


def come(middle, served, face: str) -> None:
    middle.peer.command(f"central manner 0 {face}")
    middle.peer.command(f"central greet 0 {names.CENTRAL}")
    served.wait("connected")
    middle.peer.command("central pair 0")


def expect_no_bond(ble, middle, served, reason: str) -> None:
    served.wait("pairing failed", reason=reason)
    assert ble.good("bonds", "--json").records == []
    assert STRANGER not in middle.bumble.management.keys(middle.bumble.index)


def test_in_the_middle_of_just_works_with_a_central(ble, middle, served):
    """Nobody notices, and it says that nobody has made sure."""
    come(middle, served, "none")
    served.wait("paired", authenticated=False)


def test_in_the_middle_of_a_comparison_with_a_central(ble, middle, served):
    middle.stand("none", "compares", "compares")
    come(middle, served, "compares")
    number = middle.said("asked", what="comparison", central="0")["number"]
    served.run.wait_question(f"show {number}? (y/n)")
    middle.pair_elsewhere()
    # On the display of the central that is meant.
    assert middle.said("asked", what="comparison", central="elsewhere")["number"] != number
    middle.peer.command("central types 0 yes")
    served.run.type("n")
    expect_no_bond(ble, middle, served, "refused")


@manners
def test_in_the_middle_of_a_passkey_with_a_central(ble, middle, served, words):
    """It is shown here, and entered on the central that is meant."""
    come(middle, served, f"enters{words}")
    served.run.wait_question(" on the central.")
    middle.peer.command(f"central types 0 {GUESSED}")
    expect_no_bond(ble, middle, served, "wrongPasskey")
