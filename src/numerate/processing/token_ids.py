"""Number fields of token ids that another program made: numbers are read from the decoded text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.processing.encoding import number_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral
    from numerate.processing.processor import NumberProcessor

__all__ = ["check_reads_ids", "read_ids"]


def check_reads_ids(processor: NumberProcessor) -> None:
    """Refuses a notation that writes numbers in other tokens than the tokenizer: ids of the two do not correspond."""
    if processor.several_tokens and not processor.has_slots:
        return  # numbers stay as they are and have no vectors
    if not processor._rewriter.slots_on_text:
        kind = processor.notation.config.kind
        raise ValueError(
            f"notation {kind!r} rewrites numbers, so that ids of another tokenizer cannot be used: "
            "use the recipe 'in-place', or make rows with model.processor"
        )


_CONTEXT, _AT_ONCE = 4, 32
"""Tokens that are decoded before some tokens, and tokens that are decoded together."""


def read_ids(processor: NumberProcessor, ids: Sequence[int], until: int | None = None) -> dict[str, Any]:
    """The fields of one text that is given as ids of the processor's tokenizer; the ids stay as they are.

    Args:
        processor: A processor whose notation keeps the text of numbers, as that of the recipe `in-place`.
        ids: Token ids, without padding.
        until: Only numbers that end before this token are in the table; None for all.

    Returns:
        `input_ids`, `attention_mask`, `number_slots` and the number table, as the processor's call on one text.

    Example:
        >>> read_ids(processor, tokenizer("It weighs 4.5 kg.")["input_ids"])["number_slots"]  # doctest: +SKIP
        [0, 0, 1, 1, 1, 0, 0]
    """
    check_reads_ids(processor)
    ids = list(ids)
    text: Any = processor.tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    batch = processor(text, add_special_tokens=False)
    if batch["input_ids"] == ids:  # as nearly always
        slots, numerals = list(batch["number_slots"]), list(batch.numerals[0])
    else:
        slots, numerals = _slots(processor, ids, text)
    if until is not None:
        ended = {0} | {abs(slot) for slot in slots[until:]}
        kept = [number for number in range(1, len(numerals) + 1) if number not in ended]
        order = {number: place for place, number in enumerate(kept, start=1)}
        slots = [order.get(abs(slot), 0) * (1 if slot > 0 else -1) for slot in slots]
        numerals = [numerals[number - 1] for number in kept]
    table = number_table([numerals], processor.written, processor.scaling)
    fields: dict[str, Any] = {"input_ids": ids, "attention_mask": [1] * len(ids), "number_slots": slots}
    return fields | {key: column[0] for key, column in table.items()}


def _slots(processor: NumberProcessor, ids: list[int], text: str) -> tuple[list[int], list[Numeral | None]]:
    """Slots and numerals of ids that the processor would not make of their text: tokens that overlap with a number."""
    offsets = _offsets(processor.tokenizer, ids, text)
    slots, found = [0] * len(ids), []
    begin = 0
    for numeral in processor._numerals(text) if processor.has_slots else ():
        while begin < len(ids) and offsets[begin][1] <= numeral.start:
            begin += 1
        end = begin
        while end < len(ids) and offsets[end][0] < numeral.end:
            end += 1
        tokens = [token for token in range(begin, end) if text[slice(*offsets[token])].strip()]
        if tokens:
            found.append(numeral)
            begin = tokens[-1] + 1
            slots[tokens[0] : begin] = [len(found)] * (begin - tokens[0])
    return slots, found


def _offsets(tokenizer: Any, ids: list[int], text: str) -> list[tuple[int, int]]:
    """The span of each token in the text."""
    again = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    if again["input_ids"] == ids:
        return again["offset_mapping"]
    # Ids that the tokenizer would not make of the text: the text of the tokens up to each one, from a place where a
    # character ends, with some tokens before it (a tokenizer may leave out the space before the first).
    spans: list[tuple[int, int]] = []
    start = before = at = 0

    def decoded(until: int) -> str:
        return tokenizer.decode(ids[max(0, start - _CONTEXT) : until], clean_up_tokenization_spaces=False)

    for place in range(len(ids)):
        shown = decoded(place + 1)
        whole = shown.rstrip("\ufffd")  # the bytes of a character that is not complete, however many they are
        end = at + len(whole) + (whole != shown) - before
        last = spans[-1] if spans else (0, 0)
        spans.append((last[1], end) if end > last[1] else last)  # or a further byte of a character
        if place + 1 - start >= _AT_ONCE and whole == shown:
            start, at = place + 1, end
            before = len(decoded(start))
    return spans
