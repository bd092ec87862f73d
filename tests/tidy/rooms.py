"""Finds uses of another layer's inside: of what it declares in a namespace `detail`.

It reads text, not C++. A layer's own `detail::` is fine. What the runtime's inside offers to other layers stands in
skein/runtime/inspect.hpp. Benchmarks may measure a part of a layer alone, so bench/ is free.
"""
import pathlib
import re

import rules

REGION = re.compile(r"\bnamespace\s+(?:[\w:]+\s+)*[\w:]*\bdetail\s*\{")
TYPE = re.compile(r"\b(?:class|struct|union|enum|concept|using)\s+(?:class\s+)?(?:alignas\s*\([^)]*\)\s*)?(\w+)")
VALUE = re.compile(r"\b([a-z]\w*)\s*(?:<[^<>;]*>)?\s*[({=;]")
QUALIFIED = re.compile(r"(?<![\w:])(?:skein::)?detail::(\w+)")
OPENED = re.compile(r"\busing\s+namespace\s+(?:\w+::)*detail\b")
# Self::core(), Self::slot() and Runtime::core() give the runtime's inside to its own templates.
REACHED = re.compile(r"\b(?:self_?|rt|runtime_?)(?:\.|->)(?:core|slot)\(\)")
CAMEL = re.compile(r"\b[A-Z]\w*\b")
FREE = {"bench"}


def regions(bare):
    """The texts inside each namespace `detail`, and where they begin."""
    for match in REGION.finditer(bare):
        yield match.end(), bare[match.end():rules.balanced_end(bare, match.end() - 1, "{", "}")]


def outermost(text):
    """The text without what stands in braces."""
    kept, depth = [], 0
    for char in text:
        depth += char == "{"
        if depth == 0 or char == "{":
            kept.append(char)
        depth -= char == "}"
    return "".join(kept)


def is_inner(bare):
    """Whether a header declares nothing outside `detail`."""
    rest, found = bare, False
    for at, text in regions(bare):
        rest, found = rest[:at] + " " * len(text) + rest[at + len(text):], True
    rest = re.sub(r"^\s*#.*$|\bnamespace\b[^{;]*\{|\}|\b(?:class|struct)\s+\w+;", "", rest, flags=re.MULTILINE)
    return found and not rest.strip()


class Room:
    """What one layer declares."""
    def __init__(self):
        self.names, self.types, self.any_types = set(), set(), set()

    def add(self, bare):
        self.any_types.update(TYPE.findall(bare))
        for _, text in regions(bare):
            shallow = outermost(text)
            types = set(TYPE.findall(shallow))
            self.types |= types
            self.names |= types | set(VALUE.findall(shallow))


def said_of(own, bare, rooms):
    room = rooms.get(own, Room())
    for match in QUALIFIED.finditer(bare):
        if match[1] not in room.names:
            yield match.start(), f"detail::{match[1]} is the inside of another layer: use what its headers offer"
    for match in OPENED.finditer(bare):
        yield match.start(), "using namespace detail: name what is used"
    if own == "runtime":
        return
    for match in REACHED.finditer(bare):
        yield match.start(), f"{match[0]} is the runtime's inside: see skein/runtime/inspect.hpp"
    foreign = set().union(*(each.types for name, each in rooms.items() if name != own)) - room.any_types
    for at, text in regions(bare):
        for match in CAMEL.finditer(text):
            before = text[:match.start()].rstrip()
            if match[0] in foreign and not before.endswith(("::", ".", "->")):
                yield at + match.start(), f"{match[0]} is the inside of another layer, found through namespace detail"


def problems(root):
    root = pathlib.Path(root)
    bares, rooms, inner = {}, {}, {}
    for path in rules.files_of(root):
        if path.suffix not in rules.CODE:
            continue
        # Includes are strings: read them before those are blanked.
        text = (root / path).read_text(errors="replace")
        bare = rules.COMMENT_OR_STRING.sub(rules.blank, text)
        bares[path] = (text, bare)
        kind, own = rules.place(path)
        if kind == "layer":
            rooms.setdefault(own, Room()).add(bare)
            if path.suffix == ".hpp" and is_inner(bare):
                inner[path.as_posix()] = own
    for path, (text, bare) in bares.items():
        kind, own = rules.place(path)
        if own in FREE and kind == "top":
            continue
        for number, line in enumerate(text.splitlines(), 1):
            match = rules.INCLUDE.match(line)
            if match and inner.get(match[1], own) != own:
                yield f"{path}:{number}: {match[1]} is the inside of layer {inner[match[1]]}"
        for at, what in said_of(own, bare, rooms):
            yield f"{path}:{bare.count(chr(10), 0, at) + 1}: {what}"
