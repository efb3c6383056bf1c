"""`ble serve` killed without a chance to take its advertisement down, and one whose advertisement others take away."""

import os

from lab.mgmt import ADVERTISING_ADDED, ADVERTISING_REMOVED, REMOVE_ADVERTISING


NOTES = "/run/blestreams"


def start(world, ble):
    """One that serves, and the number of its advertisement."""
    world.management.forget_events()
    served = world.start(ble)
    return served, world.management.wait_advertising(world.index, ADVERTISING_ADDED)


def test_ten_that_are_killed_leave_one_advertisement_to_the_next(bumble_central, ble):
    management, index = bumble_central.management, bumble_central.index
    left = None
    for _ in range(10):
        management.forget_events()
        served = bumble_central.start(ble)
        if left:
            assert management.wait_advertising(index, ADVERTISING_REMOVED) == left
        left = management.wait_advertising(index, ADVERTISING_ADDED)
        served.run.kill()
        assert [name.split("-")[0] for name in os.listdir(NOTES)] == ["advertisement"]
    with bumble_central.serving(ble) as served:
        assert management.wait_advertising(index, ADVERTISING_REMOVED) == left
        bumble_central.peer.command(f"connect 0 {bumble_central.address}")
        served.wait("connected")
        bumble_central.peer.command("disconnect 0")
        served.wait("disconnected")
    assert management.take_advertisements(index) == []
    assert os.listdir(NOTES) == []


def test_what_others_have_put_up_stays(bumble_central, ble):
    management, index = bumble_central.management, bumble_central.index
    management.advertise(index)
    bumble_central.start(ble).run.kill()
    served = bumble_central.start(ble)
    served.stop()
    assert management.take_advertisements(index) == [1]


def test_one_that_is_taken_away_is_put_back(bumble_central, ble):
    management, index = bumble_central.management, bumble_central.index
    served, ours = start(bumble_central, ble)
    try:
        for _ in range(3):
            management.command(REMOVE_ADVERTISING, index, bytes([ours]))
            ours = management.wait_advertising(index, ADVERTISING_ADDED)
        bumble_central.peer.command(f"connect 0 {bumble_central.address}")
        served.wait("connected")
        bumble_central.peer.command("disconnect 0")
        served.wait("disconnected")
        served.stop()
    finally:
        served.run.kill()
    assert management.take_advertisements(index) == []


def test_one_that_is_taken_away_again_and_again_ends_with_a_word(bumble_central, ble):
    management, index = bumble_central.management, bumble_central.index
    served, ours = start(bumble_central, ble)
    for _ in range(8):
        management.command(REMOVE_ADVERTISING, index, bytes([ours]))
        ours = management.wait_advertising(index, ADVERTISING_ADDED)
    management.command(REMOVE_ADVERTISING, index, bytes([ours]))
    run = served.run.end()
    assert run.status == 1 and "again and again" in run.stderr, run
    assert management.take_advertisements(index) == []
