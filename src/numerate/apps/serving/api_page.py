"""The OpenAPI description as one HTML page without scripts: it loads nothing from elsewhere."""

from __future__ import annotations

import json
from html import escape
from typing import Any

__all__ = ["api_page"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
pre, code { font: 14px/1.4 ui-monospace, monospace; background: #8882; border-radius: 4px; }
pre { padding: .7em; overflow-x: auto; } code { padding: .1em .3em; }
table { border-collapse: collapse; } td, th { border: 1px solid #8886; padding: .2em .6em; text-align: left; }
"""


def api_page(description: dict[str, Any]) -> str:
    """The page of an OpenAPI description: for each path what it takes, an example, a `curl` line and its statuses.

    Example:
        >>> page = api_page({"info": {"title": "t", "version": "1", "description": "d"}, "paths": {}})
        >>> "<script" in page, "openapi.json" in page
        (False, True)
    """
    info = description["info"]
    schemas = description.get("components", {}).get("schemas", {})
    parts = [
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info.get('description', ''))} "
        'The same for programs: <a href="openapi.json">openapi.json</a>.</p>'
    ]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<h2><code>{method.upper()} {escape(path)}</code></h2>")
            parts.append(f"<p>{escape(operation.get('description', ''))}</p>")
            taken = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if taken:
                schema = _resolved(taken, schemas)
                parts += [_fields(schema), _call(path, schema)]
            given = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema")
            if given:
                parts.append(f"<h3>Answer</h3>{_fields(_resolved(given, schemas))}")
            rows = "".join(
                f"<tr><td>{escape(status)}</td><td>{escape(answer.get('description', ''))}</td></tr>"
                for status, answer in sorted(operation["responses"].items())
                if not (status == "422" and answer.get("description") == "Validation Error")
            )
            parts.append(f"<h3>Statuses</h3><table>{rows}</table>")
    for name in sorted(schemas):
        if not name.endswith("Request") and not name.endswith("Error"):
            parts.append(f"<h2>{escape(name)}</h2>{_fields(schemas[name])}")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        f"<style>{_STYLE}</style>{''.join(parts)}</html>"
    )


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _fields(schema: dict[str, Any]) -> str:
    needed = schema.get("required", ())
    rows = [
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(_type(each))}</td>"
        f"<td>{'required' if name in needed else escape(json.dumps(each.get('default')))}</td>"
        f"<td>{escape(each.get('description', ''))}</td></tr>"
        for name, each in schema.get("properties", {}).items()
    ]
    head = "<tr><th>field</th><th>type</th><th>default</th><th></th></tr>"
    return f"<p>{escape(schema.get('description', ''))}</p><table>{head}{''.join(rows)}</table>"


def _type(schema: dict[str, Any]) -> str:
    """A short name of a type.

    Example:
        >>> _type({"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/x/Word"}}]})
        'string or list of Word'
    """
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " or ".join(json.dumps(each) for each in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        inner = schema.get("items") or (schema.get("prefixItems") or [{}])[0]
        return f"list of {_type(inner)}"
    return schema.get("type", "any")


def _call(path: str, schema: dict[str, Any]) -> str:
    example = json.dumps(schema.get("examples", [{}])[0], ensure_ascii=False)
    line = f"curl http://127.0.0.1:8000{path} -H 'Content-Type: application/json' -d '{example}'"
    return f"<pre>{escape(line)}</pre>"
