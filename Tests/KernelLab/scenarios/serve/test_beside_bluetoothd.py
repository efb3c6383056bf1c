"""`ble serve` beside a bluetoothd that advertises, and that is restarted."""

from lab.mgmt import ADVERTISING_ADDED, ADVERTISING_REMOVED
from lab.world import start_bluetoothd


def kill(daemon):
    """One that ends as it should switches the adapter off that it has switched on."""
    daemon.process.kill()
    daemon.stop()


def test_its_advertisement_stays_beside_those_of_bluetoothd(bluetoothd_central, ble):
    management, index = bluetoothd_central.management, bluetoothd_central.index
    management.forget_events()
    with bluetoothd_central.serving(ble, "--profile", "echo") as served:
        ours = management.wait_advertising(index, ADVERTISING_ADDED)
        # bluetoothd counts from 1, whatever is there.
        bluetoothd_central.peer.command(f"advertise hci{index}")
        assert management.wait_advertising(index, ADVERTISING_ADDED) == 1 != ours
        bluetoothd_central.peer.command(f"withdraw hci{index}")
        assert management.wait_advertising(index, ADVERTISING_REMOVED) == 1
        # Ours is the only one now by which it can be found.
        bluetoothd_central.peer.command(f"connect {bluetoothd_central.address}")
        served.wait("connected")
        bluetoothd_central.peer.command("disconnect")
        served.wait("disconnected")
    assert management.wait_advertising(index, ADVERTISING_REMOVED) == ours
    assert management.take_advertisements(index) == []


def test_a_bluetoothd_that_starts_takes_it_away_and_it_comes_back(bluetoothd_central, ble):
    management, index = bluetoothd_central.management, bluetoothd_central.index
    management.forget_events()
    with bluetoothd_central.serving(ble):
        ours = management.wait_advertising(index, ADVERTISING_ADDED)
        kill(bluetoothd_central.daemon)
        # The next one removes all where it sees one, and sees none with a number higher than there are instances.
        management.advertise(index)
        daemon = start_bluetoothd()
        try:
            assert {management.wait_advertising(index, ADVERTISING_REMOVED) for _ in range(2)} == {1, ours}
            assert management.wait_advertising(index, ADVERTISING_ADDED) == ours
        finally:
            kill(daemon)
