"""The real program: help, streams, signals and limits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import PROMISE, Run

COMMANDS = (
    "plan", "release", "sanitize", "summarize", "query", "report", "verify", "demo", "budget",
    "budget create", "budget list", "budget show", "budget history", "collect",
    "collect create", "collect serve", "collect tokens", "collect status", "collect close",
    "collect release", "collect simulate", "kmeans",
)  # fmt: skip
RELEASE = ("release", "events.parquet", "--key", "query", *PROMISE)


def program(*words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tamis", *words]
    return subprocess.run(command, capture_output=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("words", [("--help",), ("release", "--help"), ("--version",)])
def test_help_needs_nothing_and_complains_of_nothing(words: tuple[str, ...]) -> None:
    ran = program(*words)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_help_loads_nothing_heavy() -> None:
    code = (
        f"import sys; from tamis.cli import main\n"
        f"for command in {COMMANDS!r}: main([*command.split(), '--help'])\n"
        "heavy = {'duckdb', 'numpy', 'scipy', 'pyarrow', 'dp_accounting'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_release_or_a_summary_does_not_wait_for_pandas(tmp_path: Path) -> None:
    """pyarrow imports it, where it is installed, to look at what it is given."""
    pq.write_table(
        pa.table({"word": ["the"] * 900, "who": range(900)}), tmp_path / "events.parquet"
    )
    code = (
        "import sys, tamis; events, promise = sys.argv[1], {'epsilon': 1.0, 'delta': 1e-6}\n"
        "for more in ({}, {'unit': 'who', 'keys_per_unit': 1}):\n"
        "    tamis.release(events, key='word', **promise, **more).save(events + '.out')\n"
        "area = tamis.Domain(word=tamis.Labels(['the', 'a']), who=1000)\n"
        "tamis.summarize(events, domain=area, epsilon=1.0, size=100).save(events + '.out')\n"
        "sys.exit('pandas' in sys.modules)"
    )
    events = str(tmp_path / "events.parquet")
    assert subprocess.run([sys.executable, "-c", code, events], check=False).returncode == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_within_eighty_columns(tamis: Run, command: str) -> None:
    ran = tamis(*command.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    examples = ran.text.split("Examples:\n")[1].split("\n\n")[0]
    assert examples.count("  tamis " + command.split(maxsplit=1)[0]) >= 2
    assert max(map(len, ran.text.splitlines())) <= 80
    if command not in ("budget", "collect"):
        assert "--json" in ran.text


def test_usage_errors_are_one_sentence(tamis: Run) -> None:
    for words in (
        ("relase",),
        ("release", "--bogus"),
        ("release", "x", "--epsilon", "y"),
        ("plan",),
    ):
        ran = tamis(*words)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
        assert ran.err.startswith("tamis: ")
    assert 'Did you mean "release"?' in tamis("relase").err


def test_data_and_messages_are_apart(folder: Path) -> None:
    ran = program(*RELEASE, "--format", "csv")
    assert ran.returncode == 0
    assert ran.stdout.startswith(b"query,token,estimate,low,high\nmaps,")
    assert ran.stderr.startswith(b"2 keys named")


def test_a_missing_engine_is_named(folder: Path) -> None:
    code = (
        "import sys; sys.modules['duckdb'] = None; from tamis.cli import main\n"
        f"sys.exit(main({list(RELEASE)!r}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (5, b"")
    assert ran.stderr.startswith(b"tamis: the package 'duckdb' is needed")


@pytest.mark.parametrize("unbuffered", ["", pytest.param("1", marks=pytest.mark.slow)])
def test_a_reader_that_has_seen_enough_is_no_error(folder: Path, unbuffered: str) -> None:
    lines = "".join(f"key-{n},{5000 + n}\n" for n in range(5000))
    Path("many.csv").write_text(f"k,n\n{lines}")
    program("release", "many.csv", "--key", "k", "--count", "n", *PROMISE, "-o", "r.parquet")
    command = [sys.executable, "-m", "tamis", "query", "r.parquet", "rows"]
    env = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=env) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full of Linux")
def test_a_full_disk_behind_standard_output_fails(folder: Path) -> None:
    for words in (RELEASE, ("--help",)):
        with Path("/dev/full").open("wb") as full:
            command = [sys.executable, "-m", "tamis", *words]
            ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
        assert ran.returncode == 1
        assert b"No space left on device" in ran.stderr
        assert b"Traceback" not in ran.stderr


def limited() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.skipif(os.name != "posix", reason="limits of files are set as on Unix")
@pytest.mark.parametrize("name", ["out.parquet", "out.csv"])
def test_a_disk_that_is_full_half_way_leaves_no_file(folder: Path, name: str) -> None:
    lines = "".join(f"key-{n},{5000 + n}\n" for n in range(500))
    Path("many.csv").write_text(f"k,n\n{lines}")
    before = sorted(path.name for path in folder.iterdir())
    ran = program("release", "many.csv", "--key", "k", "--count", "n", *PROMISE, "-o", name,
                  preexec_fn=limited)  # fmt: skip
    assert (ran.returncode, ran.stdout) == (1, b""), ran.stderr
    assert b"what it cost is spent" in ran.stderr
    assert ran.stderr.count(b"\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on Unix")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_in_order(folder: Path, number: signal.Signals) -> None:
    """In the middle of a query of DuckDB, which may finish first: what it spilled is removed."""
    spill = folder / "spill"
    spill.mkdir()
    many = pa.table({"query": [f"q{n % 9}" for n in range(200_000)]})
    pq.write_table(many, "many.parquet", row_group_size=10_000)
    slow = "levenshtein(rpad(query, 70, 'x'), rpad(query, 70, 'y')) > 0"
    command = [
        sys.executable,
        "-m",
        "tamis",
        "release",
        "many.parquet",
        *RELEASE[2:],
        "--where",
        slow,
        "-o",
        "out.parquet",
    ]
    env = os.environ | {"TMPDIR": str(spill)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as running:
        deadline = time.monotonic() + 30
        while not list(spill.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        running.send_signal(number)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (128 + number, b"", b"tamis: interrupted.\n")
    assert list(spill.iterdir()) == []
    assert not (folder / "out.parquet").exists()


STRUCK = """
import os, sys
import tamis.cli.app, tamis.cli.run
def strike():
    os.kill(os.getpid(), {number})
