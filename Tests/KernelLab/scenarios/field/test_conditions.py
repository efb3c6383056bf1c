"""What a link is like: what was asked for before connecting is in force, and is told to who may know."""

import json

from lab import names


def link(run) -> dict:
    """What it tells of the link; one characteristic of the device never answers, so the run as a whole fails."""
    assert run.stdout, run
    return json.loads(run.stdout.splitlines()[-1])["link"]


def test_a_link_lives_through_seconds_of_silence(ble, bumble):
    facts = link(ble("info", names.NEAR, "--json"))
    assert facts["supervisionTimeout"] == 5.0, facts
    assert 0.03 <= facts["interval"] <= 0.05, facts
    assert facts["latency"] == 0, facts


def test_a_program_asks_for_parameters(ble, bumble):
    facts = link(ble("info", names.NEAR, "--json", "--parameters", "lowPower"))
    assert facts["supervisionTimeout"] == 6.0, facts
    assert 0.1 <= facts["interval"] <= 0.125, facts
    assert facts["latency"] == 2, facts


def test_who_may_not_know_is_told_why(ble, bumble):
    run = ble.unprivileged()("info", names.NEAR, "--json", "-v")
    assert "interval" not in link(run), run
    assert "cap_net_raw" in run.stderr and "setcap" in run.stderr, run
