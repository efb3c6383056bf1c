"""The ends of threads, as the kernel reports them: its connector of processes (`include/uapi/linux/cn_proc.h`)."""

from __future__ import annotations

import os
import socket
import struct
import time

from lab.peer import PATIENCE

NETLINK_CONNECTOR, DONE = 11, 3
PROCESSES = (1, 1)  # the connector's index and value, CN_IDX_PROC and CN_VAL_PROC
LISTEN = 1
EXIT = 0x80000000
HEADER, MESSAGE = struct.Struct("=IHHII"), struct.Struct("=IIIIHH")
EVENT = struct.Struct("=IIQII")  # event, processor, time, thread, process


class ThreadEnds:
    """Reports when a thread of one process ends, from now on."""

    def __init__(self, process: int):
        self.process = process
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_CONNECTOR)
        self.socket.bind((os.getpid(), PROCESSES[0]))
        operation = struct.pack("=I", LISTEN)
        message = MESSAGE.pack(*PROCESSES, 0, 0, len(operation), 0) + operation
        self.socket.send(HEADER.pack(HEADER.size + len(message), DONE, 0, 0, os.getpid()) + message)

    def wait(self, deadline: float) -> bool:
        """Waits for the next end; `False` if there is none in time."""
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                event = self.socket.recv(4096)[HEADER.size + MESSAGE.size :]
            except TimeoutError:
                return False
            what, _, _, _, process = EVENT.unpack_from(event)
            if what == EXIT and process == self.process:
                return True
        return False

    def wait_until(self, is_so, within: float = PATIENCE) -> bool:
        """Checks now, and whenever a thread has ended."""
        deadline = time.monotonic() + within
        while not (so := is_so()) and self.wait(deadline):
            pass
        return so

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
