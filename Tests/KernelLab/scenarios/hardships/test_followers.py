"""Centrals that others wrote, each connected to `ble serve --resume` and subscribed to a number: its adapter goes off and on,
its controller is pulled out and put back, and it is killed and started again. After each the central has the numbers again,
every one of them."""

from __future__ import annotations

import pytest

from lab.followers import FOLLOWERS
from lab.world import OUT

NUMBERS = 8
OPTIONS = ("--resume",)


class Hardships:
    """What befalls the peripheral. Each returns when it serves again."""

    def __init__(self, place, ble, database):
        self.place, self.ble, self.options = place, ble, ("--database", database, *OPTIONS)
        self.served = place.start(ble, *self.options)
        self.rounds = 1

    def again(self) -> None:
        self.rounds += 1
        self.served.wait_count("serving", self.rounds)

    def off_and_on(self) -> None:
        self.place.management.power(self.place.index, False)
        self.served.wait_count("interrupted", self.rounds)
        self.place.management.power(self.place.index, True)
        self.again()

    def unplugged_and_plugged(self) -> None:
        place = self.place
        place.peer.command("unplug")
        self.served.wait_count("interrupted", self.rounds)
        place.peer.command("plug")
        place.index = place.management.index_of(place.address)
        place.management.power(place.index, True)
        self.again()

    def killed_and_started(self) -> None:
        self.served.run.kill()
        self.served, self.rounds = self.place.start(self.ble, *self.options), 1


HARDSHIPS = (Hardships.off_and_on, Hardships.unplugged_and_plugged, Hardships.killed_and_started)


def follow(follower, phase: str) -> str:
    """It joins, and takes numbers that follow each other."""
    before = len(follower.numbers)
    follower.join()
    numbers = follower.wait_numbers(NUMBERS, before)
    # The first may be one that the last link still brought.
    missing = [number for number in range(numbers[0], numbers[-1]) if number not in numbers]
    assert numbers == sorted(set(numbers)) and not missing, (phase, numbers, missing)
    return f"{phase} {len(numbers)} of {numbers[-1] - numbers[0] + 1}"


@pytest.mark.parametrize("name", list(FOLLOWERS))
def test_a_central_has_the_numbers_again_after_each(name, place, ble, database, request):
    kind = FOLLOWERS[name]
    if kind.needs_bluetoothd:
        request.getfixturevalue("neighbour")
        place.management.power(place.index, True)
        place.management.power(place.client, True)
    hardships = Hardships(place, ble, database)
    follower = kind(place)
    told = []
    try:
        told.append(follow(follower, "at first"))
        for hardship in HARDSHIPS:
            hardship(hardships)
            told.append(follow(follower, hardship.__name__.replace("_", " ")))
        follower.leave()
        follower.stop()
        hardships.served.stop()
    finally:
        follower.stop()
        hardships.served.run.kill()
        with (OUT / "report").open("a") as report:
            print(f"{name}: {', '.join(told)}", file=report)
