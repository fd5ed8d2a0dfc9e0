"""How a run writes the page, and leaves what it did not measure."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import run
from benchmarks.page import Chart, Extent, Section, details_of
from benchmarks.peers.data import SOURCES
from benchmarks.run import Part, _machine, _today

OLD = """# Results

The old head.

## Zero

Nobody measures this any more.

## Good

Old figures.

### With a heading below

| a |
| --- |

## Bad

What was there.
"""


def good(extent: Extent) -> Section:
    return Section("Good", str(extent.pick("few", "many")))


def broken(extent: Extent) -> Section:
    raise ValueError("no")


def stopped(extent: Extent) -> Section:
    raise KeyboardInterrupt


def muffled(extent: Extent) -> Section:
    """As DuckDB does it."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None
    raise AssertionError


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"good": Part("Good", good), "bad": Part("Bad", broken)}
    monkeypatch.setattr(run, "PARTS", known)


def started(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["run", *map(str, words)])
    return run.main()


def test_one_part_replaces_its_section_and_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(OLD)
    assert started(monkeypatch, "--only", "good", "--output", page) == 0
    measured = (
        f"Measured on {_today()} by `python -m benchmarks.run --only good`, on {_machine()}.\n\n"
        "many"
    )
    begins, ends = OLD.index("Old figures"), OLD.index("\n\n## Bad")
    assert page.read_text() == OLD[:begins] + measured + OLD[ends:]
    assert capsys.readouterr().out == f"## Good\n\n{measured}\n\n"
    assert [file.name for file in tmp_path.iterdir()] == ["page.md"]


def test_a_whole_run_says_how_long_it_took_and_drops_what_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(OLD)
    monkeypatch.setattr(run, "PARTS", {"good": run.Part("Good", good)})
    monkeypatch.setattr(sys, "argv", ["run", "--quick", "--output", str(page)])
    assert run.main() == 0
    text = page.read_text()
    assert f"All of it by `make bench-quick` in 0 minutes, on {_today()}. Measured on " in text
    assert "`python -m benchmarks.run --quick --only good`" in text
    assert text.rstrip().endswith("few")
    assert "## Zero" not in text
    assert "What was there" not in text


def test_the_head_says_which_parts_were_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    monkeypatch.setattr(
        run, "PARTS", {"good": run.Part("Good", good), "far": run.Part("Far", good)}
    )
    monkeypatch.setattr(sys, "argv", ["run", "--output", str(page)])
    assert run.main() == 0
    made = f"All of it by `make bench` in 0 minutes, on {_today()}"
    for names, said in ((["good"], "Good"), (["far", "good"], "Good; Far")):
        assert started(monkeypatch, "--only", *names, "--output", page) == 0
        since = f"{made}, but for what was measured again since then: {said}. Measured on "
        assert since in page.read_text()
    page.write_bytes(b"\xff\xfe")
    with pytest.raises(SystemExit) as ended:
        started(monkeypatch, "--only", "good", "--output", page)
    assert ended.value.code == 2
    assert page.read_bytes() == b"\xff\xfe"


def test_a_part_that_fails_leaves_what_was_measured_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(OLD)
    assert started(monkeypatch, "--quick", "--output", page) == 1
    text = page.read_text()
    assert "All of it" not in text
    assert "few" in text
    assert OLD[OLD.index("## Bad") :].split("\n\n")[1].strip() in text
    told = capsys.readouterr()
    assert "ValueError: no" in told.err
    assert told.out == ""
    assert started(monkeypatch, "--only", "bad", "--output", tmp_path / "new.md") == 1
    assert (tmp_path / "new.md").read_text().rstrip().endswith("This part failed (ValueError).")


def test_a_new_page_of_one_part_does_not_say_that_all_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "new" / "page.md"
    assert started(monkeypatch, "--only", "good", "--output", page) == 0
    text = page.read_text()
    assert text.startswith(f"# Results\n\nMeasured on {_machine()}. ")
    assert f"Measured on {_today()} by `python -m benchmarks.run --only good`.\n" in text


def test_what_was_measured_before_an_interruption_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(OLD)
    monkeypatch.setitem(run.PARTS, "bad", Part("Bad", stopped))
    assert started(monkeypatch, "--output", page) == 130
    text = page.read_text()
    assert "many" in text
    for left in ("The old head.", "Nobody measures this any more.", "What was there."):
        assert left in text
    assert f"interrupted: what was measured is in {page}" in capsys.readouterr().err
    monkeypatch.setattr(run, "PARTS", {"bad": Part("Bad", stopped)})
    assert started(monkeypatch, "--output", tmp_path / "none.md") == 130
    assert "interrupted: nothing was measured yet" in capsys.readouterr().err


def test_an_interruption_ends_a_run_though_a_library_makes_an_error_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, page = signal.getsignal(signal.SIGINT), tmp_path / "page.md"
    monkeypatch.setattr(run, "PARTS", {"bad": Part("Bad", muffled), "good": Part("Good", good)})
    assert started(monkeypatch, "--output", page) == 130
    assert not page.exists()
    assert "interrupted: nothing was measured yet" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(run.PARTS, "good", Part("Good", stopped))
    (tmp_path / "file").write_text("")
    refused = {
        str(tmp_path): "is a folder",
        f"{tmp_path}/new/": "is a folder",
        f"{tmp_path}/file/page.md": "cannot be written",
        "/dev/null": "is no file",
    }
    for output, why in refused.items():
        with pytest.raises(SystemExit) as exit_:
            started(monkeypatch, "--output", output)
        assert exit_.value.code == 2
        told = capsys.readouterr().err
        assert why in told
        assert told.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_a_quick_run_has_a_page_of_its_own_that_git_ignores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = [
        run.QUICK_PAGE,
        details_of(run.QUICK_PAGE),
        run.QUICK_PAGE.with_name("charts-quick") / "a.svg",
    ]
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", *written, run.PAGE],
        cwd=run.PAGE.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ignored.returncode < 2:  # 128: no repository here
        assert ignored.stdout.split() == [str(path) for path in written]
    monkeypatch.setattr(run, "PAGE", tmp_path / "results.md")
    monkeypatch.setattr(run, "QUICK_PAGE", tmp_path / "results-quick.md")
    monkeypatch.setitem(run.PARTS, "good", Part("Good", charted))
    assert started(monkeypatch, "--quick", "--only", "good") == 0
    assert not (tmp_path / "results.md").exists()
    assert "(charts-quick/some.svg)" in (tmp_path / "results-quick.md").read_text()
    assert (tmp_path / "charts-quick" / "some.svg").exists()


class Drawn:
    def save(self, path: str) -> None:
        Path(path).write_text("<svg/>")


def charted(extent: Extent) -> Section:
    return Section("Good", "text", (Chart("some", "what", Drawn()),))


def test_a_part_has_the_heading_that_its_section_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert run.PARTS
    for part in run.PARTS.values():
        assert f'"{part.title}"' in inspect.getsource(sys.modules[part.measure.__module__])


def test_the_page_that_is_shipped_has_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    text = run.PAGE.read_text(encoding="utf-8")
    assert "failed" not in text
    for part in run.PARTS.values():
        assert f"\n## {part.title}\n" in text
    for chart in ("release", "peers-keys", "peers-time", "scale"):
        assert (run.PAGE.parent / "charts" / f"{chart}.svg").exists()
    details = details_of(run.PAGE).read_text(encoding="utf-8")
    for source in SOURCES:
        assert f"\n## {source.name}\n" in details
