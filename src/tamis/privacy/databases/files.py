"""Where a database is, and files and folders for their owner only."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tamis.privacy.databases.wording import Wording
from tamis.privacy.errors import InvalidInput

_SERVERS = ("postgresql://", "postgres://")


def data_folder() -> Path:
    """Where tamis keeps what belongs to this user."""
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    if base.is_absolute():
        return base / "tamis"
    try:
        return Path.home() / ".local" / "share" / "tamis"
    except RuntimeError:
        raise InvalidInput(
            "This user has no home folder to keep a ledger or a collector in; say where: "
            "XDG_DATA_HOME names a folder, TAMIS_LEDGER and TAMIS_COLLECTOR files."
        ) from None


def place(where: str | Path, wording: Wording) -> str | Path:
    """The address of a PostgreSQL server, as text, or the path of a file."""
    if isinstance(where, str) and where.startswith(_SERVERS):
        return where
    if isinstance(where, str) and "://" in where:
        raise InvalidInput(
            f"A {wording.name} is a file or begins with postgresql://; other addresses are not "
            "known."
        )
    path = Path(where).expanduser()
    if not str(where) or path.is_dir():
        raise InvalidInput(
            f"The {wording.name} must be a file, and {str(where)!r} is a folder; add a file name "
            "to it."
        )
    return path


def create_file(path: Path, wording: Wording) -> None:
    """Empty, and for the owner only; SQLite gives its helper files the same permissions."""
    try:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            sync_folder(path.parent)
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidInput(
            f"The folder {str(path.parent)!r} for the {wording.name} does not exist; make it, or "
            "name another place."
        ) from None
    except OSError as error:
        raise unavailable(path, error, wording) from error


def make_private(folder: Path, wording: Wording) -> None:
    """A folder for its owner only."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise unavailable(folder, error, wording) from error


def sync_folder(folder: Path) -> None:
    """Makes names in a folder durable; where folders cannot be opened, nothing is needed."""
    with suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def unavailable(path: Path, error: OSError, wording: Wording) -> Exception:
    return wording.unavailable(
        f"The file {str(path)!r} of the {wording.name} cannot be read or written "
        f"({error.strerror or 'unknown reason'}); check its permissions and the free space."
    )
