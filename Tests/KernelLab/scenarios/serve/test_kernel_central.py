"""`ble` as a central of the kernel's against `ble serve`: the kernel's Security Manager on both sides."""

import pytest

from lab.ble import Ble
from lab.mgmt import SET_SECURE_CONNECTIONS

ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"


SECURE_CONNECTIONS = 1 << 11
# How often who serves switches on again what others switch off.
REPAIRS = 8


def insist_on_legacy(management, index):
    """Who serves has switched LE Secure Connections on, and has its way until somebody insists."""
    management.forget_events()
    for _ in range(REPAIRS):
        management.command(SET_SECURE_CONNECTIONS, index, bytes([0]))
        management.wait_settings(index, SECURE_CONNECTIONS)
    management.command(SET_SECURE_CONNECTIONS, index, bytes([0]))


@pytest.mark.parametrize("is_secure", [True, False], ids=["secure", "legacy"])
def test_the_next_link_after_a_pairing(kernel_central, ble, monkeypatch, tmp_path, is_secure):
    """A key of a legacy pairing counts for one role, and goes by a number that the other side has to say."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    management, server, client = kernel_central.management, kernel_central.index, kernel_central.client
    management.forget_keys(server)
    management.forget_keys(client)
    central = Ble(f"hci{client}")
    address = f"{kernel_central.address}/public"
    with kernel_central.serving(ble, "--profile", "echo") as served:
        central.runs = ble.runs
        if not is_secure:
            insist_on_legacy(management, server)
        central.good("pair", address)
        served.wait("paired", bonded=True)
        assert management.key_kinds(client) == ({"0x03"} if is_secure else {"0x01", "0x02"})
        kernel_central.wait_unconnected()
        for _ in range(2):
            assert central.good("read", address, ECHO, "--json").values == [b"hello"]
            kernel_central.wait_unconnected()
            # What a restart of the machine does to the central's keys.
            management.forget_keys(client)
