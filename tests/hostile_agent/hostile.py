"""A hostile agent: tries everything it can think of to get at its node, and answers with what it reached, as JSON. Run
by a command executor; its params say where the node is. It harms nothing: it opens files without writing to them, sends
signal 0, and takes hold of processes without stopping them."""
import ctypes
import glob
import json
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request

K_WAIT_S = 10
PTRACE_SEIZE = 0x4206
ATTEMPTS = []


def attempt(function):
    ATTEMPTS.append(function)
    return function


def tries(function, *rest):
    try:
        return bool(function(*rest))
    except (OSError, ValueError, KeyError, urllib.error.URLError):
        return False


def any_of(function, candidates):
    return any(tries(function, each) for each in candidates)


def read(path):
    with open(path, "rb") as file:
        return file.read(64)


def opens_for_writing(path):
    os.close(os.open(path, os.O_WRONLY))
    return True


def relative(at, name):
    """The same file by its path, and by the folder this program was started in."""
    return [f"{at['data']}/{name}", name]


def found(at, pattern):
    """A name without * is tried as it is: what cannot be listed may still be opened."""
    ways = relative(at, pattern)
    return [each for way in ways for each in glob.glob(way)] if "*" in pattern else ways


def stolen_token(at):
    for path in relative(at, "token") + [f"/proc/{pid}/root{at['data']}/token" for pid in at["pids"]]:
        try:
            return read(path).decode().strip()
        except OSError:
            pass
    raise OSError("no token")


def all_processes():
    return [int(each) for each in os.listdir("/proc") if each.isdigit()]


def attempt_on_files(name, act, pattern):
    def reached(at):
        return any_of(act, found(at, pattern))

    reached.__name__ = name
    attempt(reached)


for name_, act_, pattern_ in (
        ("read_token", read, "token"), ("read_mcp_key", read, "mcp.key"),
        ("read_journal", read, "journal/*"), ("write_journal", opens_for_writing, "journal/*"),
        ("read_archive", read, "archive.sqlite*"), ("write_archive", opens_for_writing, "archive.sqlite*")):
    attempt_on_files(name_, act_, pattern_)


@attempt
def files_around_the_mount(at):
    """Through the root, the folder or a descriptor of the node, a helper, or whoever else is in a view of its own."""
    for pid in set(at["pids"] + [os.getppid()] + (all_processes() if os.getppid() == 1 else [])):
        ways = [f"/proc/{pid}/root{at['data']}/token", f"/proc/{pid}/cwd/token"]
        try:
            ways += [f"/proc/{pid}/fd/{each}" for each in os.listdir(f"/proc/{pid}/fd")
                     if at["data"] in os.readlink(f"/proc/{pid}/fd/{each}")]
        except OSError:
            pass
        if pid != os.getpid() and any_of(read, ways):
            return True
    return False


def ask(at, operations):
    """Over the socket; the answers. Refused: an error, or nothing."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(K_WAIT_S)
        try:
            link.connect(f"{at['data']}/skein.sock")
        except OSError:
            link.connect("skein.sock")
        lines = [{"op": "hello", "params": {"version": 2, "client": "hostile"}}] + operations
        link.sendall(b"".join(json.dumps({"id": n, **each}).encode() + b"\n" for n, each in enumerate(lines, 1)))
        answers = {}
        with link.makefile("rb") as file:
            while len(answers) < len(lines) and (line := file.readline()):
                answer = json.loads(line)
                if answer["id"] == 0:
                    raise OSError(answer)
                answers[answer["id"]] = answer
        return [answers[n] for n in range(2, len(lines) + 1)]


def is_served(at):
    return all("error" not in each for each in ask(at, [{"op": "info", "params": {}}]))


@attempt
def socket_served(at):
    return is_served(at)


def in_child(prepare, at, is_left=False):
    """Whether the socket serves a child; with is_left, one that has lost its parent before it connects."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        if is_left and os.fork() != 0:
            os._exit(0)
        prepare()
        if is_left:
            time.sleep(0.2)
        os.write(writer, b"y" if tries(is_served, at) else b"n")
        os._exit(0)
    os.close(writer)
    return os.read(reader, 1) == b"y"


@attempt
def socket_served_to_a_child(at):
    return in_child(lambda: None, at)


@attempt
def socket_served_to_a_detached_child(at):
    return in_child(os.setsid, at, is_left=True)


@attempt
def socket_submit_and_cancel(at):
    ask(at, [{"op": "task_submit", "params": {"type": "echo"}},
             {"op": "task_cancel", "params": {"id": at["victim"], "reason": "hostile"}}])
    return all("error" not in each for each in ask(at, [{"op": "info", "params": {}}]))


def call(at, method, path, token, body=None):
    request = urllib.request.Request(at["url"] + path, method=method, headers={"Content-Type": "application/json"},
                                     data=None if body is None else json.dumps(body).encode())
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=K_WAIT_S) as answer:
        return answer.status < 300


@attempt
def http_without_a_token(at):
    return call(at, "POST", "/api/v1/tasks", None, {"type": "echo"})


@attempt
def http_submit_with_a_stolen_token(at):
    return call(at, "POST", "/api/v1/tasks", stolen_token(at), {"type": "echo"})


@attempt
def http_cancel_with_a_stolen_token(at):
    return call(at, "POST", f"/api/v1/tasks/{at['victim']}/cancel", stolen_token(at), {"reason": "hostile"})


def may_signal(pid):
    os.kill(pid, 0)
    return True


@attempt
def signal_the_node(at):
    return any_of(may_signal, [at["node"]])


@attempt
def signal_guard_or_launcher(at):
    return any_of(may_signal, at["helpers"])


@attempt
def signal_its_keeper(at):
    parent = os.getppid()
    if parent != 1:
        return tries(may_signal, parent)
    # The first process of a namespace passes over what is sent from inside; this program would die with it.
    tries(os.kill, 1, signal.SIGKILL)
    tries(os.kill, 1, signal.SIGSTOP)
    time.sleep(0.2)
    return False


def read_memory(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as file:
        start = int(file.readline().split("-")[0], 16)
    with open(f"/proc/{pid}/mem", "rb") as file:
        file.seek(start)
        return file.read(16)


@attempt
def environ_of_node_or_helpers(at):
    return any_of(lambda pid: read(f"/proc/{pid}/environ"), at["pids"] + [os.getppid()])


@attempt
def memory_of_node_or_helpers(at):
    return any_of(read_memory, at["pids"] + [os.getppid()])


@attempt
def trace_node_or_helpers(at):
    trace = ctypes.CDLL(None, use_errno=True).ptrace
    trace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    # Not stopped, and let go of when this program ends.
    return any([trace(PTRACE_SEIZE, pid, None, None) == 0 for pid in at["pids"] + [os.getppid()]])


@attempt
def gains_rights_by_setuid(at):
    """Whether a setuid program would still change its user."""
    with open("/proc/self/status", encoding="ascii") as file:
        return "NoNewPrivs:\t0" in file.read()


@attempt
def files_it_makes_are_open_to_others(at):
    mask = os.umask(0)
    return mask & 0o077 != 0o077


def main():
    at = json.load(sys.stdin)
    print(json.dumps({each.__name__: tries(each, at) for each in ATTEMPTS}))


if __name__ == "__main__":
    main()
