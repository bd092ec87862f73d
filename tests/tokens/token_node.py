"""What the tests of tokens share: a node with agents that have tokens, and what is asked of it."""
import contextlib
import pathlib
import tempfile

from lib.config import command, stdio, swarm
from lib.node import Node
from lib.places import LOOPBACK

HERE = pathlib.Path(__file__).resolve().parent

def agents(isolate="none"):
    """A config with agents that get tokens."""
    program = ("python3", "-S")
    return "".join([
        command("agent", *program, str(HERE / "agent.py"), env=["PATH"], isolate=isolate, token=True),
        stdio("talker", *program, str(HERE / "stdio_agent.py"), env=["PATH"], isolate="none", token=True),
        swarm("default", 2, 4), swarm("agents", 2, 6, executor="agent", capabilities=["agent"]),
        swarm("talkers", 1, executor="talker", capabilities=["talk"]), swarm("elsewhere", 0, 1)])


@contextlib.contextmanager
def node(config="", *options):
    with tempfile.TemporaryDirectory(prefix="skein-tokens-") as folder, \
            Node(folder, config, *options, http=LOOPBACK).up() as made:
        yield made


def create(at, name, *words):
    done = at.run("token", "create", name, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def code_of(answer):
    return answer["error"]["code"] if "error" in answer else "ok"


def submitted(at, **task):
    status, made = at.rest().ask("POST", "/tasks", task)
    assert status == 201, made
    return made["id"]


def agent_task(at, **params):
    task = at.rest().ask("POST", "/tasks", {"type": "agent", "swarm": "agents", "attempts": 1, "params": params})
    assert task[0] == 201, task
    return task[1]["id"]


def ended(at, task):
    answer = at.rest().ask("POST", f"/tasks/{task}/wait", {})[1]
    assert answer["finished"], answer
    return answer["task"]
