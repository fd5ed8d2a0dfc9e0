"""The keys of an aggregator: one to sign with, and for each query one that opens its reports."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tamis.collect.lock import locked
from tamis.federated.device import Refused, query_bytes, signed_text
from tamis.privacy.databases.files import data_folder, make_private, sync_folder
from tamis.privacy.databases.wording import COLLECTOR
from tamis.privacy.errors import BadData, InvalidInput

_SIZE = 32
Kind = Literal["plan", "progress"]
T = TypeVar("T")


class Keys:
    """Files that only their owner may read, in a folder of their own.

    Only the aggregator has this folder: the server must not see it. Beside the keys, it holds what
    each query asks and how far it has come, since whoever runs the server can change the database.
    All of it is deleted when the query is released, so that nobody can open copies of its reports
    afterwards.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder).expanduser() if folder else data_folder() / "collector-keys"
        if self.folder.exists() and not self.folder.is_dir():
            raise InvalidInput(f"keys must be a folder, and {str(self.folder)!r} is a file.")

    def signer(self) -> Ed25519PrivateKey:
        """The key that signs specifications, made when it is first needed."""
        path = self.folder / "signer.key"
        if not path.exists():
            self._write(path, Ed25519PrivateKey.generate().private_bytes_raw())
        return Ed25519PrivateKey.from_private_bytes(self._read(path))

    @property
    def public(self) -> str:
        """What devices must know: base64 of the public part of the signer."""
        return _text(self.signer().public_key().public_bytes_raw())

    @property
    def known_signer(self) -> str:
        """The same, if there is a signer already; it is not made for the asking."""
        return self.public if (self.folder / "signer.key").exists() else ""

    def new_opener(self, query: str) -> None:
        """A new key to open the reports of a query with."""
        self._write(self._place(query), X25519PrivateKey.generate().private_bytes_raw())

    def opener(self, query: str) -> X25519PrivateKey:
        path = self._place(query)
        if not path.exists():
            self.check_unreleased(query)
            raise InvalidInput(
                f"the key of the query {query} is not in {str(self.folder)!r}: its reports can be "
                "opened only where the query was created."
            )
        return X25519PrivateKey.from_private_bytes(self._read(path))

    def seal(self, query: str) -> str:
        """The public part of the key that opens a query's reports, in base64."""
        return _text(self.opener(query).public_key().public_bytes_raw())

    def new_issuer(self, query: str) -> bytes:
        """A new key to make tokens with."""
        self._write(self._place(query, "tokens"), os.urandom(_SIZE))
        return self.issuer(query)

    def issuer(self, query: str) -> bytes:
        self.opener(query)  # both are here, or the query is not ours
        return self._read(self._place(query, "tokens"))

    def keep(self, query: str, kind: Kind, text: str) -> None:
        """What a query asks, or how far it has come, in place of what was kept before.

        The server must not see it, nor change it.
        """
        self._write(self._place(query, kind), text.encode(), anew=True)

    def read(self, query: str, kind: Kind, reader: Callable[[str], T]) -> T:
        """What `keep` was given."""
        self.opener(query)  # both are here, or the query is not ours
        try:
            return reader(self._place(query, kind).read_text())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise _damaged(self._place(query, kind)) from None

    def keep_release(self, query: str, file: bytes) -> None:
        """The digest of the release of a query, for good."""
        self._write(self._place(query, "released"), sha256(file).digest(), anew=True)

    def check_unreleased(self, query: str) -> None:
        """Refuse to count what has been released."""
        if self._place(query, "released").exists():
            raise put_back(query)

    def check_release(self, query: str, file: bytes) -> None:
        """Refuse a release that was not made with these keys."""
        path = self._place(query, "released")
        if not path.exists() or path.read_bytes() != sha256(file).digest():
            raise BadData(
                f"the release of the query {query} in the database was not made here: it was put "
                "there by somebody else, or made with other keys (or what is known of it here is "
                "damaged). Nothing was deleted."
            )

    def forget(self, query: str) -> None:
        """Delete all but the digest of a release, also what was half written when one died."""
        for path in self.folder.glob(f"{query_bytes(query).hex()}.*"):
            if path.suffix != ".released":
                path.unlink(missing_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Shuts out other aggregators with these keys: a lost connection frees only databases."""
        make_private(self.folder, COLLECTOR)
        with locked(self.folder / ".lock"):
            yield

    def _place(self, query: str, kind: str = "key") -> Path:
        return self.folder / f"{query_bytes(query).hex()}.{kind}"

    def _write(self, path: Path, content: bytes, anew: bool = False) -> None:
        """On the disk when it returns, all of it; ``anew`` in place of what is there, or not."""
        make_private(self.folder, COLLECTOR)
        new = path.with_suffix(f".{os.urandom(4).hex()}.new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if anew:
            os.replace(new, path)
        else:
            with suppress(FileExistsError):
                os.link(new, path)
            new.unlink()
        sync_folder(self.folder)

    def _read(self, path: Path) -> bytes:
        found = path.read_bytes() if path.exists() else b""
        if len(found) != _SIZE:
            raise _damaged(path)
        return found

    def signed(self, envelope: object) -> bool:
        """Whether a specification was signed with these keys."""
        try:
            signed_text(envelope, self.signer().public_key())
        except Refused:
            return False
        return True


def put_back(query: str) -> BadData:
    """What to say when a query is to be counted that has been counted before."""
    return BadData(
        f"the query {query} has been counted before: its reports, or an older copy of the keys, "
        "were put back since. A second release could show single devices, so nothing was counted; "
        "abandon the query."
    )


def _damaged(path: Path) -> BadData:
    if path.name == "signer.key":
        return BadData("'signer.key' in the folder of keys is damaged: put back a copy of it.")
    # no copy is asked for here: an older one could have a round counted twice
    return BadData(
        f"{path.name!r} in the folder of keys is damaged or missing: without it nothing can be "
        "counted; abandon the query."
    )


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode()
