"""What can be found out from an error."""

from __future__ import annotations

from collections.abc import Iterator


def behind(error: BaseException | None) -> Iterator[BaseException]:
    """An error and all that stand behind it, also those that ``from None`` hides from view."""
    if error is not None:
        yield error
        for other in {error.__cause__, error.__context__} - {None}:
            yield from behind(other)


def told(error: BaseException) -> str:
    """All that they say."""
    return "\n".join(f"{type(e).__name__}: {e!r} {e}" for e in behind(error))
