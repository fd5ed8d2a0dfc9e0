"""What a device remembers: durable, its own, and the same for all its processes."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier, Thread
from typing import Any

import pytest

from tamis.federated import device as module
from tamis.federated.device import Refused, Unreachable
from tests.federated.devices import PUBLIC, QUERY, TOKEN, Collector, asked, device, serving, state


@pytest.fixture
def collector() -> Iterator[Collector]:
    with serving() as found:
        yield found


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_only_its_owner_reads_the_state(collector: Collector, tmp_path: Path) -> None:
    collector.show(asked())
    before = os.umask(0)
    try:
        device(collector, tmp_path).report(QUERY, "the", TOKEN)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"state": 0o600, "state.lock": 0o600}


def test_a_report_that_has_arrived_is_forgotten(collector: Collector, tmp_path: Path) -> None:
    collector.show(asked())
    device(collector, tmp_path).report(QUERY, "secret word", TOKEN)
    (known,) = state(tmp_path)["queries"].values()
    assert known["rounds"]["1"]["body"] == ""
    assert "secret word" not in (tmp_path / "state").read_text()


def damaged(**changes: Any) -> bytes:
    """A state with one thing changed, of itself or of the query that it knows."""
    terms = {name: getattr(asked(), name) for name in module.TERMS}
    taken = {"digest": "0" * 64, "body": ""}
    known = {"terms": terms, "rounds": {"1": taken}}
    state = {"tamis": 1, "secret": "0" * 64, "queries": {"f" * 32: known}}
    for part in (state, known, terms, taken):
        part |= {name: changes[name] for name in part.keys() & changes.keys()}
    return json.dumps(state).encode()


def test_the_state_that_the_next_test_damages_is_sound(
    collector: Collector, tmp_path: Path
) -> None:
    (tmp_path / "state").write_bytes(damaged())
    collector.show(asked())
    device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert len(collector.taken) == 1


WRONG: dict[str, list[Any]] = {
    "tamis": [0, 2, "1", None],
    "secret": [None, 5, "", "0" * 62, "g" * 64, ["0" * 64]],
    "queries": [None, 5, [], "", {"f" * 32: None}, {"f" * 32: []}],
    "terms": [None, [], {}, "terms"],
    "epsilon": [None, "1", -1, 0, True, float("nan"), 10**400],
    "delta": [None, "1", -1e-6, float("inf"), []],
    "rounds": [None, 5, {"1": None}, {"1": {}}, {"1": "taken"}],
    "digest": [None, 5, "", "g" * 64],
    "body": [None, 5, "g", "abc", []],
}


DAMAGED = [
    *(b"", b"{", b"[]", b"{}", b"null", b"5", b'"text"'),
    *(b"\0" * 100, b"\xff\xfe{}", b"[" * 9999),
    *(b'{"tamis": 1}', b'{"tamis": 2}', b'{"tamis": 1, "tamis": 1}'),
    damaged()[:-1],
    damaged().replace(b"secret", b"\xffecret"),
    damaged().replace(b"secret", b"secrets"),
    damaged().replace(b"queries", b"query"),
    damaged().replace(b"epsilon", b"epsilons"),
    damaged().replace(b"digest", b"digests"),
    *(damaged(**{name: value}) for name, values in WRONG.items() for value in values),
]


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_state_is_not_begun_anew(
    collector: Collector, tmp_path: Path, content: bytes
) -> None:
    place = tmp_path / "state"
    place.write_bytes(content)
    collector.show(asked())
    with pytest.raises(Refused) as caught:
        device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert str(caught.value) == f"the state in {place} is damaged: this device reports no more."
    assert place.read_bytes() == content
    assert not collector.sent


def test_a_state_whose_folder_is_not_there_is_refused(collector: Collector, tmp_path: Path) -> None:
    collector.show(asked())
    (tmp_path / "file").touch()
    for folder in (tmp_path / "none", tmp_path / "none" / "deeper", tmp_path / "file"):
        with pytest.raises(Refused, match=f"the folder {folder} of the state is not there"):
            device(collector, folder).report(QUERY, "the", TOKEN)
    assert not collector.sent
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("name", ["state", "."])
def test_a_state_that_is_a_folder_is_refused(
    collector: Collector, tmp_path: Path, name: str
) -> None:
    place = tmp_path / name
    place.mkdir(exist_ok=True)
    collector.show(asked())
    mine = replace(device(collector, tmp_path), state=str(place))
    with pytest.raises(Refused, match=f"must be a file, and {place} is a folder"):
        mine.report(QUERY, "the", TOKEN)
    assert not collector.sent
    assert not (tmp_path / "state.lock").exists()


@contextmanager
def powerless() -> Iterator[Path]:
    """A folder of somebody to whom modes apply, and to be that person, as the superuser too."""
    with TemporaryDirectory() as name:
        root = os.geteuid() == 0
        if root:
            os.chown(name, 65534, -1)
            os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            if root:
                os.seteuid(0)
            os.chmod(name, 0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
@pytest.mark.parametrize(
    ("file", "mode", "named"),
    [("state", 0o000, "state"), ("state.lock", 0o000, "state.lock"), ("", 0o500, "state.lock")],
)
def test_a_file_that_may_not_be_read_or_written_is_named(file: str, mode: int, named: str) -> None:
    with powerless() as folder:
        place = folder / "state"
        if file:
            (folder / file).write_bytes(damaged())
        (folder / file).chmod(mode)
        with pytest.raises(Refused) as caught, module.changed(place):
            pass
    said = f"{folder / named} cannot be read or written: Permission denied."
    assert str(caught.value) == f"the state of this device is out of reach: {said}"


def test_an_error_of_the_caller_is_not_taken_for_one_of_the_disk(tmp_path: Path) -> None:
    with pytest.raises(PermissionError, match="mine"), module.changed(tmp_path / "state"):
        raise PermissionError("mine")
    assert not (tmp_path / "state").exists()


def test_a_write_that_was_cut_off_leaves_the_state_as_it_was(
    collector: Collector, tmp_path: Path
) -> None:
    collector.show(asked())
    collector.faults = [503]
    with pytest.raises(Unreachable):
        device(collector, tmp_path, tries=1).report(QUERY, "the", TOKEN)
    (tmp_path / "state.new").write_text('{"tamis": 1, "secr')
    device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert len({body for _, _, body in collector.sent}) == 1


ALONE = """
import json, os, sys
from pathlib import Path
import device
assert "tamis" not in sys.modules and "numpy" not in sys.modules
server, signer, state, query = sys.argv[1:]
limits = device.Limits(4, 1e-5, 10, 2, 1e-3)
try:
    device.Device(server, signer, state, limits).report(query, "the", "t" * 144)
