#!/usr/bin/env python3
"""Commits rows to an SQLite database with a write-ahead log and synchronous=FULL, flips one bit in the middle of the
log of a copy, as rot would, and says how many rows the copy has. For docs/adr/0005-journal-and-archive.md.
usage: bench/adr/wal_damage.py"""
import pathlib
import shutil
import sqlite3
import tempfile

ROWS = 1000


def main():
    with tempfile.TemporaryDirectory() as folder:
        first, copy = pathlib.Path(folder, "first.db"), pathlib.Path(folder, "copy.db")
        db = sqlite3.connect(first, isolation_level=None)  # each statement is a transaction
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=0"):
            db.execute(f"PRAGMA {pragma}")
        db.execute("CREATE TABLE log (position INTEGER PRIMARY KEY, bytes BLOB NOT NULL)")
        for _ in range(ROWS):
            db.execute("INSERT INTO log (bytes) VALUES (?)", (b"x" * 200,))
        log = pathlib.Path(f"{copy}-wal")
        shutil.copy(first, copy)
        shutil.copy(f"{first}-wal", log)
        damaged = bytearray(log.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        log.write_bytes(damaged)
        found = sqlite3.connect(copy)
        rows = found.execute("SELECT count(*) FROM log").fetchone()[0]
        check = found.execute("PRAGMA integrity_check").fetchone()[0]
        print(f"SQLite {sqlite3.sqlite_version}: {rows} of {ROWS} committed rows are left; integrity_check: {check}")


if __name__ == "__main__":
    main()
