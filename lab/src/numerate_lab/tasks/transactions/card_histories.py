"""Made-up card histories in the columns of IBM's file, for the task without that file.

**Habits.** A user has a home city, one to four cards, a spending level, a usual hour, and 24 favourite merchants, most
of them in the home city, some online. 90 % of rows are at favourites, 8 % anywhere at home, 2 % anywhere. An amount is
log-normal around (usual amount of the category) x (price level of the merchant) x (spending level of the user). Honest
rows that look like fraud: 2 % are large purchases of 2 to 5 times the usual amount; two favourites of each user are
subscriptions, which charge the same amount every time; refunds and small online amounts occur, too.

**Fraud** comes in episodes of 3 to 6 rows of one card within two days, of three patterns:

- `online` (30 %): merchants of risky categories that sell online, amounts 0.7 to 2 times the usual. Visible in the
  fields; amounts help little.
- `drain` (40 %): the merchants and hours that the user has anyway; one or two test charges of 0.50 to 3 dollars, then 3
  to 8 times the usual amount. Only amounts show it, compared with merchant and user.
- `repeat` (30 %): the merchants that the user has anyway charge the same amount but for a few cents. Only the equality
  of amounts shows it.

All episodes are bursts in time, too, which the bins of the timestamp (146 days each) do not show, and its number does.
So two patterns are made of amounts: a model that reads them finely has an advantage here *by construction*. What is
measured is whether an encoding can use it, and not how much fraud in the world looks like this. IBM's file has 0.12 %
fraud; the default here is 1 %, because 200,000 rows with 0.12 % would have about 15 fraudulent test windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from numerate.config import Config, ConfigError
from numerate_lab.engine.paper_tables import load_yaml
from numerate_lab.tasks.transactions.card_rows import NO_ZIP, CardRows

__all__ = ["CardHistoriesConfig", "card_histories"]

PATTERNS = {"online": 0.3, "drain": 0.4, "repeat": 0.3}
"""Share of the episodes of fraud by pattern."""
_FAVOURITES, _SUBSCRIPTIONS = 24, 2
_EPISODE = (3, 6)
_FIRST_DAY, _DAYS = 16_436, 1_460
"""The four years from 2015-01-01, in days since 1970."""
_DAY = 24 * 60


@dataclass(frozen=True, kw_only=True)
class CardHistoriesConfig(Config):
    """Sizes of generated histories.

    Attributes:
        rows: Number of transactions.
        users: Number of users.
        merchants: Number of merchants.
        cities: Number of cities.
        fraud_rate: Share of fraudulent rows; it is met to within an episode.
        seed: Everything depends on it.
    """

    kind: ClassVar[str] = "card-histories"
    rows: int = 200_000
    users: int = 400
    merchants: int = 3_000
    cities: int = 60
    fraud_rate: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("users", "merchants", "cities"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.seed < 0:
            raise ConfigError(f"seed must not be negative, got {self.seed}")
        if self.rows < 20 * self.users:
            raise ConfigError(f"rows must be at least 20 for each of {self.users} users, got {self.rows}")
        if not 0 <= self.fraud_rate <= 0.2:
            raise ConfigError(f"fraud_rate must lie in 0 to 0.2, got {self.fraud_rate}")


class _Merchants(NamedTuple):
    """(M,) arrays; `order` sorts them by city, and those of city c are order[starts[c]:starts[c + 1]]."""

    mcc: np.ndarray
    usual: np.ndarray
    spread: np.ndarray
    city: np.ndarray
    online: np.ndarray
    risky: np.ndarray
    order: np.ndarray
    starts: np.ndarray

    def at(self, city: np.ndarray, draw: Any) -> np.ndarray:
        """A merchant of each city, by uniform draws of the same shape; any merchant for a city without one."""
        count = self.starts[city + 1] - self.starts[city]
        local = self.order[np.minimum(self.starts[city] + (draw * count).astype(np.int64), len(self.order) - 1)]
        return np.where(count > 0, local, (draw * len(self.order)).astype(np.int64))


def card_histories(config: CardHistoriesConfig | None = None) -> CardRows:
    """Draws card histories: all at once, about a second for 200,000 rows.

    Example:
        >>> rows = card_histories(CardHistoriesConfig(rows=2000, users=20))
        >>> len(rows), round(float(rows.fraud.mean()), 2), rows.names["chip"]
        (2000, 0.01, ('Chip Transaction', 'Swipe Transaction', 'Online Transaction'))
    """
    config = config or CardHistoriesConfig()
    draws, tables = np.random.default_rng(config.seed), load_yaml(__package__ or "", "merchant_categories.yaml")
    merchants = _merchants(config, tables["categories"], draws)
    count, users = config.rows, config.users
    home = draws.integers(0, config.cities, users)
    level = np.exp(0.3 * draws.standard_normal(users))
    favourites = _favourites(merchants, home, draws)
    weight = draws.gamma(2.0, size=users) + 0.2
    each = 20 + draws.multinomial(count - 20 * users, weight / weight.sum())
    user = np.repeat(np.arange(users), each)
    card = _cards(user, draws)
    minute = _minutes(user, users, draws)
    order = np.lexsort((minute, card, user))
    card, minute = card[order], minute[order]

    place = _favourite_places(count, draws)
    merchant = favourites[user, place]
    where = draws.random(count)
    merchant = np.where(where > 0.9, merchants.at(home[user], draws.random(count)), merchant)
    anywhere = where > 0.98
    merchant = np.where(anywhere, draws.integers(0, config.merchants, count), merchant)
    usual = merchants.usual[merchant] * level[user]
    amount = usual * np.exp(merchants.spread[merchant] * draws.standard_normal(count))
    amount *= np.where(draws.random(count) < 0.02, draws.uniform(2, 5, count), 1.0)
    subscribed = (place < _SUBSCRIPTIONS) & (where <= 0.9)
    amount = np.where(subscribed, usual, amount)
    amount *= np.where((draws.random(count) < 0.015) & ~subscribed, -1.0, 1.0)

    fraud = np.zeros(count, dtype=bool)
    stolen = _episodes(user, card, round(config.fraud_rate * count), draws)
    if len(stolen.row):
        found = _stolen_rows(stolen, merchants, level[user], merchant, minute, draws)
        merchant[stolen.row], amount[stolen.row], minute[stolen.row] = found
        fraud[stolen.row] = True
        order = np.lexsort((minute, card, user))
        card, minute, merchant, amount, fraud = (part[order] for part in (card, minute, merchant, amount, fraud))
    cents = np.rint(100 * np.where(np.abs(amount) < 0.5, 0.5, amount))
    return _rows(config, tables, merchants, draws, user, card, minute, cents, merchant, fraud)


def _merchants(config: CardHistoriesConfig, categories: list[dict[str, Any]], draws: np.random.Generator) -> _Merchants:
    share = np.array([category["share"] for category in categories], dtype=float)
    kind = draws.choice(len(categories), config.merchants, p=share / share.sum())
    column = {
        key: np.array([category.get(key, 0) for category in categories])[kind] for key in ("usual", "spread", "online")
    }
    online = draws.random(config.merchants) < column["online"]
    city = np.where(online, config.cities, draws.integers(0, config.cities, config.merchants))
    order = np.argsort(city, kind="stable")
    starts = np.searchsorted(city[order], np.arange(config.cities + 2))
    return _Merchants(
        np.array([category["mcc"] for category in categories])[kind],
        column["usual"] * np.exp(0.2 * draws.standard_normal(config.merchants)),
        column["spread"], city, online, np.array([category.get("risky", False) for category in categories])[kind],
        order, starts,
    )  # fmt: skip


def _favourites(merchants: _Merchants, home: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """Each user's favourite merchants, (U, 24): one in four sells online, the others are at home."""
    shape = (len(home), _FAVOURITES)
    online = np.where(draws.random(shape) < 0.25, len(merchants.starts) - 2, home[:, None])
    return merchants.at(online, draws.random(shape))


