"""What is wrong with an installed tree of headers: `problems(include, api, detail, everything)` lists it.

`include` is the folder that was installed; the lists have paths below skein/, as cmake/headers.cmake writes them:
`api` what programs may include, `detail` what that needs, `everything` all headers of the source tree.
"""
import pathlib
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
# What programs have besides the standard library; a package each in docs/library.md.
PACKAGES = ("boost/unordered/", "fmt/", "sys/", "unistd.h")
TESTS = ("gtest/", "gmock/", "rapidcheck")


def lists(source):
    """The two lists of cmake/headers.cmake."""
    text = (source / "cmake/headers.cmake").read_text()
    return [re.search(rf"set\({name}\n(.*?)\)", text, re.DOTALL)[1].split()
            for name in ("SKEIN_API_HEADERS", "SKEIN_DETAIL_HEADERS")]


def included_by(path):
    for ours, others in INCLUDE.findall(path.read_text()):
        yield ours, others


def needed(include, api):
    """Everything that the API's headers include, directly or not."""
    seen, open_ones = set(), [f"skein/{each}" for each in api]
    while open_ones:
        header = open_ones.pop()
        if header in seen or not (include / header).exists():
            continue
        seen.add(header)
        open_ones += [ours for ours, _ in included_by(include / header) if ours]
    return seen


def problems(include, api, detail, everything):
    include = pathlib.Path(include)
    there = {path.relative_to(include).as_posix() for path in include.glob("skein/**/*") if path.is_file()}
    wanted = {f"skein/{each}" for each in api} | {f"skein/detail/{each}" for each in detail}
    for header in sorted(wanted - there):
        yield f"{header} is not installed"
    for header in sorted(there - wanted):
        yield f"{header} is installed, and cmake/headers.cmake does not have it"
    for header in sorted(there):
        for ours, others in included_by(include / header):
            if ours and ours not in there:
                yield f"{header} includes {ours}, which is not installed"
            if any(part in ours + others for part in TESTS):
                yield f"{header} includes {ours or others}: tests use that, programs do not"
            elif ("/" in others or others.endswith(".h")) and not others.startswith(PACKAGES):
                yield f"{header} includes <{others}>, which no package of docs/library.md has"
    for header in sorted(there - needed(include, api)):
        yield f"{header} is installed, and no header of the API needs it"
    internal = {f"skein/{each}" for each in everything} - {f"skein/{each}" for each in api}
    for header in sorted(internal & there):
        yield f"{header} is internal, and programs can include it"


# Each fault: what is changed in an installed tree, and a part of what must be said about it.
def plant(text, header):
    return lambda include: (include / header).write_text(text + (include / header).read_text())


def add(header, text="#pragma once\n"):
    def change(include):
        (include / header).parent.mkdir(parents=True, exist_ok=True)
        (include / header).write_text(text)
    return change


FAULTS = [
    (plant('#include "skein/dispatch/dispatcher.hpp"\n', "skein/node.hpp"),
     "skein/node.hpp includes skein/dispatch/dispatcher.hpp, which is not installed"),
    (plant('#include "skein/runtime/slot.hpp"\n', "skein/core.hpp"),
     "skein/core.hpp includes skein/runtime/slot.hpp, which is not installed"),
    (plant("#include <gtest/gtest.h>\n", "skein/detail/runtime/slot.hpp"), "tests use that, programs do not"),
    (plant("#include <sqlite3.h>\n", "skein/journal/journal.hpp"), "includes <sqlite3.h>, which no package"),
    (add("skein/dispatch/core_world.hpp"), "skein/dispatch/core_world.hpp is installed, and cmake/headers.cmake"),
    (add("skein/runtime/slot.hpp"), "skein/runtime/slot.hpp is internal, and programs can include it"),
    (add("skein/detail/runtime/core.hpp"), "skein/detail/runtime/core.hpp is installed, and no header of the API"),
    (lambda include: (include / "skein/detail/runtime/slot.hpp").unlink(), "slot.hpp is not installed"),
]
