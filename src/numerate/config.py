"""Configs: frozen keyword-only dataclasses that are saved as JSON with a `kind` and a `version`.

A config contains no code: only numbers, strings, booleans, None, other configs, and tuples or dicts of those.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from typing import Any, ClassVar, Self

from numerate.errors import NumerateError
from numerate.registry import near_names

__all__ = ["Config", "ConfigError", "check_names"]


class ConfigError(NumerateError, ValueError):
    """A config that cannot be read: unknown key, wrong type, newer version, not JSON."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Base class of all configs; a subclass is a frozen keyword-only dataclass with its own `kind`.

    Example:
        >>> @dataclasses.dataclass(frozen=True, kw_only=True)
        ... class Exposure(Config):
        ...     kind: ClassVar[str] = "exposure"
        ...     seconds: float = 1.0
        >>> Exposure(seconds=2.0).to_dict()
        {'kind': 'exposure', 'version': 1, 'seconds': 2.0}
        >>> Exposure.from_dict({"kind": "exposure", "version": 1, "secons": 2.0})
        Traceback (most recent call last):
        numerate.config.ConfigError: exposure config: unknown key 'secons': did you mean 'seconds'?
    """

    kind: ClassVar[str] = "config"
    version: ClassVar[int] = 1

    def to_dict(self) -> dict[str, Any]:
        """The config as plain JSON types, `kind` and `version` first."""
        fields = {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return {"kind": self.kind, "version": self.version, **fields}

    def to_json(self) -> str:
        """The config as indented JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Builds the config from the output of `to_dict`; an unexpected value raises a `ConfigError` that quotes it."""
        where = f"{cls.kind} config"
        if not isinstance(data, dict):
            raise ConfigError(f"{where}: expected a JSON object, got {_short(data)}")
        data = dict(data)
        kind, version = data.pop("kind", cls.kind), data.pop("version", cls.version)
        if kind != cls.kind:
            raise ConfigError(f"{where}: kind is {_short(kind)}, expected {cls.kind!r}")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise ConfigError(f"{where}: version is {_short(version)}, expected a whole number from 1")
        if version > cls.version:
            raise ConfigError(f"{where}: version {version} is newer than {cls.version}; please update numerate")
        fields = {field.name: field for field in dataclasses.fields(cls)}
        for key in data:
            if key not in fields:
                raise ConfigError(f"{where}: unknown key {_short(key)}: {near_names(str(key), list(fields))}")
        hints = _hints(cls)
        values = {key: _checked(value, hints[key], f"{where}: {key}") for key, value in data.items()}
        for name, field in fields.items():
            if name not in data and field.init and field.default is field.default_factory is dataclasses.MISSING:
                raise ConfigError(f"{where}: {name!r} is missing, and has no default")
        try:
            return cls(**values)
        except ConfigError:
            raise
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{where}: {error}") from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Builds the config from JSON text."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{cls.kind} config: not JSON: {error}") from None
        return cls.from_dict(data)


def check_names(config: Config) -> None:
    """Checks fields of type `Literal` as `from_dict` does; for the `__post_init__` of a config.

    Example:
        >>> @dataclasses.dataclass(frozen=True, kw_only=True)
        ... class Lens(Config):
        ...     kind: ClassVar[str] = "lens"
        ...     focus: typing.Literal["near", "far"] = "near"
        ...     __post_init__ = check_names
        >>> Lens(focus="fra")
        Traceback (most recent call last):
        numerate.config.ConfigError: lens config: focus is 'fra', expected one of 'near', 'far'
    """
    for name, hint in _hints(type(config)).items():
        if any(typing.get_origin(part) is typing.Literal for part in (hint, *typing.get_args(hint))):
            _checked(getattr(config, name), hint, f"{config.kind} config: {name}")


@functools.cache
def _hints(config_class: type) -> dict[str, Any]:
    """The types of a config's fields; kept, because they are evaluated from strings, which is slow."""
    return typing.get_type_hints(config_class)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(value: Any) -> Any:
    if isinstance(value, Config):
        return value.to_dict()
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _checked(value: Any, hint: Any, where: str) -> Any:
    """`value` converted to the type of `hint`; raises a ConfigError if that is not possible."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        for option in arguments:
            try:
                return _checked(value, option, where)
            except ConfigError:
                continue
        raise ConfigError(f"{where} is {_short(value)}, expected {_type_name(hint)}")
    if origin is typing.Literal:
        if value in arguments:
            return value
        raise ConfigError(f"{where} is {_short(value)}, expected one of {', '.join(map(repr, arguments))}")
    if origin is tuple and isinstance(value, (list, tuple)):
        items = arguments[:1] * len(value) if arguments[1:] == (...,) else arguments
        if len(items) == len(value):
            return tuple(_checked(item, kind, where) for item, kind in zip(value, items, strict=True))
    elif origin is dict and isinstance(value, dict):
        return {key: _checked(item, arguments[1], f"{where}.{str(key)[:60]}") for key, item in value.items()}
    elif isinstance(hint, type) and issubclass(hint, Config):
        return value if isinstance(value, hint) else hint.from_dict(value)
    elif hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if math.isfinite(value):
            return float(value)
    elif isinstance(hint, type) and isinstance(value, hint) and isinstance(value, bool) == (hint is bool):
        return value
    raise ConfigError(f"{where} is {_short(value)}, expected {_type_name(hint)}")


def _type_name(hint: Any) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):  # the name of a union with a `Literal` is `Optional`
        return " | ".join(map(_type_name, typing.get_args(hint)))
    if typing.get_origin(hint) is typing.Literal:
        return " | ".join(map(repr, typing.get_args(hint)))
    if typing.get_origin(hint) is tuple:
        return "list"  # as users write it, in YAML and JSON
    return "None" if hint is types.NoneType else getattr(hint, "__name__", None) or str(hint).replace("typing.", "")
