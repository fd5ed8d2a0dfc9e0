"""A domain names its cells exactly, however many there are, and is public."""

from __future__ import annotations

import json
import pickle
import re
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.privacy.errors import BadData, InvalidInput
from tamis.sparse.attributes import Bins, Dates, Hierarchy, Labels, Whole
from tamis.sparse.domain import Domain
from tests.errors import told

Ints = npt.NDArray[np.int64]

PAGE = Path(__file__).parent.parent.parent / "docs" / "domain.md"
MIXED = Domain(
    home=4001,
    sex=Labels(["female", "male"], other="not stated"),
    age=Bins([0, 18, 30, 45, 65, 120]),
    day=Dates("2024-01-01", "2024-12-31", by="week"),
    year=Whole(1990, 2024, other="unknown"),
    place=Hierarchy({"North": ["Aberdeen", "Leeds"], "South": ["London", "Dover"]}),
)
TOML = """
[home]
cardinality = 4001
[sex]
labels = ["female", "male"]
other = "not stated"
[age]
bins = [0, 18, 30, 45, 65, 120]
[day]
first = 2024-01-01
last = 2024-12-31
by = "week"
[year]
low = 1990
high = 2024
other = "unknown"
[place]
tree = { North = ["Aberdeen", "Leeds"], South = ["London", "Dover"] }
"""


def cells(domain: Domain, n: int) -> Ints:
    rng = np.random.default_rng(7)
    return np.stack([rng.integers(0, radix, n) for radix in domain.radices])


# --- cells --------------------------------------------------------------------------------------


def test_names_radices_and_cells_are_those_of_the_attributes() -> None:
    assert MIXED.names == ("home", "sex", "age", "day", "year", "place") == tuple(MIXED)
    assert MIXED.radices == (4001, 3, 5, 53, 36, 4)
    assert MIXED.cells == prod(MIXED.radices)
    assert len(MIXED) == 6
    assert "sex" in MIXED
    assert MIXED["home"] == Whole(0, 4000)


def test_tables_become_codes_and_tables_again() -> None:
    codes = cells(MIXED, 500)
    table = MIXED.decode(codes)
    assert table.column_names == list(MIXED.names)
    assert table.schema.field("year").type == pa.int64()
    assert table.schema.field("day").type == pa.date32()
    again = MIXED.encode(table.append_column("n", [np.arange(500)]).select([5, 6, *range(5)]))
    assert again.dtype == np.int64
    assert np.array_equal(again, codes)
    assert MIXED.encode(table.slice(0, 0)).shape == (6, 0)


def test_text_as_csv_gives_it_has_the_same_codes() -> None:
    codes = cells(MIXED, 100)
    texts = {n: a.shown(row) for (n, a), row in zip(MIXED.attributes, codes, strict=True)}
    assert np.array_equal(MIXED.encode(pa.table(texts)), codes)


RADICES = st.lists(
    st.integers(1, 5) | st.integers(1, 2**63 - 1) | st.sampled_from([2, 2**31, 2**62, 2**63 - 1]),
    min_size=1,
    max_size=9,
)


@given(RADICES, st.data())
def test_numbers_of_cells_are_in_the_order_of_their_codes(radices: list[int], data: Any) -> None:
    domain = Domain({f"a{n}": radix for n, radix in enumerate(radices)})
    one, two = (tuple(data.draw(st.integers(0, r - 1)) for r in radices) for _ in range(2))
    assert domain.codes_of(domain.number(one)) == one
    assert (domain.number(one) < domain.number(two)) == (one < two)
    assert domain.number([0] * len(radices)) == 0
    assert domain.number([r - 1 for r in radices]) == domain.cells - 1
    both = np.array([one, two], dtype=np.int64).T
    packed = domain.pack(both)
    assert np.array_equal(domain.unpack(packed), both)
    assert (packed[:, 0].tolist() < packed[:, 1].tolist()) == (one < two)
    assert prod(domain.packed) == domain.cells
    assert all(int(row.max()) < r for row, r in zip(packed, domain.packed, strict=True))
    assert all(radix <= 2**63 - 1 for radix in domain.packed)
    assert all(a * b > 2**63 - 1 for a, b in _meeting(domain))


def _meeting(domain: Domain) -> list[tuple[int, int]]:
    """Each group, and the attribute that did not fit into it."""
    later = [domain.radices[group.start] for group in domain.groups[1:]]
    return list(zip(domain.packed[:-1], later, strict=True))


def test_a_hundred_bits_pack_into_two_numbers() -> None:
    domain = Domain({f"bit{n}": 2 for n in range(100)})
    assert domain.cells == 2**100
    assert domain.packed == (2**62, 2**38)
    codes = cells(domain, 1_000)
    assert np.array_equal(domain.unpack(domain.pack(codes)), codes)
    assert domain.codes_of(2**100 - 1) == (1,) * 100
    assert domain.number(np.ones(100, dtype=np.int64)) == 2**100 - 1
    assert str(domain).endswith("\n2^100 cells")


