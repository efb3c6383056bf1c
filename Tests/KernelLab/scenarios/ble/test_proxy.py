"""`ble proxy` lends the adapter to the client that Home Assistant uses."""

import asyncio
import json
from contextlib import contextmanager

import pytest

pytest.importorskip("aioesphomeapi", reason="it needs a Python that aioesphomeapi is built for")

from aioesphomeapi.core import BluetoothConnectionDroppedError, BluetoothGATTAPIError, InvalidEncryptionKeyAPIError

from lab import names
from lab.home import at_home, number

pytestmark = pytest.mark.program
VALUE = names.full(names.VALUE)
NO_RESOURCES = 0x80


@contextmanager
def proxy(ble, *options):
    """A proxy with a key, and its port and key."""
    made = ble.good("proxy", "--make-key").stdout.strip()
    run = ble.start("proxy", "--listen", "127.0.0.1:0", "--key", made, "--json", "-v", *options)
    run.wait_lines()
    port = int(json.loads(run.stdout.splitlines()[0])["endpoint"].rpartition(":")[2])
    yield run, port, made
    run.interrupt()
    assert run.end().status == 130, run


def test_home_hears_connects_reads_writes_and_is_notified(ble, bumble, clean_radio):
    async def visit(port, key):
        async with at_home(port, key) as home:
            home.listen()
            near = number(names.NEAR)
            await home.wait(lambda home: near in home.adverts)
            assert names.NEAR_NAME.encode() in home.adverts[near]
            device = await home.device(names.NEAR)
            assert device.states[0][:2] == (True, 517)
            services = (await home.client.bluetooth_gatt_get_services(near)).services
            tree = json.loads(bumble.peer.command("tree"))
            found = {c.uuid: c.handle for s in services for c in s.characteristics}
            assert found == {c["uuid"]: c["handle"] for s in tree for c in s["characteristics"]}
            long = await home.client.bluetooth_gatt_read(near, found[names.full(names.LONG)])
            assert bytes(long) == names.LONG_BYTES
            await home.client.bluetooth_gatt_write(near, found[VALUE], b"\xaa\xbb\xcc", True)
            bumble.peer.wait("write", bumble.mark, char="value", hex="aabbcc")
            with pytest.raises(BluetoothGATTAPIError) as refusal:
                await home.client.bluetooth_gatt_read(near, 0x0999)
            assert refusal.value.error.error == 1
            await device.notify(found[names.full(names.HEART_RATE_MEASUREMENT)])
            await device.wait(lambda device: len(device.values) >= 3)
            mark = bumble.peer.mark()
            await device.stop()
            bumble.peer.wait("cccd", mark, char="heart-rate", on=0)
            await home.client.bluetooth_device_disconnect(near)
            bumble.peer.wait("disconnected", bumble.mark)
            home.unsubscribe()

    with proxy(ble) as (_, port, key):
        asyncio.run(visit(port, key))


def test_a_lost_link_is_told_with_its_reason_and_can_be_made_again(ble, bumble):
    async def visit(port, key):
        async with at_home(port, key) as home:
            home.listen()
            device = await home.device(names.NEAR)
            handle = await device.handle(VALUE)
            bumble.peer.command("drop")
            await device.wait(lambda device: len(device.states) == 2)
            connected, _, error = device.states[1]
            assert not connected and error in (0x13, 0x08), device.states
            with pytest.raises((BluetoothGATTAPIError, BluetoothConnectionDroppedError)):
                await home.client.bluetooth_gatt_read(device.address, handle)
            await home.wait(lambda home: home.places[-1][2] == [])
            again = await home.device(names.NEAR)
            value = await home.client.bluetooth_gatt_read(again.address, await again.handle(VALUE))
            assert bytes(value) == names.VALUE_BYTES

    with proxy(ble) as (_, port, key):
        asyncio.run(visit(port, key))


def test_a_client_that_is_gone_leaves_nothing_behind(ble, bumble, clean_radio):
    async def visit(port, key):
        async with at_home(port, key) as home:
            home.listen()
            device = await home.device(names.NEAR)
            await device.notify(await device.handle(names.full(names.HEART_RATE_MEASUREMENT)))
            await device.wait(lambda device: device.values)
            mark = bumble.peer.mark()
            await home.client.disconnect(force=True)
            bumble.peer.wait("disconnected", mark)
        async with at_home(port, key) as home:
            home.listen()
            await home.wait(lambda home: home.places and home.places[-1] == (1, 1, []))
            await home.device(names.NEAR)
            await home.wait(lambda home: home.places[-1][0] == 0)
            absent = await home.device(names.ABSENT)
            assert absent.states == [(False, 0, NO_RESOURCES)]

    with proxy(ble, "--connections", "1") as (_, port, key):
        asyncio.run(visit(port, key))


def test_two_clients_hear_the_same(ble, bumble):
    async def visit(port, key):
        async with at_home(port, key) as first, at_home(port, key) as second:
            near = number(names.NEAR)
            for home in (first, second):
                home.listen()
            for home in (first, second):
                await home.wait(lambda home: near in home.adverts)
            first.unsubscribe()
            second.adverts.clear()
            await second.wait(lambda home: near in home.adverts)

    with proxy(ble) as (_, port, key):
        asyncio.run(visit(port, key))


def test_another_key_is_turned_away(ble, bumble):
    with proxy(ble) as (run, port, key):
        other = ble.good("proxy", "--make-key").stdout.strip()
        with pytest.raises(InvalidEncryptionKeyAPIError):
            asyncio.run(enter(port, other))
        run.wait_text("it has another key", "stderr")


async def enter(port, key):
    async with at_home(port, key):
        pass
