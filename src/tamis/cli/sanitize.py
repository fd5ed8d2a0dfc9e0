"""`tamis sanitize`: a table of keys and frequencies, or a sample of one, made private."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tamis.cli import files, inputs, streams
from tamis.cli import options as o
from tamis.cli.failures import Failed
from tamis.cli.result import tell_charge
from tamis.privacy.errors import BadData, InvalidInput, counted

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.privacy.ledger.charge import Charge
    from tamis.weighted.sample import PrivateSample

EXAMPLES = """Examples:
  tamis sanitize words.csv --key word --frequency n \\
      --epsilon 1 --delta 1e-8 -o private.csv
  tamis sanitize - --key word --frequency n \\
      --epsilon 1 --delta 1e-8 --json < words.csv
  tamis sanitize sample.parquet --key word --frequency n \\
      --scheme ppswor --tau 0.01 --epsilon 0.5 --delta 1e-6 \\
      -o private.parquet --certificate certificate.json
  tamis sanitize words.csv --key word --frequency n --epsilon 1 --delta 1e-8 \\
      --unit user_id --budget "visits 2024" -o charged.csv"""

_SAMPLE = "Parquet, CSV or JSON lines with each key in one row, or a DuckDB database; - is CSV."
_ERROR = "How far the sampler's probabilities may have been from those of the scheme."


def sanitize(
    sample: Annotated[str, Parameter(help=_SAMPLE)],
    /,
    *,
    key: o.Key,
    frequency: Annotated[str, Parameter(help="The column with how often each key occurs.")],
    epsilon: o.Epsilon,
    delta: o.Delta,
    keys_per_unit: o.KeysPerUnit = 1,
    elements_per_key: o.ElementsPerKey = 1,
    unit: Annotated[str, Parameter(help="What a unit is called; it is only repeated.")] = "element",
    output: o.Output = None,
    format: o.Format = None,
    certificate: Annotated[
        str | None, Parameter(help="Write the certificate to this file, for tamis verify.")
    ] = None,
    force: o.Force = False,
    table: o.Table = None,
    scheme: o.Scheme = "everything",
    tau: o.Tau = None,
    power: o.Power = 1.0,
    sampler_error: Annotated[float | None, Parameter(help=_ERROR)] = None,
    tokens: o.Tokens = "whole",
    coverage: o.Coverage = 0.95,
    budget: o.Budget = None,
    ledger: o.Ledger = None,
    purpose: o.Purpose = None,
    json: o.Json = False,
) -> None:
    """Make a table of keys and frequencies private.

    That units keep the bounds, and that a sample was drawn with the scheme you
    name, is for you to ensure. To start from events, use tamis release: it ensures
    both, and its files can be queried. A budget is charged when the data has been
    checked, before anything is drawn.
    """
    files.check_kept(budget, output)
    target = files.target(output, format, force, [sample], other_output=json)
    _check_certificate(certificate, output, force, sample)
    promise: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "keys_per_unit": keys_per_unit,
        "elements_per_key": elements_per_key,
        "unit": unit,
    }
    law: dict[str, Any] = {
        "key": key,
        "frequency": frequency,
        "scheme": inputs.scheme(scheme, tau, power),
        "tokens": tokens,
        "coverage": coverage,
        "sampler_error": sampler_error,
    }
    from tamis.privacy.guarantee import Guarantee
    from tamis.privacy.ledger.charge import Charge

    words = purpose or (None if budget is None else "sanitize")
    with Charge(budget, ledger, words, Guarantee(**promise)) as charge:
        data = inputs.counted(sample, [frequency], table, key)
        made, entry = _draw(data, charge, {**promise, **law})
    _save(made, target, certificate)
    _tell(made, target, entry, json)


def _draw(
    data: pa.Table, charge: Charge, law: dict[str, Any]
) -> tuple[PrivateSample, dict[str, Any] | None]:
    """Check all that can be checked without a draw, charge, and only then draw."""
    import tamis

    tamis.sanitize(data.slice(0, 0), **law)  # of no keys, so nothing is drawn
    entries: list[dict[str, Any] | None] = []
    try:
        made = tamis.sanitize(data, **law, before_draw=lambda: entries.append(charge()))
    except InvalidInput as error:  # the words are right, so it is the data
        raise BadData(str(error)) from None
    return made, entries[0]


def _check_certificate(path: str | None, output: str | None, force: bool, sample: str) -> None:
    if path == streams.STANDARD or (path is not None and path == output):
        raise InvalidInput("--certificate needs a file of its own.")
    files.check_output(path, force, [sample])


def _save(made: PrivateSample, target: files.Target | None, certificate: str | None) -> None:
    try:
        if target is not None:
            files.write_file(target.path, files.table_bytes(made.to_arrow(), target.kind))
        if certificate is not None:
            files.write_file(certificate, made.certificate.text.encode())
    except Failed as error:
        raise Failed(f"{error} The keys had been drawn: what they cost is spent.") from None


def _tell(
    made: PrivateSample, target: files.Target | None, entry: dict[str, Any] | None, json: bool
) -> None:
    g = made.guarantee
    streams.say(
        f"{counted(len(made), 'key')} named; epsilon {g.epsilon:g}, delta {g.delta:g} for one "
        f"{g.unit}, if it has at most {counted(g.keys_per_unit, 'key')} and "
        f"{counted(g.elements_per_key, 'element')} in each"
    )
    tell_charge(entry)
    files.tell_written(target)
    if json:
        streams.put_json(_document(made, target, entry))
    elif target is None:
        streams.put(streams.table_text(made.to_arrow(), streams.FIRST))


def _document(
    made: PrivateSample, target: files.Target | None, entry: dict[str, Any] | None
) -> dict[str, Any]:
    rows = {} if target else {"rows": streams.records(made.to_arrow())}
    return {
        "keys": len(made),
        "file": target.name if target else None,
        "guarantee": made.guarantee.describe(),
        "ledger": entry,
        **rows,
    }