def test_cells_that_are_not_there_are_refused() -> None:
    domain = Domain(a=2, b=3)
    for bad in (-1, 6, 10**40):
        with pytest.raises(InvalidInput, match="from 0 on, below 6"):
            domain.codes_of(bad)
    with pytest.raises(InvalidInput, match="2 codes"):
        domain.number((1,))
    for cell in ((2, 0), (0, 3), (-1, 0)):
        with pytest.raises(InvalidInput, match="has codes from 0 to"):
            domain.number(cell)
    shapes: list[Any] = [[[0], [0], [0]], [0, 0], [[0.5], [0]]]
    for codes in shapes:
        for call in (domain.decode, domain.pack):
            with pytest.raises(InvalidInput, match="2 rows"):
                call(codes)
    with pytest.raises(InvalidInput, match="1 row "):
        domain.unpack([[0], [0]])
    with pytest.raises(InvalidInput, match="codes must be from 0 to 2"):
        domain.decode([[0], [3]])


# --- names and data -----------------------------------------------------------------------------


def test_a_name_that_is_not_there_brings_a_hint() -> None:
    with pytest.raises(InvalidInput, match=r"no attribute 'hoem'.*Did you mean 'home'"):
        MIXED["hoem"]
    with pytest.raises(InvalidInput, match="no attribute"):
        MIXED.span("town", 1, 2)


def test_a_missing_or_doubled_column_is_refused_and_none_is_named() -> None:
    domain = Domain(home=3, work=3)
    with pytest.raises(InvalidInput, match="'work': data has no column") as refused:
        domain.encode(pa.table({"home": [1], "secret": [2]}))
    assert "secret" not in told(refused.value)
    with pytest.raises(InvalidInput, match="more than one column"):
        domain.encode(pa.table([[1], [1], [2]], names=["home", "home", "work"]))


def test_a_value_outside_is_refused_under_the_name_of_its_attribute() -> None:
    with pytest.raises(BadData, match="Attribute 'work' must be a whole number from 0 to 2") as e:
        Domain(home=3, work=3).encode(pa.table({"home": [1], "work": [31415926]}))
    assert "31415926" not in told(e.value)


