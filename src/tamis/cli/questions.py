"""Questions to what was opened, by kind: the values that `tamis query` works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tamis.privacy.errors import InvalidInput, counted

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.privacy.answer import Answer

Answered: TypeAlias = "Answer | dict[str, float] | pa.Table"


@dataclass(frozen=True)
class Question:
    """How it is asked: of what was opened, with words and a condition; and how many words.

    Without a number of words it looks at them itself.
    """

    ask: Callable[[Any, Sequence[str], str | None], Answered]
    words: int | None = None


@dataclass(frozen=True)
class Kind:
    """What a file can be: its name, which is that of its table in SQL, and its questions.

    ``numbers`` are columns of its answers that are written as 1,234.5.
    """

    name: str
    numbers: tuple[str, ...]
    questions: Mapping[str, Question]

    def ask(
        self, opened: Any, name: str, words: Sequence[str], where: str | None, other: Kind
    ) -> Answered:
        """The answer; ``other`` is the kind that people may have taken it for."""
        if name not in self.questions:
            raise InvalidInput(self._unknown(name, other))
        question = self.questions[name]
        if question.words is not None and len(words) != question.words:
            takes = counted(question.words, "argument") if question.words else "no argument"
            raise InvalidInput(f"{name} takes {takes}, not {len(words)}.")
        return question.ask(opened, words, where)

    def _unknown(self, name: str, other: Kind) -> str:
        wrong = f"{name!r} is no question"
        if name in other.questions:
            wrong = f"{name} is a question to a {other.name}, and this is a {self.name}"
        return f"{wrong}; ask {', '.join(self.questions)}, or SELECT ..."
