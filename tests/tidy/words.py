"""Finds words that docs/internals/words.md retires in the names of the library's files, types and functions."""
import pathlib
import re

import dead_code

PAGE = "docs/internals/words.md"
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


def problems(root):
    root = pathlib.Path(root)
    words = {word: (spellings(word), instead) for word, instead in retired(root).items()}
    for path in sorted((root / "skein").glob("**/*")):
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
