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
    """What a file can be: its name, that of its table in SQL, and its questions.

    ``numbers`` are columns of its answers that are written as 1,234.5; ``shown`` is what is made of
    a table of answers before it is printed for a person.
    """

    name: str
    table: str
    numbers: tuple[str, ...]
    questions: Mapping[str, Question]
    shown: Callable[[pa.Table], pa.Table] = lambda table: table

    def ask(
        self,
        opened: Any,
        name: str,
        words: Sequence[str],
        where: str | None,
        others: Sequence[Kind],
    ) -> Answered:
        """The answer; ``others`` are kinds that people may take it for, the likeliest first."""
        if name not in self.questions:
            raise InvalidInput(self._unknown(name, others))
        question = self.questions[name]
        if question.words is not None and len(words) != question.words:
            takes = counted(question.words, "argument") if question.words else "no argument"
            raise InvalidInput(f"{name} takes {takes}, not {len(words)}.")
        return question.ask(opened, words, where)

    def _unknown(self, name: str, others: Sequence[Kind]) -> str:
        knows = next((other for other in others if name in other.questions), None)
        wrong = f"{name!r} is no question"
        if knows is not None:
            wrong = f"{name} is a question to a {knows.name}, and this is a {self.name}"
        return f"{wrong}; ask {', '.join(self.questions)}, or SELECT ..."
