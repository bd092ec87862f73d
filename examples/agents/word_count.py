#!/usr/bin/env python3
"""A stdio agent in Python: counts words. Copy it, and replace do_task.

It speaks docs/executor-protocol.md: one JSON message per line, on stdin and stdout. Print nothing else on stdout; what
goes to stderr is kept for people.
"""
import json
import sys


def send(**message):
    print(json.dumps(message), flush=True)


def do_task(params, progress, mark):
    """What this agent is for. Returns the result; an exception is a failure that is tried again."""
    text = params["text"]
    counts = {}
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        for word in line.split():
            counts[word] = counts.get(word, 0) + 1
        if number % 1000 == 0:
            progress({"lines": number})
    return {"words": sum(counts.values()), "distinct": len(counts), "attempt_began_at": mark}


def main():
    send(type="hello", protocol=1, capabilities=["word_count"])
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "shutdown":
            return
        if message["type"] != "task":
            continue  # hello; or a cancel that came too late: this agent finishes what it began
        task, fence = message["task"], message["fence"]
        try:
            result = do_task(
                message["params"],
                progress=lambda mark: send(type="progress", task=task, fence=fence, mark=mark),
                mark=message.get("mark"),
            )
            send(type="result", task=task, fence=fence, result=result)
        except (KeyError, TypeError) as error:
            # Trying again will not help.
            send(type="error", task=task, fence=fence, **{"class": "permanent"}, message=f"bad params: {error!r}")
        except Exception as error:  # pylint: disable=broad-except
            send(type="error", task=task, fence=fence, message=repr(error))


if __name__ == "__main__":
    main()