def _favourite_places(count: int, draws: np.random.Generator) -> np.ndarray:
    """Which favourite each row is at: the first ones, after the subscriptions, are the most frequent."""
    weight = 1.0 / (1 + np.arange(_FAVOURITES))
    weight = np.concatenate([np.full(_SUBSCRIPTIONS, 0.06), weight[: _FAVOURITES - _SUBSCRIPTIONS]])
    return draws.choice(_FAVOURITES, count, p=weight / weight.sum())


def _cards(user: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """The card of each row: a user's first card is used most."""
    cards = draws.integers(1, 5, int(user.max()) + 1)
    return np.minimum((cards[user] * draws.random(len(user)) ** 1.5).astype(np.int64), 3)


def _minutes(user: np.ndarray, users: int, draws: np.random.Generator) -> np.ndarray:
    """The time of each row: any day, around the user's usual hour."""
    day = _FIRST_DAY + draws.integers(0, _DAYS, len(user))
    clock = draws.uniform(9, 18, users)[user] * 60 + 180 * draws.standard_normal(len(user))
    return _DAY * day + clock.astype(np.int64) % _DAY


class _Stolen(NamedTuple):
    """(S,) the fraudulent rows: `row`, `episode` from 0, `step` within it, and by episode (E,) its `pattern`."""

    row: np.ndarray
    episode: np.ndarray
    step: np.ndarray
    pattern: np.ndarray


def _episodes(user: np.ndarray, card: np.ndarray, wanted: int, draws: np.random.Generator) -> _Stolen:
    """Runs of rows of one card that do not touch, of `wanted` rows together but for one episode."""
    low, high = _EPISODE
    length = draws.integers(low, high + 1, max(1, wanted // low + 1))
    length = length[: int(np.searchsorted(np.cumsum(length), wanted)) + 1] if wanted else length[:0]
    # Starts on a grid of the longest episode, so that no two overlap; those that leave their card are left out.
    slots = np.arange(0, len(user) - high, high)
    same = (user[slots] == user[slots + high - 1]) & (card[slots] == card[slots + high - 1])
    starts = draws.permutation(slots[same])[: len(length)]
    length = length[: len(starts)]
    episode = np.repeat(np.arange(len(starts)), length)
    step = np.arange(len(episode)) - np.repeat(np.cumsum(length) - length, length)
    pattern = draws.choice(len(PATTERNS), len(starts), p=list(PATTERNS.values()))
    return _Stolen(starts[episode] + step, episode, step, pattern)


def _stolen_rows(
    stolen: _Stolen, merchants: _Merchants, level: np.ndarray, merchant: np.ndarray,
    minute: np.ndarray, draws: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Merchant, amount and time of the fraudulent rows, (S,) each."""
    row, episode, step = stolen.row, stolen.episode, stolen.step
    count, names = len(row), list(PATTERNS)
    online, repeat = (stolen.pattern[episode] == names.index(name) for name in ("online", "repeat"))
    risky = np.flatnonzero(merchants.risky & merchants.online)
    risky = risky if len(risky) else np.arange(len(merchants.mcc))
    shop = np.where(online, risky[draws.integers(0, len(risky), count)], merchant[row])
    usual = merchants.usual[shop] * level[row]
    tests = draws.integers(1, 3, len(stolen.pattern))[episode]
    drained = np.where(step < tests, draws.uniform(0.5, 3.0, count), usual * draws.uniform(3, 8, count))
    same = np.exp(np.log(60) + 0.7 * draws.standard_normal(len(stolen.pattern)))[episode]
    repeated = same + draws.integers(-3, 4, count) / 100
    amount = np.where(online, usual * draws.uniform(0.7, 2.0, count), np.where(repeat, repeated, drained))
    first = row - step
    gap = draws.integers(5, 2 * _DAY // _EPISODE[1], count)
    total = np.cumsum(gap)
    time = minute[first] + total - total[np.searchsorted(episode, episode)]
    # Patterns without a strange place keep to the usual hours, so that the time of day does not give them away.
    clock = np.where(online, time % _DAY, minute[row] % _DAY)
    time = time // _DAY * _DAY + clock
    return shop, amount, time[np.lexsort((time, episode))]  # in the order of the steps: test charges come first


def _rows(
    config: CardHistoriesConfig, tables: dict[str, Any], merchants: _Merchants, draws: np.random.Generator,
    user: np.ndarray, card: np.ndarray, minute: np.ndarray, cents: np.ndarray, merchant: np.ndarray, fraud: np.ndarray,
) -> CardRows:  # fmt: skip
    """The rows with all columns of the format."""
    parts = [tables["syllables"], tables["endings"]]
    first, last = ((np.arange(config.cities) // step) % len(part) for step, part in zip((1, 20), parts, strict=True))
    cities = [f"{parts[0][a]}{parts[1][b]}" for a, b in zip(first.tolist(), last.tolist(), strict=True)]
    cities = [name if at < 200 else f"{name} {at // 200}" for at, name in enumerate(cities)]
    states: list[str] = tables["states"]
    city = merchants.city[merchant]
    online = merchants.online[merchant]
    zips = 10_000 + 1_400 * np.arange(config.cities) % 85_000
    local = np.minimum(city, config.cities - 1)
    chip = np.where(online, 2, (draws.random(len(user)) < 0.4).astype(np.int64) ^ 1)
    wrong = draws.random(len(user)) < 0.015
    errors = np.where(wrong, draws.integers(1, 1 + len(tables["errors"]), len(user)), 0)
    identity = draws.integers(-(2**62), 2**62, config.merchants)
    names = {
        "chip": ("Chip Transaction", "Swipe Transaction", "Online Transaction"),
        "merchant": tuple(map(str, identity.tolist())),
        "city": (*cities, "ONLINE"),
        "state": (*states, ""),
        "errors": ("", *tables["errors"]),
    }
    state = np.where(online, len(states), local % len(states))
    zip_code = np.where(online, NO_ZIP, zips[local] + merchant % 7)
    columns = {
        "user": user, "card": card, "minute": minute, "cents": cents, "chip": chip, "merchant": merchant, "city": city,
        "state": state, "zip": zip_code, "mcc": merchants.mcc[merchant], "errors": errors,
    }  # fmt: skip
    return CardRows(**{name: column.astype(np.int32) for name, column in columns.items()}, fraud=fraud, names=names)
