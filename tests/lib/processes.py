"""OS processes as /proc shows them. One may end at any moment: what cannot be read any more is left out."""
import collections
import os
import pathlib

# is_dead: a zombie or less. is_headless: its first thread has ended and others live on, which /proc shows as a zombie.
Entry = collections.namedtuple("Entry", "parent name is_dead is_headless")


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def entry_of(pid):
    """None when it is gone."""
    text = read(pathlib.Path(f"/proc/{pid}/stat")).decode(errors="replace")
    if not text:
        return None
    fields = text[text.rindex(")") + 2:].split()
    is_headless = fields[0] == "Z" and int(fields[17]) > 1
    return Entry(int(fields[1]), text[text.index("(") + 1:text.rindex(")")], fields[0] in "ZX" and not is_headless,
                 is_headless)


def pids():
    return [int(each.name) for each in pathlib.Path("/proc").iterdir() if each.name.isdigit()]


def table():
    """{pid: Entry} of all."""
    found = {pid: entry_of(pid) for pid in pids()}
    return {pid: entry for pid, entry in found.items() if entry}


def lives(pid):
    entry = entry_of(pid)
    return entry is not None and not entry.is_dead


def below(pid, entries):
    """Pids of all that it started, and what they started in turn."""
    found, row = set(), {pid}
    while row:
        row = {each for each, entry in entries.items() if entry.parent in row} - found
        found |= row
    return found


def command_line(pid):
    """Its words; where the first thread has ended, another shows them."""
    texts = (read(each / "cmdline") for each in threads(pid))
    return next((text for text in texts if text), b"")


def threads(pid):
    try:
        return list(pathlib.Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def mentioning(text):
    """{pid: name} of live processes, this one left out, that have the text in their command line, in their environment
    or in the path of their working folder."""
    wanted, found = str(text).encode(), {}
    for pid in pids():
        if pid == os.getpid():
            continue
        for each in threads(pid):
            said = read(each / "cmdline") + b"\0" + read(each / "environ")
            try:
                said += b"\0" + os.readlink(each / "cwd").encode()
            except OSError:
                pass  # of somebody else, or gone
            entry = entry_of(pid) if wanted in said else None
            if entry and not entry.is_dead:
                found[pid] = entry.name
                break
    return found
