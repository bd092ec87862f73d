"""A stdio agent that writes down every start of a task before it does anything. usage: agent.py TRACE"""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import stdio_agent

trace = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
for task in stdio_agent.tasks("work"):
    os.write(trace, f"{task['task']} {task['fence']}\n".encode())
    time.sleep(task["params"]["ms"] / 1000)
    stdio_agent.result(task, {"work": task["params"]["number"]})
