"""What the clients asked for and were told, kept outside of the node, and the judgement of what the node has in the
end."""
import threading

ENDED = ("completed", "failed", "cancelled")
# Answers that mean 'not done' or 'perhaps done'; any other error to a request that makes sense is a fault.
REFUSALS = {"overloaded", "stopped", "unknown", "queue_full", "archive_behind", "not_leader"}
TOO_LATE = {"already_finished", "dependency_failed", "wrong_state"}


def result_of(request):
    """What an agent of ours answers."""
    params = request["params"]
    return params if request["type"] == "echo" else {request["type"]: params["number"]}


class Account:
    def __init__(self):
        self.lock = threading.Lock()
        self.tasks = {}       # id -> the request
        self.keys = {}        # key -> id, once it is known
        self.waiting = {}     # key -> request whose answer was lost
        self.doubts = 0       # submits without a key whose answer was lost
        self.cancels = {}     # id -> True: answered 'cancelled', False: sent and not answered
        self.outcomes = {}    # id -> (state, result) as somebody saw it
        self.problems = []
        self.counts = {}
        self.order = []

    def problem(self, text):
        with self.lock:
            self.problems.append(text)

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def sent(self, request):
        """Before it goes out: from now on it may be there."""
        with self.lock:
            if "key" in request:
                self.waiting.setdefault(request["key"], request)
            else:
                self.doubts += 1

    def refused(self, request):
        """Nothing was done; one with a key stays, and is sent again."""
        with self.lock:
            if "key" not in request:
                self.doubts -= 1

    def accepted(self, request, task):
        with self.lock:
            if "key" in request:
                first = self.keys.setdefault(request["key"], task)
                if first != task:
                    self.problems.append(f"key {request['key']} has two tasks: {first} and {task}")
                request = self.waiting.pop(request["key"], request)
            else:
                self.doubts -= 1
            if task not in self.tasks:
                self.order.append(task)
            self.tasks.setdefault(task, request)

    def saw(self, seen):
        """A task as some client was shown it: whoever saw an end saw the only one."""
        if seen.get("state") not in ENDED:
            return
        end = (seen["state"], seen.get("result"))
        with self.lock:
            first = self.outcomes.setdefault(seen["id"], end)
            if first != end:
                self.problems.append(f"{seen['id']} ended as {first} and as {end}")

    def cancel_sent(self, task):
        with self.lock:
            self.cancels.setdefault(task, False)

    def cancelled(self, task):
        with self.lock:
            self.cancels[task] = True

    def some(self, dice):
        """A task somebody was told of, mostly a recent one."""
        with self.lock:
            recent = self.order[-200:] if dice.random() < 0.8 else self.order
            return dice.choice(recent) if recent else None

    def judge(self, shown, listed):
        """What is wrong with the node's tasks: `shown` has each known one by id, `listed` all of the list's ids."""
        wrong = []
        for task, request in self.tasks.items():
            seen = shown.get(task)
            if seen is None or "state" not in seen:
                wrong.append(f"lost: {task}, {request}: {seen}")
            elif text := self.fault_of(task, request, seen, shown):
                wrong.append(f"{text}: {task}, {request}: {seen}")
        extra = set(listed) - self.tasks.keys()
        if len(extra) > self.doubts:
            wrong.append(f"{len(extra)} tasks nobody was told of, {self.doubts} submits are in doubt: "
                         f"{sorted(extra)[:3]}")
        if len(set(listed)) != len(listed):
            wrong.append(f"the list has {len(listed) - len(set(listed))} tasks twice")
        if missing := self.tasks.keys() - set(listed):
            wrong.append(f"{len(missing)} tasks are not in the list, {sorted(missing)[0]} for one")
        return wrong

    def fault_of(self, task, request, seen, shown):
        state, result = seen["state"], seen.get("result")
        if state not in ENDED:
            return "not ended"
        if task in self.outcomes and self.outcomes[task] != (state, result):
            return f"ended as {self.outcomes[task]} before"
        if self.cancels.get(task) and state != "cancelled":
            return "was answered as cancelled"
        if state == "cancelled" and task not in self.cancels:
            return "nobody cancelled it"
        if state == "completed" and result != result_of(request):
            return "a wrong result"
        if any("lease" in each.get("message", "") for each in seen.get("failed_attempts", [])):
            return "lost its lease, though no agent was silent: at most the node was paused"
        if state == "failed" and not self.may_fail(request, seen, shown):
            return "should not have failed"
        return None

    @staticmethod
    def may_fail(request, seen, shown):
        if seen.get("ending", "").startswith("deadline"):
            return "deadline_ms" in request
        if seen.get("ending") == "dependency_failed":
            return any(shown.get(each, {}).get("state") != "completed" for each in request.get("dependencies", []))
        return False
