"""What can happen to one file of a data folder, or to a whole part of it, chosen by a seed."""
import contextlib
import os
import random
import shutil
import sqlite3

SECTOR = 512
PAGE = 4096
K_GARBAGE_BYTES = 8192

# How often a file is the one, by what its name begins with; the first that fits.
WEIGHTS = [("archive.sqlite-wal", 22), ("archive.sqlite-shm", 3), ("archive.sqlite", 26), ("journal/seg", 20),
           ("journal/snap", 10), ("journal/hard-state", 7), ("journal/", 2), ("token", 2), ("mcp.key", 2), ("", 2)]
PARTS = ["journal", "archive"]  # damaged as a whole: all its files
K_PART_SHARE = 0.06


def files_of(folder):
    return sorted(str((folder_path / name).relative_to(folder)) for folder_path, _, names in walk(folder)
                  for name in names)


def walk(folder):
    for path, folders, names in os.walk(folder):
        yield folder.__class__(path), folders, names


def weight(name):
    """Several files of one kind share its weight."""
    return next(value for begin, value in WEIGHTS if name.startswith(begin))


def begin_of(name):
    return next(begin for begin, _ in WEIGHTS if name.startswith(begin))


def part_of(name):
    return "journal" if name.startswith("journal/") else "archive" if name.startswith("archive") else None


def used(data):
    """Where the last byte is that is not 0: behind it a segment has only room."""
    return len(data.rstrip(b"\0"))


def place(dice, data):
    """A position, mostly where there is something."""
    end = used(data) if dice.random() < 0.9 else len(data)
    return dice.randrange(max(end, 1))


def flip(dice, data, _):
    data = bytearray(data)
    for _ in range(dice.choice([1, 1, 1, 2, 8])):
        data[place(dice, data)] ^= 1 << dice.randrange(8)
    return bytes(data)


def cut(dice, data, _):
    kind = dice.random()
    if kind < 0.1:
        return b""
    end = place(dice, data)
    return data[:end // PAGE * PAGE] if kind < 0.3 else data[:end]


def sectors(dice, data, fill):
    size = dice.choice([SECTOR, PAGE])
    begin = place(dice, data) // size * size
    length = min(size * dice.choice([1, 1, 2, 5]), len(data) - begin)
    return data[:begin] + fill(length) + data[begin + length:]


def zero(dice, data, _):
    return sectors(dice, data, bytes)


def garbage(dice, data, _):
    return sectors(dice, data, dice.randbytes)


def misplace(dice, data, _):
    """One sector or page written over another."""
    size = dice.choice([SECTOR, PAGE])
    source, target = (place(dice, data) // size * size for _ in range(2))
    block = data[source:source + size]
    block = block[:len(data) - target]
    return data[:target] + block + data[target + len(block):]


def longer(dice, data, _):
    return data + dice.randbytes(dice.randrange(1, K_GARBAGE_BYTES))


def gone(_, __, ___):
    return None


def another(dice, data, others):
    """The same file of an earlier time, or of another folder."""
    return dice.choice(others) if others else b""


def stale(dice, data, others):
    """Writes that the disk lost: some pages are as they were at an earlier time."""
    older = dice.choice(others) if others else b""
    pages = [at for at in range(0, min(len(older), len(data)), PAGE) if older[at:at + PAGE] != data[at:at + PAGE]]
    for at in dice.sample(pages, min(len(pages), dice.choice([1, 1, 2, 5]))):
        data = data[:at] + older[at:at + PAGE] + data[at + PAGE:]
    return data


def edit(dice, path):
    """Somebody wrote to the archive with a tool: rows taken out, or results exchanged."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        rows = [number for number, in db.execute("SELECT finish_number FROM tasks")]
        some = dice.sample(rows, dice.choice([2, 2, 5, 50]))
        if dice.random() < 0.5:
            db.executemany("DELETE FROM tasks WHERE finish_number = ?", [(each,) for each in some])
        else:
            first, second = some[:2]
            texts = dict(db.execute("SELECT finish_number, result FROM tasks WHERE finish_number IN (?, ?)",
                                    (first, second)))
            db.executemany("UPDATE tasks SET result = ? WHERE finish_number = ?",
                           [(texts[first], second), (texts[second], first)])
        db.commit()


KINDS = [(flip, 28), (cut, 20), (zero, 10), (garbage, 8), (misplace, 7), (stale, 10), (longer, 3), (gone, 5),
         (another, 9)]
K_EDIT_SHARE = 0.05  # of the damages of the archive


def choose(dice, pairs):
    return dice.choices([each for each, _ in pairs], [share for _, share in pairs])[0]


def same_file(name, folders, names):
    """Contents of that file in other states of the folder; numbered ones may have other numbers there."""
    found = []
    for each in names:
        path = folders[each] / name
        if not path.exists() and part_of(name) == "journal" and "-" in path.name:
            alike = sorted(path.parent.glob(path.name.split("-")[0] + "-*"))
            path = alike[-1] if alike else path
        if path.exists():
            found.append((each, path.read_bytes()))
    return found


def damage_part(dice, target, folders, state):
    """Deletes all files of journal or archive, or puts those of another state in their place."""
    part = dice.choice(PARTS)
    source = dice.choice(["nothing", "older", "midway", "foreign"])
    for name in files_of(target):
        if part_of(name) == part:
            (target / name).unlink()
    if part == "journal" and source == "nothing" and dice.random() < 0.5:
        (target / "journal").rmdir()
    if source != "nothing":
        for name in files_of(folders[source]):
            if part_of(name) == part:
                shutil.copy(folders[source] / name, target / name)
    return part, f"{state}: all of {part} replaced by {source}"


def damage(seed, target, folders, state):
    """Damages the copy `target` of folders[state]; the file's name (or the part's) and a description, or None when the
    chosen damage changes nothing."""
    dice = random.Random(seed)
    if dice.random() < K_PART_SHARE:
        return damage_part(dice, target, folders, state)
    names = files_of(target)
    begins = [begin_of(each) for each in names]
    name = dice.choices(names, [weight(each) / begins.count(begin_of(each)) for each in names])[0]
    path = target / name
    data = path.read_bytes()
    kind = choose(dice, KINDS)
    if not data and kind not in (gone, another, stale):
        kind = longer
    if name == "archive.sqlite" and dice.random() < K_EDIT_SHARE:
        edit(dice, path)
        return name, f"{state}: edit of {name}"
    others = [each for _, each in same_file(name, folders, [each for each in folders if each != state])
              if each != data]
    fresh = kind(dice, data, others)
    if fresh == data:
        return None
    if fresh is None:
        path.unlink()
    else:
        path.write_bytes(fresh)
    size = "" if fresh is None else f", {len(data)} -> {len(fresh)} bytes"
    first = next((i for i, (a, b) in enumerate(zip(data, fresh or b"")) if a != b), None)
    where = "" if first is None else f" from byte {first}"
    return name, f"{state}: {kind.__name__} of {name}{where}{size}"
