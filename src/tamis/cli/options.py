"""Options that several commands share, with their help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from cyclopts import Parameter, Token


def whole(kind: object, tokens: Sequence[Token]) -> int:
    """A whole number as it stands: 1.5 is refused, and not rounded."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError("a whole number") from None


def whole_or_auto(kind: object, tokens: Sequence[Token]) -> int | str:
    try:
        return "auto" if tokens[0].value == "auto" else whole(kind, tokens)
    except ValueError:
        raise ValueError("a whole number, or auto") from None


Epsilon = Annotated[
    float, Parameter(help="What is promised: smaller is more private; 0.1 to 2 are usual.")
]
Delta = Annotated[
    float,
    Parameter(help="A chance to be taken much smaller than one over the number of units: 1e-8."),
]
KeysPerUnit = Annotated[
    int, Parameter(help="To how many keys one unit may contribute at most.", converter=whole)
]
ElementsPerKey = Annotated[
    int, Parameter(help="How often one unit may count in one key at most.", converter=whole)
]
Key = Annotated[
    list[str],
    Parameter(name=("--key", "-k"), help="The column whose values are counted; repeat for more."),
]
SAMPLE, BUDGET, ENGINE = "Sample", "Budget", "Engine"  # headings in the help

Data = Annotated[
    str,
    Parameter(help="Parquet, CSV, JSON lines (also .gz and .zst), a DuckDB database; - is CSV."),
]
Unit = Annotated[
    str | None,
    Parameter(
        help="The column that says to whom a row belongs. Without it rows are protected, not "
        "people."
    ),
]
Where = Annotated[str | None, Parameter(help="Count only rows with this condition.")]
Count = Annotated[str | None, Parameter(help="A column of counts, if already counted.")]
Show = Annotated[bool, Parameter(help="Print the first rows as well.")]

Scheme = Annotated[
    Literal["everything", "pps", "ppswor"],
    Parameter(
        group=SAMPLE, help="Which keys are looked at: all, or a weighted sample at rate tau."
    ),
]
Tau = Annotated[
    float | None, Parameter(group=SAMPLE, help="The rate of the sample: about tau times frequency.")
]
Power = Annotated[
    float, Parameter(group=SAMPLE, help="Sample by frequency to this power, above 0 and up to 2.")
]
Tokens = Annotated[
    Literal["whole", "fine"], Parameter(help="Fine tokens give the best order of keys.")
]
Coverage = Annotated[float, Parameter(help="How often intervals hold the true frequency.")]
Output = Annotated[
    str | None,
    Parameter(name=("--output", "-o"), help="The file to write; - is standard output."),
]
FileOrFolder = Annotated[
    str | None,
    Parameter(
        name=("--output", "-o"),
        help="The file to write; - is standard output, a name with / at its end a folder that "
        "Spark writes.",
    ),
]
Format = Annotated[
    Literal["parquet", "csv", "json"] | None,
    Parameter(help="What is written. By default the name of the file decides, then Parquet."),
]
Force = Annotated[bool, Parameter(help="Replace the output file if it exists.")]
Json = Annotated[bool, Parameter(help="Print one JSON document to standard output.")]
Table = Annotated[
    str | None, Parameter(help="For a DuckDB database: the name of a table, or a query.")
]
Budget = Annotated[
    str | None, Parameter(group=BUDGET, help="The budget to charge, before anything is drawn.")
]
Ledger = Annotated[
    str | None,
    Parameter(
        group=BUDGET,
        help="Where budgets are kept: a file, or postgresql://... By default TAMIS_LEDGER, or a "
        "file in your data folder.",
    ),
]
Purpose = Annotated[str | None, Parameter(group=BUDGET, help="Words for its history.")]
Memory = Annotated[
    str | None,
    Parameter(
        group=ENGINE, help="How much memory to use, such as 4GB; what does not fit goes to disk."
    ),
]
Threads = Annotated[
    int | None, Parameter(group=ENGINE, help="How many cores to use.", converter=whole)
]
Engine = Annotated[
    Literal["duckdb", "spark"],
    Parameter(
        group=ENGINE,
        help="Where data is counted: here, or on Spark (Parquet files; MASTER, SPARK_REMOTE or "
        "SPARK_CONF_DIR say which, or else it is started here).",
    ),
]
