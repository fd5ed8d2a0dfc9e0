"""The comparison with other libraries: what is given, run, counted and said."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.peers import data, environments
from benchmarks.peers.environments import OURS, Missing, Peer, python_of
from benchmarks.peers.notes import notes
from benchmarks.peers.process import Done, Job, run
from benchmarks.peers.results import Asked, Figure, Result, line, result_of

TRUTH = {"maps": 500, "news": 300, "rare": 1}


def test_a_unit_has_each_key_once_and_no_more_keys_than_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"unit": [1, 1, 1, 1, 2, 2, None], "key": ["a", "a", "b", "c", "a", None, "a"]})
    monkeypatch.setattr(data, "synthetic_log", lambda: rows)
    path = tmp_path / "pairs.parquet"
    data.write(data.SOURCES[0], 2, path)
    pairs = [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
    assert len(pairs) == len(set(pairs)) == 3
    assert {unit for unit, _ in pairs} == {1, 2}
    assert sum(data.frequencies(path).values()) == 3


def test_ours_is_run_like_all_others(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    keys = ["maps"] * 500 + ["news"] * 300 + ["rare"]
    pq.write_table(pa.table({"unit": range(801), "key": keys}), path)
    job = Job(str(path), 1.0, 1e-8, 1, repeats=2, seconds=60.0)
    for method in OURS.methods:
        (done,) = run([python_of(OURS), OURS.path, method], [job], tmp_path)
        assert [sorted(found) for found in done.found] == [["maps", "news"]] * 2
        assert all(second > 0 for second in done.seconds)
        assert done.megabytes > 20
        found = result_of(Asked("log", 1, method), TRUTH, 0.01, done)
        assert found.keys.value == 2
        assert found.absolute is not None
        assert found.absolute.value < 20
    with pytest.raises(RuntimeError, match="KeyError"):
        run([sys.executable, OURS.path, "no such method"], [job], tmp_path)


def test_a_job_is_done_once_even_if_that_takes_too_long(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    pq.write_table(pa.table({"unit": range(100), "key": ["a"] * 100}), path)
    job = Job(str(path), 1.0, 1e-8, 1, repeats=9, seconds=0.0)
    (done,) = run([sys.executable, OURS.path, "release"], [job], tmp_path)
    assert len(done.found) == 1


def test_errors_are_over_named_keys_and_over_the_most_frequent() -> None:
    done = Done([1.0, 3.0, 2.0], [{"maps": 503.0, "news": 296.0}, {"maps": 500.0}, {}], 7.0)
    found = result_of(Asked("log", 4, "x"), TRUTH, 0.5, done)
    assert found.keys.value == 1.0
    assert found.keys.spread == pytest.approx(0.57735, abs=1e-5)
    assert found.named is not None
    assert found.named.value == pytest.approx(((9 + 16 + 0) / 3) ** 0.5)
    assert found.absolute is not None
    assert found.absolute.value == pytest.approx(7 / 3)
    missed = [9, 16, 1, 0, 300**2, 1, 500**2, 300**2, 1]
    assert found.top is not None
    assert found.top.value == pytest.approx((sum(missed) / 9) ** 0.5)
    assert found.seconds.value == 2.0
    assert line(found)[7] == "**4.0**"


def test_names_alone_have_no_errors() -> None:
    asked = Asked("log", 1, "x", counts=False)
    released: list[dict[str, float | None]] = [{"maps": None}, {}]
    for named in released:
        found = result_of(asked, TRUTH, 0.5, Done([1.0], [named], 7.0))
        assert line(found)[2:6] == (f"{len(named)}.0", "", "", "")


def result(method: str, keys: float, error: float | None, seconds: float = 1.0) -> Result:
    figure = None if error is None else Figure(error, 0.1)
    asked = Asked("log", 1, method, counts=error is not None)
    return Result(
        asked, 1.0, 9, Figure(keys, 1.0), figure, figure, figure, Figure(seconds),
        Figure(50.0),
    )  # fmt: skip


def test_it_is_said_where_ours_is_not_first() -> None:
    results = [
        result("tamis", 100, 2.0),
        result("level", 101, 1.9),
        result("better", 80, 1.0, 0.5),
        result("names only", 90, None, 0.1),
    ]
    said = {
        row.split("**")[1]: row for row in notes(results, ["tamis"]).splitlines() if "**" in row
    }
    assert said["keys named"].endswith("first in 0 of 1, level in 1.")
    assert (
        "Not: log with 1 key: better 1, ours 2, and it names 80 keys to 100"
        in (said["error of named keys"])
    )
    assert "better 0.5, ours 1" in said["seconds"]
    assert "In 1, one of PyDP's selections is before ours" in said["seconds"]
    assert said["memory"].endswith("first in 1 of 1.")


@pytest.mark.slow
def test_a_peer_that_cannot_be_installed_is_left_out_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "HOME", tmp_path)
    old = Peer("Old", "with_old.py", {}, ("old",), pythons=("2.3",))
    with pytest.raises(Missing, match=r"needs Python 2\.3, and there is none here"):
        python_of(old)
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    gone = Peer("Gone", "with_gone.py", {}, ("./no-such-folder",), pythons=(here,))
    with pytest.raises(Missing, match="could not be installed"):
        python_of(gone)
    assert not list(tmp_path.glob("*/done"))


def test_workers_need_nothing_that_peers_do_not_have() -> None:
    """They run on other Pythons, in environments without tamis."""
    for script in Path(environments.HERE).glob("with_*.py"):
        text = script.read_text(encoding="utf-8")
        assert "from worker import main" in text, script.name
        if script.name != OURS.script:
            assert "import tamis" not in text
    shipped = {peer.script for peer in (OURS, *environments.PEERS)}
    assert shipped == {script.name for script in Path(environments.HERE).glob("with_*.py")}
