"""Starts the lab's own peers as forks of one process that has loaded what they need.

Loading Bumble takes an emulated processor some ten seconds, and a fork takes none: so a process that opens the nursery,
and needs a part of Bumble itself, loads it for both. `open_nursery` must be called first: a process with threads should
not fork.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback

# The modules that most of them need. None is started by itself: that would load it twice.
LOADED = (
    "bumble.controller",
    "bumble.device",
    "bumble.host",
    "bumble.link",
    "bumble.transport",
    "peers.ailments",
    "peers.person",
    "peers.services",
    "peers.zoo",
)
LONGEST = 65_536  # the largest request, in octets


def load() -> None:
    """Loads those modules, so that each process that is forked from here has them."""
    for name in LOADED:
        importlib.import_module(name)


class Child:
    """A process started here, with the part of `subprocess.Popen` that the lab uses."""

    def __init__(self, pid: int, output: int):
        self.pid = pid
        self.stdout = os.fdopen(output, errors="replace")
        try:
            self.descriptor = os.pidfd_open(pid)
        except ProcessLookupError:  # it has ended already
            self.descriptor = None

    def poll(self) -> int | None:
        return None if self.descriptor is not None and not select.select([self.descriptor], [], [], 0)[0] else 0

    def wait(self, timeout: float | None = None) -> int:
        if self.descriptor is not None and not select.select([self.descriptor], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return 0

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            try:
                signal.pidfd_send_signal(self.descriptor, number)
            except ProcessLookupError:  # it has ended meanwhile
                pass


class Nursery:
    """The process that forks, and the connection to it."""

    def __init__(self):
        load()
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            self.socket.close()
            serve(theirs)
        theirs.close()

    def start(self, module: str, arguments: tuple[str, ...], environment: dict[str, str]) -> Child:
        """Runs a module as a program, with its output in a pipe."""
        output, theirs = os.pipe()
        socket.send_fds(self.socket, [json.dumps([module, arguments, environment]).encode()], [theirs])
        os.close(theirs)
        return Child(int(self.socket.recv(LONGEST)), output)


def serve(requests: socket.socket) -> None:
    """Forks for each request, until the requester has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the requester
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the processes that have ended
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, LONGEST, 1)
        if not request:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            requests.close()
            become(*json.loads(request), descriptors[0])
        os.close(descriptors[0])
        requests.send(str(pid).encode())


def become(module: str, arguments: list[str], environment: dict[str, str], output: int) -> None:
    """Becomes that program."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for descriptor, number in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(descriptor, number)
        os.close(nothing)
        os.close(output)
        # A test runner's replacements are not for this program.
        sys.stdin, sys.stdout, sys.stderr = open(0), written(1), written(2)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir("/")
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def written(descriptor: int) -> io.TextIOWrapper:
    """Text that is written at once."""
    return io.TextIOWrapper(os.fdopen(descriptor, "wb", 0), errors="replace", write_through=True)


nursery: Nursery | None = None


def open_nursery() -> Nursery:
    """This process's nursery."""
    global nursery
    nursery = nursery or Nursery()
    return nursery
