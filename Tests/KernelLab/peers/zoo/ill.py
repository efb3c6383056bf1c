"""Controllers that are ill when a job begins, and well again after a reset; see peers/ailments.py."""

from __future__ import annotations

from peers.zoo.profile import Profile, Stage

RECOVER = ("--recover", "5")


async def deafen(stage: Stage) -> None:
    await stage.ailments.ail("deaf")


async def hang(stage: Stage) -> None:
    await stage.ailments.ail("hung")


PROFILES = [
    Profile("deaf", "acknowledges scans and hears nothing, until it is switched off and on", before=deafen, options=RECOVER),
    Profile("hung", "answers no command, until it is switched off and on", before=hang, options=RECOVER),
]
