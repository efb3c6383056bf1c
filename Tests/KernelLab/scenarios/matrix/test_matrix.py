"""Who can do what × who can do what × legacy pairing or Secure Connections × what becomes of it, in both roles, alone and
beside a bluetoothd."""

from __future__ import annotations

import json
import os
from itertools import groupby

import pytest

from lab.ble import Ble
from lab.meetings import meeting
from lab.neighbour import Neighbour
from lab.pairing import ACCEPTED, ALONE, NEIGHBOURS, ROLES, Cell, cells, expected
from lab.world import OUT, BumbleWorld

KERNEL = os.environ.get("LAB_KERNEL", "")
# For every run: each method in each role, the claims that no other scenario makes, and what is told of failures.
ESSENTIAL = {
    ("central", "display", "keyboard", "secure", "link dropped"),
    ("central", "display", "keyboard", "secure", ACCEPTED),
    ("central", "yes-no", "yes-no", "legacy", ACCEPTED),
    ("central", "keyboard", "keyboard", "legacy", ACCEPTED),
    ("central", "all", "yes-no", "secure", "refused there"),
    ("central", "all", "yes-no", "secure", "refused here"),
    ("central", "all", "yes-no", "secure", ACCEPTED),
    ("central", "all", "all", "legacy", ACCEPTED),
    ("peripheral", "keyboard", "keyboard", "secure", ACCEPTED),
    ("peripheral", "all", "yes-no", "secure", "refused there"),
    ("peripheral", "all", "yes-no", "secure", "refused here"),
    ("peripheral", "all", "yes-no", "secure", ACCEPTED),
    ("peripheral", "all", "keyboard", "secure", "wrong"),
    ("peripheral", "all", "keyboard", "legacy", "wrong"),
    ("peripheral", "all", "all", "legacy", ACCEPTED),
}


def chosen():
    """All cells, or those of this guest's part, of which each has some of what one run of `ble serve` claims."""
    number, _, count = os.environ.get("LAB_PART", "").partition("/")
    every = [cell for beside in NEIGHBOURS for role in ROLES for cell in cells(role, beside)]
    groups = [list(group) for _, group in groupby(every, lambda cell: (cell.beside, cell.role, cell.here))]
    for group in groups[int(number) :: int(count)] if count else groups:
        yield from group


def params():
    for cell in chosen():
        is_essential = (cell.role, cell.here, cell.there, cell.security, cell.outcome) in ESSENTIAL
        marks = [pytest.mark.essential] if is_essential and cell.beside == ALONE else []
        yield pytest.param(cell, marks=marks, id=f"{cell.beside}-{cell.role}-{cell.name}".replace(" ", "_"))


class Place:
    """The adapter, those who meet there, and who else is there at the moment."""

    def __init__(self):
        self.world = BumbleWorld()
        self.world.peer.command("hasten 0.1")
        self.meetings = {role: meeting(role, Ble(self.world.adapter), self.world) for role in ROLES}
        self.beside = ALONE
        self.neighbour: Neighbour | None = None

    def have(self, beside: str) -> None:
        if beside == self.beside:
            return
        self.have_nobody()
        if beside != ALONE:
            self.neighbour = Neighbour(self.world.management, self.world.index)
            self.neighbour.start()
            if beside != NEIGHBOURS[1]:
                self.neighbour.register_agent()
        self.beside = beside

    def have_nobody(self) -> None:
        self.meetings["peripheral"].stop()
        if self.neighbour:
            self.neighbour.stop()
        self.neighbour = None

    def stop(self) -> None:
        self.have_nobody()
        self.world.stop()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    place = Place()
    yield place
    place.stop()
    patch.undo()


@pytest.mark.parametrize("cell", list(params()))
def test_cell(cell: Cell, place, request):
    place.have(cell.beside)
    held = place.meetings[cell.role]
    request.node.world, request.node.ble = held.world, held.ble
    held.world.mark = held.world.peer.mark()
    if cell.role == "central":
        place.meetings["peripheral"].stop()
        held.ble.runs.clear()
    try:
        result = held.hold(cell)
    finally:
        with (OUT / "ble.log").open("a") as log:
            print(f"# {request.node.name}", *held.ble.runs[-1:], sep="\n", file=log)
    with (OUT / "matrix.jsonl").open("a") as file:
        facts = vars(cell) | dict(kernel=KERNEL, method=cell.method, asked=held.observed, result=result)
        print(json.dumps(facts), file=file)
    assert result == expected(cell)
    if cell.outcome == ACCEPTED:
        assert held.observed == (cell.asks_here, cell.asks_there)
