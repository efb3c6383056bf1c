"""An adapter that is on and doesn't do its work, and one that is off: cured and switched by the command."""

from lab import names


def test_deaf_after_hours(ble, bumble, clean_radio):
    """The controller acknowledges every scan, and hears nobody."""
    outlives("deaf", ble, bumble)


def test_a_scan_outlives_a_controller_that_hangs(ble, bumble, clean_radio):
    outlives("hung", ble, bumble)


def outlives(ailment, ble, bumble):
    """A scan goes on by itself once the adapter has been switched off and on."""
    run = ble.start("scan", "--duplicates", "--json", "--recover", "2")
    run.wait_text(names.NEAR)
    mark = bumble.peer.mark()
    bumble.peer.command("ail", ailment)
    bumble.peer.wait("cured", mark, within=120, of=ailment)
    run.wait_text("works again", "stderr", within=120)
    run.wait_lines(run.stdout.count("\n") + 1)
    run.interrupt()
    run.end()


def test_an_adapter_is_switched(ble, bumble):
    off = ble.good("adapter", "off", "--json")
    assert off.records[-1]["state"] == "poweredOff", off
    scan = ble.bad("scan", "--timeout", "5", status=1, says=["switched off"])
    assert "ble adapter on" in scan.stderr, scan
    on = ble.good("adapter", "on", "--json")
    assert on.records[-1]["state"] == "poweredOn", on
    ble.unprivileged().bad("adapter", "off", status=1, says=["cap_net_admin"])
    assert ble.unprivileged().good("adapter", "--json").records[-1]["state"] == "poweredOn"


def test_an_adapter_is_switched_off_and_on(ble, bumble):
    """Each state is waited for, and said; what the command has asked for itself the kernel tells it in no event."""
    cycle = ble.good("adapter", "cycle", "--json")
    assert cycle.records[-1]["state"] == "poweredOn", cycle
    assert [line.rsplit(" is ")[-1] for line in cycle.stderr.splitlines() if " is " in line] == ["switched off", "on"], cycle
    off = ble.good("adapter", "off", "--json")
    assert off.records[-1]["state"] == "poweredOff", off
    assert ble.good("adapter", "cycle", "--json").records[-1]["state"] == "poweredOn"
    ble.unprivileged().bad("adapter", "cycle", status=1, says=["cap_net_admin"])


def test_a_hung_controller_is_switched_off_and_on(ble, bumble):
    mark = bumble.peer.mark()
    bumble.peer.command("ail", "hung")
    cycle = ble.good("adapter", "cycle", "--json")
    assert cycle.records[-1]["state"] == "poweredOn", cycle
    bumble.peer.wait("cured", mark, within=120, of="hung")


def test_a_virtual_controller_has_nothing_to_reset(ble, bumble):
    """Said with what to do in place of it; the adapter stays as it is."""
    ble.bad("adapter", "reset", status=1, says=["only USB devices can be reset", "virtual", "Restart the program"])
    assert ble.good("adapter", "--json").records[-1]["state"] == "poweredOn"


def test_a_deaf_controller_is_noticed_by_who_only_connects(ble, bumble, clean_radio):
    """One attempt goes on behind the cure; nobody scans but for it."""
    reads_through("deaf", ble, bumble, says="hears nothing")


def test_a_hung_controller_is_noticed_by_who_only_connects(ble, bumble, clean_radio):
    reads_through("hung", ble, bumble, says="does not answer")


def test_a_silent_peripheral_is_no_deaf_controller(ble, bumble, clean_radio):
    """Somebody else is heard meanwhile."""
    absent = "C4:F2:17:1A:1D:00/random"
    run = ble.bad("read", absent, names.BODY_SENSOR_LOCATION, "--recover", "2", "--timeout", "20", status=1, says=[])
    assert "hears nothing for" not in run.stderr and "step 1" not in run.stderr, run


def reads_through(ailment, ble, bumble, says):
    mark = bumble.peer.mark()
    bumble.peer.command("ail", ailment)
    address = f"{names.NEAR}/random"
    run = ble.start("read", address, names.BODY_SENSOR_LOCATION, "--json", "--recover", "2", "--timeout", "60")
    bumble.peer.wait("cured", mark, within=120, of=ailment)
    run.end(120)
    assert run.status == 0 and run.values == [b"\x01"], run
    assert says in run.stderr and "switched off and on" in run.stderr, run
