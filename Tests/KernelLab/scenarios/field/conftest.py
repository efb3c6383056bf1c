"""Fixtures of the field's scenarios."""

import pytest

from lab import faults


@pytest.fixture
def may_give_up():
    """The kernel gives up on a peer that fell silent, and may be asked again."""
    if fault := faults.present("close-of-unused-link"):
        pytest.skip(f"{fault.name}: {fault.what}")
