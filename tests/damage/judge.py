"""Starts a node on a damaged folder and says whether what it does is right.

A node may serve everything as it was, or say what it cannot serve: by not starting, with words that name the file and
what to do, or by answering a single task with an error that says so. It may never serve what is wrong, and never miss
something without a word."""
import collections
import json
import pathlib
import re
import shutil

from good_folder import steady
from lib.clients import NodeGone, Rest
from lib.node import Node
from lib.waiting import until

K_FRESH_TASKS = 12
K_START_LIMIT_S = 20
K_TOLD_S = 2  # what a client is told of is soon in the log, too
DOCUMENTED_CODES = {1, 8, 9, 10, 11}  # docs/cli.md; 10 and 1 are those of a start that failed
ADVICE = re.compile(r"skein (?:log|archive|restore|up|backup)\b|--accept-loss|remove it|chmod|backup|put .* back", re.I)
LOUD = re.compile(r"^\S+ (?:warning|error) ", re.M)
# Nothing is kept in these: damage of them may not keep a node from starting.
HOLD_NOTHING = ("archive.sqlite-shm", "archive.sqlite-seal", "node.lock", "journal/lock", "dump-fatal.txt")
# The only copy of nothing: what is in it is also in the journal. An earlier WAL is another matter, it undoes pages.
COPY_ONLY = "archive.sqlite-wal"
GOOD = ("right", "refused", "refused_mended", "reported")

Verdict = collections.namedtuple("Verdict", "kind text")


