"""Finds headers and public functions of the library that only tests use, or nobody, and keys that nothing reads.

It reads text, not C++: a header counts as used when another file than its own source and tests includes it, a function
when its name occurs outside tests more often than it is declared and defined. So a dead function that shares its name
with a living one is not found; one that is found is dead, or is listed below with the reason why it stays.
"""
import collections
import pathlib
import re

import rules

FOLDERS = ("skein", "cli", "sim", "bench", "examples", "fuzz")
# Of the library's API (headers that are installed), for C++ programs: nothing of ours calls them.
FOR_PROGRAMS = {
    "agent_count", "auto_shutdown_name", "breaker_state_name", "dump_on_fatal_signal", "event_json", "force_closed",
    "give_away", "register_or_locate", "register_or_spawn", "send_to_agent", "send_to_group", "shutdown_text",
    "shutting_down", "spawn_link", "subscribe_if", "tree_mermaid", "unregister_name",
}
# Called by what the compiler or the standard library makes of other code.
FOR_THE_LANGUAGE = {"__builtin_ia32_pause", "hash_value", "return_value"}
# What a test looks at or makes happen where nothing else can be seen or done.
FOR_TESTS = {
    "adds_up", "fail_seal_with", "fail_with", "intervals", "kv_add", "kv_erase", "limit_pages", "pools",
    "remembered", "segment_count",
}
HEADERS_OF_ONE_SOURCE = {"skein/journal/threaded_journal.hpp"}  # its source has the functions that journal.hpp declares
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
QUALIFIERS = r"(?:\[\[nodiscard\]\]\s*|static\s+|constexpr\s+|inline\s+|virtual\s+|explicit\s+|friend\s+)*"
DECLARED = re.compile(r"^\s*" + QUALIFIERS + r"[\w:<>,&*\s\[\]]+?[\s&*>]([a-z_]\w*)\(", re.MULTILINE)
WORD = re.compile(r"\b[a-z_]\w*\b")
KEYS = pathlib.PurePosixPath("skein/node/config_keys.cpp")
KEY = re.compile(r'\{"(\w+)",\s*\[\]\(S& s\) -> Place \{ return &s\.([\w.]+); \}')
MEMBER = re.compile(r"(?:\.|->)(\w+)\b")


def is_for_tests(path):
    name = path.name
    return (name.endswith(("_test.cpp", "_world.hpp", "testing.hpp")) or name.startswith("test_")
            or name in {"manual_job_queue.hpp", "crowded_job_queue.hpp", "local_journal.hpp"})


def sources(root):
    found = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).glob("**/*")):
            if path.suffix in {".cpp", ".hpp"}:
                found[path.relative_to(root)] = path.read_text()
    return found


def dead_headers(texts):
    users = collections.defaultdict(set)
    for path, text in texts.items():
        if not is_for_tests(path):
            for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE):
                users[included].add(path)
    for path in texts:
        if path.suffix != ".hpp" or path.parts[0] != "skein" or is_for_tests(path):
            continue
        others = users[path.as_posix()] - {path.with_suffix(".cpp")}
        if not others and path.as_posix() not in HEADERS_OF_ONE_SOURCE:
            yield f"{path}:1: only tests use this header; remove it with its source"


def dead_functions(texts, public):
    bare = {path: COMMENT_OR_STRING.sub(" ", text) for path, text in texts.items()}
    used, tested = collections.Counter(), collections.Counter()
    for path, text in bare.items():
        (tested if is_for_tests(path) else used).update(WORD.findall(text))
    for path, text in bare.items():
        if path.suffix != ".hpp" or path.parts[0] != "skein" or is_for_tests(path):
            continue
        own = bare.get(path.with_suffix(".cpp"), "")
        for_programs = FOR_PROGRAMS if path.as_posix() in public else set()
        for name in sorted(set(DECLARED.findall(text)) - for_programs - FOR_TESTS - FOR_THE_LANGUAGE):
            declared = len(re.findall(rf"\b{name}\b", text))
            defined = len(re.findall(rf"(?:::|^\w[\w:<>&* ]* ){name}\(", own, re.MULTILINE))
            if declared == 1 and used[name] <= 1 + defined:
                line = texts[path][:texts[path].find(f" {name}(")].count("\n") + 1
                who = "only tests use" if tested[name] else "nobody uses"
                yield f"{path}:{line}: {who} {name}(); remove it, or say in tests/tidy/dead_code.py why not"


def dead_keys(texts):
    """A key that was accepted and did nothing would deceive whoever sets it."""
    keys = texts.get(pathlib.Path(KEYS), "")
    read = set()
    for path, text in texts.items():
        if path != pathlib.Path(KEYS) and path.parts[0] in {"skein", "cli"} and not is_for_tests(path):
            read.update(MEMBER.findall(COMMENT_OR_STRING.sub(" ", text)))
    for match in KEY.finditer(keys):
        if match[2].rpartition(".")[2] not in read:
            line = keys.count("\n", 0, match.start()) + 1
            yield f"{KEYS}:{line}: nothing reads the key '{match[1]}': read it and warn that it does nothing, or use it"


def problems(root):
    texts = sources(pathlib.Path(root))
    public = rules.public_headers(pathlib.Path(root))
    return [*dead_headers(texts), *dead_functions(texts, public), *dead_keys(texts)]
