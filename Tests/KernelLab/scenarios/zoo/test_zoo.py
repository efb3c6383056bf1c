"""Each profile of the zoo × each job: green, or the reason in words that the command prints, as the table has it."""

from __future__ import annotations

import json
import os

import pytest

from lab import names
from lab.ble import Ble
from lab.jobs import JOBS, Job, introduce
from lab.reasons import reason_for
from lab.world import OUT, BumbleWorld
from peers import zoo

KERNEL = os.environ.get("LAB_KERNEL", "")
# What has most to lose by a change of ours, for every run; the rest is for a run on request.
ESSENTIAL = {
    ("Bluetooth 5", "connect while scanning"),
    ("Bluetooth 5", "serve"),
    ("1 buffer", "connect"),
    ("legacy", "pair"),
    ("legacy", "connect while scanning"),
}


def chosen() -> list[zoo.Profile]:
    """All profiles, or those of this guest's part."""
    number, _, count = os.environ.get("LAB_PART", "").partition("/")
    return zoo.profiles()[int(number) :: int(count)] if count else zoo.profiles()


def cells():
    for profile in chosen():
        for job in JOBS:
            if profile.is_peer and job == "serve":
                continue  # there the peer is a central
            marks = [pytest.mark.essential] if (profile.name, job) in ESSENTIAL else []
            yield pytest.param(profile.name, job, marks=marks, id=f"{profile.name}-{job}".replace(" ", "_"))


@pytest.fixture(scope="module")
def worlds():
    """The world of the profile that was asked for last: there is one at a time."""
    kept: dict[str, BumbleWorld] = {}

    def get(profile: str) -> BumbleWorld:
        if profile not in kept:
            for other in list(kept):
                kept.pop(other).stop()
            kept[profile] = BumbleWorld(profile)
        return kept[profile]

    yield get
    for world in kept.values():
        world.stop()


@pytest.fixture
def job(profile, worlds, request, tmp_path, monkeypatch):
    """A job about to begin: nobody is connected or paired, and the profile does what it does before each."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    world = worlds(profile)
    # Two hundred advertisers fill the socket meanwhile, and an answer has no room behind them.
    world.management.forget_events()
    for index in world.management.indices():
        world.management.power(index, True)
    world.management.disconnect_all(world.index)
    world.management.unpair(world.index, names.NEAR)
    world.peer.command("forget")
    world.peer.command("reset")
    command = Ble(world.adapter)
    job = Job(command, world)
    request.node.world, request.node.ble, world.mark = world, command, world.peer.mark()
    yield job
    with (OUT / "ble.log").open("a") as log:
        print(f"# {request.node.name}", file=log)
        for run in command.runs:
            run.kill()
            print(run, file=log)


def record(profile: str, job: str, result: str, words: str = "") -> None:
    with (OUT / "zoo.jsonl").open("a") as file:
        facts = dict(kernel=KERNEL, profile=profile, job=job, result=result, words=words)
        print(json.dumps(facts), file=file)


def message(run, words: tuple[str, ...]) -> str:
    """What the command has said to a person with those words; else what it has said last."""
    said = [line.removeprefix("ble: ") for line in run.stderr.splitlines() if line.startswith("ble: ")]
    fitting = [line for line in said if words and all(word in line for word in words)]
    return next(iter(fitting or said[-1:]), run.stderr.strip())


@pytest.mark.parametrize(("profile", "name"), list(cells()))
def test_cell(profile, name, job):
    expected = reason_for(profile, name, KERNEL)
    try:
        if job.world.profile.meets_identity:
            introduce(job)
        job.peer.command("stage")
        JOBS[name](job)
    except AssertionError as error:
        run = job.ble.runs[-1] if job.ble.runs else None
        said = message(run, expected or ()) if run else ""
        # What goes on for ever says so, too, and is to be waited for by nobody.
        if expected and run.status in (1, None) and all(word in said for word in expected):
            record(profile, name, "reason", said)
            return
        record(profile, name, "red", said or str(error).splitlines()[0])
        raise
    record(profile, name, "green")
    assert not expected, f"it works now: the reason is to be taken out: {expected}"
