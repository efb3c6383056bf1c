"""A GATT tree as `ble info --json` prints it, in one spelling, however its objects are nested."""

from __future__ import annotations

from dataclasses import dataclass

from lab import names

# The properties of a characteristic as bits, by their names (Core specification, Vol 3, Part G, 3.3.1.1).
PROPERTY_BITS = {
    "broadcast": 0x01,
    "read": 0x02,
    "writewithoutresponse": 0x04,
    "write": 0x08,
    "notify": 0x10,
    "indicate": 0x20,
    "signedwrite": 0x40,
    "authenticatedsignedwrites": 0x40,
    "extendedproperties": 0x80,
    "extended": 0x80,
}


@dataclass
class Characteristic:
    uuid: str
    properties: int
    descriptors: set[tuple[int, str]]
    value: str | None


def objects_in(thing):
    """Every JSON object, at any depth."""
    if isinstance(thing, dict):
        yield thing
        thing = list(thing.values())
    if isinstance(thing, list):
        for part in thing:
            yield from objects_in(part)


def number(handle) -> int:
    return handle if isinstance(handle, int) else int(str(handle), 0)


def bits(properties) -> int:
    if isinstance(properties, int):
        return properties
    return sum(PROPERTY_BITS["".join(filter(str.isalpha, name)).lower()] for name in properties)


def characteristics_in(records: list[dict]) -> dict[int, Characteristic]:
    """The characteristics, by the handles of their values."""
    return {
        number(entry["handle"]): Characteristic(
            names.full(entry["uuid"]),
            bits(entry["properties"]),
            {(number(d["handle"]), names.full(d["uuid"])) for d in entry.get("descriptors", [])},
            entry.get("value"),
        )
        for entry in objects_in(records)
        if "properties" in entry
    }


def uuids_in(records: list[dict]) -> set[str]:
    fields = [entry.get(key) for entry in objects_in(records) for key in ("uuid", "service")]
    return {names.full(value) for value in fields if isinstance(value, str)}
