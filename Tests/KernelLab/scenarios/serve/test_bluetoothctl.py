"""bluetoothctl as the central of a person who pairs with `ble serve`."""

import pytest

from lab import names
from lab.bluetoothctl import Bluetoothctl
from lab.world import OUT

pytestmark = pytest.mark.program

ECHO = "7a1c0021-5f2b-4c8e-9d3a-6b70e14f2c55"
HELLO = r"68 65 6c 6c 6f"


@pytest.fixture
def bluetoothctl(bluetoothd_central, tmp_path, monkeypatch, request):
    """At the adapter beside that of `ble serve`; nobody has a bond before, or after."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    started = []

    def start(agent: str) -> Bluetoothctl:
        started.append(Bluetoothctl(agent, OUT / f"bluetoothctl-{request.node.name}.log"))
        started[0].ask(f"select {names.BTVIRT_CLIENT}", names.BTVIRT_CLIENT)
        started[0].ask("scan le", "Discovery started")
        started[0].wait(f"Device {bluetoothd_central.address}")
        started[0].ask("scan off", "Discovery stopped")
        return started[0]

    yield start
    for person in started:
        person.ask(f"remove {bluetoothd_central.address}", "Device has been removed|not available")
        person.stop()


def may_read(person: Bluetoothctl) -> None:
    person.wait(f"{ECHO}")
    person.ask("menu gatt", "Menu gatt")
    person.ask(f"select-attribute {ECHO}", "service.*char")
    person.ask("read", HELLO)
    person.ask("back", "Menu main")


def test_just_works(bluetoothd_central, ble, bluetoothctl):
    with bluetoothd_central.serving(ble, "--profile", "echo", "--access", "encrypted") as served:
        person = bluetoothctl("NoInputNoOutput")
        person.ask(f"pair {bluetoothd_central.address}", "Pairing successful")
        served.wait("paired", bonded=True, authenticated=False)
        may_read(person)
        person.ask(f"disconnect {bluetoothd_central.address}", "Successful disconnected|Disconnection successful")
        served.wait("disconnected")


def test_numbers_are_compared(bluetoothd_central, ble, bluetoothctl):
    arguments = ("--profile", "echo", "--access", "authenticated")
    with bluetoothd_central.serving(ble, *arguments, at_terminal=True) as served:
        person = bluetoothctl("DisplayYesNo")
        asked = person.ask(f"pair {bluetoothd_central.address}", r"Confirm passkey (\d+)")
        served.run.wait_question(f"show {int(asked[1]):06}? (y/n)")
        served.run.type("y")
        person.ask("yes", "Pairing successful")
        served.wait("paired", bonded=True, authenticated=True)
        may_read(person)
        person.ask(f"disconnect {bluetoothd_central.address}", "Successful disconnected|Disconnection successful")
        served.wait("disconnected")
