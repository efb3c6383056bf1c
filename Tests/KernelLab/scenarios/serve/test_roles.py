"""`ble serve` and `ble read` on one adapter that can't be central and peripheral at once."""

import pytest

from lab import faults, names
from lab.ble import Ble

SENSOR = f"{names.crowd(0)}/random"
READ = ("read", SENSOR, "2A00", "--json")
NAME = b"Crowd"


@pytest.fixture(params=[True, False], ids=["capable", "without_capabilities"])
def reader(request, one_role):
    """Another program on the adapter, with rights or without."""
    command = Ble(f"hci{one_role.index}")
    return command if request.param else command.unprivileged()


def central_connects(one_role, served):
    one_role.peer.command(f"connect 0 {one_role.address}")
    served.wait("connected")


def central_goes(one_role, served):
    one_role.peer.command("disconnect 0")
    served.wait("disconnected")


def test_a_connect_waits_until_the_central_has_gone(one_role, ble, reader):
    with one_role.serving(ble) as served:
        central_connects(one_role, served)
        mark = one_role.peer.mark()
        run = reader.start(*READ, "--timeout", "100")
        # The kernel hears the sensor, and passes it over; no controller tells of it twice.
        one_role.peer.wait("heard", mark, peer=names.crowd(0))
        central_goes(one_role, served)
        run.end()
        assert run.status == 0 and run.values == [NAME], run
        # Without rights the kernel keeps its link for two seconds.
        one_role.wait_unconnected()


def test_where_the_limit_passes_the_central_is_named(one_role, ble, reader):
    with one_role.serving(ble) as served:
        central_connects(one_role, served)
        run = reader.bad(*READ, "--timeout", "8", status=1, says=["timed out", names.crowd(0), names.ONE_ROLE_CENTRAL])
        assert run.seconds >= 8, run
        assert "Disconnect that central" in run.stderr and "--adapter" in run.stderr, run
        # The central is as it was.
        assert one_role.peer.command("read 0 2A00")
        central_goes(one_role, served)


def test_a_central_that_comes_while_it_is_waited(one_role, ble, reader):
    with one_role.serving(ble) as served:
        one_role.peer.command("sensor off")
        mark = one_role.peer.mark()
        run = reader.start(*READ, "--timeout", "100")
        one_role.peer.wait("scanning", mark, on=1)
        central_connects(one_role, served)
        one_role.peer.command("sensor on")
        one_role.peer.wait("heard", mark, peer=names.crowd(0))
        central_goes(one_role, served)
        run.end()
        assert run.status == 0 and run.values == [NAME], run
        one_role.wait_unconnected()
        # What the link was in the way of is on air again.
        central_connects(one_role, served)
        central_goes(one_role, served)


def test_a_scan_goes_on_while_the_connect_waits(one_role, ble):
    """One program scans and connects to what it finds; a central is connected to another one on the same adapter."""
    if fault := faults.present("close-of-unused-link"):
        # The central leaves in the middle of attempts, which the kernel then gives up.
        pytest.skip(f"{fault.name}: {fault.what}")
    # The program takes the default adapter.
    assert one_role.management.indices() == [one_role.index]
    with one_role.serving(ble) as served:
        central_connects(one_role, served)
        run = ble.program("Fleet")
        run.wait_text(names.crowd(0))
        # Another one comes on air while the first is waited for.
        one_role.peer.command("crowd 2")
        run.wait_text(names.crowd(1))
        assert " bpm" not in run.stdout, run
        assert one_role.peer.command("read 0 2A00")
        central_goes(one_role, served)
        for sensor in (names.crowd(0), names.crowd(1)):
            run.wait_line(sensor, " bpm")
        run.interrupt()
        run.end()
        one_role.wait_unconnected()
