"""The zoo: the kernel's controller with the quirks of real ones, and peers with the manners of real ones, as profiles.

A profile is under every scenario of a guest with `run --profile NAME`; the bench `zoo` goes through all of them. A
module of this folder offers its own in a list PROFILES; a new one needs nothing else.
"""

from __future__ import annotations

import importlib
import pkgutil

from peers.zoo.profile import PLAIN, Profile, Stage

__all__ = ["PLAIN", "Profile", "Stage", "named", "profiles"]


def profiles() -> list[Profile]:
    """Every profile, the plain one first."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    found = [profile for module in modules for profile in getattr(module, "PROFILES", [])]
    return [PLAIN, *sorted(found, key=lambda profile: (profile.is_peer, profile.name))]


def named(name: str) -> Profile:
    return PLAIN if name == PLAIN.name else next(profile for profile in profiles() if profile.name == name)
