"""Looks for keys and passkeys in the output of programs, in every form in which they could be printed.

    python3 Tests/KernelLab/lab/leaks.py FILE…    whether the secrets that the package's tests plant are in a file

In the lab the kernel itself reports the secrets: `Witness`.
"""

from __future__ import annotations

import base64
import bisect
import re
import select
import struct
import sys

from collections.abc import Callable
from pathlib import Path

# The beginnings of all keys that the simulator makes, `SimulatedKey.mark`, or that a test plants, `Planted.mark`; and
# other keys that tests use.
KEYS = (
    bytes.fromhex("5ec2e74b1e557a0d"),
    *(bytes(range(first, first + 16)) for first in (0x00, 0x01, 0x10, 0x20, 0x30, 0x40, 0xA0)),
    bytes.fromhex("00112233445566778899aabbccddeeff"),
)
# Passkeys that tests use; 123456 is a part of many numbers.
PASSKEYS = (62_481, 730_914, 624_813, 654_321)


class Printed:
    """Printed text in the forms in which octets are searched for: no key needs its own expression."""

    def __init__(self, text: str):
        self.text = text
        digits = re.sub(r"(?:0x|\\x)([0-9a-f])(?![0-9a-f])", r"0\1", text.lower())
        digits = re.sub(r"(?:0x|\\x)(?=[0-9a-f])", "", digits)
        self.hexadecimal = re.sub(r"[\s,:._-]+", "", digits)
        self.decimal = re.sub(r"[\s,-]+", ",", text)

    def has_octets(self, octets: bytes) -> bool:
        """In either order: as digits with any separator, as numbers in a list or a dump, in Base64."""
        return any(map(self.has_in_order, (octets, octets[::-1])))

    def has_in_order(self, octets: bytes) -> bool:
        return (
            octets.hex() in self.hexadecimal
            or any(str(number) in self.text for number in halves(octets))
            or any(form in self.text for form in base64_forms(octets))
            or self.has_numbers(",".join(map(str, octets)))
        )

    def has_numbers(self, numbers: str) -> bool:
        start = self.decimal.find(numbers)
        while start >= 0:
            around = self.decimal[max(0, start - 1) : start] + self.decimal[start + len(numbers) :][:1]
            if not re.search(r"\w", around):
                return True
            start = self.decimal.find(numbers, start + 1)
        return False

    def has_passkey(self, passkey: int) -> bool:
        """With its six digits, or as a number; not as a part of something longer."""
        forms = rf"(?<![0-9A-Za-z.:-])(?:{passkey:06}|{passkey}|{passkey:_}|{passkey:,})(?![0-9A-Za-z:-])"
        return re.search(forms, self.text) is not None


def halves(octets: bytes) -> list[int]:
    """Each eight octets as one number."""
    return [int.from_bytes(octets[start : start + 8], "big") for start in range(0, len(octets), 8)]


def base64_forms(octets: bytes) -> set[str]:
    """The characters that only these octets determine, for any number of octets before them."""
    forms = set()
    for before in range(3):
        text = base64.b64encode(bytes(before) + octets).decode()
        start = -(-before * 8 // 6)
        form = text[start : (before + len(octets)) * 8 // 6]
        forms |= {form, form.replace("+", "-").replace("/", "_")}
    return forms


Wanted = dict[str, Callable[[Printed], bool]]


def secrets(keys, passkeys) -> Wanted:
    """The searches by the names under which secrets are reported: names without the secret."""
    found: Wanted = {}
    for key in keys:
        found[f"the key that begins with {key[:2].hex()}"] = lambda printed, key=key: printed.has_octets(key)
    for passkey in passkeys:
        name = f"the passkey that begins with {passkey // 10000:02}"
        found[name] = lambda printed, passkey=passkey: printed.has_passkey(passkey)
    return found


def leaks(text: str, wanted: Wanted) -> list[str]:
    """The secrets in a text, each with the line in which the first occurrence ends; a key may span several lines."""
    printed = Printed(text)
    found = [(name, is_in) for name, is_in in wanted.items() if is_in(printed)]
    if not found:
        return []
    lines = text.splitlines(keepends=True)
    # The shortest beginning that contains it.
    numbers = range(1, len(lines) + 1)
    return [
        f"line {bisect.bisect_left(numbers, True, key=lambda count: is_in(Printed(''.join(lines[:count])))) + 1}: {name}"
        for name, is_in in found
    ]


class Witness:
    """Learns from the kernel, as any process with the capability can, which keys and passkeys exist."""

    def __init__(self):
        from lab.mgmt import Management  # not needed if only files are searched

        self.management = Management()
        self.keys: set[bytes] = set()
        self.passkeys: set[int] = set()

    def hear(self) -> None:
        while select.select([self.management.socket], [], [], 0)[0]:
            packet = self.management.socket.recv(4096)
            self.take(struct.unpack_from("<H", packet)[0], packet[6:])

    def take(self, code: int, data: bytes) -> None:
        match code:
            case 0x000A:  # New Long Term Key
                self.keys.add(data[21:37])
            case 0x0018:  # New Identity Resolving Key
                self.keys.add(data[14:30])
            case 0x0019:  # New Signature Resolving Key
                self.keys.add(data[9:25])
            case 0x000F:  # User Confirmation Request
                self.passkeys.add(struct.unpack_from("<I", data, 8)[0])
            case 0x0017:  # Passkey Notify
                self.passkeys.add(struct.unpack_from("<I", data, 7)[0])

    def expect_silence(self, runs) -> None:
        """No secret was printed, except a passkey that is shown to a person at a terminal, as it must be."""
        self.hear()
        keys = secrets([key for key in self.keys if any(key)], [])
        for run in runs:
            given = {int(word) for name, word in zip(run.arguments, run.arguments[1:]) if name == "--passkey"}
            wanted = keys | secrets([], (given if run.terminal else given | self.passkeys) - {0})
            for name, text in run.output.items():
                found = leaks(text, wanted)
                assert not found, f"ble {run.arguments[0]} printed a secret on {name}: {found}"

    def close(self) -> None:
        self.management.close()


def prove(wanted: Wanted) -> None:
    """A search that finds nothing must prove that it can find something."""
    key = KEYS[0] + bytes(8)
    for octets in (key, key[::-1]):
        texts = [octets.hex(), octets.hex().upper(), octets.hex(":"), octets.hex(" "), str(list(octets))]
        texts += [base64.b64encode(bytes(before) + octets).decode() for before in range(3)]
        texts += [", ".join(map(hex, octets)), str(int.from_bytes(key[:8], "big")), " ".join(map(str, octets))]
        texts += ["".join(f"\\x{octet:02x}" for octet in octets), octets.hex("-", 2), octets.hex(":")[:24] + "\n" + octets.hex(":")[24:]]
        for text in texts:
            assert leaks(f"word\n{text}", wanted), f"{text} is not found"
    for text in ("passkey 062481", "(62481)", "[62481, 0]", "62_481"):
        assert leaks(text, wanted), f"{text} is not found"
    assert not leaks("10624812 62:48:10 5ec2e74b", wanted)


def main() -> int:
    wanted = secrets(KEYS, PASSKEYS)
    prove(wanted)
    status = 0
    for name in sys.argv[1:]:
        for found in leaks(Path(name).read_text(errors="replace"), wanted):
            print(f"{name}, {found}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
