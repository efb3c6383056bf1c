"""Security on demand: what turns out to need a more secure link has it made so, once, where somebody answers."""

import pytest

from lab import names

PASSKEY = "062481"
# With and without LE Secure Connections.
manners = pytest.mark.parametrize("words", ["", " legacy"], ids=["secure", "legacy"])

# Requests of the Attribute Protocol, but for the exchange of the MTU.
REQUESTS = {f"0x{opcode:02x}" for opcode in range(0x04, 0x1A, 2)}
READ = "0x0a"


@pytest.fixture
def strangers(bumble, tmp_path, monkeypatch):
    """No bonds anywhere, before and after."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield
    bumble.peer.command("manner none")
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


def read(ble, *options):
    return ble.good("read", names.NEAR, names.SECRET, "--json", *options)


def needed(bumble):
    """The requests up to the last Read. Those behind it confirm the services, as far as the program's end lets them."""
    codes = [code for code in bumble.peer.command("requests").split(",") if code in REQUESTS]
    return codes[: len(codes) - codes[::-1].index(READ)]


def bonds(ble):
    return [bond["address"] for bond in ble.good("bonds", "--json").records]


@pytest.mark.main_job
@manners
def test_a_person_is_asked_when_a_value_needs_it(ble, bumble, strangers, words):
    """Read without a pairing before it; the next run asks nobody, and needs no more requests than for an open value."""
    bumble.peer.command(f"manner shows {PASSKEY}{words}")
    run = ble.start_at_terminal("read", names.NEAR, names.SECRET, "--json")
    run.wait_question("shows (")
    run.type(PASSKEY)
    run.end()
    assert run.status == 0 and run.values == [names.SECRET_BYTES], run
    bumble.peer.command("requests")
    assert ble.good("read", names.NEAR, names.READ_ONLY, "--json").values == [names.READ_ONLY_BYTES]
    unprotected = needed(bumble)
    run = ble.start_at_terminal("read", names.NEAR, names.SECRET, "--json").end()
    assert run.status == 0 and run.values == [names.SECRET_BYTES] and "shows (" not in run.stderr, run
    protected = needed(bumble)
    assert protected == unprotected, (protected, unprotected)


@manners
def test_without_a_terminal_by_an_option(ble, bumble, strangers, words):
    bumble.peer.command(f"manner shows {PASSKEY}{words}")
    run = read(ble, "--passkey", PASSKEY, "-v")
    assert run.values == [names.SECRET_BYTES] and PASSKEY not in run.stdout + run.stderr
    assert read(ble).values == [names.SECRET_BYTES]


def test_just_works_where_it_is_allowed(ble, bumble, strangers):
    run = read(ble, "--just-works")
    assert run.values == [names.SECRET_BYTES] and "ble unpair" in run.stderr
    assert bonds(ble) == [names.NEAR]


def test_without_a_terminal_it_is_refused_plainly(ble, bumble, strangers):
    ble.bad("read", names.NEAR, names.SECRET, status=1, says=["ble pair", "--passkey", "--just-works"])
    assert bonds(ble) == []


def test_a_wrong_passkey_is_told_with_the_read(ble, bumble, strangers):
    bumble.peer.command(f"manner shows {PASSKEY}")
    run = ble.bad("read", names.NEAR, names.SECRET, "--passkey", "123450", status=1, says=["read", "passkey"])
    assert "123450" not in run.stderr
    assert bonds(ble) == []


def test_a_person_who_refuses_is_asked_once(ble, bumble, strangers):
    bumble.peer.command(f"manner shows {PASSKEY}")
    run = ble.start_at_terminal("read", names.NEAR, names.SECRET)
    run.wait_question("shows (")
    run.type("")
    run.end()
    assert run.status == 1 and "refused" in run.stderr and run.stderr.count("shows (") == 1, run


def test_a_bond_that_is_gone_on_the_other_side(ble, bumble, strangers):
    """Is an error, and nothing is paired again, also where that would ask nobody."""
    read(ble, "--just-works")
    bumble.peer.command("forget")
    for _ in range(2):
        ble.bad("read", names.NEAR, names.SECRET, "--just-works", status=1, says=["no longer has the keys", "ble unpair"])
    assert bonds(ble) == [names.NEAR]
    ble.good("unpair", names.NEAR)
    assert read(ble, "--just-works").values == [names.SECRET_BYTES]


