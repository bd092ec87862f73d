"""Finds invariants that headers number and docs/internals/testing.md does not, rows without one, and rows that name
what is not there."""
import pathlib
import re

PAGE = "docs/internals/testing.md"
LAYERS = ["dispatch", "ledger", "routing"]
ROW = re.compile(r"^\| `((?:%s)/\w+\.hpp)` \| ([\d, ]+) \| (.+) \|$" % "|".join(LAYERS), re.M)


def numbered(root):
    """(header, number) of each numbered line in the comment that a header opens with."""
    for layer in LAYERS:
        for path in sorted((root / "skein" / layer).glob("*.hpp")):
            comment = path.read_text().partition("#pragma once")[0]
            for number in re.findall(r"^// (\d+)\. ", comment, re.M):
                yield f"{layer}/{path.name}", int(number)


def unknown(root, header, where):
    """What a row names and is not there."""
    for name in re.findall(r"`([\w/]+\.[ch]pp)`", where):
        found = list(root.glob(name)) or list(root.glob(f"skein/*/{name}"))
        if not found:
            yield f"there is no file {name}"
        elif f"assertion in `{name}`" in where and "assert(" not in found[0].read_text():
            yield f"{name} asserts nothing"
    for name in re.findall(r"transcript `(\w+)`", where):
        if not list((root / "tests/dispatcher").glob(f"{name}*.txt")):
            yield f"there is no transcript {name}"
    for name in re.findall(r"planted bug `(\w+)`", where):
        if not any(f"Bug::{name})" in each.read_text() for each in (root / "sim/planted").glob("*.patch")):
            yield f"there is no planted bug {name}"


def problems(root):
    root = pathlib.Path(root)
    page = root / PAGE
    rows = ROW.findall(page.read_text()) if page.exists() else []
    has = {(header, int(each)) for header, numbers, _ in rows for each in numbers.split(",")}
    wanted = set(numbered(root))
    for header, number in sorted(wanted - has):
        yield f"skein/{header}:1: invariant {number} has no row in {PAGE}: say there where it is checked"
    for header, number in sorted(has - wanted):
        yield f"{PAGE}: the header {header} has no invariant {number}"
    for header, numbers, where in rows:
        for what in unknown(root, header, where):
            yield f"{PAGE}: invariant {numbers} of {header}: {what}"
