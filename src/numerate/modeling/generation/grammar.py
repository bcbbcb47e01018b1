"""Which tokens may follow in a generated text, so that every number in it is complete and can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from numerate.notation.base import END, NUM

if TYPE_CHECKING:
    from torch import Tensor

    from numerate.processing.processor import NumberProcessor

__all__ = ["Grammar"]

_SPACES = ("Ġ", "▁", " ")
_REMEMBERED = 4096

Open = tuple[str, ...]
"""The pieces of a number that is not complete yet; empty outside numbers."""


class Grammar:
    """The tokens that a processor's notation allows after those of a text.

    Args:
        processor: The processor.
        width: Number of logits.
        says_numbers: Whether the model has a head that predicts the number of a [NUM].
        device: Device of the masks.

    Attributes:
        order: Where [NUM] is: "alone", "behind" a number's text, "before" it; None for a notation without [NUM].
        tells_numbers: Whether numbers can be told from words by their tokens.
    """

    def __init__(
        self, processor: NumberProcessor, width: int, says_numbers: bool, device: torch.device | str = "cpu"
    ) -> None:
        self.notation, self.first_id = processor.notation, processor.first_id
        self._ids = {token: processor.first_id + index for index, token in enumerate(processor.own_tokens)}
        self._names = {index: token for token, index in self._ids.items()}
        self.order = _order(self.notation)
        self._can_say = self.order == "behind" or (self.order is not None and says_numbers)
        self._by_pieces = bool(self.notation.vocabulary) and self.order is None
        self.tells_numbers = self._can_say or self._by_pieces
        self._digits, self._with_digit, glued = _digit_tokens(processor.tokenizer)
        starts = self.notation.legal_next(()) if self._by_pieces else frozenset[str]()
        self._by_characters = self._by_pieces and any(piece not in self._ids for piece in starts if piece != END)
        self._starts = frozenset(piece for piece in starts if piece in self._ids)
        self._width, self._device = width, device
        self._words = torch.arange(width, device=device) < processor.first_id
        self._beside = self._words.clone()
        self._beside[glued] = False
        self._implied_commas = processor.implied_commas
        self._known: dict[Any, Tensor] = {}

    def allowed(self, opened: Open, last: int | None = None) -> Tensor:
        """The tokens that may follow the pieces of a number that is not complete yet, or the token `last`: (width,)."""
        if self.order is not None:
            number = last == self._ids[NUM]
            fits = last in self._with_digit if self.order == "behind" else self._apart(last)
            say = self._can_say and fits
            free = self._beside if number and self.order != "before" else self._words
            return self._mask((say, free is self._words), lambda: self._own([NUM]) | free if say else free)
        if not self._by_pieces:
            return self._words
        starts = self._starts if self._apart(None if opened else last) else frozenset[str]()
        legal = self.notation.legal_next(opened) if opened else starts | {END}
        key = (opened or starts) if self._by_characters else (legal, bool(opened))
        return self._mask(key, lambda: self._legal_mask(opened, legal))

    def _apart(self, last: int | None) -> bool:
        """Whether a number may follow a token: after a digit or another number, the two could not be told apart."""
        number = last == self._ids[NUM]
        return last is None or (self._implied_commas if number else last not in self._with_digit)

    def follow(self, opened: Open, token: int) -> tuple[Open, Open]:
        """The pieces that are open after a token, and those of the number that it ends; each may be empty."""
        if not self._by_pieces:
            return (), ()
        name = self._names.get(token)
        pieces = tuple(self._digits.get(token, ("", False))[0]) if name is None else (name,)
        if not pieces or not (self._by_characters or name):
            return (), opened
        spaced = name is None and self._digits[token][1]
        if opened and not spaced and self._leads(opened, pieces):
            return opened + pieces, ()
        begins = self._leads((), pieces) and (name is not None or pieces != ("-",))  # a dash alone is not a number
        return (pieces, opened) if begins else ((), opened)

    def complete(self, opened: Open) -> bool:
        """Whether a text may end here."""
        return not opened or END in self.notation.legal_next(opened)

    def _leads(self, opened: Open, pieces: Open) -> bool:
        """Whether the pieces may follow one after the other."""
        for piece in pieces:
            if piece not in self.notation.legal_next(opened):
                return False
            opened = (*opened, piece)
        return True

    def _legal_mask(self, opened: Open, legal: frozenset[str]) -> Tensor:
        ends = END in legal
        mask = self._own(legal | (self._starts if legal == {END} and self._implied_commas else frozenset()))
        mask = mask | (self._beside if opened else self._words) if ends else mask
        if not self._by_characters:
            return mask
        if opened:
            for token, (characters, spaced) in self._digits.items():
                begins = ends and spaced and self._leads((), tuple(characters))
                mask[token] = begins or (not spaced and self._leads(opened, tuple(characters)))
        return mask

    def _own(self, pieces: Any) -> Tensor:
        mask = torch.zeros(self._width, dtype=torch.bool, device=self._device)
        ids = [self._ids[piece] for piece in pieces if piece in self._ids]
        mask[ids] = True
        return mask

    def _mask(self, key: Any, make: Any) -> Tensor:
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = make()
        return self._known[key]


def _order(notation: Any) -> str | None:
    """Where a notation puts [NUM], judged by its first legal piece."""
    if NUM not in notation.vocabulary:
        return None
    if NUM not in notation.legal_next(()):
        return "behind"
    return "alone" if END in notation.legal_next((NUM,)) else "before"


def _digit_tokens(tokenizer: Any) -> tuple[dict[int, tuple[str, bool]], frozenset[int], list[int]]:
    """Tokens of digits or a minus (and whether a space precedes); tokens ending in a digit; beginning with one."""
    special = set(tokenizer.all_special_ids)
    plain: dict[int, tuple[str, bool]] = {}
    ending, glued = set(), []
    for token, index in tokenizer.get_vocab().items():
        if index in special:
            continue
        spaced = token.startswith(_SPACES)
        bare = token[1:] if spaced else token.removeprefix("##")
        if bare == "-" or (bare.isascii() and bare.isdigit()):
            plain[index] = (bare, spaced)
        if bare[-1:].isdigit():
            ending.add(index)
        if bare[:1].isdigit() and not spaced:
            glued.append(index)
    return plain, frozenset(ending), glued
