"""What a link is like: what was asked for before connecting is in force, and is told to who may know."""

import itertools
import json
import os

import pytest

from lab import names

# Load Connection Parameters changes the next link only.
LIVE_LINKS_STAY = os.environ.get("LAB_KERNEL") == "6.1"
FIRST_PHY = None if os.environ.get("LAB_PROFILE") == "Bluetooth 5" else "1M"


def link(run) -> dict:
    """What it tells of the link; one characteristic of the device never answers, so the run as a whole fails."""
    assert run.stdout, run
    return json.loads(run.stdout.splitlines()[-1])["link"]


def test_supervision_timeouts(ble, bumble):
    """A link lives through seconds of silence, where the kernel's own would end after 420 ms; one that is lost all the
    same is named so, and made again."""
    facts = link(ble("info", names.NEAR, "--json"))
    assert facts["supervisionTimeout"] == 5.0, facts
    assert 0.03 <= facts["interval"] <= 0.05, facts
    assert facts["latency"] == 0, facts
    run = ble.start("notify", names.NEAR, "2A37", "--json")
    run.wait_lines()
    bumble.peer.command("lose")
    assert run.end().status == 1 and "supervision timeout" in run.stderr, run
    run = ble.start("notify", names.NEAR, "2A37", "--reconnect", "--json")
    run.wait_lines()
    bumble.peer.command("lose")
    run.wait_text('"gap"')
    run.wait_lines(run.stdout.count("\n") + 2)
    run.interrupt()
    assert run.end().status == 130, run


def test_a_program_asks_for_parameters(ble, bumble):
    facts = link(ble("info", names.NEAR, "--json", "--parameters", "lowPower"))
    assert facts["supervisionTimeout"] == 6.0, facts
    assert 0.1 <= facts["interval"] <= 0.125, facts
    assert facts["latency"] == 2, facts


def test_who_may_not_know_is_told_why(ble, bumble):
    run = ble.unprivileged()("info", names.NEAR, "--json", "-v")
    assert "interval" not in link(run), run
    assert "cap_net_raw" in run.stderr and "setcap" in run.stderr, run


def test_the_modulation_and_the_packets_are_known_from_the_start(ble, bumble):
    """A controller that connects in the way of Bluetooth 4 begins each link on 1M; each has packets of 27 octets at first.
    One of Bluetooth 5 may begin on another one, and this peer has 2M: that isn't known, and so isn't told."""
    run = ble.good("link", names.NEAR, "--json", "--count", "1")
    facts = link(ble("info", names.NEAR, "--json"))
    for told in run.records[0], facts:
        assert told.get("sendingPHY") == told.get("receivingPHY") == FIRST_PHY, told
        assert 27 <= told["sendingDataLength"] <= 251 and 27 <= told["receivingDataLength"] <= 251, told


def phys(run) -> list[set[str]]:
    """What the adapter can do, and what it uses, in both directions."""
    told = run.records[0]
    assert all(told[key]["sending"] == told[key]["receiving"] for key in ("supported", "selected")), run
    return [set(told[key]["sending"]) for key in ("supported", "selected")]


def test_the_adapters_modulations_are_told_and_chosen(ble, bumble):
    supported, before = phys(ble.good("adapter", "phys", "--json"))
    assert "1M" in before <= supported, (supported, before)
    others = sorted(supported - {"1M"})
    try:
        for wish in [["1M"], *[[other] for other in others]]:
            _, now = phys(ble.good("adapter", "phys", "--set", ",".join(wish), "--json"))
            assert now == {"1M", *wish}, now
            # The kernel says so to everybody, and links are made as before.
            assert phys(ble.good("adapter", "phys", "--json"))[1] == now
            ble.good("link", names.NEAR, "--count", "1")
    finally:
        ble.good("adapter", "phys", "--set", ",".join(sorted(before)))
    lacking = {"2M", "Coded"} - supported
    if lacking:
        ble.bad("adapter", "phys", "--set", ",".join(lacking), status=1, says=["doesn't support", "Leave out the unsupported"])