@manners
def test_a_bond_without_a_passkey_is_made_better(ble, bumble, strangers, words):
    """On a link that is encrypted already; the kernel's own command for pairing refuses that."""
    bumble.peer.command(f"manner none{words}")
    read(ble, "--just-works")
    bumble.peer.command(f"manner shows {PASSKEY}{words}")
    bumble.peer.command("guard secret authenticated")
    assert read(ble, "--passkey", PASSKEY, "-v").values == [names.SECRET_BYTES]
    # Encrypted with the new keys from the start, and nobody is asked.
    assert read(ble).values == [names.SECRET_BYTES]
    bumble.management.forget_keys(bumble.index)
    assert read(ble).values == [names.SECRET_BYTES]


def test_a_better_bond_that_is_worse_in_another_way(ble, bumble, strangers):
    """Who listens to a legacy pairing can work out its keys, with a passkey too: not in place of LE Secure Connections."""
    read(ble, "--just-works")
    bumble.peer.command(f"manner shows {PASSKEY} legacy")
    bumble.peer.command("guard secret authenticated")
    ble.bad("read", names.NEAR, names.SECRET, "--passkey", PASSKEY, status=1, says=["no LE Secure Connections", "ble unpair"])
    assert bonds(ble) == [names.NEAR]


def test_a_bond_is_kept_where_no_better_one_comes_of_it(ble, bumble, strangers):
    read(ble, "--just-works")
    bumble.peer.command(f"manner shows {PASSKEY}")
    bumble.peer.command("guard secret authenticated")
    ble.bad("read", names.NEAR, names.SECRET, "--passkey", "123450", status=1, says=["passkey"])
    bumble.peer.command("guard secret encrypted")
    assert read(ble).values == [names.SECRET_BYTES]


def test_a_person_refuses_a_better_bond(ble, bumble, strangers):
    """Whoever refuses here loses neither the link nor the bond."""
    read(ble, "--just-works")
    bumble.peer.command(f"manner shows {PASSKEY}")
    bumble.peer.command("guard secret authenticated")
    mark = bumble.peer.mark()
    run = ble.start_at_terminal("read", names.NEAR, names.SECRET)
    run.wait_question("shows (")
    run.type("")
    run.end()
    assert run.status == 1 and "refused" in run.stderr and "it is encrypted" in run.stderr, run
    bumble.wait_silence()
    assert [event.facts["reason"] for event in bumble.peer.since(mark, "disconnected")] == ["0x13"]
    bumble.peer.command("guard secret encrypted")
    assert read(ble).values == [names.SECRET_BYTES]


def test_a_level_is_demanded(ble, bumble, strangers):
    """And what was reached is named where it can't be had."""
    ble.bad(
        "read", names.NEAR, names.VALUE, "--secure", "authenticated", "--passkey", PASSKEY,
        status=1, says=["it is encrypted", "could not be made authenticated"],
    )
    ble.good("unpair", names.NEAR)
    bumble.peer.command("forget")
    bumble.peer.command(f"manner shows {PASSKEY} legacy")
    demand = ("read", names.NEAR, names.VALUE, "--passkey", PASSKEY, "--secure")
    ble.good(*demand, "authenticated")
    ble.bad(*demand, "secureConnections", status=1, says=["it is authenticated"])
    ble.good("unpair", names.NEAR)
    bumble.peer.command("forget")
    bumble.peer.command(f"manner shows {PASSKEY}")
    ble.good(*demand, "secureConnections")
    ble.good("read", names.NEAR, names.VALUE, "--secure", "secureConnections")


def test_a_protected_stream(ble, bumble, strangers):
    bumble.peer.command("guard beats encrypted")
    run = ble.good("notify", names.NEAR, names.HEART_RATE_MEASUREMENT, "--count", "2", "--just-works", "--json")
    assert len(run.values) == 2
    # A link that is lost is made again, encrypted by the bond, and subscribed to.
    run = ble.start("notify", names.NEAR, names.HEART_RATE_MEASUREMENT, "--reconnect", "--json", "-v")
    run.wait_lines(2)
    bumble.peer.command("drop")
    run.wait_text('"gap"')
    lines = len(run.stdout.splitlines())
    run.wait_lines(lines + 2)
    run.interrupt()
    assert run.end().status == 130, run


def test_a_link_that_is_lost_while_somebody_is_asked(ble, bumble, strangers):
    bumble.peer.command(f"manner shows {PASSKEY}")
    run = ble.start_at_terminal("read", names.NEAR, names.SECRET)
    run.wait_question("shows (")
    bumble.peer.command("drop")
    assert run.end().status == 1, run
    assert bonds(ble) == []


def test_broken_off_while_somebody_is_asked(ble, bumble, strangers):
    bumble.peer.command(f"manner shows {PASSKEY}")
    run = ble.start_at_terminal("read", names.NEAR, names.SECRET)
    run.wait_question("shows (")
    run.interrupt()
    assert run.end().status == 130, run
    bumble.wait_silence()
    assert bonds(ble) == [] and names.NEAR not in bumble.management.keys(bumble.index)
