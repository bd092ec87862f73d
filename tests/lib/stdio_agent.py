"""The protocol of stdio agents (docs/agents.md), for agents that tests bring along."""
import json
import sys


def send(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def result(task, value):
    """Answers a task."""
    send(type="result", task=task["task"], fence=task["fence"], result=value)


def tasks(*capabilities):
    """Says hello, then gives each task until it is told to shut down."""
    send(type="hello", protocol=1, **({"capabilities": capabilities} if capabilities else {}))
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "shutdown":
            return
        if message["type"] == "task":
            yield message