def test_ranges_are_asked_for_by_name() -> None:
    assert MIXED.span("year", 2000, 2009) == (10, 19)
    assert MIXED.span("year", "unknown", "unknown") == (35, 35)
    with pytest.raises(InvalidInput, match=r"Attribute 'year'.*swapped"):
        MIXED.span("year", 2009, 2000)
    with pytest.raises(InvalidInput, match=r"Attribute 'year' must be .* 1990 to 2024, not 1850"):
        MIXED.span("year", 1850, 2000)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({}, "at least one"),
        ({"": 3}, "Names of attributes are text"),
        ({3: 3}, "Names of attributes are text"),
        ({"Home": 3, "home": 3}, "differ only in case"),
        ({"home": 3, "home ": 3}, "differ only in case, blanks"),
        ({"caf\u00e9": 3, "cafe\u0301": 3}, "form of Unicode"),
        ({"home": 0}, "'home': cardinality .* 1 or more"),
        ({"home": -4}, "1 or more"),
        ({"home": 4.0}, "1 or more"),
        ({"home": True}, "1 or more"),
        ({"home": 2**63}, r"at most 2\^63 - 1"),
        ({"home": ["a", "b"]}, "Labels"),
        ({"home": "4001"}, "Labels"),
        ({"home": None}, "'home' must not come from the data"),
        ({"home": "auto"}, "must not come from the data"),
        ({"home": {"a", "b"}}, "must not come from the data"),
        ({"home": pd.Series([1, 2])}, "must not come from the data"),
        ({"home": np.int64(3)}, "must not come from the data"),
        (pd.DataFrame({"home": [1]}), "A domain must not come from the data"),
        (pa.table({"home": [1]}), "A domain must not come from the data"),
        ([("home", 3)], "mapping"),
        ("data", "A domain must not come from the data"),
    ],
)
def test_domains_that_are_refused(attributes: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Domain(attributes)


def test_a_name_may_be_given_in_one_way_only() -> None:
    assert Domain({"home": 3}, work=4).radices == (3, 4)
    with pytest.raises(InvalidInput, match="twice"):
        Domain({"home": 3}, home=4)


# --- values -------------------------------------------------------------------------------------


def test_a_domain_is_a_value() -> None:
    again = Domain.from_description(json.loads(json.dumps(MIXED.describe(), sort_keys=True)))
    assert again == MIXED == pickle.loads(pickle.dumps(MIXED))
    assert hash(again) == hash(MIXED)
    assert again.names == MIXED.names
    assert Domain(a=2, b=3) != Domain(b=3, a=2)
    with pytest.raises(AttributeError):
        MIXED.attributes = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("described", "said"),
    [
        ({}, "list of attributes"),
        ([], "list of attributes"),
        ({"attributes": [{"low": 1, "high": 2}]}, "list of attributes"),
        ({"attributes": ["home"]}, "list of attributes"),
        ({"attributes": [{"name": "a", "low": 1, "high": 2}] * 2}, "twice"),
        ({"attributes": []}, "at least one"),
        ({"attributes": [{"name": "a", "labels_file": "a.txt"}]}, "no entry 'labels_file'"),
    ],
)
def test_descriptions_that_are_refused(described: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Domain.from_description(described)


def test_a_domain_is_shown_in_lines() -> None:
    lines = str(MIXED).splitlines()
    assert lines[0] == "home   4,001  a whole number from 0 to 4000"
    assert lines[1] == "sex        3  one of 'female', 'male', or 'not stated'"
    assert lines[3] == "day       53  a date from 2024-01-01 to 2024-12-31, by week"
    assert lines[-1] == "458,034,480 cells"
    assert repr(MIXED) == "Domain(home, sex, age, day, year, place: 458,034,480 cells)"
    assert repr(Domain(a=10**15, b=10**15, c=12)) == "Domain(a, b, c: 1.2e+31 cells)"
    assert repr(Domain({f"a{n}": 10**18 for n in range(300)})).endswith("1.0e+5400 cells)")
    assert repr(Labels(list(range(100)))) == "Labels(one of 100 labels, from 0 on)"


# --- files --------------------------------------------------------------------------------------


def written(folder: Path, text: str) -> Path:
    path = folder / "domain.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_holds_a_domain(tmp_path: Path) -> None:
    assert Domain.load(written(tmp_path, TOML)) == MIXED
    assert Domain.load(str(written(tmp_path, "\ufeffhome = 7\n[work]\ncardinality = 8"))) == (
        Domain(home=7, work=8)
    )
    nested = "[b]\nlow=0\nhigh=1\n[a.tree.North]\nFar = ['Wick']\nNear = ['Leeds']"
    place = Hierarchy({"North": {"Far": ["Wick"], "Near": ["Leeds"]}})
    assert Domain.load(written(tmp_path, nested)) == Domain(b=Whole(0, 1), a=place)


def test_labels_may_be_lines_of_a_file_next_to_it(tmp_path: Path) -> None:
    (tmp_path / "counties.txt").write_text("\ufeffKent\r\n  Devon \n\nSão Tomé\n", encoding="utf-8")
    path = written(tmp_path, '[county]\nlabels_file = "counties.txt"\nother = "abroad"')
    assert Domain.load(path) == Domain(county=Labels(["Kent", "Devon", "São Tomé"], "abroad"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[home\ncardinality = 3", "not a TOML file: .*line 1"),
        ("[home]\ncardinality = \n", "not a TOML file: .*line 2"),
        ("[home]\ncardinality = 3\n[home]\n", "not a TOML file: .*line 3"),
        ("[home]\ncardinality = 1" + "0" * 5_000, "not a TOML file"),
        ("", "at least one"),
        ("[home]\n", r"\[home\]: .*none of these"),
        ("[home]\ncardinalty = 3", r"\[home\]: .*Did you mean 'cardinality'"),
        ("[home]\nlables = ['a']", "Did you mean 'labels'"),
        ("[home]\ncardinality = 0", r"\[home\]: .*1 or more"),
        ("home = 0", r"\[home\]: .*1 or more"),
        ("home = 'auto'", r"\[home\]: .*must not come from the data"),
        ("[home]\nlabels = 'data'", r"\[home\]: .*must not come from the data"),
        ("[home]\nlabels = []", "at least one"),
        ("[home]\nlabels = ['a', 'a ']", "only in blanks"),
        ("[home]\nlow = 1", "high is missing"),
        ("[home]\nlow = 1\nhigh = 2\nlabels = ['a']", "more than one"),
        ("[home]\nfirst = 2024-01-01T00:00:00\nlast = 2024-12-31", "first must be a date"),
        ("[home]\nlabels_file = 'none.txt'", "none.txt cannot be read"),
        ("[home]\nlabels_file = 3", "name of a file"),
        ("[home]\nlabels_file = 'a.txt'\nlabels = ['a']", "no labels"),
        ("[home]\nlabels_file = 'empty.txt'", "at least one"),
        ("[Home]\ncardinality = 3\n[home]\ncardinality = 3", "differ only in case"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(InvalidInput, match=said):
        Domain.load(written(tmp_path, text))


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        Domain.load(tmp_path / "none.toml")
    with pytest.raises(InvalidInput, match="cannot be read"):
        Domain.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"[caf\xe9]")
    with pytest.raises(InvalidInput, match="UTF-8"):
        Domain.load(tmp_path / "latin.toml")


# --- the page about it --------------------------------------------------------------------------


def test_every_block_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    (tmp_path / "domain.toml").write_text("".join(re.findall(r"```toml\n(.*?)```", page, re.S)))
    (tmp_path / "counties.txt").write_text("Kent\nDevon\n")
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(blocks) >= 3
    for block in blocks:
        exec(compile(block, str(PAGE.name), "exec"), names)
