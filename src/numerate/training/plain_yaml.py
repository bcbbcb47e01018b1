"""YAML as people mean it: `1e-4` is a number, `no` and `on` are words, and a key that stands there twice is a fault."""

from __future__ import annotations

import functools
import re
from typing import Any

__all__ = ["YamlError", "read_yaml"]

_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?)$"
)


class YamlError(ValueError):
    """Text that is no YAML; the message is one line that names file and line."""


def read_yaml(text: str, title: str) -> Any:
    """Reads YAML without any code in it.

    Args:
        text: The text.
        title: What messages call it.

    Raises:
        YamlError: It is no YAML.

    Example:
        >>> read_yaml("{rate: 1e-4, strategy: no, on: true}", "here")
        {'rate': 0.0001, 'strategy': 'no', 'on': True}
    """
    import yaml

    try:
        return yaml.load(text, _loader())  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{title}:{mark.line + 1}" if mark is not None else title
        raise YamlError(f"{where}: not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise YamlError(f"{title}: not YAML: {' '.join(str(error).split())[:200]}") from None


@functools.cache
def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML 1.2's scalars (1.1 takes `no` for false, and `1e-4` for a string), and no key twice."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen: set[Any] = set()
            for key_node, _ in node.value:
                if key_node.tag == "tag:yaml.org,2002:merge":
                    continue
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, (str, int, float, bool)) or key in seen:
                    what = "stands there twice" if isinstance(key, (str, int, float, bool)) else "is no plain value"
                    raise yaml.constructor.ConstructorError(None, None, f"key {key!r} {what}", key_node.start_mark)
                seen.add(key)
            return super().construct_mapping(node, deep)

    changed = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:float", "tag:yaml.org,2002:timestamp")
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in rows if tag not in changed]
        for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_implicit_resolver(changed[0], re.compile(r"(?:true|True|false|False)$"), list("tTfF"))
    Loader.add_implicit_resolver(changed[1], _FLOAT, list("-+0123456789."))
    return Loader
