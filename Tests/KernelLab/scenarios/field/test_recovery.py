"""An adapter that is on and doesn't do its work, and one that is off: cured and switched by the command."""

import pytest

from lab import names


@pytest.mark.parametrize("ailment", ["deaf", "hung"])
def test_a_scan_outlives(ailment, ble, bumble, clean_radio):
    run = ble.start("scan", "--duplicates", "--json", "--recover", "2")
    run.wait_text(names.NEAR)
    mark = bumble.peer.mark()
    bumble.peer.command("ail", ailment)
    bumble.peer.wait("cured", mark, within=120, of=ailment)
    run.wait_text("well again", "stderr", within=120)
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
