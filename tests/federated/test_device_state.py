"""What a device remembers: durable, its own, and the same for all its processes."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread

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


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"tamis": 2}'])
def test_a_damaged_state_is_not_begun_anew(
    collector: Collector, tmp_path: Path, content: str
) -> None:
    (tmp_path / "state").write_text(content)
    collector.show(asked())
    with pytest.raises(Refused):
        device(collector, tmp_path).report(QUERY, "the", TOKEN)
    assert (tmp_path / "state").read_text() == content
    assert not collector.sent


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
    device.Device(server, signer, state, limits).report(query, "the", "t" * 112)
except device.Refused as error:
    print(error)
"""


def alone(collector: Collector, folder: Path, query: str) -> subprocess.Popen[str]:
    """A process that has nothing of tamis but the one file."""
    where = folder / "copied"
    where.mkdir(exist_ok=True)
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
