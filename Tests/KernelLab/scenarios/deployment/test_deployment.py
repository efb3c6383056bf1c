"""The ways to install a program that the README describes, each tried: what works, and what doesn't and why.

It hides the toolchain from its guest, and copies much, so it runs only when asked for: `Tests/KernelLab/run --deployment`.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lab import names
from lab.ble import PRODUCTS, PROGRAM, UNPRIVILEGED, Run, let_everybody_run

SCAN = ("scan", "--json", "--service", "180D", "--count", "1", "--timeout", "90")
UNIT = Path(__file__).resolve().parents[4] / "Examples" / "Deployment" / "gateway.service"


@pytest.fixture
def somebody(ble, bumble):
    """Runs any program as somebody without rights, or with those that are given."""

    def run(program, *arguments, prefix=UNPRIVILEGED, environment=()):
        options = () if arguments == ("--help",) else ("--adapter", bumble.adapter)
        words = [*prefix, *(["env", *environment] if environment else [])]
        run = Run((*arguments, *options), words, program)
        ble.runs.append(run)
        return run.end()

    return run


def installed(program: Path, folder: Path) -> Path:
    """A copy that everybody may run, as below /usr/local/bin."""
    folder.mkdir(parents=True)
    copy = folder / "gateway"
    shutil.copy(program, copy)
    let_everybody_run(copy)
    return copy


def libraries(program: Path) -> dict[str, str]:
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"(\S+) => (/\S+)", said))


def grant(program: Path) -> None:
    subprocess.run(["setcap", "cap_net_admin,cap_net_raw+ep", program], check=True)


def found(run) -> list[str]:
    assert run.status == 0, run
    return [sighting["address"] for sighting in run.sightings]


def test_a_static_program_needs_no_swift(tmp_path):
    assert not [name for name in libraries(installed(PROGRAM, tmp_path / "bin")) if "swift" in name.lower()]


def test_a_static_program_scans_with_setcap(somebody, tmp_path):
    program = installed(PROGRAM, tmp_path / "bin")
    grant(program)
    assert found(somebody(program, *SCAN)) == [names.NEAR]


def test_setcap_hides_libraries_that_lie_beside_a_program(somebody, tmp_path):
    program = installed(PRODUCTS / "ble", tmp_path / "bin")
    beside = tmp_path / "lib"
    beside.mkdir()
    swift = [Path(path) for name, path in libraries(program).items() if "swift" in path or "Foundation" in name]
    for library in swift:
        shutil.copy(library, beside)
    let_everybody_run(program)
    empty = tmp_path / "empty"
    empty.mkdir()
    toolchain = swift[0].parent
    subprocess.run(["mount", "--bind", empty, toolchain], check=True)
    try:
        path = f"LD_LIBRARY_PATH={beside}"
        assert somebody(program, "--help", environment=[path]).status == 0
        grant(program)
        run = somebody(program, "--help", environment=[path])
        assert run.status == 127 and "cannot open shared object file" in run.stderr, run
    finally:
        subprocess.run(["umount", toolchain], check=True)


def service(tmp_path: Path) -> tuple[Path, dict]:
    """The unit's own words: its folder, and how it runs, with its capabilities, and its user without a name."""
    unit = UNIT.read_text()
    given = re.search(r"^AmbientCapabilities=(.*)$", unit, re.M)[1].split()
    assert f"CapabilityBoundingSet={' '.join(given)}" in unit and "StateDirectoryMode=0700" in unit
    capabilities = ",".join("+" + name.removeprefix("CAP_").lower() for name in given)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    os.chown(state, 61_234, 61_234)
    for parent in tmp_path.parents:
        parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o711)
    words = ["setpriv", "--reuid=61234", "--regid=61234", "--clear-groups", f"--inh-caps={capabilities}"]
    words += [f"--ambient-caps={capabilities}", "--bounding-set", f"-all,{capabilities}", "--no-new-privs"]
    environment = ["-u", "HOME", "-u", "XDG_STATE_HOME", f"STATE_DIRECTORY={state}"]
    return state, {"prefix": words, "environment": environment}


def test_the_service_has_what_it_needs(somebody, bumble, tmp_path):
    state, unit = service(tmp_path)
    program = installed(PROGRAM, tmp_path / "bin")
    run = somebody(program, "pair", names.NEAR, **unit)
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)
    assert run.status == 0, run
    kept = [path.name for path in (state / "blestreams").iterdir() if path.suffix == ".json"]
    assert len(kept) == 1, kept


def test_the_capabilities_of_a_file_replace_those_of_the_service(somebody, tmp_path):
    """And so the service's program has none of its own."""
    _, unit = service(tmp_path)
    program = installed(PROGRAM, tmp_path / "bin")

    def missing() -> list[str]:
        run = somebody(program, "doctor", "--json", **unit)
        assert run.records[0]["system"], run
        return [record["cause"] for record in run.records if record.get("finding") == "missingCapability"]

    assert missing() == []
    subprocess.run(["setcap", "cap_net_admin+ep", program], check=True)
    (cause,) = missing()
    assert "CAP_NET_RAW" in cause, cause
    subprocess.run(["setcap", "-r", program], check=True)
    assert missing() == []


def test_a_small_root_file_system_is_enough(somebody, tmp_path):
    """What the container file builds: the program, the C library and libbluetooth."""
    root = tmp_path / "root"
    program = installed(PROGRAM, root / "bin")
    for library in [*libraries(program).values(), "/lib64/ld-linux-x86-64.so.2"]:
        place = root / library.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(library).resolve(), place)
    # Every container has it; a Swift program takes its arguments from there.
    (root / "proc").mkdir()
    subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
    try:
        assert found(somebody("/bin/gateway", *SCAN, prefix=["chroot", str(root)])) == [names.NEAR]
    finally:
        subprocess.run(["umount", root / "proc"], check=True)
