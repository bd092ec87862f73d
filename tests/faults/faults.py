"""The rules of shim.c as the driver sees them, and the list of faults: call, file, error, when."""
import collections
import errno
import mmap
import struct
import subprocess

RULES, PATH_BYTES = 4, 104
RULE = struct.Struct(f"=IIiIIIII{PATH_BYTES}s")
OPS = {name: number for number, name in enumerate(
    ["write", "sync", "rename", "open", "truncate", "accept", "unlink", "read", "room"], 1)}
MODES = {"fail": 0, "short": 1, "torn": 2}
SEEN_AT, HITS_AT = 24, 28

# op on files whose path has `path` in it. `times` 0: for as long as the fault lasts. when: 'run' arms it under load,
# 'start' at the start of a node on a folder with tasks, 'new' at the first start of all.
# lives: the node must go on, since nothing is wrong with its disk.
Fault = collections.namedtuple("Fault", "op path error mode times when lives", defaults=("fail", 1, "run", False))


def compile_shim(folder, source):
    library = folder / "shim.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


class Rules:
    """The mapped file that arms the shim of one node."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(RULES * RULE.size))
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), RULES * RULE.size)

    def arm(self, fault, skip=0):
        """All fields first, then the one that makes it count."""
        fields = [OPS[fault.op], fault.error, MODES[fault.mode], skip, fault.times, 0, 0, fault.path.encode()]
        RULE.pack_into(self.map, 0, 0, *fields)
        struct.pack_into("=I", self.map, 0, 1)

    def clear(self):
        struct.pack_into("=I", self.map, 0, 0)

    def seen(self):
        return struct.unpack_from("=I", self.map, SEEN_AT)[0]

    def hits(self):
        return struct.unpack_from("=I", self.map, HITS_AT)[0]

    def close(self):
        self.map.close()
        self.file.close()


def journal_faults():
    for path in ("/seg-", "/snap-", "/spare-"):
        yield Fault("write", path, errno.EIO)
        yield Fault("write", path, errno.EIO, "torn")
        yield Fault("write", path, errno.ENOSPC, times=0)
        yield Fault("write", path, errno.EIO, "short", times=0, lives=True)
        yield Fault("sync", path, errno.EIO)
    for path in ("/snap-", "/spare-"):
        yield Fault("open", path, errno.EMFILE, times=0, lives=True)
        yield Fault("open", path, errno.ENFILE, lives=True)
        yield Fault("open", path, errno.EACCES)
        yield Fault("rename", path, errno.EIO)
        yield Fault("rename", path, errno.ENOSPC)
    yield Fault("open", "/seg-", errno.EMFILE, lives=True)
    for path in (".log.tmp$", ".snap.tmp$"):
        yield Fault("open", path, errno.ENOSPC, times=0, lives=True)
    yield Fault("sync", "/journal$", errno.EIO)
    yield Fault("open", "/journal$", errno.EMFILE, lives=True)
    yield Fault("unlink", "/seg-", errno.EIO)
    yield Fault("room", "", 0, times=0, lives=True)
    for op in ("write", "sync", "rename", "open"):
        yield Fault(op, "/hard-state", errno.ENOSPC, when="new")
    yield Fault("open", "/hard-state", errno.EIO, when="start")
    for path in ("/seg-", "/snap-", "/hard-state"):
        yield Fault("read", path, errno.EIO, when="start")
        yield Fault("read", path, errno.EIO, "short", times=0, when="start", lives=True)
        yield Fault("open", path, errno.EMFILE, when="start")


def archive_faults():
    for path in ("/archive.sqlite-wal", "/archive.sqlite$"):
        yield Fault("write", path, errno.EIO, times=0, lives=True)
        yield Fault("write", path, errno.ENOSPC, times=0, lives=True)
        yield Fault("write", path, errno.EIO, "torn", lives=True)
        yield Fault("write", path, errno.EIO, "short", times=0, lives=True)
        yield Fault("sync", path, errno.EIO, times=0, lives=True)
        yield Fault("read", path, errno.EIO, times=0, lives=True)
        yield Fault("open", path, errno.EIO, when="start")
        yield Fault("open", path, errno.EMFILE, when="start")
    yield Fault("read", "/archive.sqlite$", errno.EIO, when="start")
    yield Fault("open", "/archive.sqlite$", errno.EACCES, when="start")
    yield Fault("open", "/archive.sqlite-shm", errno.EMFILE, when="start")
    yield Fault("truncate", "/archive.sqlite-shm", errno.ENOSPC, when="start")


def other_faults():
    for path in ("/token", "/mcp.key"):
        yield Fault("open", path, errno.EACCES, when="start")
        yield Fault("open", path, errno.EMFILE, when="start")
        yield Fault("write", path, errno.ENOSPC, when="new")
        yield Fault("sync", path, errno.EIO, when="new")
        yield Fault("rename", path, errno.EIO, when="new")
    for op in ("open", "truncate", "write"):
        yield Fault(op, "/node.lock", errno.EIO, when="start")
    yield Fault("accept", "", errno.EMFILE, times=0, lives=True)
    yield Fault("accept", "", errno.ENFILE, times=0, lives=True)
    yield Fault("accept", "", errno.ECONNABORTED, times=3, lives=True)
    yield Fault("open", "/data/", errno.EMFILE, times=0, lives=True)


def all_faults():
    return [*journal_faults(), *archive_faults(), *other_faults()]


def told(fault):
    name = "no room" if fault.op == "room" else errno.errorcode.get(fault.error, "?")
    how = "" if fault.mode == "fail" else f" ({fault.mode})"
    return f"{fault.op} {fault.path or 'all'} {name}{how} {'on and on' if not fault.times else 'once'} at {fault.when}"
