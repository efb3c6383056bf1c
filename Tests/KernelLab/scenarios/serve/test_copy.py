"""A device of Bumble's is copied by `ble info --json`, and the copy is served to a central of Bumble's."""

import json

import pytest

from lab import names
from lab.world import BumbleWorld

pytestmark = pytest.mark.program


@pytest.fixture(scope="module")
def bumble_world():
    """Gone when this file is done: the other files' controllers are named after their numbers."""
    world = BumbleWorld()
    yield world
    world.stop()


def copied(ble, bumble, folder):
    """What `ble info` prints of the sensor, in a file; the link is over before anybody else connects."""
    bumble.peer.command("silence", "off")
    run = ble.good("info", names.NEAR, "--json")
    path = folder / "sensor.json"
    path.write_text(run.stdout)
    return run, path


def test_a_copy_of_a_sensor_is_read_by_another_central(ble, bumble, bumble_centrals, tmp_path):
    run, path = copied(ble, bumble, tmp_path)
    peer = bumble_centrals.peer
    with bumble_centrals.serving(ble, "--database", str(path)) as served:
        peer.command(f"connect 0 {bumble_centrals.address}")
        served.wait("connected")
        tree = json.loads(peer.command("tree 0"))
        own = {names.full(uuid) for uuid in ("1800", "1801")}
        for service in run.records[0]["services"]:
            uuid = names.full(service["uuid"])
            if uuid in own:
                continue
            assert uuid in tree, f"service {uuid} is missing: {tree}"
            for characteristic in service["characteristics"]:
                assert names.full(characteristic["uuid"]) in tree[uuid], tree
        for uuid, value in [
            (names.BODY_SENSOR_LOCATION, b"\x01"),
            (names.VALUE, names.VALUE_BYTES),
            (names.LONG, names.LONG_BYTES),
            (names.READ_ONLY, names.READ_ONLY_BYTES),
            (names.BATTERY_LEVEL, b"\x57"),
        ]:
            assert peer.command(f"read 0 {uuid}") == value.hex(), uuid
        mark = peer.mark()
        # Nobody could read it when it was copied: the copy counts up.
        peer.command("subscribe 0 2A37")
        peer.wait("notified", mark)
        peer.command("disconnect 0")
        served.wait("disconnected")


def test_a_sensor_does_what_a_file_says_of_it_or_not(ble, bumble, tmp_path):
    run, _ = copied(ble, bumble, tmp_path)
    # Whoever subscribes to a value of the vendor's loses the link.
    calm = [service for service in run.records[0]["services"] if service["uuid"] in (names.HEART_RATE, names.BATTERY)]
    assert len(calm) == 2, run
    path = tmp_path / "calm.json"
    path.write_text(json.dumps({"services": calm}))
    assert ble.good("verify", names.NEAR, "--database", str(path), "--json").records[-1]["findings"] == 0

    run = ble.bad("verify", names.NEAR, "--json", status=1, says=["verification failed"])
    assert run.records[-2]["finding"] == "failed", run

    calm[1]["characteristics"][0]["properties"] = ["read", "write"]
    path.write_text(json.dumps({"services": calm}))
    run = ble.bad("verify", names.NEAR, "--database", str(path), "--json", status=1, says=["verification failed"])
    assert [record.get("finding") for record in run.records[:-1]] == ["otherProperties"], run
