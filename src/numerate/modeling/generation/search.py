"""Greedy, sampling (with temperature, top-k, top-p) and beam search."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from numerate.modeling.generation.rows import Row
    from numerate.modeling.generation.state import GenerationState

__all__ = ["beam_search", "choose_tokens", "token_search", "warp_scores"]

_OVERTIME = 512
"""Extra steps to complete a number: no number of any notation has more pieces."""


def warp_scores(
    scores: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """Scores at a temperature, with -inf for tokens outside top-k and top-p: (..., V).

    Args:
        scores: (..., V) logits or log-probabilities.
        temperature: Divides the scores.
        top_k: Keep this many most probable tokens, and ties with the last of them.
        top_p: Keep the fewest most probable tokens that have this probability together.

    Example:
        >>> warp_scores(torch.tensor([0.5, 0.3, 0.2]).log(), top_p=0.7).exp()
        tensor([0.5000, 0.3000, 0.0000])
    """
    scores = scores / temperature
    if top_k is not None:
        least = scores.topk(min(top_k, scores.shape[-1]), dim=-1).values[..., -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if top_p is not None:
        ordered, order = scores.sort(dim=-1, descending=True)
        shares = ordered.softmax(dim=-1)
        surplus = shares.cumsum(dim=-1) - shares >= top_p
        surplus[..., 0] = False
        scores = scores.masked_fill(torch.zeros_like(surplus).scatter(-1, order, surplus), -torch.inf)
    return scores


def choose_tokens(scores: Tensor, do_sample: bool, generator: torch.Generator | None = None) -> Tensor:
    """One token for each row, the most probable or a sampled one: (B,)."""
    if not do_sample:
        return scores.argmax(dim=-1)
    return torch.multinomial(scores.softmax(dim=-1), 1, generator=generator)[:, 0]


def token_search(state: GenerationState) -> list[Row]:
    """Takes the most probable token at each step, or samples one."""
    options = state.options
    for step in range(options.max_new_tokens + _OVERTIME):
        scores = state.next_scores()
        warped = warp_scores(scores, options.temperature, options.top_k, options.top_p) if options.do_sample else scores
        tokens = choose_tokens(warped, options.do_sample, state.generator)
        log_probs = scores.gather(1, tokens[:, None])[:, 0].tolist()
        state.extend(list(range(len(state.rows))), tokens.tolist(), log_probs)
        if step + 1 >= options.max_new_tokens:
            for row in state.rows:
                row.done = row.done or state.may_stop(row)
        if all(row.done for row in state.rows):
            break
    return [state.finish(row) for row in state.rows]


def beam_search(state: GenerationState) -> list[Row]:
    """Keeps the `num_beams` most probable texts of each prompt, and returns the best finished one."""
    width, count = state.options.num_beams, len(state.examples)
    finished: list[list[Row]] = [[] for _ in range(count)]
    for step in range(state.options.max_new_tokens + _OVERTIME):
        scores = state.next_scores().double().cpu()
        size = scores.shape[1]
        # At the first step all beams of a prompt are equal: one of them is enough.
        idle = [row.done or (step == 0 and index % width > 0) for index, row in enumerate(state.rows)]
        before = torch.tensor([-math.inf if one else row.score for one, row in zip(idle, state.rows, strict=True)])
        totals = (scores + before.double()[:, None]).reshape(count, width * size)
        best, where = (part.tolist() for part in totals.topk(min(2 * width, width * size), dim=1))
        chosen: list[tuple[int, int, float]] = []
        for prompt in range(count):
            continued = []
            for rank, (total, place) in enumerate(zip(best[prompt], where[prompt], strict=True)):
                parent, token = prompt * width + place // size, place % size
                score = total - state.rows[parent].score
                if not math.isfinite(total):
                    break
                if token not in state.ends:
                    continued.append((parent, token, score))
                elif rank < width:
                    finished[prompt].append(_ended(state, state.rows[parent].copy(), token, score))
            continued += [(prompt * width, state.pad, -math.inf)] * (width - len(continued))
            chosen += continued[:width]
        parents, tokens, taken = (list(part) for part in zip(*chosen, strict=True))
        state.extend(parents, tokens, taken)
        last = step + 1 >= state.options.max_new_tokens
        for index, row in enumerate(state.rows):
            row.done = row.done or not math.isfinite(row.score)
            if last and not row.done and state.may_stop(row):
                finished[index // width].append(state.finish(row))
        for prompt in range(count):
            _prune(state, prompt, finished[prompt])
        if all(row.done for row in state.rows):
            break
    return [max(rows, key=lambda row: _penalised(state, row)) for rows in finished]


def _penalised(state: GenerationState, row: Row) -> float:
    return row.score / max(1, len(row.ids)) ** state.options.length_penalty


def _ended(state: GenerationState, row: Row, token: int, score: float) -> Row:
    row = state.finish(row)
    row.ids.append(token)
    row.score += score
    return row


def _prune(state: GenerationState, prompt: int, finished: list[Row]) -> None:
    """Ends a prompt's beams when none of them is better than the finished texts."""
    width = state.options.num_beams
    finished.sort(key=lambda row: _penalised(state, row), reverse=True)
    del finished[width:]
    running = [row for row in state.rows[prompt * width : (prompt + 1) * width] if not row.done]
    if len(finished) == width and all(_penalised(state, row) <= _penalised(state, finished[-1]) for row in running):
        for row in running:
            row.done = True