def test_who_may_not_choose_modulations_is_told_why(ble, bumble):
    ble.unprivileged().bad("adapter", "phys", status=1, says=["cap_net_admin", "setcap"])


def rows(run) -> list[dict]:
    """The link as it was, one change after the other; nothing but its times changes here."""
    return [row for row in run.records if "interval" in row]


@pytest.mark.skipif(LIVE_LINKS_STAY, reason="Linux before 6.11 changes no link that is up")
def test_a_live_link_is_changed_and_changed_back(ble, bumble):
    mark = bumble.peer.mark()
    wishes = [word for wish in ("balanced", "fast", "balanced", "lowPower") for word in ("--parameters", wish)]
    run = ble.good("link", names.NEAR, "--json", "--count", "4", *wishes)
    told = [row["interval"] for row in rows(run)]
    assert told[0] in (0.03, 0.05) and told[1:] == [0.015, 0.05, 0.125], run
    # What the other side of the air was told is the same.
    bumble.peer.wait("parameters", mark, interval="125.0")
    heard = [float(e.facts["interval"]) for e in bumble.peer.since(mark) if e.name == "parameters"]
    assert heard == [15.0, 50.0, 125.0], heard


@pytest.mark.skipif(not LIVE_LINKS_STAY, reason="later kernels change it")
def test_a_live_link_that_the_kernel_leaves_alone_is_told_of(ble, bumble):
    wishes = ["--parameters", "balanced", "--parameters", "fast"]
    ble.bad("link", names.NEAR, "--count", "2", *wishes, status=1, says=["6.11"])


@pytest.mark.skipif(LIVE_LINKS_STAY, reason="Linux before 6.11 changes no link that is up")
@pytest.mark.parametrize("interval", ["7.5", "1000"])
def test_a_peripheral_that_leaves_the_limits_is_brought_back(interval, ble, bumble):
    run = ble.start("link", names.NEAR, "--json", "--count", "3", "--limits", "15..100")
    run.wait_lines(1)
    mark = bumble.peer.mark()
    bumble.peer.command("ask", interval)
    bumble.peer.wait("parameters", mark, interval=str(float(interval)))
    bumble.peer.wait("parameters", mark, interval="50.0")
    run.end()
    told = rows(run)
    assert [row["interval"] for row in told[1:]] == [float(interval) / 1000, 0.05], run
    assert told[1]["corrections"] == 1 and not told[1]["insists"], run
    assert "corrections" not in told[2], run


@pytest.mark.skipif(LIVE_LINKS_STAY, reason="Linux before 6.11 changes no link that is up")
def test_a_peripheral_that_insists_is_let_be(ble, bumble):
    run = ble.start("link", names.NEAR, "--json", "--limits", "15..100")
    run.wait_lines(1)
    mark = bumble.peer.mark()
    bumble.peer.command("ask", "1000", "10")
    run.wait_text('"insists":true')
    run.interrupt()
    assert run.end().status == 130, run
    # What it asks for may meet the correction on its way: then that is told of in two rows, with two timeouts.
    told = [row for row, _ in itertools.groupby((row["interval"], row.get("insists")) for row in rows(run))]
    assert [insists for _, insists in told] == [None, False, None, False, None, False, None, True], run
    assert [interval for interval, _ in told[1:]] == [1.0, 0.05, 1.0, 0.05, 1.0, 0.05, 1.0], run
    assert [row["corrections"] for row in rows(run) if "insists" in row] == [1, 2, 3, 3], run
    asked = [event for event in bumble.peer.since(mark) if event.name == "asking"]
    assert len(asked) == 4, asked


@pytest.mark.skipif(not LIVE_LINKS_STAY, reason="later kernels change it")
def test_limits_that_the_kernel_can_not_keep_are_told_of(ble, bumble):
    run = ble.start("link", names.NEAR, "--json", "--count", "3", "--limits", "15..100")
    run.wait_lines(1)
    bumble.peer.command("ask", "1000")
    run.end()
    assert rows(run)[-1]["insists"] and "6.11" in run.stderr, run
