"""`ble serve` killed without a chance to take its advertisement down, and what others do with what it has set up."""

import os

from lab.mgmt import ADVERTISING_ADDED, ADVERTISING_REMOVED, REMOVE_ADVERTISING, SET_BONDABLE


NOTES = "/run/blestreams"
BONDABLE = 1 << 4


def start(world, ble):
    """One that serves, and the number of its advertisement."""
    world.management.forget_events()
    served = world.start(ble)
    return served, world.management.wait_advertising(world.index, ADVERTISING_ADDED)


def test_ten_that_are_killed_leave_one_advertisement_to_the_next(bumble_central, ble):
    management, index = bumble_central.management, bumble_central.index
    before = management.settings(index)
    assert not before & BONDABLE
    left = None
    for _ in range(10):
        management.forget_events()
        served = bumble_central.start(ble)
        if left:
            assert management.wait_advertising(index, ADVERTISING_REMOVED) == left
        left = management.wait_advertising(index, ADVERTISING_ADDED)
        served.run.kill()
        assert {"advertisement", "bondable"} <= {name.split("-")[0] for name in os.listdir(NOTES)}
        assert management.settings(index) & BONDABLE
    with bumble_central.serving(ble) as served:
        assert management.wait_advertising(index, ADVERTISING_REMOVED) == left
        bumble_central.peer.command(f"connect 0 {bumble_central.address}")
        served.wait("connected")
        bumble_central.peer.command("disconnect 0")
        served.wait("disconnected")
    assert management.take_advertisements(index) == []
    assert os.listdir(NOTES) == []
    assert management.settings(index) == before


def test_a_setting_that_others_switch_off_is_on_again(bumble_central, ble):
    management, index = bumble_central.management, bumble_central.index
    before = management.settings(index)
    with bumble_central.serving(ble):
        management.forget_events()
        management.command(SET_BONDABLE, index, bytes([0]))
        management.wait_settings(index, BONDABLE)
    assert management.settings(index) == before


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
