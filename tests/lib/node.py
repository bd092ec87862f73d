"""A real `skein up`, seen from outside: it is started, asked, paused, stopped, killed and started again.

A thread reads the log while the node runs, so that the node never waits for a test. Everything else may be called from
any thread, but a node is started and ended by one thread at a time. Every wait has a limit."""
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from lib import processes
from lib.clients import Rest, Socket
from lib.places import LOOPBACK, SKEIN
from lib.waiting import K_LIMIT_S, until

UP = " is up: "  # in the log, before the lines that say where it listens


class Node:
    """In a folder: its config is skein.toml there and its data is in data/, unless `file` and `data` say otherwise. A
    `config` is written to the file; where there is no file, the node starts without one. `http` and `tcp` are addresses
    (LOOPBACK: a free port, which it keeps when it is started again), `settings` go to --set, `options` to `skein up`,
    `env` is added to the environment, and everything else goes to Popen. Nothing runs before `start`, `started` or `up`
    is called, or a `with` block begun; the block ends with `kill`."""

    def __init__(self, folder, config=None, *options, data=None, file=None, http=None, tcp=None, settings=(),
                 program=SKEIN, env=None, **popen):
        self.folder, self.program = pathlib.Path(folder), program
        self.data = pathlib.Path(data) if data else self.folder / "data"
        self.file = pathlib.Path(file) if file else self.folder / "skein.toml"
        if config is not None:
            self.file.write_text(config)
        self.options, self.http, self.tcp, self.settings = options, http, tcp, settings
        self.popen = {"cwd": self.folder, "env": os.environ | (env or {})} | popen
        self.process, self.lines, self.has_log, self.ports = None, [], threading.Event(), {}
        self.past = []  # the log of its earlier lives

    def words(self):
        """The command line."""
        words = [self.program, "up", *([self.file] if self.file.exists() else []), "--data", self.data]
        for option, address in (("--http", self.http), ("--tcp", self.tcp)):
            words += [option, address] if address else []
        for each in self.settings:
            words += ["--set", each]
        return [*words, *self.options]

    def start(self):
        """Starts it, for the first time or again, and does not wait. It keeps the port that it was given."""
        if self.http == LOOPBACK and "http" in self.ports:
            self.http = f"127.0.0.1:{self.ports['http']}"
        self.past += self.lines
        self.lines, self.has_log, self.ports = [], threading.Event(), {}
        self.process = subprocess.Popen(self.words(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, **self.popen)
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines, self.has_log), daemon=True).start()

    @staticmethod
    def read(stream, lines, has_log):
        """Until nobody holds the other end: helpers of the node do a moment longer than the node."""
        with stream:
            for raw in stream:
                lines.append(raw.decode(errors="replace"))
        has_log.set()

    def started(self, limit_s=K_LIMIT_S):
        """True once it serves; False when it ended instead, or did neither in time (then `code` is None). Starts it, if
        nobody has."""
        if self.process is None:
            self.start()
        until(lambda: self.says(UP) or self.code is not None, limit_s)
        if self.code is not None:
            self.has_log.wait(limit_s)
        return self.code is None and self.says(UP)

    def up(self, limit_s=K_LIMIT_S):
        """Starts it, unless it runs. Itself once it serves; fails with its log when it does not."""
        if self.process is None or self.code is not None:
            self.start()
        if not self.started(limit_s):
            self.kill()
            raise AssertionError(f"the node did not come up, exit code {self.code}:\n{self.log()}")
        return self

    def __enter__(self):
        """When it serves, or has ended instead."""
        self.started()
        return self

    def __exit__(self, *_):
        self.kill()

    # What can be seen of it.

    @property
    def pid(self):
        return self.process.pid

    @property
    def code(self):
        """Its exit code; None while it runs, and before."""
        return self.process and self.process.poll()

    def log(self):
        return "".join(list(self.lines))

    def says(self, text):
        return any(text in line for line in list(self.lines))

    def find(self, pattern, limit_s=K_LIMIT_S):
        """What the log has; waits for it."""
        until(lambda: re.search(pattern, self.log()) or self.has_log.is_set(), limit_s)
        found = re.search(pattern, self.log())
        assert found, f"no {pattern!r} in the log, exit code {self.code}:\n{self.log()}"
        return found

    def port_of(self, name, pattern):
        if name not in self.ports:
            self.ports[name] = int(self.find(pattern)[1])
        return self.ports[name]

    @property
    def port(self):
        """Of HTTP."""
        return self.port_of("http", r"MCP is at http://[^:]+:(\d+)/mcp")

    @property
    def tcp_port(self):
        return self.port_of("tcp", r"is at tcp [^:]+:(\d+)")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def token(self):
        """The first token, as its file has it now."""
        return (self.data / "token").read_text().strip()

    def descriptors(self):
        return sorted(int(each) for each in os.listdir(f"/proc/{self.pid}/fd"))

    def helpers(self, name=None):
        """Pids of the live OS processes below it, those of one name if that is given."""
        table = processes.table()
        return [pid for pid in processes.below(self.pid, table)
                if not table[pid].is_dead and name in (None, table[pid].name)]

    # What can be asked of it.

    def run(self, *words, limit_s=K_LIMIT_S, **more):
        """A verb of the command line: its exit code, stdout and stderr."""
        return subprocess.run([self.program, *words, "--data", self.data], text=True, capture_output=True,
                              timeout=limit_s, check=False, **more)

    def ok(self, *words):
        """What a verb prints; it must succeed."""
        done = self.run(*words)
        assert done.returncode == 0, f"skein {' '.join(map(str, words))}: {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def json(self, *words):
        """What a verb prints with --json; its `error` and `code` when that is nothing."""
        done = self.run(*words, "--json")
        return json.loads(done.stdout) if done.stdout.strip() else {"error": done.stderr, "code": done.returncode}

    def submit(self, kind, *words):
        """The id of the task; empty when it was refused."""
        return self.json("submit", kind, *words).get("id", "")

    def show(self, task):
        return self.json("task", "show", task)

    def state(self, task):
        return self.show(task).get("state")

    def ended(self, task):
        """The task, once it has ended."""
        self.run("task", "wait", task)
        return self.show(task)

    def rest(self):
        return Rest(self.port, self.token())

    def socket(self):
        return Socket(self.data)

    # What can be done to it.

    def signal(self, number):
        self.process.send_signal(number)

    def pause(self, seconds):
        """Stops it for so long, as a machine that is suspended would."""
        self.signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.signal(signal.SIGCONT)

    def wait(self, limit_s=K_LIMIT_S):
        """Its exit code once it has ended; None when it does not in time."""
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        self.has_log.wait(limit_s)
        return self.code

    def kill(self):
        """SIGKILL; returns when it and its helpers are gone, so that nobody holds the folder."""
        if self.process is None:
            return
        if self.code is None:
            self.process.kill()
        self.wait()

    def stop(self, limit_s=K_LIMIT_S):
        """SIGTERM; its exit code, or None when it did not end in time (it is killed then), or never began."""
        if self.process is None:
            return None
        if self.code is None:
            self.signal(signal.SIGTERM)
        code = self.wait(limit_s)
        self.kill()
        return code