except device.Refused as error:
    print(error)
"""


def alone(collector: Collector, folder: Path, query: str) -> subprocess.Popen[str]:
    """A process that has nothing of tamis but the one file, which nobody writes to any more."""
    where = folder / query
    where.mkdir()
    assert module.__file__
    shutil.copy(module.__file__, where / "device.py")
    (where / "run.py").write_text(ALONE)
    given = [collector.address, PUBLIC, str(folder / "state"), query]
    run = [sys.executable, str(where / "run.py"), *given]
    return subprocess.Popen(run, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_device_that_is_killed_while_it_sends_sends_the_same_report_afterwards(
    collector: Collector, tmp_path: Path
) -> None:
    collector.show(asked())
    collector.faults = [503] * 1000
    with alone(collector, tmp_path, QUERY) as process:
        while not collector.sent and process.poll() is None:
            time.sleep(0.01)
        process.kill()
    collector.faults = []
    device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert len(collector.sent) >= 2
    assert len({body for _, _, body in collector.sent}) == 1
    assert len(collector.taken) == 1


def test_processes_of_one_device_do_not_spend_the_same_budget(
    collector: Collector, tmp_path: Path
) -> None:
    queries = [f"{n:032x}" for n in range(3)]
    collector.show(*(asked(query=query) for query in queries))
    running = [alone(collector, tmp_path, query) for query in queries]
    told = [process.communicate(timeout=30) for process in running]
    assert sorted(bool(out) for out, _ in told) == [False, False, True]
    assert all("2 is spent" in out for out, _ in told if out)
    assert not any(errors for _, errors in told)
    assert len(collector.taken) == 2


def test_calls_at_the_same_moment_send_one_report(collector: Collector, tmp_path: Path) -> None:
    collector.show(asked())
    mine, start = device(collector, tmp_path), Barrier(4)

    def call() -> None:
        start.wait()
        mine.report(QUERY, "the", TOKEN)

    threads = [Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({body for _, _, body in collector.sent}) == 1
    assert len(collector.taken) == 1
