"""The ways into a node, each with `submit`, `cancel`, `status` and `wait`. They return the answer's fields, raise
Refused with the node's error code, or NodeGone when there was no answer."""
import json
import queue
import re
import subprocess

from lib.clients import NodeGone, Rest, Socket
from lib.mcp import HttpClient, StdioClient

LEGACY = "2025-11-25"
K_CLI_LIMIT_S = 60


class Refused(Exception):
    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


class OverRest:
    name = "rest"

    def __init__(self, place):
        self.rest = Rest(place.port, place.token())

    def ask(self, method, path, body=None):
        status, answer = self.rest.ask(method, path, body)
        if status >= 400:
            error = answer.get("error") or {}
            raise Refused(error.get("code", str(status)), str(answer))
        return answer

    def submit(self, request):
        return self.ask("POST", "/tasks", request)

    def cancel(self, task):
        return self.ask("POST", f"/tasks/{task}/cancel", {"reason": "test"})

    def status(self, task):
        return self.ask("GET", f"/tasks/{task}")

    def wait(self, task, limit_ms):
        return self.ask("POST", f"/tasks/{task}/wait", {"timeout_ms": limit_ms})["task"]

    def close(self):
        self.rest.close()


class OverSocket:
    name = "socket"

    def __init__(self, place):
        self.socket = Socket(place.data)

    def ask(self, op, **params):
        answer = self.socket.ask(op, **params)
        if "error" in answer:
            raise Refused(answer["error"]["code"], str(answer["error"]))
        return answer["ok"]

    def submit(self, request):
        return self.ask("task_submit", **dict(request, params=json.dumps(request["params"])))

    def cancel(self, task):
        return self.ask("task_cancel", id=task, reason="test")

    def status(self, task):
        return self.ask("task_status", id=task)

    def wait(self, task, limit_ms):
        answer = self.ask("task_wait", id=task, timeout_ms=limit_ms)
        return answer.get("task", answer)

    def close(self):
        self.socket.close()


class OverMcp:
    """tools/call of a client that was made by a subclass."""

    def call(self, tool, arguments):
        try:
            result = self.client.call(tool, arguments)
        except (OSError, AssertionError, ValueError, queue.Empty, KeyError, EOFError) as error:
            raise NodeGone(repr(error)) from error
        except Exception as error:  # http.client has several for a connection that ended
            if type(error).__module__.startswith("http"):
                raise NodeGone(repr(error)) from error
            raise
        if result.get("isError"):
            text = result["content"][0]["text"]
            code = re.search(r"\[(\w+)(?:,[^\]]*)?\]\s*$", text)
            raise Refused(code[1] if code else "?", text)
        return result["structuredContent"]

    def submit(self, request):
        return self.call("task_submit", request)

    def cancel(self, task):
        return self.call("task_cancel", {"id": task})

    def status(self, task):
        answer = self.call("task_status", {"id": task})
        return answer.get("task", answer)

    def wait(self, task, limit_ms):
        answer = self.call("task_wait", {"id": task, "timeout_ms": limit_ms})
        return answer.get("task", answer)

    def close(self):
        pass


class OverHttpModern(OverMcp):
    name = "mcp_http"

    def __init__(self, place):
        self.client = HttpClient(f"http://127.0.0.1:{place.port}/mcp", place.token())


class OverHttpLegacy(OverMcp):
    """One session for its whole life: its id outlives restarts of the node."""
    name = "mcp_legacy"

    def __init__(self, place):
        self.client = HttpClient(f"http://127.0.0.1:{place.port}/mcp", place.token())
        try:
            self.client.initialize(LEGACY)
        except (AssertionError, KeyError, ValueError) as error:
            raise NodeGone(repr(error)) from error


class OverStdio(OverMcp):
    """A `skein mcp` of its own, attached to the node."""
    name = "mcp_stdio"

    def __init__(self, place):
        self.client = StdioClient([place.skein, "mcp", place.config, "--data", place.data], log=subprocess.DEVNULL)

    def close(self):
        try:
            self.client.process.stdin.close()
        except OSError:
            pass
        self.client.process.kill()
        self.client.process.wait()


class OverCli:
    """A process per request. What it prints on standard error has no code, so the exit code stands for it."""
    name = "cli"
    CODES = {2: "invalid", 3: "task_not_found", 7: "overloaded", 8: "config"}

    def __init__(self, place):
        self.place = place

    def run(self, *words):
        done = subprocess.run([self.place.skein, *words, "--data", self.place.data, "--json"], text=True, check=False,
                              capture_output=True, timeout=K_CLI_LIMIT_S)
        if done.returncode == 0 or (done.returncode == 6 and done.stdout):
            return json.loads(done.stdout)
        if done.returncode in (1, 4, 5):
            raise NodeGone(done.stderr)
        raise Refused(self.CODES.get(done.returncode, f"exit {done.returncode}"), done.stderr)

    def submit(self, request):
        words = ["submit", request["type"], "--params", json.dumps(request["params"])]
        for field, option in (("key", "--key"), ("swarm", "--swarm"), ("attempts", "--attempts"),
                              ("delay_ms", "--delay-ms"), ("deadline_ms", "--deadline-ms"),
                              ("priority", "--priority")):
            if field in request:
                words += [option, str(request[field])]
        for each in request.get("dependencies", []):
            words += ["--after", each]
        return self.run(*words)

    def cancel(self, task):
        return self.run("task", "cancel", task)

    def status(self, task):
        return self.run("task", "show", task)

    def wait(self, task, limit_ms):
        return self.run("task", "wait", task, "--timeout-ms", str(limit_ms))

    def close(self):
        pass


ALL = [OverRest, OverSocket, OverHttpModern, OverHttpLegacy, OverStdio, OverCli]
