"""The keys of an aggregator: one to sign with, and for each query one that opens its reports."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tamis.federated.device import query_bytes
from tamis.privacy.errors import BadData, InvalidInput
from tamis.privacy.ledger.head import make_private, sync_folder
from tamis.privacy.ledger.open import data_folder

_SIZE = 32
CHANGED = (
    "The collector's database was changed by something other than the aggregator: nothing was "
    "counted. Abandon the query, and find out who can write there."
)


class Keys:
    """Files of 32 bytes that only their owner may read, in a folder of their own.

    Only the aggregator has this folder: the server must not see it. A key that opens reports is
    deleted when its query is released, so that nobody can open copies of them afterwards.
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

    def new_opener(self, query: str) -> str:
        """A new key for a query; the public part, in base64."""
        key = X25519PrivateKey.generate()
        self._write(self._place(query), key.private_bytes_raw())
        return _text(key.public_key().public_bytes_raw())

    def opener(self, query: str) -> X25519PrivateKey:
        path = self._place(query)
        if not path.exists():
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

    def keep_plan(self, query: str, plan: str) -> None:
        """What is asked in all rounds, and who pays: the server must not see it, nor change it."""
        self._write(self._place(query, "plan"), plan.encode())

    def plan(self, query: str) -> str:
        self.opener(query)  # both are here, or the query is not ours
        return self._place(query, "plan").read_text()

    def forget(self, query: str) -> None:
        for kind in ("key", "tokens", "plan"):
            self._place(query, kind).unlink(missing_ok=True)

    def signed(self, query: str, number: int, text: str) -> str:
        """A text for the database that nobody else can have written for this round."""
        signature = self.signer().sign(_bound(query, number, text))
        return json.dumps([_text(signature), text])

    def checked(self, query: str, number: int, signed: str) -> str:
        """What `signed` was given; refused if it was changed, or belongs elsewhere."""
        try:
            signature, text = json.loads(signed)
            key = self.signer().public_key()
            key.verify(base64.b64decode(signature), _bound(query, number, text))
        except (ValueError, TypeError, AttributeError, InvalidSignature):
            raise BadData(CHANGED) from None
        return str(text)

    def _place(self, query: str, kind: str = "key") -> Path:
        return self.folder / f"{query_bytes(query).hex()}.{kind}"

    def _write(self, path: Path, key: bytes) -> None:
        make_private(self.folder)
        new = path.with_suffix(f".{os.urandom(4).hex()}.new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(new, path)  # never in place of one that is there
        except FileExistsError:
            pass
        finally:
            new.unlink()
        sync_folder(self.folder)

    def _read(self, path: Path) -> bytes:
        found = path.read_bytes()
        if len(found) != _SIZE:
            raise BadData(f"{path.name!r} is not a key: put back a copy of it.")
        return found


def _bound(query: str, number: int, text: str) -> bytes:
    return b"tamis known\0" + query_bytes(query) + number.to_bytes(2, "big") + text.encode()


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode()