class Judge:
    def __init__(self, config, expected, keys):
        self.config, self.expected, self.keys = config, expected, keys
        self.questions = [("task_status", {"id": task}) for task in expected]

    def judge(self, data, name, is_foreign=False):
        verdict = self.judge_start(data, name)
        if verdict.kind in ("refused", "reported") and name == COPY_ONLY and not is_foreign:
            return Verdict("false_alarm", f"the journal has all of it: {verdict.text}")
        return verdict

    def judge_start(self, data, name):
        node = Node(self.config.parent, data=data, file=self.config)
        try:
            if not node.started(K_START_LIMIT_S):
                return self.of_refusal(node, data, name)
            return self.of_service(node)
        except NodeGone as gone:
            return self.of_end(node, gone)
        finally:
            node.kill()

    def of_refusal(self, node, data, name):
        if node.code is None:
            return Verdict("hang", node.log())
        if node.code < 0 or "fatal" in node.log():
            return Verdict("crash", f"ended with {node.code}: {node.log()}")
        return refusal(node.code, node.log(), data, name)

    def of_end(self, node, gone):
        until(lambda: node.code is not None, 2)
        if node.code is not None and node.code >= 0 and LOUD.search(node.log()):
            return Verdict("stopped", f"served, then ended with {node.code}: {node.log()}")
        return Verdict("crash", f"{gone}, {node.code}: {node.log()}")

    def of_service(self, node):
        with node.socket() as client:
            first = self.look(client, node)
            if first.kind not in GOOD:
                return first
            for check in (self.keys_hold, self.takes_new, self.asks_for_token):
                bad = check(client, node)
                if bad:
                    return bad
            again = self.look(client, node)
            if again.kind not in GOOD:
                return Verdict("overwritten" if first.kind == "right" else again.kind, again.text)
            return first if again.kind == "right" else again

    def look(self, client, node):
        """Asks for every known task by its id, and through the list."""
        missing, reported = [], []
        for (task, record), answer in zip(self.expected.items(), client.ask_all(self.questions)):
            if "ok" in answer:
                seen = steady(answer["ok"])
                if seen != record:
                    return Verdict("wrong", difference(task, record, seen))
            elif answer["error"]["code"] == "task_not_found":
                missing.append(task)
            else:
                reported.append(answer["error"])
        if missing:
            is_told = until(lambda: LOUD.search(node.log()), K_TOLD_S)
            return Verdict("lost_told" if is_told else "lost_silent",
                           f"{len(missing)} of {len(self.expected)} tasks are not found, {missing[0]} for one; "
                           f"log: {loud_lines(node)}")
        tasks, error = client.all_tasks()
        listed = {each["id"]: each["state"] for each in tasks}
        unlisted = self.expected.keys() - listed.keys()
        if unlisted and not error and not reported:
            return Verdict("unlisted", f"{len(unlisted)} tasks are in no list, {sorted(unlisted)[0]} for one")
        wrong = [task for task in self.expected if task in listed and listed[task] != self.expected[task]["state"]]
        if wrong:
            return Verdict("wrong", f"the list says {listed[wrong[0]]} of {self.expected[wrong[0]]}")
        if reported or error:
            if not until(lambda: LOUD.search(node.log()), K_TOLD_S):
                return Verdict("untold", f"tasks answer {(reported or [error])[0]}, the log says nothing")
            return Verdict("reported", f"{len(reported)} tasks: {json.dumps((reported or [error])[0])}")
        return Verdict("right", loud_lines(node))

    def keys_hold(self, client, node):
        """A key that was used finds its task, and makes no second one."""
        pairs = list(self.keys.items())[::7]
        answers = client.ask_all([("task_submit", {"type": "echo", "key": key, "swarm": swarm})
                                  for (swarm, key), _ in pairs])
        for ((swarm, key), task), answer in zip(pairs, answers):
            if "ok" in answer and answer["ok"]["id"] != task:
                return Verdict("key_twice", f"{swarm}/{key} was {task}, is {answer['ok']}; log: {loud_lines(node)}")
        return None

    def takes_new(self, client, _):
        """New tasks run and are archived; what they replace is seen when the old ones are asked for again."""
        answers = client.ask_all([("task_submit", {"type": "echo", "params": json.dumps(i)})
                                  for i in range(K_FRESH_TASKS)])
        refused = [each["error"] for each in answers if "error" in each]
        if refused:
            return Verdict("stuck", f"new tasks are refused: {refused[0]}")
        ids = [each["ok"]["id"] for each in answers]
        waits = client.ask_all([("task_wait", {"id": task, "timeout_ms": 10_000}) for task in ids])
        for i, answer in enumerate(waits):
            seen = answer.get("ok", {})
            task = seen.get("task", seen)
            if task.get("state") != "completed" or task.get("result") != i:
                return Verdict("stuck", f"a new task ends as {answer}")
        until(lambda: client.ask("status")["ok"]["finished_tasks"] == 0, 0.02)
        return None

    @staticmethod
    def asks_for_token(_, node):
        """Whatever became of the token: none, or a wrong one, is never let in."""
        for token in ("", "0" * 64):
            rest = Rest(node.port, token)
            status, _ = rest.ask("GET", "/status")
            rest.close()
            if status != 401:
                return Verdict("open_door", f"the token '{token}' is answered {status}")
        return None


def refusal(code, log, data, name):
    """Is it said in words that help: which file or folder, and what to do?"""
    text = log.replace(str(data), "DATA")
    if name.startswith(HOLD_NOTHING):
        return Verdict("false_alarm", f"{name} holds nothing, exit {code}: {text}")
    if code not in DOCUMENTED_CODES:
        return Verdict("bad_words", f"exit code {code}: {text}")
    # Damage of one file may show as a disagreement with another; either must be named.
    named = [pathlib.PurePosixPath(name).name, "archive.sqlite", "DATA/journal", "DATA/token", "DATA/mcp.key"]
    if not any(each in text for each in named):
        return Verdict("bad_words", f"no file is named, exit {code}: {text}")
    if not ADVICE.search(text):
        return Verdict("bad_words", f"nothing says what to do, exit {code}: {text}")
    return Verdict("refused", text)


def loud_lines(node):
    return [line.strip() for line in node.lines if LOUD.match(line)][:4]


def difference(task, record, seen):
    fields = [name for name in record.keys() | seen.keys() if record.get(name) != seen.get(name)]
    name = sorted(fields)[0]
    return f"{task}: {name} is {str(seen.get(name))[:200]}, was {str(record.get(name))[:200]}"


def copy_folder(source, target):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
