"""Gates: what a text, paragraph or sentence must have before a rule looks at it.

Most rules are several functions, each of which needs some words and some kinds of numbers. A function says so by
`@whole_gate(...)`, `@group_gate(...)`, `@paragraph_gate(...)` or `@sentence_gate(...)`, and is not called where they
are missing. A gate is a list of bits (see `traits`), of each of which a text must have one:

    @group_gate(stems("margin lead"), VALUES[3])

A gate must never change what is found: `tests/apps/consistency/test_gates.py` calls every function that a gate closes.
A function without a gate is always called.
"""

from __future__ import annotations

import functools
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from numerate.apps.consistency.sentences.sentence_windows import sentence_groups
from numerate.apps.consistency.sentences.traits import traits_of_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["GATES", "Gate", "group_gate", "is_open", "paragraph_gate", "sentence_gate", "whole_gate", "whole_traits"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")


class Gate(NamedTuple):
    """A function behind a gate: what it looks at (`whole`, `group`, `paragraph`, `sentence`), and the bits it needs."""

    of: str
    function: Callable[..., Any]
    needs: tuple[int, ...]


GATES: list[Gate] = []
"""All gates, for tests."""
_last: tuple[str, Any, int] = ("", None, 0)


def is_open(traits: int, needs: Sequence[int]) -> bool:
    """Whether a text with these traits has one bit of each of the needs."""
    for each in needs:  # noqa: SIM110 - this is faster
        if not traits & each:
            return False
    return True


def whole_traits(text: str, sentences: Sequence[Sentence]) -> int:
    """The traits of the sentences of a text; those of the last text are kept, as many rules ask for them."""
    global _last
    known, those, traits = _last
    if known is not text or those is not sentences:
        traits = traits_of_numbers([each.tally for each in sentences])
        for group in sentence_groups(text, sentences):
            traits |= group.words
        _last = (text, sentences, traits)
    return traits


def _gate(of: str, needs: tuple[int, ...], traits_of: Callable[..., int]) -> Callable[[_Function], _Function]:
    """Decorates functions that are called with what `traits_of` gives the traits of."""

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def gated(*arguments: Any) -> Any:
            traits = traits_of(*arguments)
            for each in needs:
                if not traits & each:
                    return ()
            return function(*arguments)

        GATES.append(Gate(of, function, needs))
        return gated  # type: ignore[return-value]

    return decorate


def whole_gate(*needs: int) -> Callable[[_Function], _Function]:
    """Of a function of a text and its sentences with numbers."""
    return _gate("whole", needs, whole_traits)


def paragraph_gate(*needs: int) -> Callable[[_Function], _Function]:
    """Of a function of a paragraph."""
    return _gate("paragraph", needs, attrgetter("traits"))


def sentence_gate(*needs: int) -> Callable[[_Function], _Function]:
    """Of a function of a sentence."""
    return _gate("sentence", needs, attrgetter("traits"))


def group_gate(*needs: int) -> Callable[[_Function], _Function]:
    """Of a function of a text and its sentences that looks at each paragraph by itself."""

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def gated(text: str, sentences: Sequence[Sentence]) -> Any:
            found: list[Any] = []
            for group in sentence_groups(text, sentences):
                traits = group.traits
                for each in needs:
                    if not traits & each:
                        break
                else:
                    found += function(text, group)
            return found

        GATES.append(Gate("group", function, needs))
        return gated  # type: ignore[return-value]

    return decorate
