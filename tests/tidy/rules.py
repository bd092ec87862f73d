"""The tidiness rules. `problems(root)` reads a source tree and returns a list of 'file:line: what is wrong'."""
import os
import pathlib
import re

K_COLUMNS_MAX = 120
K_LINES_MAX = 600
SKIPPED_FOLDERS = {"build", ".git", ".cache", "node_modules"}
CODE = {".cpp", ".hpp"}
TEXT = CODE | {".md", ".sh", ".py", ".cmake", ".erl", ".txt", ".json"}

# From the bottom up. A layer may include itself and what stands in an earlier row.
LAYERS = [
    {"base"},
    {"runtime"},
    {"supervision"},
    {"registry", "resilience", "net"},
    {"routing"},
    {"consensus"},
    {"journal", "cluster"},
    {"ledger"},
    {"archive"},
    {"dispatch"},
    {"launcher"},
    {"agent"},
    {"swarm"},
    {"workflow"},
    {"operations"},
    {"mcp", "observe"},
    {"rest"},
    {"control"},
    {"node"},
]
RANK = {layer: rank for rank, row in enumerate(LAYERS) for layer in row}
# What stands above every layer: it may include the library and itself.
TOPS = {"cli", "sim", "bench", "web", "fuzz", "examples", "tests"}

# A constant that is called a limit; docs/limits.md says what happens there.
LIMIT = re.compile(r"\bconstexpr\s+[\w:<> ]+?\s(k_(?:\w+_)?(?:max|limit))\b")
# Called so, but nothing grows up to them: numbers that are out of range, codes of fields, buffers that are reused.
NO_LIMITS = {
    "journal::k_no_trim_limit", "journal::k_ids_reserved_max", "runtime::k_slot_max", "runtime::k_generation_max",
    "runtime::k_step_limit", "ledger::k_counter_max", "ledger::k_order_max", "dispatch::k_wall_ms_max",
    "routing::k_walk_max", "routing::k_capacity_max", "routing::k_value_max", "dispatch::k_attempt_max",
    "routing::k_load_max", "dispatch::k_field_number_max", "routing::k_latency_s_max", "swarm::k_field_agents_max",
    "swarm::k_agents_max", "registry::k_load_max", "resilience::k_phi_max", "operations::k_max", "node::k_number_max",
    "base::k_word_max", "supervision::k_number_max", "launcher::k_events_max", "launcher::k_packet_bytes_max",
    "launcher::k_packet_fds_max",
}

SHARED = re.compile(r"def (?:until|wait_for|free_port|processes)\(|class (?:Node|Up|Tally)(?=:)|passed = failed = 0")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
# Spelled in halves, so that this file passes its own rules.
LEFTOVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
STOPGAP = re.compile(r"\bfor " r"now\b", re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:wo" r"rk|ro" r"ot|ho" r"me/\w+)/|\.\./sha" r"red")
CODE_COMMENT = re.compile(
    r"^\s*//\s?(?:"
    r"(?:return\b.*|[\w:.\->]+\(.*\)|(?:auto|const|constexpr|int|bool|std::\S+)\s.*=.*|[\w.\->]+\s*[-+]?=\s*\S+)\s*;"
    r"|(?:if|for|while|switch)\s*\(.*\)\s*\{?"
    r"|\}|#include\s.*)\s*$")
CONDITION = re.compile(r"\b(?:if|while|switch)\s*(?:constexpr\s*)?\(")
CAPTURING_LAMBDA = re.compile(
    r"(?<![\w\])\[])\s*\[[^\[\]\n]+\](?!\])\s*(?:\([^()]*\))?\s*(?:mutable|noexcept|->\s*[\w:<>, *&]+|\s)*\{")
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED_FOLDERS)
        for name in sorted(names):
            yield (pathlib.Path(folder) / name).relative_to(root)


def is_text(root, path):
    if path.name in {"package-lock.json", "openapi.json"}:  # npm writes the one, a node the other
        return False
    if path.suffix in TEXT or path.name in {"CMakeLists.txt", "Makefile"}:
        return True
    if path.suffix or path.name == "LICENSE":
        return False
    with open(root / path, "rb") as file:
        return file.read(2) == b"#!"


def place(path):
    """('layer', name) for a file of the library, ('top', folder) for the rest."""
    if path.parts[0] == "skein" and len(path.parts) > 2:
        return "layer", path.parts[1]
    return "top", path.parts[0]


def layering(path, lines):
    kind, own = place(path)
    if kind == "layer" and own not in RANK:
        yield 1, f"unknown layer '{own}'; give it a row in tests/tidy/rules.py and docs/architecture.md"
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = pathlib.PurePosixPath(match[1])
        if target.parts[0] not in TOPS | {"skein"}:
            yield number, f'"{target}" is not included from the root of the tree'
            continue
        target_kind, other = place(target)
        if kind == "layer" and target_kind == "top":
            yield number, f"layer {own} includes {other}/, which stands above the library"
        elif kind == "layer" and other != own and RANK.get(other, len(LAYERS)) >= RANK[own]:
            yield number, f"layer {own} includes {other}, which is not below it"
        elif kind == "top" and target_kind == "top" and other != own and own not in {"tests", "examples"}:
            yield number, f"{own}/ includes {other}/"


