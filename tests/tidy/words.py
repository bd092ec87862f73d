"""Finds words that docs/internals/words.md retires in the names of files, types and functions of the library and the
program, and types of the same name in two layers."""
import collections
import pathlib
import re

import dead_code

PAGE = "docs/internals/words.md"
TYPE = re.compile(r"^(?:struct|class|enum class|enum)\s+(?:\[\[\w+\]\]\s*|alignas\([\w:]+\)\s*)?(\w+)\b(?!\s*;)",
                  re.MULTILINE)
# In two layers that never meet in one file, each plain where it stands.
MEANT_TWICE = {"Assign", "Client", "Failure", "Key", "Limits", "Place", "Reply", "SlotTable", "Spare"}
ROW = re.compile(r"^\| (`[^|]+?)\| ([^|]+?) \|$")


def retired(root):
    """What the table 'Retired' of the page retires: the word, and what to say instead."""
    page = pathlib.Path(root) / PAGE
    text = page.read_text().partition("## Retired")[2] if page.exists() else ""
    found = {}
    for row in filter(None, map(ROW.match, text.splitlines())):
        for word in re.findall(r"`(\w+)`", row[1]):
            found[word] = row[2]
    return found


def spellings(word):
    """As part of a snake_case name, and of a CamelCase one."""
    camel = "".join(part.capitalize() for part in word.split("_")) if word.islower() else word
    return re.compile(rf"(?<![a-z]){word}(?![a-z])|{camel}(?![a-z])")


def doubles(root):
    """Types at the top of headers of two layers: one word for two things."""
    places = collections.defaultdict(dict)
    for path in sorted((root / "skein").glob("*/*.hpp")):
        if not dead_code.is_for_tests(path):
            for name in TYPE.findall(path.read_text()):
                places[name].setdefault(path.parent.name, path.relative_to(root))
    for name, layers in sorted(places.items()):
        if len(layers) > 1 and name not in MEANT_TWICE:
            first, second, *_ = layers.values()
            yield f"{second}:1: '{name}' is also a type of {first}: one word, one meaning ({PAGE})"


def problems(root):
    root = pathlib.Path(root)
    yield from doubles(root)
    words = {word: (spellings(word), instead) for word, instead in retired(root).items()}
    for path in sorted([*(root / "skein").glob("**/*"), *(root / "cli").glob("**/*")]):
        if path.suffix not in {".cpp", ".hpp"} or path.name.endswith("_test.cpp"):
            continue
        place = path.relative_to(root)
        bare = dead_code.COMMENT_OR_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), path.read_text())
        for word, (pattern, instead) in words.items():
            if pattern.search(path.stem):
                yield f"{place}:1: the file's name has the retired word '{word}'; say: {instead} ({PAGE})"
            for number, line in enumerate(bare.splitlines(), 1):
                if pattern.search(line):
                    yield f"{place}:{number}: the retired word '{word}'; say: {instead} ({PAGE})"
