"""Whether a document is what its JSON schema says: the part of JSON Schema that ours use, and no more."""

import json
import pathlib

KNOWN = {"$schema", "$id", "$defs", "title", "description", "type", "properties", "required", "items", "$ref",
         "enum", "const", "anyOf"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def _named(identity):
    """The schema of this $id."""
    for path in pathlib.Path(".").glob("*/*/schema/*.json"):
        schema = json.loads(path.read_text(encoding="utf-8"))
        if schema["$id"] == identity:
            return schema
    raise ValueError(f"no schema is called {identity}")


def _is(document, kind):
    if kind in ("integer", "number"):
        wanted = int if kind == "integer" else (int, float)
        return isinstance(document, wanted) and not isinstance(document, bool)
    return isinstance(document, TYPES[kind])


def _differences(document, node, root, path):
    unknown = set(node) - KNOWN
    if unknown:
        raise ValueError(f"{path}: this reader does not know {unknown}")
    if "$ref" in node:
        other, _, name = node["$ref"].partition("#/$defs/")
        within = _named(other) if other else root
        yield from _differences(document, within["$defs"][name] if name else within, within, path)
    if "anyOf" in node and all(list(_differences(document, one, root, path)) for one in node["anyOf"]):
        yield f"{path} is none of what it may be"
    kinds = node.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(document, kind) for kind in kinds):
        yield f"{path} is no {' or '.join(kinds)}: {document!r}"
        return
    if document not in node.get("enum", [document]) or document != node.get("const", document):
        yield f"{path} may not be {document!r}"
    if isinstance(document, dict):
        yield from (f"{path} has no {name}" for name in node.get("required", []) if name not in document)
        for name, value in document.items():
            if name in node.get("properties", {}):
                yield from _differences(value, node["properties"][name], root, f"{path}.{name}")
            elif "properties" in node:
                yield f"{path}.{name} is in no schema"
    if isinstance(document, list):
        for number, value in enumerate(document):
            yield from _differences(value, node.get("items", {}), root, f"{path}[{number}]")


def differences(document, schema):
    """What is wrong with a parsed document, a line each."""
    root = json.loads(pathlib.Path(schema).read_text(encoding="utf-8"))
    return list(_differences(document, root, root, "document"))
