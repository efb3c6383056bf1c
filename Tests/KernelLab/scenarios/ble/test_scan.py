"""`ble scan` against two advertisers: what it reports, which it picks, and that the radio is quiet afterwards."""

import json

import pytest

from lab import names

pytestmark = pytest.mark.usefixtures("clean_radio")

LONG = ("--timeout", "90")  # a deadline; every scan here ends by its count


def first(run, address):
    found = [sighting for sighting in run.sightings if sighting["address"] == address]
    assert found, f"{address} was not reported\n{run}"
    return found[0]


@pytest.mark.main_job
def test_a_peripheral_is_reported_with_all_it_advertises(ble, bumble):
    near = first(ble.good("scan", "--json", "--service", "180D", "--count", "1", *LONG), names.NEAR)
    assert "random" in near["addressType"].lower()
    assert near["name"] == names.NEAR_NAME
    assert near["rssi"] == names.NEAR_RSSI
    assert names.full(names.HEART_RATE) in near["services"]
    assert names.full(names.VENDOR) in near["services"], "the scan response is not in it"
    assert names.MANUFACTURER_BYTES.hex() in json.dumps(near["manufacturerData"])
    assert near["txPower"] == names.TX_POWER
    assert near["appearance"] == names.APPEARANCE
    assert near["connectable"] is True
    bumble.management.wait_discovering(bumble.index, on=True)
    bumble.management.wait_discovering(bumble.index, on=False)


def test_a_beacon_is_reported_as_not_connectable(ble):
    far = first(ble.good("scan", "--json", "--name-prefix", "Lab B", "--count", "1", *LONG), names.FAR)
    assert far["rssi"] == names.FAR_RSSI
    assert far["connectable"] is False
    assert "57" in json.dumps(far["serviceData"])


def test_both_are_found_without_a_filter(ble):
    run = ble.good("scan", "--json", "--count", "2", *LONG)
    assert {sighting["address"] for sighting in run.sightings} == {names.NEAR, names.FAR}


def test_the_window_of_signal_strength(ble):
    near = ble.good("scan", "--json", "--rssi", "-60..0", "--count", "1", *LONG)
    assert {sighting["address"] for sighting in near.sightings} == {names.NEAR}
    far = ble.good("scan", "--json", "--rssi", "-100..-80", "--count", "1", *LONG)
    assert {sighting["address"] for sighting in far.sightings} == {names.FAR}


@pytest.mark.main_job
def test_duplicates_swallowed(ble):
    """Every advertisement is reported where that is wanted, though the controller filters duplicates; beside another
    program's scan, too, which wants each device once."""
    wanted = ("scan", "--json", "--duplicates", "--name-prefix", names.NEAR_NAME, "--count", "20", *LONG)
    alone = ble.good(*wanted)
    other = ble.start("scan", "--json")
    other.wait_text(names.NEAR)
    beside = ble.good(*wanted)
    other.interrupt()
    other.end()
    for run in (alone, beside):
        assert [sighting["address"] for sighting in run.sightings] == [names.NEAR] * 20


def test_a_passive_scan_hears_no_scan_response(ble):
    run = ble.good("scan", "--json", "--passive", "--name-prefix", names.NEAR_NAME, "--count", "1", *LONG)
    near = first(run, names.NEAR)
    assert names.full(names.HEART_RATE) in near["services"]
    assert names.full(names.VENDOR) not in near["services"]


def test_the_timeout_ends_a_scan_that_finds_what_it_can(ble):
    run = ble.good("scan", "--json", "--timeout", "15")
    addresses = [sighting["address"] for sighting in run.sightings]
    assert names.NEAR in addresses
    assert len(addresses) == len(set(addresses)), f"a peripheral twice, without --duplicates\n{run}"


@pytest.mark.main_job
def test_it_goes_on_after_the_kernel_ends_discovery(ble, bumble):
    """Linux ends a discovery after some ten seconds; the scan has to outlive that."""
    bumble.peer.command("advertise", "off")
    run = ble.start("scan", "--json", "--service", "180D", "--count", "1", *LONG)
    bumble.management.wait_discovering(bumble.index, on=True)
    bumble.management.wait_discovering(bumble.index, on=False)
    bumble.peer.command("advertise", "on")
    assert run.end().status == 0, run
    first(run, names.NEAR)


def test_people_read_name_and_address(ble):
    run = ble.good("scan", "--service", "180D", "--count", "1", *LONG)
    assert names.NEAR in run.stdout.upper() and names.NEAR_NAME in run.stdout, run


def test_the_only_adapter_is_taken_without_being_named(ble):
    ble.adapter = None
    first(ble.good("scan", "--json", "--service", "180D", "--count", "1", *LONG), names.NEAR)
