"""What the documents show can be run as it stands, and shows what they say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import tamis
from tamis.collect.app import create_app

ROOT = Path(__file__).parent.parent
WORDS = [f"word-{n}" for n in range(300)]
COUNTS = [3000 // (n + 1) for n in range(300)]


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


PAGES = ["README.md", "docs/guide.md", "docs/ledger.md", "docs/flows.md", "docs/kmeans.md"]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_python_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    batches = [[w] * c for w, c in zip(WORDS, COUNTS, strict=True)]
    names: dict[str, Any] = {"tamis": tamis, "keys": WORDS, "frequencies": COUNTS}
    names["batches"] = batches
    words = [w for batch in batches for w in batch]
    names["events"] = pa.table({"query": words, "user_id": [n % 7000 for n in range(len(words))]})
    found = blocks(page)
    assert found
    for block in found:
        exec(compile(block, page, "exec"), names)


def test_what_is_collected_can_be_tried_on_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    _, on_arrays = blocks("docs/collect.md")
    exec(compile(on_arrays, "docs/collect.md", "exec"), {})
    assert re.match(r"quantiles 0.5: 29\d|quantiles 0.5: 30\d", capsys.readouterr().out)


def test_the_description_of_the_collector_is_the_one_it_serves() -> None:
    written = json.loads((ROOT / "docs" / "openapi.json").read_text())
    assert written == create_app("nowhere").openapi()


def test_the_pictures_of_flows_are_drawn_from_a_summary(tmp_path: Path) -> None:
    script = ROOT / "docs" / "flows" / "draw.py"
    command = [sys.executable, str(script), "--city", str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert said.count("\n") == 25
    estimate = re.search(r"Hills to Harbour: ([\d,.]+)", said)
    assert estimate
    for picture in (tmp_path, ROOT / "docs" / "flows"):
        drawn = ElementTree.parse(picture / "map.svg").getroot()
        assert len(drawn.findall("{*}path")) == 20
        assert len(drawn.findall("{*}circle")) == 5
        shades = ElementTree.parse(picture / "matrix.svg").getroot().findall(".//{*}path")
        assert {path.get("class") for path in shades} >= {"h7", "h8"}
    numbers = re.findall(r">([\d,]+)<", (tmp_path / "map.svg").read_text())
    near = [float(n.replace(",", "")) - float(estimate[1].replace(",", "")) for n in numbers]
    assert min(map(abs, near)) <= 0.6


def test_the_guides_table_of_naming_probabilities_is_right() -> None:
    row = re.search(r"\| named \|(.*)\|", (ROOT / "docs/guide.md").read_text())
    assert row
    said = [1.0 if "always" in c else float(c.strip(" %")) / 100 for c in row[1].split("|")]
    true = tamis.plan(epsilon=1.0, delta=1e-6).reporting([1, 5, 10, 13, 14, 15, 20, 28])
    assert said == pytest.approx(true, rel=0.06)
