"""What a peripheral tells the outside, and what it is told.

Every event is a line, `SECONDS EVENT key=value ...`, on stdout and to everybody connected to the control socket.
A line sent to that socket is a command; its answer is a line `= ok ...` or `= error ...` to the sender alone.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

from peers import outside


class Control:
    def __init__(self):
        self.start = time.monotonic()
        self.listeners: set[asyncio.StreamWriter | outside.Client] = set()
        self.commands: dict[str, Callable[..., Awaitable[str | None]]] = {}

    def say(self, event: str, **facts) -> None:
        words = [f"{time.monotonic() - self.start:.3f}", event]
        words += [f"{key}={str(value).replace(' ', '_')}" for key, value in facts.items()]
        line = " ".join(words)
        print(line, flush=True)
        for writer in self.listeners:
            writer.write(line.encode() + b"\n")

    async def serve(self, path: str) -> None:
        if outside.here:
            outside.here.listen(path, self.on_client)
            return
        if os.path.exists(path):
            os.unlink(path)
        self.server = await asyncio.start_unix_server(self.on_client, path)
        os.chmod(path, 0o666)

    async def on_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter | outside.Client) -> None:
        self.listeners.add(writer)
        writer.write(b"= ok listening\n")
        try:
            while line := await reader.readline():
                writer.write(f"= {await self.run(line.decode().split())}\n".encode())
        except ConnectionError:
            pass
        finally:
            self.listeners.discard(writer)
            writer.close()

    async def run(self, words: list[str]) -> str:
        if not words or words[0] not in self.commands:
            return f"error commands: {' '.join(sorted(self.commands))}"
        self.say("command", words=",".join(words))
        try:
            return f"ok {await self.commands[words[0]](*words[1:]) or ''}".strip()
        except Exception as error:  # the scenario has to hear of it, whatever it is
            # On one line, whatever it has to say.
            return f"error {type(error).__name__}: {' '.join(str(error).split())}"
