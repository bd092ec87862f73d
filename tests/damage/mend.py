"""What the words of a refusal lead to: the remedies are tried on the damaged folder, and a node that then starts must
serve nothing wrong, say that something is lost if it is, and keep what it has when new tasks come."""
import re
import subprocess

from judge import LOUD, Judge, Verdict, copy_folder
from lib.clients import NodeGone
from lib.node import Node
from lib.places import SKEIN

K_TOOL_LIMIT_S = 60
LOSS = re.compile(r"\b(?:lost|loss|missing|dropped|gone|damaged|not in|unreadable|forgot\w*|nothing could)\b", re.I)
ENDED = ("completed", "failed", "cancelled")


def plausible(record, seen):
    """A task that was taken back to an earlier state runs again, but it is the same task, with the same end."""
    for name in ("id", "type", "params", "key", "swarm"):
        if record.get(name) != seen.get(name):
            return False
    if record["state"] in ENDED and seen["state"] in ENDED and record["state"] != "cancelled":
        return record["state"] == seen["state"] and record.get("result") == seen.get("result")
    return True


class Mender:
    def __init__(self, judge, accepts_loss):
        self.judge, self.accepts_loss = judge, accepts_loss

    def remedies(self, data):
        """Pairs of a name and the command lines, without `up` itself, and the options of `up`."""
        yield "archive rebuild", [[SKEIN, "archive", "rebuild", "--data", data]], ()
        yield "log repair", [[SKEIN, "log", "repair", data / "journal", "--yes"]], ()
        yield "log repair and archive rebuild", [[SKEIN, "log", "repair", data / "journal", "--yes"],
                                                 [SKEIN, "archive", "rebuild", "--data", data]], ()
        if self.accepts_loss:
            yield "up --accept-loss", [], ("--accept-loss",)
            yield "log repair and up --accept-loss", [[SKEIN, "log", "repair", data / "journal", "--yes"]], \
                ("--accept-loss",)

    def mend(self, damaged, data):
        """The first fault of any remedy, and how many led to a node that serves."""
        served = 0
        for name, commands, options in self.remedies(data):
            copy_folder(damaged, data)
            said = ""
            for words in commands:
                done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=K_TOOL_LIMIT_S,
                                      stdin=subprocess.DEVNULL)
                said += done.stdout + done.stderr
                if done.returncode < 0:
                    return Verdict("mend_crash", f"{name} ended with {done.returncode}: {said}"), served
            verdict = self.serve(data, options, said)
            if verdict is None:
                continue
            served += 1
            if verdict.kind != "mended":
                return Verdict(verdict.kind, f"after {name} ({said.strip()[-600:]}): {verdict.text}"), served
            if options:
                again = self.serve(data, (), said, is_second=True)
                if again is None or again.kind != "mended":
                    return Verdict("mend_twice", f"after {name}, at the next start: {again}"), served
        return None, served

    def serve(self, data, options, said, is_second=False):
        """None when it does not start, which is its right."""
        node = Node(self.judge.config.parent, None, *options, data=data, file=self.judge.config)
        try:
            if not node.started():
                if node.code is None or node.code < 0:
                    return Verdict("mend_crash", f"{node.code}: {node.log()}")
                return None
            with node.socket() as client:
                return self.of_service(client, node, said, is_second)
        except NodeGone as gone:
            return Verdict("mend_crash", f"{gone}: {node.log()[-800:]}")
        finally:
            node.kill()

    def of_service(self, client, node, said, is_second):
        first, bad = self.look(client)
        if bad:
            return bad
        lost = len(self.judge.expected) - len(first)
        if lost and not is_second and not LOUD.search(node.log()) and not LOSS.search(said):
            return Verdict("mend_silent", f"{lost} tasks are lost and nothing says so")
        if bad := Judge.takes_new(self.judge, client, node):
            return Verdict("mend_" + bad.kind, bad.text)
        second, bad = self.look(client)
        if bad:
            return bad
        if gone := first - second:
            return Verdict("mend_overwrote", f"{len(gone)} tasks were there until new ones came, {sorted(gone)[0]} "
                                             "for one")
        return Verdict("mended", f"{lost} lost")

    def look(self, client):
        """Ids that are served, and what is served wrong."""
        there = set()
        for (task, record), answer in zip(self.judge.expected.items(), client.ask_all(self.judge.questions)):
            if "ok" not in answer:
                continue
            if not plausible(record, answer["ok"]):
                return there, Verdict("mend_wrong", f"{task}: {str(answer['ok'])[:300]}, was {str(record)[:300]}")
            there.add(task)
        return there, None
