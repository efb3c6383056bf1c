"""Debian's mosquitto, and a subscriber that keeps what arrives there; for the bench `speed`."""

from __future__ import annotations

import json

from lab.world import RUN, Process

PORT = 1883
CONFIGURATION = f"""
listener {PORT} 127.0.0.1
allow_anonymous true
max_queued_messages 0
user root
log_dest stderr
log_type notice
log_type information
log_type subscribe
"""


class Broker(Process):
    def __init__(self):
        RUN.mkdir(exist_ok=True)
        file = RUN / "mosquitto.conf"
        file.write_text(CONFIGURATION)
        super().__init__("mosquitto", "/usr/sbin/mosquitto", "-c", str(file))
        self.wait_line(" running")


class Subscriber(Process):
    """All messages below a prefix, from now on, with QoS 1."""

    def __init__(self, broker: Broker, prefix: str):
        self.beginning = f"{prefix}/"
        name = f"subscriber-{prefix}"
        options = ["-p", str(PORT), "-i", name, "-q", "1", "-t", f"{prefix}/#", "-F", "%t %p"]
        super().__init__(name, "mosquitto_sub", *options)
        broker.wait_line(f"{name} 1 ")

    def messages(self, kind: str) -> list[tuple[str, dict]]:
        """The topic's next part, and the object, of all messages of a kind so far."""
        beginning = f"{self.beginning}{kind}/"
        with self.changed:
            lines = [line.removeprefix(beginning) for line in self.lines if line.startswith(beginning)]
        return [(line.partition(" ")[0].partition("/")[0], json.loads(line.partition(" ")[2])) for line in lines]

    def wait_for(self, is_complete, quiet: float) -> bool:
        """Waits until something is complete; `False` if no message has come for so many seconds."""
        with self.changed:
            while not is_complete():
                before = len(self.lines)
                if not self.changed.wait_for(lambda: len(self.lines) > before, quiet):
                    return False
        return True
