"""The commands, by name. What a command needs of the library is imported when it runs."""

from __future__ import annotations

from inspect import signature

from cyclopts import App, Parameter

from tamis.cli import (
    budget,
    collect,
    demo,
    kmeans,
    plan,
    query,
    release,
    report,
    sanitize,
    simulate,
    summarize,
    verify,
)

_ABOUT = """Sift keyed data: which keys may be named, and how often they occur.

Data goes to standard output, messages to standard error. A file called - is
standard input or output. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused
by a budget, 4 bad data, 5 an engine or a package is missing."""

_EXAMPLES = """Examples:
  tamis plan --epsilon 1 --delta 1e-8 --keys-per-unit 4
  tamis release events.parquet --key query --unit user_id --keys-per-unit 4 \\
      --epsilon 1 --delta 1e-8 -o release.parquet
  tamis query release.parquet top 10
  tamis summarize trips.parquet --domain domain.toml --epsilon 0.1 \\
      --size 100000 -o summary.parquet
  tamis release --help"""


def _version() -> str:
    from importlib.metadata import version

    return version("tamis")


_SHOWN = Parameter(negative=(), show_default=lambda value: value or None)

app = App(
    name="tamis",
    help=_ABOUT,
    help_epilogue=_EXAMPLES,
    help_format="plaintext",
    version=_version,
    default_parameter=_SHOWN,
    exit_on_error=False,
    print_error=False,
    suppress_keyboard_interrupt=False,
    result_action="return_none",
)
app.command(plan.plan, help_epilogue=plan.EXAMPLES, sort_key=1)
app.command(release.release, help_epilogue=release.EXAMPLES, sort_key=2)
app.command(sanitize.sanitize, help_epilogue=sanitize.EXAMPLES, sort_key=3)
app.command(summarize.summarize, help_epilogue=summarize.EXAMPLES, sort_key=4)
app.command(query.query, help_epilogue=query.EXAMPLES, sort_key=5)
app.command(report.report, help_epilogue=report.EXAMPLES, sort_key=6)
app.command(verify.verify, help_epilogue=verify.EXAMPLES, sort_key=7)
app.command(kmeans.kmeans, help_epilogue=kmeans.EXAMPLES, sort_key=11)
app.command(demo.demo, help_epilogue=demo.EXAMPLES, sort_key=12)

_budgets = App(
    name="budget",
    help="Keep budgets: what all releases together may reveal.",
    help_epilogue=budget.EXAMPLES,
    sort_key=8,
)
_budgets.command(budget.create, help_epilogue=budget.CREATE_EXAMPLES, sort_key=1)
_budgets.command(budget.list_all, name="list", help_epilogue=budget.LIST_EXAMPLES, sort_key=2)
_budgets.command(budget.show, help_epilogue=budget.SHOW_EXAMPLES, sort_key=3)
_budgets.command(budget.history, help_epilogue=budget.HISTORY_EXAMPLES, sort_key=4)
app.command(_budgets)

_collecting = App(
    name="collect",
    help="Ask devices, and release what enough of them have answered.",
    help_epilogue=collect.EXAMPLES,
    sort_key=10,
)
_collecting.command(collect.create, help_epilogue=collect.CREATE_EXAMPLES, sort_key=1)
_collecting.command(collect.serve, help_epilogue=collect.SERVE_EXAMPLES, sort_key=2)
_collecting.command(collect.tokens, help_epilogue=collect.TOKENS_EXAMPLES, sort_key=3)
_collecting.command(collect.status, help_epilogue=collect.STATUS_EXAMPLES, sort_key=4)
_collecting.command(collect.close, help_epilogue=collect.CLOSE_EXAMPLES, sort_key=5)
_collecting.command(collect.release, help_epilogue=collect.RELEASE_EXAMPLES, sort_key=6)
_collecting.command(simulate.simulate, help_epilogue=simulate.EXAMPLES, sort_key=7)
app.command(_collecting)


def names(of: App = app) -> tuple[set[str], set[str]]:
    """The commands, and the parameters in Python behind all their options."""
    commands = {name for name in of if not name.startswith("-")}
    parameters: set[str] = set()
    for command in (of[name] for name in commands):
        if command.default_command is None:
            parameters |= names(command)[1]
        else:
            found = signature(command.default_command).parameters.values()
            parameters |= {p.name for p in found if p.kind is p.KEYWORD_ONLY}
    return commands, parameters
