"""What `ble advertise` declares, as a controller of Bluetooth 5 is told it by the kernel: fields, interval, and that nobody may
connect; taken away by others, it is put up again as it was."""

from lab.ble import Ble
from lab.mgmt import ADVERTISING_ADDED, ADVERTISING_REMOVED, REMOVE_ADVERTISING

TEMPERATURE = "d2fc"  # BTHome's UUID, as it stands in service data
UNIT = 0.625  # milliseconds


def test_fields_and_interval_are_on_air_and_come_back(extended, ble):
    management, index = extended.management, extended.index
    command = Ble(f"hci{index}")
    command.runs = ble.runs
    management.forget_events()
    mark = extended.peer.mark()
    run = command.start("advertise", "--bthome", "temperature=21.5", "--name", "attic", "--interval", "200..250", "--json")
    try:
        ours = management.wait_advertising(index, ADVERTISING_ADDED)
        for _ in range(2):
            event = extended.peer.wait("advertising", mark, legacy="1", connectable="0")
            assert event.facts["interval"] == f"{200 / UNIT:.0f}..{250 / UNIT:.0f}"
            assert TEMPERATURE in event.facts["hex"], event
            # Somebody takes it away: it is added again, in the two steps of extended advertising.
            mark = extended.peer.mark()
            management.command(REMOVE_ADVERTISING, index, bytes([ours]))
            ours = management.wait_advertising(index, ADVERTISING_ADDED)
        run.interrupt()
        assert run.end().status == 130, run
    finally:
        run.kill()
    assert management.wait_advertising(index, ADVERTISING_REMOVED) == ours
    assert management.take_advertisements(index) == []
