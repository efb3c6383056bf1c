"""Starts the peers of a guest that need Bumble, on this machine: the guest's emulated processor would take ten times as long.

    python -m host.nursery DESCRIPTOR

The descriptor is a socket to the guest's serial port, on which the frames of peers/frames.py go. Peers are forks of this
process, which has loaded what they need. It ends, and its peers with it, when the guest does.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import runpy
import selectors
import signal
import socket
import sys
import traceback
from collections import deque

from peers import outside
from peers.frames import Frames, Kind, frame

# The modules that most of them need. None is started by itself: that would load it twice.
LOADED = (
    "bumble.controller",
    "bumble.device",
    "bumble.host",
    "bumble.link",
    "peers.ailments",
    "peers.person",
    "peers.services",
    "peers.zoo",
)
LONGEST = 1 << 20


class Peer:
    """A process, and the socket to it."""

    def __init__(self, pid: int, end: socket.socket):
        self.pid = pid
        self.end = end
        self.waiting: deque[bytes] = deque()


class Nursery:
    def __init__(self, guest: socket.socket):
        self.guest = guest
        self.guest.setblocking(False)
        self.frames = Frames()
        self.waiting = bytearray()
        self.peers: dict[int, Peer] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(guest, selectors.EVENT_READ, None)

    def serve(self) -> None:
        """Until the guest ends."""
        while True:
            for key, events in self.selector.select():
                if key.data is None:
                    if events & selectors.EVENT_WRITE:
                        self.write_guest()
                    if events & selectors.EVENT_READ and not self.read_guest():
                        return
                elif key.data in self.peers:
                    if events & selectors.EVENT_WRITE:
                        self.write_peer(key.data)
                    if events & selectors.EVENT_READ:
                        self.read_peer(key.data)

    # From the guest

    def read_guest(self) -> bool:
        try:
            octets = self.guest.recv(LONGEST)
        except ConnectionResetError:
            return False
        for number, kind, payload in self.frames.take(octets):
            if kind is Kind.START:
                self.start(number, *json.loads(payload))
            elif kind is Kind.SIGNAL:
                self.signal(number, payload[0])
            elif peer := self.peers.get(number):  # it may have ended meanwhile
                peer.waiting.append(bytes([kind]) + payload)
                self.write_peer(number)
        return bool(octets)

    def signal(self, number: int, signal_number: int) -> None:
        if peer := self.peers.get(number):
            os.kill(peer.pid, signal_number)

    def start(self, number: int, module: str, arguments: list[str], environment: dict[str, str]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            self.selector.close()
            self.guest.close()
            ours.close()
            for other in self.peers.values():
                other.end.close()
            become(module, arguments, environment, theirs)
        theirs.close()
        ours.setblocking(False)
        self.peers[number] = Peer(pid, ours)
        self.selector.register(ours, selectors.EVENT_READ, number)

    def write_peer(self, number: int) -> None:
        peer = self.peers[number]
        while peer.waiting:
            try:
                peer.end.send(peer.waiting[0])
            except BlockingIOError:
                break
            except OSError:  # it has ended, which is read
                peer.waiting.clear()
                break
            peer.waiting.popleft()
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.waiting else 0)
        self.selector.modify(peer.end, wanted, number)

    # From a peer

    def read_peer(self, number: int) -> None:
        peer = self.peers[number]
        try:
            message = peer.end.recv(LONGEST)
        except ConnectionResetError:
            message = b""
        if message:
            self.send(frame(number, Kind(message[0]), message[1:]))
            return
        self.selector.unregister(peer.end)
        peer.end.close()
        os.waitpid(peer.pid, 0)
        del self.peers[number]
        self.send(frame(number, Kind.ENDED))

    def send(self, octets: bytes) -> None:
        self.waiting += octets
        self.write_guest()

    def write_guest(self) -> None:
        try:
            sent = self.guest.send(self.waiting) if self.waiting else 0
        except BlockingIOError:
            sent = 0
        except OSError:  # it has ended, which is read
            sent = len(self.waiting)
        del self.waiting[:sent]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.waiting else 0)
        self.selector.modify(self.guest, wanted, None)


def become(module: str, arguments: list[str], environment: dict[str, str], end: socket.socket) -> None:
    """Becomes that program."""
    try:
        outside.attach(end)
        # What was configured here would print here.
        logging.root.handlers.clear()
        os.environ.clear()
        os.environ.update(environment)
        os.chdir("/")
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit:
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def main(descriptor: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the guest
    for name in LOADED:
        importlib.import_module(name)
    Nursery(socket.socket(fileno=int(descriptor))).serve()


if __name__ == "__main__":
    main(sys.argv[1])
