"""`--capture` writes what others can read: BlueZ's btmon."""

import subprocess

from lab import names


def dissect(file) -> str:
    result = subprocess.run(["btmon", "-r", str(file)], capture_output=True, text=True, errors="replace", timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_read_is_in_the_capture(ble, bumble, tmp_path):
    file = tmp_path / "read.btsnoop"
    ble.good("read", names.NEAR, names.READ_ONLY, "--capture", file)
    text = dissect(file)
    assert "ATT: Read Request" in text and "ATT: Read Response" in text, text[:4000]
    assert names.READ_ONLY_BYTES.hex() in text.replace(" ", ""), text[:4000]


def test_a_scan_is_in_the_capture(ble, bumble, tmp_path):
    file = tmp_path / "scan.btsnoop"
    ble.good("scan", "--count", "2", "--timeout", "30", "--capture", file)
    text = dissect(file)
    assert "Advertising Report" in text and "invalid" not in text, text[:4000]
    assert names.NEAR in text, text[:4000]


def test_a_capture_that_cannot_be_written(ble, bumble):
    ble.bad("read", names.NEAR, "2A38", "--capture", "/no/such/folder/x.btsnoop", says=["/no/such/folder"])
