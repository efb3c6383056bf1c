"""`ble verify` against `ble serve`, over the kernel on both sides: it does as its own file says, and not as another one does."""

import json

import pytest

from lab import names
from lab.ble import Ble

pytestmark = pytest.mark.program

SERVICE = {
    "uuid": names.VENDOR,
    "characteristics": [
        {"uuid": names.VALUE, "properties": ["read", "write", "notify"], "value": names.VALUE_BYTES.hex()},
        {"uuid": names.NUMBERS, "properties": ["read", "notify"], "value": {"count": 1, "octets": 4, "every": 0.25}},
        {"uuid": names.INDICATED, "properties": ["indicate"], "value": {"count": 1, "every": 0.5}},
    ],
}


def write(path, service):
    path.write_text(json.dumps({"name": "verified", "services": [service]}))
    return str(path)


def test_what_is_served_from_a_file_does_as_the_file_says(kernel_central, ble, tmp_path):
    database = write(tmp_path / "database.json", SERVICE)
    other = json.loads(json.dumps(SERVICE))
    other["characteristics"][0]["properties"] = ["read"]
    address = f"{kernel_central.address}/public"
    with kernel_central.serving(ble, "--database", database) as served:
        central = Ble(f"hci{kernel_central.client}")
        central.runs = ble.runs
        assert central.good("verify", address, "--database", database, "--json").records[-1]["findings"] == 0
        kernel_central.wait_unconnected()
        assert central.good("verify", address, "--json").records[-1]["findings"] == 0
        kernel_central.wait_unconnected()
        run = central.bad(
            "verify", address, "--database", write(tmp_path / "other.json", other), "--json", status=1, says=["verification"]
        )
        # What isn't said to notify is declared without a descriptor to switch that.
        assert [record.get("finding") for record in run.records[:-1]] == ["otherProperties", "undeclared"], run
        kernel_central.wait_unconnected()
        served.wait_count("disconnected", 3)
