"""`--capture` writes what others can read: BlueZ's btmon here, and Wireshark when the guest has ended (lab/captures.py)."""

import pytest

from lab import captures, names

pytestmark = pytest.mark.program


def test_a_read_is_in_the_capture(ble, bumble):
    file = captures.new("read")
    ble.good("read", names.NEAR, names.READ_ONLY, "--capture", file)
    text = captures.read_by_btmon(file)
    assert "ATT: Read Request" in text and "ATT: Read Response" in text, text[:4000]
    assert names.READ_ONLY_BYTES.hex() in text.replace(" ", ""), text[:4000]


def test_a_scan_is_in_the_capture(ble, bumble):
    file = captures.new("scan")
    ble.good("scan", "--count", "2", "--timeout", "30", "--capture", file)
    text = captures.read_by_btmon(file)
    assert "Advertising Report" in text, text[:4000]
    assert names.NEAR in text, text[:4000]


def test_a_whole_discovery_is_in_the_capture(ble, bumble):
    bumble.peer.command("silence", "off")
    file = captures.new("info")
    ble.good("info", names.NEAR, "--fresh", "--capture", file)
    text = captures.read_by_btmon(file)
    for procedure in ("Read By Group Type", "Read By Type", "Find Information", "Read"):
        assert f"ATT: {procedure} Request" in text and f"ATT: {procedure} Response" in text, text[:4000]


@pytest.mark.parametrize(
    "command, words",
    [
        (("notify", names.NEAR, "2A37", "--count", "3"), ("Handle Value Notification", "Write Request")),
        (("notify", names.NEAR, names.INDICATED, "--count", "3"), ("Handle Value Indication", "Confirmation")),
        (("write", names.NEAR, names.VALUE, "0102"), ("Write Request", "Write Response")),
        (("transfer", names.NEAR, names.MESSAGE, "--output", "/dev/null"), ("Handle Value Notification",)),
    ],
    ids=["notifications", "indications", "write", "transfer"],
)
def test_a_command_is_in_the_capture(ble, bumble, command, words):
    file = captures.new(f"{command[0]}-{len(''.join(command))}")
    ble.good(*command, "--capture", file)
    text = captures.read_by_btmon(file)
    for word in words:
        assert f"ATT: {word}" in text or f"ATT: Handle Value {word}" in text, text[-4000:]


def test_a_capture_that_cannot_be_written(ble, bumble):
    ble.bad("read", names.NEAR, "2A38", "--capture", "/no/such/folder/x.btsnoop", says=["/no/such/folder"])
