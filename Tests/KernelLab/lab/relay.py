"""The peers that need Bumble run on the machine outside (host/nursery.py). This is what they have in the guest: a process
that does here, in their order, what they do with adapters and control sockets, and prints what they print.

`open_relay` starts it, once in a guest; `start` asks it for a peer.
"""

from __future__ import annotations

import io
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from lab import devices
from peers.frames import Frames, Kind, frame, numbered, split

PORTS = Path("/sys/class/virtio-ports")
NAME = "peers"  # the port's, in host/boot
PATH = "/run/lab/relay.sock"
LONGEST = 65_536  # the largest request, in octets
LESS_URGENT = 5


class Remote:
    """A peer started here, with the part of `subprocess.Popen` that the lab uses. It is killed when this is gone."""

    def __init__(self, module: str, arguments: tuple[str, ...], environment: dict[str, str]):
        output, theirs = os.pipe()
        self.stdout = os.fdopen(output, errors="replace")
        self.end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.end.connect(PATH)
        socket.send_fds(self.end, [json.dumps([module, arguments, environment]).encode()], [theirs])
        os.close(theirs)

    def poll(self) -> int | None:
        return 0 if select.select([self.end], [], [], 0)[0] else None

    def wait(self, timeout: float | None = None) -> int:
        if not select.select([self.end], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("the peer", timeout)
        return 0

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            self.end.send(bytes([number]))


class Served:
    """A peer: who asked for it, where it prints, and what it has here."""

    def __init__(self, requester: socket.socket, output: int):
        self.requester = requester
        self.output = output
        self.devices: dict[int, devices.Device] = {}
        self.listener: socket.socket | None = None
        self.clients: dict[int, socket.socket] = {}


class Relay:
    def __init__(self, port: int, requests: socket.socket):
        self.port = port
        self.requests = requests
        self.frames = Frames()
        self.peers: dict[int, Served] = {}
        self.started = self.joined = 0
        self.selector = selectors.DefaultSelector()
        self.watch(port, self.read_port)
        self.watch(requests, self.accept_request)

    def watch(self, file, take: Callable[[], None]) -> None:
        self.selector.register(file, selectors.EVENT_READ, take)

    def serve(self) -> None:
        while True:
            for key, _ in self.selector.select():
                # It may have been closed for what came just before.
                if key.fileobj in self.selector.get_map():
                    key.data()

    def send(self, peer: int, kind: Kind, payload: bytes = b"") -> None:
        octets = memoryview(frame(peer, kind, payload))
        while octets:
            try:
                octets = octets[os.write(self.port, octets) :]
            except BlockingIOError:
                select.select([], [self.port], [])

    # From the guest

    def accept_request(self) -> None:
        requester, _ = self.requests.accept()
        request, descriptors, _, _ = socket.recv_fds(requester, LONGEST, 1)
        self.started += 1
        number = self.started
        self.peers[number] = Served(requester, descriptors[0])
        self.send(number, Kind.START, request)
        self.watch(requester, lambda: self.read_requester(number))

    def read_requester(self, number: int) -> None:
        requester = self.peers[number].requester
        wanted = requester.recv(LONGEST)
        if not wanted:
            self.selector.unregister(requester)
            wanted = bytes([signal.SIGKILL])
        self.send(number, Kind.SIGNAL, wanted)

    def accept_client(self, number: int) -> None:
        client, _ = self.peers[number].listener.accept()
        self.joined = (self.joined + 1) & 0xFFFF
        joined = self.joined
        self.peers[number].clients[joined] = client
        self.send(number, Kind.JOINED, numbered(joined))
        self.watch(client, lambda: self.read_client(number, joined))

    def read_client(self, number: int, joined: int) -> None:
        try:
            text = self.peers[number].clients[joined].recv(LONGEST)
        except OSError:
            text = b""
        if text:
            self.send(number, Kind.SAID, numbered(joined, text))
            return
        self.let_go(self.peers[number].clients.pop(joined))
        self.send(number, Kind.LEFT, numbered(joined))

    def read_device(self, number: int, device: int) -> None:
        try:
            packet = self.peers[number].devices[device].read()
        except BlockingIOError:
            return
        except OSError:  # as of an adapter that is gone; whoever opened it closes it
            packet = b""
        if packet:
            self.send(number, Kind.DEVICE, numbered(device, packet))
        else:
            self.selector.unregister(self.peers[number].devices[device].file)

    # From a peer

    def read_port(self) -> None:
        octets = os.read(self.port, 1 << 18)
        if not octets:
            raise EOFError("the nursery outside has ended")
        for number, kind, payload in self.frames.take(octets):
            peer = self.peers[number]
            if kind is Kind.DEVICE:
                device, packet = split(payload)
                if device in peer.devices:
                    peer.devices[device].write(packet)
            elif kind is Kind.PRINT:
                self.print(peer, payload)
            elif kind is Kind.SAID:
                joined, text = split(payload)
                if joined in peer.clients:  # it may have left meanwhile
                    self.say(peer.clients[joined], text)
            elif kind is Kind.OPEN:
                self.open(number, *split(payload))
            elif kind is Kind.CLOSE:
                self.close(peer, split(payload)[0])
            elif kind is Kind.LISTEN:
                self.listen(number, payload.decode())
            elif kind is Kind.SETTLED:
                self.send(number, kind, payload)
            elif kind is Kind.ENDED:
                self.end(number)

    @staticmethod
    def say(client: socket.socket, text: bytes) -> None:
        try:
            client.sendall(text)
        except OSError:  # it has left, which is read
            pass

    def print(self, peer: Served, text: bytes) -> None:
        try:
            while text:
                text = text[os.write(peer.output, text) :]
        except BrokenPipeError:  # whoever asked for it has gone
            pass

    def open(self, number: int, device: int, what: bytes) -> None:
        peer = self.peers[number]
        try:
            opened = peer.devices[device] = devices.opened(*json.loads(what))
        except Exception:
            self.print(peer, traceback.format_exc().encode())
            return
        self.watch(opened.file, lambda: self.read_device(number, device))

    def close(self, peer: Served, number: int) -> None:
        if device := peer.devices.pop(number, None):
            self.let_go(device.file, device.close)

    def listen(self, number: int, path: str) -> None:
        if os.path.exists(path):
            os.unlink(path)
        listener = self.peers[number].listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        os.chmod(path, 0o666)
        listener.listen()
        self.watch(listener, lambda: self.accept_client(number))

    def end(self, number: int) -> None:
        """Nothing remains of it, as of a process."""
        peer = self.peers.pop(number)
        for device in list(peer.devices):
            self.close(peer, device)
        for one in filter(None, [peer.listener, *peer.clients.values()]):
            self.let_go(one)
        os.close(peer.output)
        # The last: who waits for its end finds the adapters gone.
        self.let_go(peer.requester)

    def let_go(self, file, close: Callable[[], None] | None = None) -> None:
        if file in self.selector.get_map():
            self.selector.unregister(file)
        (close or file.close)()


def port() -> int:
    """The serial port to the nursery outside."""
    found = next(path for path in PORTS.iterdir() if (path / "name").read_text().strip() == NAME)
    return os.open(f"/dev/{found.name}", os.O_RDWR | os.O_NONBLOCK)


def open_relay() -> None:
    """Starts the relay as a process of its own, which lives as long as the guest."""
    Path(PATH).parent.mkdir(exist_ok=True)
    requests = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    requests.bind(PATH)
    requests.listen()
    if os.fork():
        requests.close()
        return
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the guest's deadline is for the benches
        # A radio is slower than any program, and so are these peers, as long as others have most of the processor: who reads
        # what they send is never behind. Less than this share, and a busy guest's kernel would wait in vain for the answer to
        # a command, which it does for 2 s.
        os.nice(LESS_URGENT)
        Relay(port(), requests).serve()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)
