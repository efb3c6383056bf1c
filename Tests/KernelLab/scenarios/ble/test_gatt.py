"""`ble info`, `read` and `write` against Bumble's GATT server."""

import json

import pytest

from lab import names
from lab.tree import characteristics_in, uuids_in

pytestmark = pytest.mark.program


def handle_of(bumble, uuid: str) -> int:
    tree = json.loads(bumble.peer.command("tree"))
    return next(c["handle"] for s in tree for c in s["characteristics"] if c["uuid"] == names.full(uuid))


def test_info_prints_the_whole_tree_in_spite_of_a_silent_value(ble, bumble):
    run = ble.bad("info", names.NEAR, "--json", status=1, says=["timed out"])
    compare_tree(bumble, run)


@pytest.mark.main_job
def test_info_prints_values(ble, bumble):
    bumble.peer.command("silence", "off")
    printed = compare_tree(bumble, ble.good("info", names.NEAR, "--json"))
    values = {found.uuid: found.value for found in printed.values()}
    for uuid, value in [
        (names.BODY_SENSOR_LOCATION, b"\x01"),
        (names.VALUE, names.VALUE_BYTES),
        (names.LONG, names.LONG_BYTES),
        (names.READ_ONLY, names.READ_ONLY_BYTES),
        (names.SILENT, names.SILENT_BYTES),
        (names.BATTERY_LEVEL, b"\x57"),
    ]:
        assert values[names.full(uuid)] == value.hex(), f"{uuid}: {values}"


def compare_tree(bumble, run):
    tree = json.loads(bumble.peer.command("tree"))
    printed = characteristics_in(run.records)
    for service in tree:
        assert service["uuid"] in uuids_in(run.records), f"service {service['uuid']} is missing\n{run}"
        for expected in service["characteristics"]:
            found = printed.get(expected["handle"])
            assert found, f"characteristic {expected} is missing\n{run}"
            assert found.uuid == expected["uuid"], f"{expected}\n{run}"
            assert found.properties == expected["properties"], f"{expected}\n{run}"
            descriptors = {(descriptor["handle"], descriptor["uuid"]) for descriptor in expected["descriptors"]}
            assert found.descriptors == descriptors, f"{expected}\n{run}"
    expected_handles = {c["handle"] for s in tree for c in s["characteristics"]}
    assert set(printed) == expected_handles, f"characteristics that the peer does not have\n{run}"
    return printed


def test_info_reads_as_well(ble, bumble):
    bumble.peer.command("silence", "off")
    run = ble.good("info", names.NEAR)
    text = run.stdout.lower()
    for service in json.loads(bumble.peer.command("tree")):
        for item in [service, *service["characteristics"]]:
            short = item["uuid"][4:8] if item["uuid"].endswith("-0000-1000-8000-00805f9b34fb") else item["uuid"]
            assert short in text, f"{item['uuid']} is missing\n{run}"
    assert "517" in text, f"the MTU is missing\n{run}"


@pytest.mark.main_job
@pytest.mark.parametrize(
    "uuid, value",
    [
        (names.BODY_SENSOR_LOCATION, b"\x01"),
        (names.VALUE, names.VALUE_BYTES),
        (names.READ_ONLY, names.READ_ONLY_BYTES),
        (names.LONG, names.LONG_BYTES),
    ],
    ids=["1_byte", "5_bytes", "text", "400_bytes"],
)
def test_a_value_is_read(ble, bumble, uuid, value):
    run = ble.good("read", names.NEAR, uuid, "--json")
    assert run.values == [value], run
    if value == names.READ_ONLY_BYTES:
        assert run.records[0]["text"] == value.decode(), run


def test_a_value_is_read_by_its_handle(ble, bumble):
    run = ble.good("read", names.NEAR, f"0x{handle_of(bumble, names.VALUE):04x}", "--json")
    assert run.values == [names.VALUE_BYTES], run


def test_people_read_a_value(ble, bumble):
    assert names.VALUE_BYTES.hex() in ble.good("read", names.NEAR, names.VALUE).stdout.replace(" ", "").lower()


def test_the_kind_of_address_may_be_said(ble, bumble):
    assert ble.good("read", f"{names.NEAR}/random", "2A38", "--json").values == [b"\x01"]


@pytest.mark.main_job
def test_a_write_arrives(ble, bumble):
    ble.good("write", names.NEAR, names.VALUE, "aabbcc")
    bumble.peer.wait("write", bumble.mark, char="value", hex="aabbcc")
    assert ble.good("read", names.NEAR, names.VALUE, "--json").values == [bytes.fromhex("aabbcc")]


def test_a_write_without_response_arrives(ble, bumble):
    ble.good("write", names.NEAR, names.VALUE, "0102", "--without-response")
    bumble.peer.wait("write", bumble.mark, char="value", hex="0102")


def test_a_file_is_written(ble, bumble, tmp_path):
    value = bytes(reversed(names.LONG_BYTES))
    file = tmp_path / "value"
    file.write_bytes(value)
    ble.good("write", names.NEAR, names.LONG, f"@{file}")
    bumble.peer.wait("write", bumble.mark, char="long", hex=value.hex())


@pytest.mark.main_job
def test_a_reliable_write_arrives_in_one_piece(ble, bumble, tmp_path):
    value = bytes(i & 0xFF for i in range(512))
    file = tmp_path / "value"
    file.write_bytes(value)
    ble.good("write", names.NEAR, names.LONG, f"@{file}", "--reliable")
    bumble.peer.wait("write", bumble.mark, char="long", hex=value.hex())
    assert len(bumble.peer.since(bumble.mark, "write")) == 1


def test_every_command_leaves_no_connection_behind(ble, bumble):
    ble.good("read", names.NEAR, "2A38")
    bumble.peer.wait("disconnected", bumble.mark)
    assert bumble.management.connections(bumble.index) == []


def test_two_commands_one_after_the_other(ble, bumble):
    """The kernel keeps a link for two seconds after its socket has closed: the second command may meet it."""
    for _ in range(3):
        assert ble.good("read", names.NEAR, names.VALUE, "--json").values == [names.VALUE_BYTES]


def test_verbose_speaks_on_stderr_only(ble, bumble):
    run = ble.good("read", names.NEAR, "2A38", "--json", "-v")
    assert run.values == [b"\x01"], run
    assert run.stderr.strip(), run