tamis.cli.app.app = lambda words: exec("strike()", globals())
sys.argv = ["tamis", "plan"]
code = tamis.cli.run.main()
{late}
sys.exit(code)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on Unix")
@pytest.mark.parametrize("late", ["", "strike()"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_has_its_code_wherever_it_strikes(
    tmp_path: Path, number: signal.Signals, late: str
) -> None:
    """In text that is executed, as in many an import, and also once more when all is over."""
    (tmp_path / "struck.py").write_text(STRUCK.format(number=int(number), late=late))
    command = [sys.executable, "-m", "struck"]
    ran = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (128 + number, b"tamis: interrupted.\n")


PAID = """
import os, sys
import tamis.cli.run
from tamis.releases import order
def strike(*_):
    os.kill(os.getpid(), 2)
order.draw = strike
sys.exit(tamis.cli.run.main())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on Unix")
def test_an_interruption_after_the_charge_says_that_it_is_spent(folder: Path) -> None:
    paid = ("--budget", "b", "--ledger", "l.sqlite")
    created = ("budget", "create", *paid[1:], "--epsilon", "2", "--delta", "1e-6")
    assert program(*created, "--unit", "element").returncode == 0
    command = [sys.executable, "-c", PAID, *RELEASE, *paid, "-o", "out.parquet"]
    ran = subprocess.run(command, capture_output=True, check=False)
    said = b"tamis: interrupted. It had been charged: what it cost is spent.\n"
    assert (ran.returncode, ran.stderr) == (130, said)


def test_a_closed_standard_output_is_no_traceback(folder: Path) -> None:
    ran = program("budget", "list", preexec_fn=lambda: os.close(1))
    assert b"Traceback" not in ran.stderr
    assert ran.returncode == 0