def shared_rules(path, lines):
    """What the library of the script tests has is not written again in a script."""
    if path.parts[0] != "tests" or path.parts[1] == "lib":
        return
    for number, line in enumerate(lines, 1):
        if found := SHARED.match(line):
            yield number, f"'{found[0]}': tests/lib has one for all scripts"


def text_rules(path, lines):
    for number, line in enumerate(lines, 1):
        if len(line) > K_COLUMNS_MAX:
            yield number, f"{len(line)} columns, at most {K_COLUMNS_MAX}"
        if line != line.rstrip():
            yield number, "spaces at the end of the line"
        if found := LEFTOVER.search(line):
            yield number, f"leftover '{found[0]}'"
        if found := MACHINE_PATH.search(line):
            yield number, f"path of one machine '{found[0]}'"
    # What a program prints is as long as it is, and a changelog only grows.
    if len(lines) > K_LINES_MAX and "docs/reference/" not in str(path) and path.name != "CHANGELOG.md":
        yield len(lines), f"{len(lines)} lines, at most {K_LINES_MAX}: look for the second thing in it"


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def balanced_end(text, start, opening, closing):
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] == opening) - (text[index] == closing)
        if depth == 0:
            return index
    return len(text)


def coroutine_rules(text):
    """GCC 12 miscompiles both of these without a word."""
    bare = COMMENT_OR_STRING.sub(blank, text)
    if "co_" not in bare:
        return
    for match in CONDITION.finditer(bare):
        end = balanced_end(bare, match.end() - 1, "(", ")")
        if re.search(r"\bco_await\b", bare[match.end():end]):
            yield bare.count("\n", 0, match.start()) + 1, "co_await in a condition: await into a variable first"
    for match in CAPTURING_LAMBDA.finditer(bare):
        end = balanced_end(bare, match.end() - 1, "{", "}")
        if re.search(r"\bco_(?:await|return|yield)\b", bare[match.end():end]):
            line = bare.count("\n", 0, match.end()) + 1
            yield line, "a capturing lambda is a coroutine: use a named function with arguments by value"


def limit_rules(path, lines, documented):
    kind, layer = place(path)
    if kind != "layer" or path.name.endswith("_test.cpp"):
        return
    for number, line in enumerate(lines, 1):
        for name in LIMIT.findall(line):
            if f"{layer}::{name}" not in documented | NO_LIMITS:
                yield number, f"{layer}::{name} is missing in docs/limits.md; see skein/node/fixed_limits.cpp"


def documented_limits(root):
    page = root / "docs/limits.md"
    return set(re.findall(r"\b\w+::k_\w+", page.read_text())) if page.exists() else set()


def own_header_first(path, lines):
    """So that compiling the source shows whether its header stands alone."""
    own = path.with_name(path.stem.removesuffix("_test") + ".hpp").as_posix()
    includes = [(number, line) for number, line in enumerate(lines, 1) if line.startswith("#include")]
    for number, line in includes[1:]:
        if line == f'#include "{own}"':
            yield number, "the header of this source's name is to be included first"


def code_rules(path, text, lines):
    if path.suffix == ".cpp":
        yield from own_header_first(path, lines)
    for number, line in enumerate(lines, 1):
        if CODE_COMMENT.match(line) or re.match(r"\s*#\s*if\s+0\b", line):
            yield number, "commented-out code"
        if re.search(r"\bstable_sort\(", line):
            yield number, "stable_sort is deprecated inside and clang refuses it: sort by a key that tells all apart"
        if STOPGAP.search(line):
            yield number, "a stopgap; say what holds, or mend it"
    if path.suffix == ".hpp":
        if not lines or not lines[0].startswith("//"):
            yield 1, "the header does not open with a comment that says what it is for"
        if "#pragma once" not in lines:
            yield 1, "no #pragma once"
    yield from coroutine_rules(text)


def public_headers(root):
    """The library's API, as cmake/headers.cmake lists it."""
    page = root / "cmake/headers.cmake"
    listed = re.search(r"set\(SKEIN_API_HEADERS\s+([^)]*)\)", page.read_text()) if page.exists() else None
    return {f"skein/{each}" for each in listed[1].split()} if listed else set()


def page_rules(path, lines, public):
    """A page for users shows no header that is not installed."""
    if path.suffix != ".md" or path.parts[:2] == ("docs", "internals"):
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match and match[1].startswith("skein/") and match[1] not in public:
            yield number, f"programs cannot include {match[1]}: it is no header of cmake/headers.cmake"


def problems(root):
    root = pathlib.Path(root)
    found = []
    documented = documented_limits(root)
    public = public_headers(root)
    for path in files_of(root):
        if not is_text(root, path):
            continue
        text = (root / path).read_text(errors="replace")
        lines = text.splitlines()
        rules = [text_rules(path, lines), shared_rules(path, lines), page_rules(path, lines, public)]
        if path.suffix in CODE:
            rules += [layering(path, lines), code_rules(path, text, lines), limit_rules(path, lines, documented)]
        found += [f"{path}:{number}: {what}" for rule in rules for number, what in rule]
    return found
