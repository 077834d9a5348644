"""schema_tables.py SCHEMA.json [TITLE]: the keys of a JSON Schema of Weir's as Markdown tables, a table an object.

Objects that are alike have one table, and links to it. `weir check --schema` wrote the schema, from the readers.
"""

import json
import sys


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def number(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def bounds(node):
    low, above, high = node.get("minimum"), node.get("exclusiveMinimum"), node.get("maximum")
    below = node.get("exclusiveMaximum")
    said = []
    if above is not None:
        said.append("> " + number(above))
    if low is not None:
        said.append(">= " + number(low))
    if below is not None:
        said.append("< " + number(below))
    if high is not None:
        said.append("<= " + number(high))
    return ", ".join(said)


def kind_of(variant):
    return variant.get("properties", {}).get("kind", {}).get("const")


class Tables:
    def __init__(self):
        self.lines = []
        self.seen = {}  # what an object says -> its heading
        self.waiting = []  # objects found in the table that is being written
        self.kind = ""  # of the object whose table that is

    def type_of(self, node, pointer):
        """In words; objects and lists of them are put off, and linked."""
        if "const" in node:
            return f"`{json.dumps(node['const'])}`"
        if "enum" in node:
            return ", ".join("null" if one is None else f"`{one}`" for one in node["enum"])
        if "oneOf" in node:
            plain = [self.type_of(one, pointer) for one in node["oneOf"] if kind_of(one) is None]
            kinds = [self.link(one, f"{pointer}, {kind_of(one)}", kind_of(one)) for one in node["oneOf"] if kind_of(one)]
            return " or ".join([*plain, *([", ".join(kinds)] if kinds else [])])
        if node.get("type") == "object" and node.get("properties"):
            return self.link(node, pointer, "object")
        if node.get("type") == "array":
            items = node.get("items", {})
            if isinstance(items, list):
                return "[" + ", ".join(self.type_of(one, pointer) for one in items) + "]"
            return "list of " + self.type_of(items, pointer + "/0") if items else "list"
        types = node.get("type", "any")
        words = " or ".join(types) if isinstance(types, list) else types
        return " ".join(part for part in (words, bounds(node)) if part)

    def link(self, node, heading, text):
        said = json.dumps(node, sort_keys=True)
        if said not in self.seen:
            if heading in self.seen.values():  # another object at the same place, of another kind
                heading += f", of {self.kind}"
            self.seen[said] = heading
            self.waiting.append((heading, node))
        name = self.seen[said]
        anchor = "".join(c for c in name.lower().replace(" ", "-") if c.isalnum() or c in "-_")
        return f"[{text}](#{anchor})"

    def write(self, heading, node, level):
        self.lines += [f"{'#' * level} {heading}", ""]
        if node.get("description"):
            self.lines += [cell(node["description"]), ""]
        keys = {k: v for k, v in node.get("properties", {}).items() if k not in ("about", "$schema")}
        required = set(node.get("required", []))
        self.kind = kind_of(node) or self.kind
        before, self.waiting = self.waiting, []
        if keys:
            self.lines += ["| key | what it may be | default | meaning |", "|---|---|---|---|"]
        for key, value in keys.items():
            pointer = heading.split(", ")[0].rstrip("/") + "/" + key if heading.startswith("/") else "/" + key
            default = "must be given" if key in required and "const" not in value else ""
            if "default" in value:
                default = f"`{json.dumps(value['default'])}`"
            kind = self.type_of(value, pointer)
            self.lines.append(f"| `{key}` | {kind} | {cell(default)} | {cell(value.get('description', ''))} |")
        self.lines.append("")
        found, self.waiting = self.waiting, before
        for inner, child in found:
            self.write(inner, child, min(level + 1, 3))


def main():
    schema = json.load(open(sys.argv[1], encoding="utf-8"))
    title = sys.argv[2] if len(sys.argv) > 2 else schema.get("title", "Schema")
    tables = Tables()
    tables.lines += [f"# {title}", "", "Every key, by its JSON pointer. Any object may carry an `about`, a comment for people.", ""]
    for whole in schema.get("oneOf", [schema]):
        kind = kind_of(whole)
        tables.write(f"Of a file of kind {kind}" if kind else "The file", whole, 2)
    print("\n".join(tables.lines))


if __name__ == "__main__":
    main()
