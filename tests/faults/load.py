"""Load through REST with an account outside of the node: what was asked for under which key, and what was answered."""
import random
import threading
import time

from lib.clients import NodeGone
from lib.waiting import until

K_PAD = 24_000  # so that segments of 1 MiB are full, and snapshots due, after some fifty tasks
K_ENDS_S = 20


class Account:
    def __init__(self):
        self.lock = threading.Lock()
        self.asked = {}   # key -> params
        self.known = {}   # key -> id, from answers that said so
        self.problems = []

    def new_key(self, params):
        with self.lock:
            key = f"k{len(self.asked)}"
            self.asked[key] = dict(params, key=key)
            return key

    def answered(self, key, task):
        with self.lock:
            if self.known.setdefault(key, task) != task:
                self.problems.append(f"{key} has two tasks: {self.known[key]} and {task}")


def submit(rest, account, key):
    """Submits the task of a key: True when it was accepted; anything but an error that is documented is a problem."""
    status, answer = rest.ask("POST", "/tasks", {"type": "echo", "key": key, "params": account.asked[key]})
    if status in (200, 201):
        account.answered(key, answer["id"])
        return True
    code = answer.get("error", {}).get("code")
    if status not in (429, 503, 504) or not answer["error"].get("message"):
        with account.lock:
            account.problems.append(f"a submit is answered {status} {code}: {answer}")
    return False


class Load:
    """Clients that submit until they are told to stop. Each begins a new task when the last was accepted, and else asks
    again with the same key."""

    def __init__(self, node, account, clients=2):
        self.node, self.account, self.ended = node, account, threading.Event()
        self.threads = [threading.Thread(target=self.client, args=(i,), daemon=True) for i in range(clients)]
        for each in self.threads:
            each.start()

    def client(self, number):
        dice, rest, key = random.Random(number), None, None
        while not self.ended.is_set():
            if self.node.code is not None:
                return
            try:
                rest = rest or self.node.rest()
                key = key or self.account.new_key({"pad": "x" * dice.randrange(K_PAD), "number": number})
                if submit(rest, self.account, key):
                    key = None
                else:
                    self.ended.wait(0.02)
            except NodeGone:
                rest = None
                self.ended.wait(0.01)

    def stop(self):
        self.ended.set()
        for each in self.threads:
            each.join()


def ask_in_doubt(node, account):
    """Sends again what was never answered, as a client does; True when each has an answer."""
    rest = node.rest()
    end = time.monotonic() + K_ENDS_S
    for key in [key for key in account.asked if key not in account.known]:
        if not until(lambda key=key: submit(rest, account, key), end - time.monotonic()):
            return False
    return True


def settle(node, account):
    """What is wrong with the tasks of the account, as the node has them now; each must have ended well."""
    if not ask_in_doubt(node, account):
        return [f"a submit is not taken: {account.problems[-1:]}"]
    wrong = []
    with node.socket() as client:
        until(lambda: client.ask("status")["ok"]["open_tasks"] == 0, K_ENDS_S)
        keys = list(account.known)
        by_id = client.ask_all([("task_status", {"id": account.known[key]}) for key in keys])
        for key, answer in zip(keys, by_id):
            seen = answer.get("ok", answer)
            if seen.get("state") != "completed" or seen.get("result") != account.asked[key]:
                wrong.append(f"{key}, {account.known[key]}: {str(seen)[:300]}")
        tasks, error = client.all_tasks()
        if error:
            return wrong + [f"the list is answered {error}"]
        found = [each["id"] for each in tasks]
    if sorted(found) != sorted(account.known.values()):
        extra, gone = set(found) - set(account.known.values()), set(account.known.values()) - set(found)
        wrong.append(f"the list has {len(found)} tasks, the account {len(account.known)}: {len(extra)} that nobody "
                     f"asked for {list(extra)[:2]}, {len(gone)} missing {list(gone)[:2]}")
    return wrong
