"""A real `skein up` and clients of its Unix socket and of REST, for judges that look at the program from outside: they
share no code with it, and every wait is bounded."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

K_START_LIMIT_S = 30
K_ANSWER_LIMIT_S = 30
K_ASKED_AT_ONCE = 100  # a client that does not read 16 MiB of answers is closed


class NodeGone(Exception):
    """The node ended, or the connection to it did, before it answered."""


class Socket:
    """The line protocol of docs/cli.md. Many requests may be under way; `ask_all` sends a hundred in one go."""

    def __init__(self, data, limit_s=K_ANSWER_LIMIT_S):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(limit_s)
        self.last_id = 0
        try:
            self.socket.connect(str(pathlib.Path(data) / "skein.sock"))
        except OSError as error:
            raise NodeGone(str(error)) from error
        self.buffer = b""
        self.hello = self.ask("hello", version=2)

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
                        answers[answer["id"]] = answer
        except OSError as error:
            raise NodeGone(str(error)) from error
        return [answers[first + i] for i in range(len(requests))]

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


class Node:
    """`skein up` on a data folder; its log is kept line by line."""

    def __init__(self, skein, data, config, options=(), env=None, prefix=()):
        self.skein, self.data = skein, pathlib.Path(data)
        words = [*prefix, skein, "up", config, "--data", data, *options]
        self.begun = time.monotonic()
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, env=dict(os.environ, **(env or {})))
        self.lines, self.port = [], None
        self.is_up, self.has_log = threading.Event(), threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """Until nobody holds the other end: helpers of the node do a moment longer than the node."""
        for raw in self.process.stderr:
            line = raw.decode(errors="replace")
            self.lines.append(line)
            if found := re.search(r"REST is at http://[^:]+:(\d+)", line):
                self.port = int(found[1])
                self.is_up.set()
            elif "goes on without HTTP" in line or "HTTP is off" in line:
                self.is_up.set()
        self.has_log.set()
        self.is_up.set()

    def started(self, limit_s=K_START_LIMIT_S):
        """True once it serves; False when it ended instead, or did neither in time (then `code` is None)."""
        self.is_up.wait(limit_s)
        if self.port is not None and self.process.poll() is None:
            return True
        if self.has_log.is_set():
            self.process.wait(limit_s)
        return False

    @property
    def code(self):
        return self.process.poll()

    def log(self):
        return "".join(list(self.lines))

    def says(self, text):
        return text in self.log()

    def token(self):
        return (self.data / "token").read_text().strip()

    def rest(self):
        return Rest(self.port, self.token())

    def socket(self):
        return Socket(self.data)

    def run(self, *words, limit_s=K_ANSWER_LIMIT_S):
        return subprocess.run([self.skein, *words, "--data", self.data], text=True, capture_output=True,
                              timeout=limit_s, check=False)

    def kill(self):
        """SIGKILL; returns when it and its helpers are gone, so that nobody holds the folder."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.has_log.wait(K_ANSWER_LIMIT_S)

    def stop(self, limit_s=K_ANSWER_LIMIT_S):
        """SIGTERM; its exit code, or None when it did not end in time (it is killed then)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
        self.kill()
        return code


def until(holds, limit_s=K_ANSWER_LIMIT_S, pause_s=0.005):
    end = time.monotonic() + limit_s
    while True:
        if found := holds():
            return found
        if time.monotonic() > end:
            return None
        time.sleep(pause_s)
