"""Somebody who hears all of a pairing. The emulated controllers don't encrypt what is on the air, but they are given the keys to
do so: whether a listener has such a key from what was said alone is what is shown here."""

import pytest

from lab import names

# One that comes early: an emulated machine tries a thousand in a second.
PASSKEY, TRIED = "002481", "10000"


@pytest.fixture
def listener(bumble, tmp_path, monkeypatch):
    """Hears what is said from now on; no bonds anywhere."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    bumble.peer.command("listen")
    yield bumble.peer
    bumble.peer.command("manner none")
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


def ciphered(listener) -> list[str]:
    return listener.command("ciphered").split(",")


@pytest.mark.parametrize(
    ("manner", "options", "count"),
    [
        pytest.param("none legacy", (), "", marks=pytest.mark.essential, id="just works"),
        pytest.param(f"shows {PASSKEY} legacy", ("--passkey", PASSKEY), TRIED, id="passkey"),
    ],
)
def test_a_listener_has_the_key_of_a_legacy_pairing(ble, listener, manner, options, count):
    """With a passkey it tries them all. `ble` doesn't take such a link for one of LE Secure Connections."""
    listener.command(f"manner {manner}")
    ble.good("pair", names.NEAR, *options, "--json")
    key = listener.command(f"undo {count}".strip())
    assert key and key == ciphered(listener)[0]
    again = ("read", names.NEAR, names.SECRET, "--secure", "secureConnections", *options)
    ble.bad(*again, status=1, says=["could not be made authenticated by LE Secure Connections"])


@pytest.mark.parametrize(
    ("manner", "options"),
    [("none", ()), (f"shows {PASSKEY}", ("--passkey", PASSKEY))],
    ids=["just works", "passkey"],
)
def test_a_listener_has_no_key_of_secure_connections(ble, listener, manner, options):
    """Neither is it said, nor does what undoes a legacy pairing find anything; and no legacy pairing is agreed to."""
    listener.command(f"manner {manner}")
    ble.good("pair", names.NEAR, *options, "--json")
    keys = ciphered(listener)
    assert keys[0] and listener.command(f"undo {TRIED}") == ""
    overheard = listener.command("overheard")
    backwards = [bytes.fromhex(key)[::-1].hex() for key in keys]
    assert overheard and not [key for key in keys + backwards if key in overheard]
