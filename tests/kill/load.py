"""A client that submits, asks, waits and cancels over one way in, until it is told to end, whatever becomes of the
node."""
import http.client
import random
import threading
import time

from account import REFUSALS, TOO_LATE
from lib.clients import NodeGone
from ways_in import Refused

K_PAUSE_S = 0.05
# Agents are killed all the time, and each crash costs an attempt: with so many no task may run out of them.
K_ATTEMPTS = 100


def new_request(dice, account, way, number):
    kind = dice.random()
    request = {"type": "echo", "params": {"number": number, "way": way}, "attempts": K_ATTEMPTS}
    if kind < 0.2:
        request |= {"type": "work", "swarm": "work", "params": {"number": number, "ms": dice.choice([0, 5, 30, 300])}}
    elif kind < 0.3:
        request |= {"type": "once", "swarm": "once", "params": {"number": number}}
    if dice.random() < 0.8:
        request["key"] = f"{way}-{number}"
    kind = dice.random()
    if kind < 0.15:
        request["delay_ms"] = dice.randrange(1, 1500)
    elif kind < 0.25:
        request["deadline_ms"] = dice.randrange(50, 3000)
    elif kind < 0.4:
        first = account.some(dice)
        if first:
            request["dependencies"] = [first]
    if dice.random() < 0.2:
        request["priority"] = dice.choice(["low", "high", "critical"])
    return request


class Client(threading.Thread):
    def __init__(self, place, account, way, seed):
        super().__init__(daemon=True)
        self.place, self.account, self.way = place, account, way
        self.dice, self.ended, self.door = random.Random(seed), threading.Event(), None
        self.number, self.seed, self.again = 0, seed, None
        self.mine = []

    def run(self):
        while not self.ended.is_set():
            if not self.place.is_up.wait(0.05):
                continue
            try:
                self.door = self.door or self.way(self.place)
                self.one_thing()
            except (NodeGone, OSError, http.client.HTTPException):
                self.account.count(f"{self.way.name}: no answer")
                self.shut()
                self.ended.wait(K_PAUSE_S)
            except Exception as error:  # a client that dies would look like one with nothing to say
                self.account.problem(f"{self.way.name}: {error!r}")
                self.shut()
        self.shut()

    def shut(self):
        if self.door:
            self.door.close()
        self.door = None

    def one_thing(self):
        kind = self.dice.random()
        if self.again or kind < 0.6:
            self.submit()
        elif kind < 0.7:
            self.cancel()
        elif kind < 0.8:
            self.look(self.door.status)
        else:
            self.look(lambda task: self.door.wait(task, 300))

    def submit(self):
        """A new one, one whose answer was lost, or one again that is known: as it was, or with other params."""
        request = self.again
        if request is None and self.mine and self.dice.random() < 0.1:
            request = dict(self.dice.choice(self.mine))
            request.pop("dependencies", None)
            if self.dice.random() < 0.5:
                self.reuse(dict(request, params={"number": -1, "ms": 0}))
                return
        if request is None:
            self.number += 1
            request = new_request(self.dice, self.account, f"{self.way.name}{self.seed}", self.number)
        self.again = request if "key" in request else None
        self.account.sent(request)
        try:
            answer = self.door.submit(request)
        except Refused as refused:
            self.on_refusal(request, refused)
            return
        self.again = None
        self.account.accepted(request, answer["id"])
        self.account.count(f"{self.way.name}: accepted")
        if "key" in request:
            self.mine = (self.mine + [request])[-50:]

    def reuse(self, request):
        """The key of a known task for other work: refused, with the name of that task."""
        try:
            answer = self.door.submit(request)
            self.account.problem(f"{self.way.name}: a used key is taken for other params: {request} as {answer}")
        except Refused as refused:
            text = str(refused)
            if refused.code == "key_reused" or "which has other params" in text:
                task = self.account.keys.get(request["key"])
                if task and task not in text:
                    self.account.problem(f"{self.way.name}: {task} has the key, and the refusal is {text}")
            elif refused.code not in REFUSALS:
                self.account.problem(f"{self.way.name}: a used key is answered {refused}: {request}")
            self.account.count(f"{self.way.name}: refused, {refused.code}")

    def on_refusal(self, request, refused):
        if refused.code == "dependency_failed" or self.is_late_of_cli(request, refused):
            with self.account.lock:
                self.account.waiting.pop(request.get("key"), None)
            self.again = None
        elif refused.code not in REFUSALS:
            self.account.problem(f"{self.way.name}: a submit is answered {refused}: {request}")
            self.again = None
        if refused.code != "unknown":
            self.account.refused(request)
        self.account.count(f"{self.way.name}: refused, {refused.code}")
        self.ended.wait(K_PAUSE_S)

    @staticmethod
    def is_late_of_cli(request, refused):
        return "dependencies" in request and "which it waits for" in str(refused)

    def cancel(self):
        task = self.account.some(self.dice)
        if task is None or self.dice.random() < 0.5:
            return
        self.account.cancel_sent(task)
        try:
            answer = self.door.cancel(task)
        except Refused as refused:
            if refused.code not in REFUSALS | TOO_LATE:
                self.account.problem(f"{self.way.name}: a cancel is answered {refused}")
            return
        if answer.get("state") == "cancelled":
            self.account.cancelled(task)

    def look(self, ask):
        task = self.account.some(self.dice)
        if task is None:
            return
        try:
            self.account.saw(ask(task))
        except Refused as refused:
            if refused.code not in REFUSALS:
                self.account.problem(f"{self.way.name}: a look at {task} is answered {refused}")
        time.sleep(0.001)
