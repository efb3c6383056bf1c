"""Runs a program that may not open Bluetooth sockets, as a container's or a service's filter of system calls has it.

    python without_bluetooth.py PROGRAM [ARGUMENT]...
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

AF_BLUETOOTH = 31
SOCKET_CALL = 41  # on x86-64
AUDIT_ARCH_X86_64 = 0xC000003E
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.EPERM

LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # their places in what a filter looks at

# Each: the code, how many instructions to skip if equal and if not, and a number.
FILTER = [
    (LOAD, 0, 0, ARCHITECTURE),
    (JUMP_IF_EQUAL, 0, 5, AUDIT_ARCH_X86_64),
    (LOAD, 0, 0, NUMBER),
    (JUMP_IF_EQUAL, 0, 3, SOCKET_CALL),
    (LOAD, 0, 0, FIRST_ARGUMENT),
    (JUMP_IF_EQUAL, 0, 1, AF_BLUETOOTH),
    (RETURN, 0, 0, REFUSE),
    (RETURN, 0, 0, ALLOW),
]


class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def refuse() -> None:
    """Installs the filter in this process, for it and its children."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = b"".join(struct.pack("<HBBI", *instruction) for instruction in FILTER)
    program = Program(len(FILTER), code)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))):
        if libc.prctl(*arguments):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    refuse()
    os.execv(sys.argv[1], sys.argv[1:])
