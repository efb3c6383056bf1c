"""Looks for keys and passkeys in what programs print, in every form that somebody could have printed them in.

    python3 Tests/KernelLab/lab/leaks.py FILE…    whether the secrets that the package's tests plant are in a file

In the lab the kernel itself tells which secrets there are: `Witness`.
"""

from __future__ import annotations

import base64
import re
import select
import struct
import sys

from pathlib import Path

# What every key begins with that the simulator makes, `SimulatedKey.mark`, or that a test plants, `Planted.mark`; and
# other keys that tests use.
KEYS = (
    bytes.fromhex("5ec2e74b1e557a0d"),
    *(bytes(range(first, first + 16)) for first in (0x00, 0x01, 0x10, 0x20, 0x30, 0x40, 0xA0)),
    bytes.fromhex("00112233445566778899aabbccddeeff"),
)
# Passkeys that tests use; 123456 is in many a number.
PASSKEYS = (62_481, 730_914, 624_813, 654_321)


def joined(octets: bytes) -> str:
    """Hexadecimal digits with any separator, and decimal numbers in a list or a dump."""
    hexadecimal = r"[\s,:._-]{0,2}".join(map(hexadecimal_form, octets))
    decimal = r"\b" + r"[\s,-]+".join(str(octet) for octet in octets) + r"\b"
    return f"{hexadecimal}|{decimal}"


def hexadecimal_form(octet: int) -> str:
    return rf"(?:0x|\\x)?{octet:02x}" if octet > 15 else rf"(?:(?:0x|\\x)?0|0x){octet:x}"


def halves(octets: bytes) -> list[str]:
    """Eight octets as one number."""
    return [rf"\b{int.from_bytes(octets[start : start + 8], 'big')}\b" for start in range(0, len(octets), 8)]


def base64_forms(octets: bytes) -> list[str]:
    """However many octets stand before them: the characters that are theirs alone."""
    forms = []
    for before in range(3):
        text = base64.b64encode(bytes(before) + octets).decode()
        start = -(-before * 8 // 6)
        form = text[start : (before + len(octets)) * 8 // 6]
        forms += [form, form.replace("+", "-").replace("/", "_")]
    return [re.escape(form) for form in dict.fromkeys(forms)]


def key_pattern(octets: bytes) -> re.Pattern:
    """Finds octets in either order; the case of hexadecimal digits doesn't matter, that of Base64 does."""
    backwards = octets[::-1]
    forms = [f"(?i:{joined(octets)}|{joined(backwards)})", *halves(octets), *halves(backwards)]
    return re.compile("|".join(forms + base64_forms(octets) + base64_forms(backwards)))


def passkey_pattern(passkey: int) -> re.Pattern:
    """With its six digits, or as a number; not as a part of something longer."""
    return re.compile(rf"(?<![0-9A-Za-z.:-])(?:{passkey:06}|{passkey}|{passkey:_}|{passkey:,})(?![0-9A-Za-z:-])")


def patterns(keys, passkeys) -> dict[str, re.Pattern]:
    """By what they are called where they are found: without the secret."""
    found = {f"the key that begins with {key[:2].hex()}": key_pattern(key) for key in keys}
    return found | {f"the passkey that begins with {passkey // 10000:02}": passkey_pattern(passkey) for passkey in passkeys}


def leaks(text: str, wanted: dict[str, re.Pattern]) -> list[str]:
    """Where a secret stands, line by line; a key may go over several."""
    return [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {name}"
        for name, pattern in wanted.items()
        for match in pattern.finditer(text)
    ]


class Witness:
    """Hears from the kernel, as everybody with the capability, which keys and passkeys there are."""

    def __init__(self):
        from lab.mgmt import Management  # not where only files are looked through

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
        """None of them was printed; a person at a terminal is shown the passkey, and was to be."""
        self.hear()
        keys = patterns([key for key in self.keys if any(key)], [])
        for run in runs:
            given = {int(word) for name, word in zip(run.arguments, run.arguments[1:]) if name == "--passkey"}
            wanted = keys | patterns([], (given if run.terminal else given | self.passkeys) - {0})
            for name, text in run.output.items():
                found = leaks(text, wanted)
                assert not found, f"ble {run.arguments[0]} printed a secret on {name}: {found}"

    def close(self) -> None:
        self.management.close()


def prove(wanted: dict[str, re.Pattern]) -> None:
    """Whoever looks and finds nothing has to be able to find something."""
    key = KEYS[0] + bytes(8)
    for octets in (key, key[::-1]):
        texts = [octets.hex(), octets.hex().upper(), octets.hex(":"), octets.hex(" "), str(list(octets))]
        texts += [base64.b64encode(bytes(before) + octets).decode() for before in range(3)]
        texts += [", ".join(map(hex, octets)), str(int.from_bytes(key[:8], "big"))]
        for text in texts:
            assert leaks(f"word\n{text}", wanted), f"{text} is not found"
    for text in ("passkey 062481", "(62481)", "[62481, 0]", "62_481"):
        assert leaks(text, wanted), f"{text} is not found"
    assert not leaks("10624812 62:48:10 5ec2e74b", wanted)


def main() -> int:
    wanted = patterns(KEYS, PASSKEYS)
    prove(wanted)
    status = 0
    for name in sys.argv[1:]:
        for found in leaks(Path(name).read_text(errors="replace"), wanted):
            print(f"{name}, {found}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
