"""Clients of a node's Unix socket and of REST. Every wait is bounded."""
import http.client
import json
import pathlib
import socket

K_ANSWER_LIMIT_S = 30
K_ASKED_AT_ONCE = 100  # a client that does not read 16 MiB of answers is closed


class NodeGone(Exception):
    """The node ended, or the connection to it did, before it answered."""


class Socket:
    """The line protocol of docs/cli.md. Many requests may be under way; `ask_all` sends a hundred in one go."""

    def __init__(self, data, limit_s=K_ANSWER_LIMIT_S, token=None):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(limit_s)
        self.last_id = 0
        try:
            self.socket.connect(str(pathlib.Path(data) / "skein.sock"))
        except OSError as error:
            raise NodeGone(str(error)) from error
        self.buffer = b""
        self.hello = self.ask("hello", version=2, **({"token": token} if token else {}))

    def ask(self, op, **params):
        return self.ask_all([(op, params)])[0]

    def ask_all(self, requests):
        """The answers in the order of the requests; each has `ok` or `error`."""
        answers = []
        for begin in range(0, len(requests), K_ASKED_AT_ONCE):
            answers += self.ask_some(requests[begin:begin + K_ASKED_AT_ONCE])
        return answers

    def ask_some(self, requests):
        first, lines = self.last_id + 1, []
        for op, params in requests:
            self.last_id += 1
            lines.append(json.dumps({"id": self.last_id, "op": op, "params": params}))
        answers = {}
        try:
            self.socket.sendall(("\n".join(lines) + "\n").encode())
            while len(answers) < len(requests):
                for answer in self.lines():
                    if first <= answer.get("id", 0) <= self.last_id:  # another id is that of a stream
                        answers.setdefault(answer["id"], answer)  # of a stream, the first
        except OSError as error:
            raise NodeGone(str(error)) from error
        return [answers[first + i] for i in range(len(requests))]

    def all_tasks(self, limit=1000):
        """Every task of the list, page by page, and the error that ended it, if one did."""
        tasks, cursor = [], None
        while True:
            page = self.ask("task_list", limit=limit, **({"cursor": cursor} if cursor else {}))
            if "error" in page:
                return tasks, page["error"]
            tasks += page["ok"]["tasks"]
            cursor = page["ok"].get("cursor")
            if not cursor:
                return tasks, None

    def lines(self):
        got = self.socket.recv(1 << 18)
        if not got:
            raise NodeGone("the node closed its socket")
        *whole, self.buffer = (self.buffer + got).split(b"\n")
        return [json.loads(line) for line in whole]

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Rest:
    """A kept connection to /api/v1."""

    def __init__(self, port, token, limit_s=K_ANSWER_LIMIT_S):
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=limit_s)

    def ask(self, method, path, body=None):
        """Status and answer."""
        try:
            self.connection.request(method, "/api/v1" + path, None if body is None else json.dumps(body), self.headers)
            response = self.connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            raise NodeGone(repr(error)) from error
        try:
            return response.status, json.loads(text)
        except ValueError:
            return response.status, {"error": {"code": "no_json", "message": text.decode(errors="replace")}}

    def close(self):
        self.connection.close()
