"""Makes the data folders that are damaged: each with several hundred tasks whose every field is known.

States of one and the same folder, each a copy on disk:
  older    stopped after the first third of the tasks
  midway   copied from under the running node, after the second third
  killed   SIGKILL after a quiet second: the archive's WAL has content
  closed   stopped: the archive is checkpointed
  foreign  another folder altogether, stopped
"""
import json
import random
import re
import shutil
import time

from lib.node import Node
from lib.waiting import until

CONFIG = """[node]
workers = 2
drain = "2s"
[http]
listen = "127.0.0.1:0"
[journal]
segment_bytes = "1MiB"
snapshot_bytes = "1MiB"
disk_low_water_bytes = 0
[archive]
linger = "1ms"
batch_tasks = 32
[dispatch.retry]
first = "1ms"
longest = "1ms"
[swarms.default]
min = 1
max = 2
[swarms.other]
min = 1
max = 1
"""
K_QUIET_S = 0.5  # longer than `idle_after` of the journal: then the end of the log is recorded
K_FAR_MS = 36_000_000
VOLATILE = {"archived"}  # a task may be in the ledger or in the archive
REMAINING = re.compile(r" \(in [^()]*\)")  # of "delayed until 17:00 (in 9 h 58 min)": it shrinks by the minute


class Maker:
    def __init__(self, folder, seed):
        self.folder, self.dice = folder, random.Random(seed)
        self.config = folder / "skein.toml"
        folder.mkdir(parents=True)
        self.config.write_text(CONFIG)
        self.asked = {}   # id -> what it was submitted with
        self.keys = {}    # (swarm, key) -> id

    def task(self, number):
        """The params of a submit: small and large, done and failed, with and without a key, in two swarms."""
        dice = self.dice
        size = dice.choice([0, 10, 100, 1000, 5000, 20000])
        pad = "".join(dice.choice("abcdefgh 0123") for _ in range(min(size, 500))) * max(1, size // 500)
        request = {"type": "echo", "params": json.dumps({"number": number, "pad": pad})}
        kind = dice.random()
        if kind < 0.1:
            request = {"type": "fail", "params": json.dumps(f"number {number}"), "attempts": 1}
        elif kind < 0.2:
            request["delay_ms"] = K_FAR_MS
        if dice.random() < 0.4:
            request["key"] = f"key-{number}"
        if dice.random() < 0.2:
            request["swarm"] = "other"
        return request

    def submit(self, client, count):
        requests = [self.task(len(self.asked) + i) for i in range(count)]
        for each in requests[::20]:
            each["dependencies"] = [self.far(client)]
        for each, answer in zip(requests, client.ask_all([("task_submit", each) for each in requests])):
            self.accepted(each, answer["ok"]["id"])
        far = [task for task, each in self.asked.items()
               if "delay_ms" in each and not each.keys() & {"key", "cancelled"}]
        for task in self.dice.sample(far, min(len(far) // 2, 10)):
            if "ok" in client.ask("task_cancel", id=task, reason="not wanted"):
                self.asked[task]["cancelled"] = True

    def far(self, client):
        """A task that stays open for hours, for others to wait for."""
        request = {"type": "echo", "params": "[1]", "delay_ms": K_FAR_MS, "key": f"far-{len(self.asked)}"}
        task = client.ask("task_submit", **request)["ok"]["id"]
        self.accepted(request, task)
        return task

    def accepted(self, request, task):
        self.asked[task] = request
        if "key" in request:
            self.keys[(request.get("swarm", "default"), request["key"])] = task

    def open_node(self):
        return Node(self.folder).up()

    def live(self, tasks):
        """A node takes so many tasks, finishes what can be finished, and stops."""
        node = self.open_node()
        with node.socket() as client:
            self.submit(client, tasks)
            self.settle(client)
        node.stop()

    def settle(self, client):
        """Waits until all that can finish has, and the archive has taken what it will."""
        rest = sum(self.stays_open(each) for each in self.asked.values())
        if not until(lambda: client.ask("status")["ok"]["open_tasks"] == rest):
            raise SystemExit(f"{client.ask('status')}: {rest} tasks should be open")
        until(lambda: client.ask("status")["ok"]["finished_tasks"] == 0, 3)
        time.sleep(K_QUIET_S)

    @staticmethod
    def stays_open(request):
        return ("delay_ms" in request or "dependencies" in request) and not request.get("cancelled")

    def expected(self, client):
        """What the node says of each task, checked against what was asked of it."""
        answers = client.ask_all([("task_status", {"id": task}) for task in self.asked])
        shown = {}
        for (task, request), answer in zip(self.asked.items(), answers):
            seen = answer["ok"]
            params = json.loads(request["params"])
            state = ("cancelled" if request.get("cancelled") else "blocked" if "dependencies" in request else
                     "queued" if "delay_ms" in request else "failed" if request["type"] == "fail" else "completed")
            if seen["state"] != state or seen["params"] != params or seen.get("key") != request.get("key"):
                raise SystemExit(f"the good folder is not good: {request} became {seen}")
            if state == "completed" and seen["result"] != params:
                raise SystemExit(f"the good folder is not good: {request} became {seen}")
            shown[task] = steady(seen)
        return shown

    def copy(self, name):
        target = self.folder / name
        shutil.copytree(self.folder / "data", target, ignore=shutil.ignore_patterns("skein.sock"))
        return target


def steady(seen):
    """What a task is shown with, without what changes while nothing happens to it."""
    shown = {name: value for name, value in seen.items() if name not in VOLATILE}
    if "waits" in shown:
        shown["waits"] = REMAINING.sub("", shown["waits"])
    return shown


def make(work, seed, tasks):
    """The folders by name, the expected tasks and the keys."""
    one = Maker(work / "one", seed)
    third = tasks // 3
    one.live(third)
    one.copy("older")
    node = one.open_node()
    with node.socket() as client:
        one.submit(client, third)
        one.settle(client)
        one.copy("midway")
        one.submit(client, tasks - 2 * third)
        one.settle(client)
        expected = one.expected(client)
    node.kill()
    one.copy("killed")
    node = one.open_node()
    with node.socket() as client:
        if one.expected(client) != expected:
            raise SystemExit("after SIGKILL the good folder differs")
    time.sleep(K_QUIET_S)
    node.stop()
    one.copy("closed")
    other = Maker(work / "two", seed + 1)
    other.live(third)
    other.copy("foreign")
    folders = {name: one.folder / name for name in ("older", "midway", "killed", "closed")}
    folders["foreign"] = other.folder / "foreign"
    return one.config, folders, expected, one.keys
