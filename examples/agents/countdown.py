#!/usr/bin/env python3
"""A stdio agent in Python that can be interrupted: works in steps, says how far it is, and stops when it is cancelled.

A thread reads stdin, so that a cancel is seen while a task runs. A later attempt goes on from the last mark.
"""
import json
import queue
import sys
import threading
import time

K_STEP_S = 0.02

tasks = queue.Queue()
cancelled = set()  # fences


def send(**message):
    print(json.dumps(message), flush=True)


def read_messages():
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "task":
            tasks.put(message)
        elif message["type"] == "cancel":
            cancelled.add(message["fence"])
        elif message["type"] == "shutdown":
            break
    tasks.put(None)


def count_down(message):
    task, fence = message["task"], message["fence"]
    done = (message.get("mark") or {"done": 0})["done"]
    resumed_at = done
    for done in range(done + 1, message["params"]["steps"] + 1):
        if fence in cancelled:
            cancelled.discard(fence)
            send(type="error", task=task, fence=fence, **{"class": "cancelled"}, message="stopped as asked")
            return
        time.sleep(K_STEP_S)
        send(type="progress", task=task, fence=fence, mark={"done": done})
    send(type="result", task=task, fence=fence, result={"steps": done, "resumed_at": resumed_at})


def main():
    threading.Thread(target=read_messages, daemon=True).start()
    send(type="hello", protocol=1, capabilities=["countdown"])
    while (message := tasks.get()) is not None:
        count_down(message)


if __name__ == "__main__":
    main()
