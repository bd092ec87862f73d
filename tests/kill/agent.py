"""A stdio agent that writes down every start of a task before it does anything. usage: agent.py TRACE"""
import json
import os
import sys
import time

trace = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def send(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


send(type="hello", protocol=1, capabilities=["work"])
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "shutdown":
        break
    if message["type"] != "task":
        continue
    os.write(trace, f"{message['task']} {message['fence']}\n".encode())
    time.sleep(message["params"]["ms"] / 1000)
    send(type="result", task=message["task"], fence=message["fence"], result={"work": message["params"]["number"]})
