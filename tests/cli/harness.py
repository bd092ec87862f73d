"""A home, a node and the skein program as a person at the keyboard has them."""
import contextlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import termios
import time

from lib import node as nodes
from lib.places import BUILD, SKEIN

K_COMMAND_LIMIT_S = 20
K_READY_LIMIT_S = 20
ID_SAID = re.compile(r'\A(task [0-9a-f-]{36}|\{"id":"[0-9a-f-]{36}"\})\n')
NO_TASK = "01000000-0000-7000-8000-000000000000"


class Result:
    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    def story(self):
        return f"$ {self.command}\nexit {self.code}\nstdout: {self.out}\nstderr: {self.err}"

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


class Home:
    """A folder of its own with an environment in which only the skein of this build is found."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="skein-cli-"))
        kept = {key: os.environ[key] for key in ("LANG", "TZ", "ASAN_OPTIONS", "TSAN_OPTIONS") if key in os.environ}
        self.env = kept | {"HOME": str(self.path), "TMPDIR": str(self.path), "TERM": "xterm",
                           "PATH": f"{BUILD}/bin:/usr/local/bin:/usr/bin:/bin"}

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def run(self, *args, stdin="", env=None, limit=K_COMMAND_LIMIT_S):
        """skein with these arguments."""
        done = subprocess.run([str(SKEIN), *args], cwd=self.path, env=self.env | (env or {}), input=stdin,
                              capture_output=True, text=True, timeout=limit, check=False)
        return Result("skein " + " ".join(args), done.returncode, done.stdout, done.stderr)

    def expect(self, code, *args, out=None, err=None, **more):
        """The same, with the exit code, and words that must be in what it prints; "" is nothing at all."""
        result = self.run(*args, **more)
        for wanted, got in ((out, result.out), (err, result.err)):
            if wanted is not None:
                assert (wanted in got) if wanted else not got, f"no {wanted!r} in\n{result.story()}"
        assert result.code == code, f"exit {code} was expected\n{result.story()}"
        return result

    def ok(self, *args, **more):
        """Exit code 0 and nothing on standard error; a wait says there first which task it waits for."""
        result = self.expect(0, *args, **more)
        said = ID_SAID.sub("", result.err, count=1) if "--wait" in args else result.err
        assert not said, result.story()
        return result

    def on_terminal(self, *args, keys=b"", until=b"", env=None, limit=K_COMMAND_LIMIT_S, size=None):
        """On a terminal of its own, of `size` (rows, columns); once `until` was seen the keys are pressed. Exit code
        and everything shown."""
        pid, master = pty.fork()
        if pid == 0:
            if size:
                termios.tcsetwinsize(0, size)
            os.chdir(self.path)
            os.execve(str(SKEIN), ["skein", *args], self.env | (env or {}))
        shown, pressed, deadline = b"", False, time.monotonic() + limit
        with contextlib.suppress(OSError):  # the terminal goes with its program
            while time.monotonic() < deadline:
                if not pressed and until in shown:
                    os.write(master, keys)
                    pressed = True
                if select.select([master], [], [], 0.05)[0]:
                    part = os.read(master, 65536)
                    if not part:
                        break
                    shown += part
        os.close(master)
        if time.monotonic() >= deadline:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), shown.decode(errors="replace")


def with_home(test, config=None):
    """The test with a home of its own, which is gone afterwards; where there is a config, it stands in it."""
    def run():
        home = Home()
        if config:
            (home.path / "skein.toml").write_text(config)
        try:
            test(home)
        finally:
            home.remove()
    run.__name__ = test.__name__
    return run


class Node(nodes.Node):
    """`skein up`, started as a service manager would: READY=1 says that it is up."""

    def __init__(self, home, *args, abstract=False, env=None):
        self.home, self.heard = home, []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"\0skein-cli-{os.getpid()}-{id(self)}" if abstract else str(home.path / "notify.sock")
        if not abstract:
            pathlib.Path(name).unlink(missing_ok=True)
        self.socket.bind(name)
        super().__init__(home.path, None, *args)
        self.popen["env"] = home.env | {"NOTIFY_SOCKET": name.replace("\0", "@")} | (env or {})
        self.start()
        self.hear("READY=1")

    def words(self):
        """As a person types it: config and data folder are found."""
        return [self.program, "up", *self.options]

    def start(self):
        """Its log is a file, which it tells of."""
        with open(self.folder / "node.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.words(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            **self.popen)
        self.has_log.set()

    def log(self):
        return (self.folder / "node.log").read_text()

    def hear(self, wanted, limit=K_READY_LIMIT_S):
        """Waits for a message that has this line."""
        until = time.monotonic() + limit
        while not any(wanted in each.splitlines() for each in self.heard):
            self.socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                self.heard.append(self.socket.recv(4096).decode())
            ended = self.code is not None and wanted == "READY=1"
            assert not ended and time.monotonic() < until, f"no {wanted} in {self.heard}\n{self.log()}"

    def end(self, code=0, how=signal.SIGTERM):
        if self.code is None:
            self.signal(how)
        ended = self.wait(K_COMMAND_LIMIT_S)
        self.socket.close()
        assert ended == code, f"the node ended with {ended}\n{self.log()}"

    def kill(self):
        super().kill()
        self.socket.close()
