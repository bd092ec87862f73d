"""An agent's program with the token of its task: does what it may and tries what it may not, over the socket and over
HTTP, and answers with what came of it. Its params say what to do."""
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

K_WAIT_S = 20


def over_http(method, path, body=None, token=None):
    """Status and answer."""
    request = urllib.request.Request(os.environ["SKEIN_URL"] + "/api/v1" + path, method=method,
                                     data=None if body is None else json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", "Bearer " + (token or os.environ["SKEIN_TOKEN"]))
    try:
        with urllib.request.urlopen(request, timeout=K_WAIT_S) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def over_socket(token, *requests):
    """What each is answered with: hello first."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(K_WAIT_S)
        link.connect(os.environ["SKEIN_SOCKET"])
        hello = {"version": 2} if token is None else {"version": 2, "token": token}
        lines, answers = link.makefile("rw", encoding="utf-8"), []
        for number, (op, params) in enumerate([("hello", hello), *requests], 1):
            try:
                lines.write(json.dumps({"id": number, "op": op, "params": params}) + "\n")
                lines.flush()
                line = lines.readline()
            except OSError:
                line = ""
            answers.append(json.loads(line) if line else {"error": {"code": "closed"}})
        return answers


def code(answer):
    return answer["error"]["code"] if "error" in answer else "ok"


def http(told):
    status, made = over_http("POST", "/tasks", {"type": "agent", "params": {"do": "echo", "n": told["n"]}})
    own = os.environ["SKEIN_TASK_ID"]
    child = made.get("id")
    waited = over_http("POST", f"/tasks/{child}/wait", {})[1]
    return {
        "submitted": status,
        "child": child,
        "result": waited.get("task", {}).get("result"),
        "itself": over_http("GET", f"/tasks/{own}")[1].get("state"),
        "stranger": over_http("GET", f"/tasks/{told['stranger']}")[1]["error"]["code"],
        "cancel stranger": over_http("POST", f"/tasks/{told['stranger']}/cancel", {})[1]["error"]["code"],
        "elsewhere": over_http("POST", "/tasks", {"type": "echo", "swarm": "elsewhere"})[0],
        "depends": over_http("POST", "/tasks", {"type": "echo", "dependencies": [told["stranger"]]})[0],
        "list": over_http("GET", "/tasks")[0],
        "agents": over_http("GET", "/agents")[0],
        "events": over_http("GET", "/events/last")[0],
        "tokens": over_http("POST", "/tokens", {"name": "mine", "rank": "administer"})[0],
        "other attempt": over_http("GET", f"/tasks/{own}", token=told["old"])[0] if told.get("old") else None,
    }


def sock(told):
    token, own = os.environ["SKEIN_TOKEN"], os.environ["SKEIN_TASK_ID"]
    served = over_socket(token, ("task_submit", {"type": "echo"}), ("task_status", {"id": own}), ("info", {}),
                         ("task_status", {"id": told["stranger"]}), ("stop", {}), ("events", {}))
    later = over_socket(token, ("task_cancel", {"id": served[1]["ok"]["id"]}))
    return {"with": [code(each) for each in served], "hello": sorted(served[0].get("ok", {})),
            "cancel": code(later[1]), "without": [code(each) for each in over_socket(None, ("info", {}))],
            "wrong": [code(each) for each in over_socket("skein_task_" + "0" * 32 + "_1_" + "0" * 64, ("info", {}))],
            "first": [code(each) for each in over_socket(told["first"], ("info", {}))]}


def many(_):
    """As many children as it may have."""
    statuses = [over_http("POST", "/tasks", {"type": "echo"})[0] for _ in range(25)]
    return {"made": statuses.count(201), "last": over_http("POST", "/tasks", {"type": "echo"})[1]["error"]}


def deep(told):
    """A child that does the same, until it is refused."""
    status, made = over_http("POST", "/tasks", {"type": "agent", "params": {"do": "deep", "n": told["n"] + 1}})
    if status != 201:
        return {"depth": told["n"], "code": made["error"]["code"]}
    return {"child": made["id"]}


def echo(told):
    return told["n"]


def cli(told):
    """The skein program itself, as an agent would use it."""
    return [subprocess.run([told["skein"], *words], capture_output=True, text=True, timeout=K_WAIT_S,
                           check=False).returncode
            for words in (["submit", "agent", "--params", '{"do":"echo","n":1}', "--wait"], ["tasks"], ["stop"])]


def hold(told):
    """Hands its token and a child that waits for ever to the test, and goes on when the test says so."""
    child = over_http("POST", "/tasks", {"type": "nobody-does"})[1]["id"]
    with open(told["file"], "w", encoding="utf-8") as file:
        file.write(f"{os.environ['SKEIN_TOKEN']} {child}\n")
    until = time.monotonic() + 3 * K_WAIT_S
    while not os.path.exists(told["go"]) and time.monotonic() < until:
        time.sleep(0.02)
    return child


def leak(told):
    """Prints its token where people read, and ends badly."""
    print("on standard error:", os.environ["SKEIN_TOKEN"], "x" * told["after"], file=sys.stderr, flush=True)
    if told["how"] == "crash":
        os.kill(os.getpid(), 9)
    if told["how"] == "hang":
        signal.pause()  # until the node ends it
    sys.exit(3)


def tell(_):
    return {"token": os.environ["SKEIN_TOKEN"], "has_socket": "SKEIN_SOCKET" in os.environ}


def main():
    told = json.load(sys.stdin)
    print(json.dumps(globals()[told["do"]](told)))


if __name__ == "__main__":
    main()
