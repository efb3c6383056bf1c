"""The kernel's switches of radios."""

from __future__ import annotations

import struct
from contextlib import contextmanager
from pathlib import Path

RFKILL = Path("/dev/rfkill")
RFKILL_BLUETOOTH, RFKILL_CHANGE = 2, 2  # include/uapi/linux/rfkill.h


@contextmanager
def blocked(index: int):
    """rfkill keeps the adapter off, as `rfkill block` does."""
    folders = [folder for folder in Path("/sys/class/rfkill").iterdir() if (folder / "name").read_text() == f"hci{index}\n"]
    assert len(folders) == 1, folders
    number = int(folders[0].name.removeprefix("rfkill"))

    def switch(soft: int) -> None:
        with RFKILL.open("wb", buffering=0) as device:
            device.write(struct.pack("<IBBBB", number, RFKILL_BLUETOOTH, RFKILL_CHANGE, soft, 0))

    switch(1)
    try:
        yield
    finally:
        switch(0)
