"""A stdio agent that lives longer than a task: the token comes with each."""
import json
import os
import sys
import urllib.error
import urllib.request


def status_of(task, token):
    request = urllib.request.Request(f"{os.environ['SKEIN_URL']}/api/v1/tasks/{task}")
    request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def main():
    before = None
    for line in sys.stdin:
        told = json.loads(line)
        if told["type"] == "hello":
            print(json.dumps({"type": "hello", "protocol": 1}), flush=True)
        elif told["type"] == "task" and told.get("params") == "leak":
            of_task = {"task": told["task"], "fence": told["fence"]}
            print(json.dumps({"type": "progress", **of_task, "mark": {"mine": told["token"]}}), flush=True)
            print(json.dumps({"type": "error", **of_task, "class": "permanent", "message": "no " + told["token"]}),
                  flush=True)
        elif told["type"] == "task" and told.get("params") == "babble":
            print(told["token"] + " is no JSON", flush=True)
        elif told["type"] == "task":
            result = {"now": status_of(told["task"], told["token"]),
                      "before": status_of(told["task"], before) if before else None, "env": "SKEIN_TOKEN" in os.environ}
            before = told["token"]
            print(json.dumps({"type": "result", "task": told["task"], "fence": told["fence"], "result": result}),
                  flush=True)
        elif told["type"] == "shutdown":
            return


if __name__ == "__main__":
    main()
