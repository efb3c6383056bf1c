"""Addresses, names and UUIDs that peers and scenarios share."""

# hci0 in the guest: the kernel's adapter, whose controller is Bumble's (peers/air.py).
CENTRAL = "F0:F1:F2:F3:F4:F5"
# Another address for the same controller.
WRITTEN = "F0:F1:F2:F3:F4:FA"
# A second one, where two are joined (peers/joined.py).
SECOND_CENTRAL = "F0:F1:F2:F3:F4:F8"
# A third one there, which is unplugged unless a scenario plugs it in.
THIRD_CENTRAL = "F0:F1:F2:F3:F4:FB"

# Two peripherals on that air. NEAR has the GATT server; FAR only advertises and can't be connected to.
NEAR = "C4:F2:17:1A:1D:BB"
NEAR_NAME = "Lab Heart"
NEAR_RSSI = -48
FAR = "D8:3A:5E:00:00:02"
FAR_NAME = "Lab Beacon"
FAR_RSSI = -87
# What the sensors of peers/crowd.py notify is this and the number of the beat.
BEAT_BASE = 60
CROWD_LOCATION = b"\x01"  # the chest


def is_private(address: str) -> bool:
    """Whether it is a resolvable private address, by its two highest bits."""
    return int(address[:2], 16) >> 6 == 0b01


def crowd(number: int) -> str:
    """The address of another sensor; there are none unless a scenario wants them."""
    return f"C4:F2:17:1A:20:{number:02X}"


# A valid address that no device has.
ABSENT = "C0:00:00:00:00:01"

# The sensors of peers/field.py.
FIELD = {
    "ours": "C4:F2:17:1A:30:01",
    "theirs": "C4:F2:17:1A:30:02",
    "other": "C4:F2:17:1A:30:03",
    "visitor": "C4:F2:17:1A:31:00",
}


def visitor(number: int) -> str:
    """One of the visitor's addresses."""
    return f"C4:F2:17:1A:{0x40 + number // 256:02X}:{number % 256:02X}"


# The central beside the adapter that can't have both roles at once (peers/one_role.py).
ONE_ROLE_CENTRAL = "E0:00:00:00:00:10"

# Heard once if a scenario wants it, but never connectable.
GHOST = "C0:00:00:00:00:02"

COMPANY = 0xFFFF  # the identifier that is reserved for tests
MANUFACTURER_BYTES = bytes.fromhex("01020304")
APPEARANCE = 0x0341  # heart rate sensor, belt
TX_POWER = 4

HEART_RATE = "180D"
HEART_RATE_MEASUREMENT = "2A37"
BODY_SENSOR_LOCATION = "2A38"
BATTERY = "180F"
BATTERY_LEVEL = "2A19"


def vendor(number: int) -> str:
    """The UUID of one attribute of the vendor service."""
    return f"B1E5{number:04X}-57EA-4D5A-A1B2-0123456789AB"


VENDOR = vendor(0x0001)
VALUE = vendor(0x0010)  # read, write, write without response; starts as VALUE_BYTES
LONG = vendor(0x0011)  # read and write, LONG_BYTES
READ_ONLY = vendor(0x0012)
THOUSAND = vendor(0x0013)  # subscribe: 1,000 values at full speed, each its number as u32
MESSAGE = vendor(0x0014)  # subscribe: MESSAGE_BYTES in chunks of MTU-3, then EOM as a chunk of its own
EARLY = vendor(0x0015)  # subscribe: three values before the write response, two after it
BROKEN = vendor(0x0016)  # subscribe: BROKEN_CHUNKS chunks of MTU-3, then the peripheral drops the link
SILENT = vendor(0x0017)  # reading it is never answered, except after `silence off`
INDICATED = vendor(0x0018)  # subscribe: INDICATIONS values, each after the confirmation of the last one
SECRET = vendor(0x0019)  # readable on an encrypted link only
NUMBERS = vendor(0x001A)  # subscribe: a number as u32, incremented with each notification
UNKNOWN = vendor(0x0099)  # does not exist

# Firmware: MCUmgr's service, and that of the package's plain protocol.
SMP_SERVICE = "8D53DC1D-1DB7-4CD3-868B-8A527460AA84"
SMP_CHARACTERISTIC = "DA2E7828-FBCE-4E01-AE9E-261174997C48"
UPDATE_SERVICE = "5D1F0000-33C2-4E5B-A4C6-9E072B81D3F5"
UPDATE_STATUS = "5D1F0001-33C2-4E5B-A4C6-9E072B81D3F5"
UPDATE_CONTROL = "5D1F0002-33C2-4E5B-A4C6-9E072B81D3F5"
UPDATE_DATA = "5D1F0003-33C2-4E5B-A4C6-9E072B81D3F5"

VALUE_BYTES = bytes.fromhex("0102030405")
LONG_BYTES = bytes((i * 7 + i // 256) & 0xFF for i in range(400))
READ_ONLY_BYTES = b"read me"
SILENT_BYTES = b"spoken"
SECRET_BYTES = b"between us"
FAR_SECRET_BYTES = b"for somebody else"  # the value of the peripheral that is out of reach (peers/elsewhere.py)
MESSAGE_BYTES = bytes((i * 31 + i // 251) & 0xFF for i in range(10_000))
END_MARK = b"EOM"
EARLY_VALUES = [b"early 0", b"early 1", b"early 2", b"late 3", b"late 4"]
BROKEN_CHUNKS = 10
INDICATIONS = 20

# btvirt's two adapters: the client's, and the one on which bluetoothd is the peripheral.
BTVIRT_CLIENT = "00:AA:01:00:00:00"
BTVIRT_SERVER = "00:AA:01:01:00:01"
BLUEZ_NAME = "Lab BlueZ"
BLUEZ_SERVICE = vendor(0x1001)
BLUEZ_SHORT = vendor(0x1010)
BLUEZ_LONG = vendor(0x1011)
BLUEZ_NOTIFY = vendor(0x1012)
BLUEZ_SHORT_BYTES = b"from bluetoothd"


def full(uuid: str) -> str:
    """The 128-bit form, lower case, of a UUID of any width."""
    text = uuid.lower().removeprefix("0x")
    if len(text) == 4:
        return f"0000{text}-0000-1000-8000-00805f9b34fb"
    if len(text) == 8:
        return f"{text}-0000-1000-8000-00805f9b34fb"
    return text
