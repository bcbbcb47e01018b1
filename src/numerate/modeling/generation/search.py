"""Greedy, sampling and beam search."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from numerate.modeling.generation.sampling import choose, warped

if TYPE_CHECKING:
    from numerate.modeling.generation.rows import Row
    from numerate.modeling.generation.state import Speech

__all__ = ["by_beams", "by_tokens"]

_OVERTIME = 512
"""No number of any notation has more pieces."""


def by_tokens(speech: Speech) -> list[Row]:
    """The best token each time, or a drawn one."""
    plan = speech.plan
    for step in range(plan.max_new_tokens + _OVERTIME):
        scores = speech.next_scores()
        sought = warped(scores, plan.temperature, plan.top_k, plan.top_p) if plan.do_sample else scores
        tokens = choose(sought, plan.do_sample, speech.generator)
        taken = scores.gather(1, tokens[:, None])[:, 0].tolist()
        speech.take(list(range(len(speech.rows))), tokens.tolist(), taken)
        if step + 1 >= plan.max_new_tokens:
            for row in speech.rows:
                row.done = row.done or speech.may_stop(row)
        if all(row.done for row in speech.rows):
            break
    return [speech.closed(row) for row in speech.rows]


def by_beams(speech: Speech) -> list[Row]:
    """The most probable text of those that a beam of fixed width comes by."""
    width, count = speech.plan.num_beams, len(speech.examples)
    finished: list[list[Row]] = [[] for _ in range(count)]
    for step in range(speech.plan.max_new_tokens + _OVERTIME):
        scores = speech.next_scores().double().cpu()
        size = scores.shape[1]
        # At first all beams of a prompt are the same: one of them is enough.
        idle = [row.done or (step == 0 and index % width > 0) for index, row in enumerate(speech.rows)]
        before = torch.tensor([-math.inf if one else row.score for one, row in zip(idle, speech.rows, strict=True)])
        totals = (scores + before.double()[:, None]).reshape(count, width * size)
        best, where = (part.tolist() for part in totals.topk(min(2 * width, width * size), dim=1))
        chosen: list[tuple[int, int, float]] = []
        for prompt in range(count):
            goes_on = []
            for rank, (total, place) in enumerate(zip(best[prompt], where[prompt], strict=True)):
                parent, token = prompt * width + place // size, place % size
                score = total - speech.rows[parent].score
                if not math.isfinite(total):
                    break
                if token not in speech.ends:
                    goes_on.append((parent, token, score))
                elif rank < width:
                    finished[prompt].append(_ended(speech, speech.rows[parent].twin(), token, score))
            goes_on += [(prompt * width, speech.pad, -math.inf)] * (width - len(goes_on))
            chosen += goes_on[:width]
        parents, tokens, taken = (list(part) for part in zip(*chosen, strict=True))
        speech.take(parents, tokens, taken)
        last = step + 1 >= speech.plan.max_new_tokens
        for index, row in enumerate(speech.rows):
            row.done = row.done or not math.isfinite(row.score)
            if last and not row.done and speech.may_stop(row):
                finished[index // width].append(speech.closed(row))
        for prompt in range(count):
            _prune(speech, prompt, finished[prompt])
        if all(row.done for row in speech.rows):
            break
    return [max(rows, key=lambda row: _worth(speech, row)) for rows in finished]


def _worth(speech: Speech, row: Row) -> float:
    return row.score / max(1, len(row.ids)) ** speech.plan.length_penalty


def _ended(speech: Speech, row: Row, token: int, score: float) -> Row:
    row = speech.closed(row)
    row.ids.append(token)
    row.score += score
    return row


def _prune(speech: Speech, prompt: int, finished: list[Row]) -> None:
    """Ends a prompt's beams when none of them is better than all that is finished."""
    width = speech.plan.num_beams
    finished.sort(key=lambda row: _worth(speech, row), reverse=True)
    del finished[width:]
    running = [row for row in speech.rows[prompt * width : (prompt + 1) * width] if not row.done]
    if len(finished) == width and all(_worth(speech, row) <= _worth(speech, finished[-1]) for row in running):
        for row in running:
            row.done = True
