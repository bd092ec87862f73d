"""What is done to a node from outside: signals to it, to its guard, launcher and keepers, and to agents."""
import os
import signal

from lib import processes


def tree_of(pid):
    """Pids below it by depth: 1 the guard, 2 the launcher, 3 keepers, 4 and more what agents are."""
    children = {}
    for each, entry in processes.table().items():
        children.setdefault(entry.parent, []).append(each)
    depths, row = {}, [pid]
    for depth in range(1, 7):
        row = [child for each in row for child in children.get(each, [])]
        if row:
            depths[depth] = row
    return depths


def send(pid, number):
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


def name_of_depth(depth):
    return {1: "guard", 2: "launcher", 3: "keeper"}.get(depth, "agent")


def hit_helper(dice, pid, account):
    """A signal to one of its helpers or agents; what to continue later, if it was stopped."""
    depths = tree_of(pid)
    if not depths:
        return None
    depth = dice.choices(list(depths), [{1: 1, 2: 1, 3: 3}.get(each, 4) for each in depths])[0]
    victim = dice.choice(depths[depth])
    number = dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
    if send(victim, number):
        account.count(f"{number.name} to {name_of_depth(depth)}")
    return victim if number == signal.SIGSTOP else None


def cut_wal(dice, data):
    """Damages the WAL of a node that is gone; what was done."""
    path = data / "archive.sqlite-wal"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return "no WAL to damage"
    kind = dice.choice(["cut", "cut", "garbled", "deleted"])
    if kind == "deleted":
        path.unlink()
        (data / "archive.sqlite-shm").unlink(missing_ok=True)
    elif content and kind == "cut":
        path.write_bytes(content[:dice.randrange(len(content))])
    elif content:
        at = dice.randrange(len(content))
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
    return f"WAL {kind}"
