"""Range checks of config options, for the `__post_init__` of embedders and heads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.config import ConfigError

if TYPE_CHECKING:
    from numerate.config import Config

__all__ = ["check_dim", "check_dropout", "check_option", "check_positive", "check_within"]


def check_option(valid: bool, config: Config, rule: str, *names: str) -> None:
    """Raises a ConfigError with the rule and the values of the named options unless `valid`."""
    if not valid:
        values: list[Any] = [getattr(config, name) for name in names]
        found = f"{values[0]!r}" if len(names) == 1 else ", ".join(map("{}={!r}".format, names, values))
        raise ConfigError(f"{config.kind} config: {rule}, got {found}")


def check_positive(config: Config, *names: str) -> None:
    """Raises a ConfigError unless each named option is above 0; None passes.

    Example:
        >>> from numerate.embedders.bins import ExponentConfig
        >>> ExponentConfig(n_bins=0)
        Traceback (most recent call last):
        numerate.config.ConfigError: exponent config: n_bins must be positive, got 0
    """
    for name in names:
        value = getattr(config, name)
        check_option(value is None or value > 0, config, f"{name} must be positive", name)


def check_within(config: Config, name: str, low: float, high: float) -> None:
    """Raises a ConfigError unless low <= option <= high; None passes."""
    value = getattr(config, name)
    check_option(value is None or low <= value <= high, config, f"{name} must lie in {low:g} to {high:g}", name)


def check_dropout(config: Config) -> None:
    """Raises a ConfigError unless the option `dropout` is a probability below 1."""
    check_option(0 <= getattr(config, "dropout", 0) < 1, config, "dropout must lie in [0, 1)", "dropout")


def check_dim(dim: int, least: int = 1) -> None:
    """Raises a ConfigError unless a width is `least` or more."""
    if dim < least:
        raise ConfigError(f"dim must be at least {least}, got {dim}")
