"""What a profile's controller or peer can't do: the words that the command must then print, as its remedy."""

from __future__ import annotations

# The controller is well and hears others: the peer is silent.
SILENT = ("did not accept a connection", "switch the adapter off and on")
# A session that waits for ever reports it each time.
WAITING = ("did not accept a connection", "waiting to reconnect")
TWIN = ("has the address", "unplug it")

# By profile and job; if kernels differ, by kernel line.
REASONS: dict[tuple[str, str], tuple[str, ...] | dict[str, tuple[str, ...]]] = {
    **{("once", job): SILENT for job in ("connect", "connect while scanning", "notify", "pair")},
    ("once", "reconnect"): WAITING,
    ("hung", "serve"): ("does not answer", "ble adapter cycle"),
    **{("two alike", job): TWIN for job in ("connect", "connect while scanning", "notify", "pair", "reconnect")},
}


def reason_for(profile: str, job: str, kernel: str) -> tuple[str, ...] | None:
    """The words that the command's message must contain, all of them; None if the job must succeed."""
    found = REASONS.get((profile, job))
    return found.get(kernel) if isinstance(found, dict) else found
