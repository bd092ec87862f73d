"""Compares the invariants that headers number with docs/internals/invariants.md, which says what checks each.

A row is `| layer/file.hpp | 2 | what checks it |`. Checks are in backticks: `must_hold` (a source asserts it, with
a text that begins with the header and the number), `Suite.test` (or how it begins, and `...`), `skein-sim NAME`,
`transcript NAME` (of tests/dispatcher), `planted bug NAME`, `tests/NAME`, `make sanitize`, a file (of tests, or one
that checks a whole state), or `the type`: nothing else compiles.
"""
import pathlib
import re

import rules

PAGE = "docs/internals/invariants.md"
# Layers whose invariants are in the table.
LAYERS = ("base", "runtime", "supervision", "registry", "resilience", "routing", "consensus", "journal", "archive",
          "agent", "ledger", "dispatch", "launcher", "net", "control", "swarm", "operations", "mcp", "rest", "node")
# Numbered, but not what must hold: reasons why a library is wrapped.
NO_INVARIANTS = {"base/toml.hpp"}
NUMBERED = re.compile(r"^//\s+(\d+)\. ")
ROW = re.compile(r"^\| `([\w/]+\.hpp)` \| ([\d, ]+) \| (.+) \|$")
ASSERTED = re.compile(r'\bmust_hold\([^;]*?"(\w+\.hpp) (\d+): ', re.DOTALL)
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\((\w+),\s*(\w+)", re.MULTILINE)
SIMULATION = re.compile(r'\.name = "([\w-]+)"')


def numbered(text):
    """The numbers in the comment that opens a header."""
    for line in text.splitlines():
        if not line.startswith("//"):
            return
        if match := NUMBERED.match(line):
            yield int(match[1])


def known_checks(root):
    asserted, tests, simulations = set(), set(), set()
    for folder in ("skein", "sim"):
        for path in sorted((root / folder).glob("**/*.[ch]pp")):
            text = path.read_text()
            tests.update(".".join(each) for each in TEST.findall(text))
            if folder == "sim":
                simulations.update(SIMULATION.findall(text))
            asserted.update((path.parent.name, file, int(number)) for file, number in ASSERTED.findall(text)
                            if not path.name.endswith("_test.cpp") and path.stem != "must_hold")
    return asserted, tests, simulations


def fault_of(root, check, key, asserted, tests, simulations):
    layer, file = key[0].split("/")
    if check == "must_hold":
        return None if (layer, file, key[1]) in asserted else f"no source of {layer} asserts {file} {key[1]}"
    if check.startswith("skein-sim "):
        return None if check.split()[1] in simulations else f"there is no `{check}`"
    if check.startswith("transcript "):
        return None if list((root / "tests/dispatcher").glob(f"{check.split()[1]}*.txt")) else f"there is no {check}"
    if check.startswith("planted bug "):
        patches = (root / "sim/planted").glob("*.patch")
        is_there = any(f"Bug::{check.split()[2]})" in each.read_text() for each in patches)
        return None if is_there else f"there is no {check}"
    if check.endswith((".cpp", ".hpp")):
        is_there = (root / check).exists() or list(root.glob(f"skein/*/{check}")) or list(root.glob(f"skein/{check}"))
        return None if is_there else f"there is no file {check}"
    if check.startswith("tests/"):
        return None if (root / check / "run").exists() else f"there is no {check}/run"
    if check in {"make sanitize", "the type"}:
        return None
    begins = check.removesuffix("...")
    found = check in tests if begins == check else any(each.startswith(begins) for each in tests)
    return None if found else f"there is no test {check}"


def problems(root):
    root = pathlib.Path(root)
    page = root / PAGE
    rows = {}
    for number, line in enumerate(page.read_text().splitlines() if page.exists() else [], 1):
        if match := ROW.match(line):
            checks = re.findall(r"`([^`]+)`", match[3])
            rows.update({(match[1], int(each)): (number, checks) for each in match[2].split(",")})
    asserted, tests, simulations = known_checks(root)
    stated = set()
    for layer in LAYERS:
        for path in sorted((root / "skein" / layer).glob("*.hpp")):
            name = f"{layer}/{path.name}"
            if name not in NO_INVARIANTS and not path.name.startswith("test"):
                stated.update((name, number) for number in numbered(path.read_text()))
    for name, number in sorted(stated - rows.keys()):
        yield f"skein/{name}:1: nothing is said in {PAGE} of what checks its invariant {number}"
    for key, (line, checks) in rows.items():
        if key[0].split("/")[0] not in LAYERS:
            continue
        if key not in stated:
            yield f"{PAGE}:{line}: skein/{key[0]} has no invariant {key[1]}"
        if not checks:
            yield f"{PAGE}:{line}: names no check in backticks"
        for check in checks:
            if fault := fault_of(root, check, key, asserted, tests, simulations):
                yield f"{PAGE}:{line}: {fault}"
    for layer, file, number in sorted(asserted):
        if layer in LAYERS and "must_hold" not in rows.get((f"{layer}/{file}", number), (0, []))[1]:
            yield f"{PAGE}:1: must_hold of {layer}/{file} {number} is not in the table"
