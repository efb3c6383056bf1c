"""A machine without any adapter, and arguments that can't be right on any machine."""

import pytest

from lab import names
from lab.mgmt import Management

pytestmark = pytest.mark.program


@pytest.fixture(autouse=True)
def no_adapter():
    assert Management().indices() == [], "this bench is to have no adapter"


@pytest.mark.parametrize(
    "command",
    [
        ("scan", "--timeout", "5"),
        ("info", names.NEAR),
        ("read", names.NEAR, "2A38"),
        ("write", names.NEAR, "2A38", "00"),
        ("notify", names.NEAR, "2A37"),
        ("transfer", names.NEAR, names.MESSAGE),
    ],
    ids=lambda command: command[0],
)
def test_every_command_says_that_there_is_no_adapter(ble, command):
    ble.bad(*command, status=1, says=["adapter"])


def test_the_doctor_finds_none(ble):
    run = ble("doctor", "--json")
    assert run.status == 1, run
    found = [record for record in run.records if record.get("finding") == "noAdapter"]
    assert found and found[0]["severity"] == "obstacle" and found[0]["remedy"], run


def test_an_adapter_that_is_not_there_is_named(ble):
    ble.bad("scan", "--adapter", "hci7", status=1, says=["hci7"])


@pytest.mark.parametrize(
    "arguments, culprit",
    [
        (("read", "C4:F2:17:1A:1D", "2A38"), "C4:F2:17:1A:1D"),
        (("read", "C4:F2:17:1A:1D:XX", "2A38"), "C4:F2:17:1A:1D:XX"),
        (("read", "C4:F2:17:1A:1D:BB/elsewhere", "2A38"), "elsewhere"),
        (("read", names.NEAR, "not-a-uuid"), "not-a-uuid"),
        (("read", names.NEAR, names.VALUE[:-1]), names.VALUE[:-1]),
        (("scan", "--service", "18"), "18"),
        (("write", names.NEAR, "2A38", "0"), "0"),
        (("write", names.NEAR, "2A38", "xyz"), "xyz"),
        (("scan", "--adapter", "wlan0"), "wlan0"),
        (("scan", "--rssi", "loud"), "loud"),
        (("scan", "--timeout", "soon"), "soon"),
        (("scan", "--count", "-1"), "-1"),
        (("scan", "--frequency", "11"), "--frequency"),
        (("read", names.NEAR), "CHARACTERISTIC"),
        (("listen",), "listen"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, tuple) else None,
)
def test_a_wrong_argument_is_named(ble, arguments, culprit):
    run = ble(*arguments)
    assert run.status in (1, 2), run
    assert culprit.lower() in run.stderr.lower(), f"the message does not name {culprit}\n{run}"
    assert run.stdout == "", run


def test_no_arguments_print_the_usage(ble):
    run = ble()
    assert run.status == 2, run
    assert "usage" in run.stderr.lower() and "scan" in run.stderr, run
