"""`skein mcp` when its node goes away and comes back, beside an operator's node, and to a node by its address."""
import json
import os
import signal
import subprocess
import time

from lib.config import command, section, swarm
from lib.mcp import StdioClient
from lib.node import Node
from lib.places import LOOPBACK, SKEIN
from lib.processes import lives
from lib.waiting import until

K_NODE_WAIT_S = 20  # how long a request waits for a node, as docs/mcp.md says
K_NOBODY_COMES_S = 1.5  # a node that must not be started would be there after this time
K_HURRY_S = 1  # between the end of a client's input and its signal
K_NOTICED_S = 0.3  # until a bridge has noticed that its node is gone


def answers_of(client, count):
    """Starts waits that do not end, and gives a function that collects their answers."""
    task = client.call("task_submit", {"type": "nobody_can_do_this"})["structuredContent"]["id"]
    asked = [client.request("tools/call", {"name": "task_wait", "arguments": {"id": task}}) for _ in range(count)]
    for each in asked:
        client.send(each)
    return lambda: [client.answer(each["id"]) for each in asked]


def own_node(world, check, works):
    """A node that the bridge has started is killed: what was under way is answered, the session goes on."""
    legacy, modern = world.client("--keep"), world.client("--keep")
    legacy.initialize("2025-11-25")
    legacy.ask("resources/subscribe", {"uri": "skein://swarms"})
    listen = modern.request("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["skein://swarms"]}},
                            "listen:0")
    modern.send(listen)
    modern.until(lambda each: each.get("method") == "notifications/subscriptions/acknowledged")
    collect = answers_of(legacy, 3)
    world.waits(3)
    pid = world.node_pid()
    os.kill(pid, signal.SIGKILL)
    told = collect()
    check("calls under way are answered with an error that says to call again",
          all("Call again" in each["error"]["message"] for each in told), told)
    check("the session of a legacy client goes on", works(legacy))
    check("with another node", world.node_pid() not in (None, pid))
    check("a subscribed resource is told of, since it may have changed",
          legacy.until(lambda each: each.get("method") == "notifications/resources/updated"))
    check("and so is one that a modern client listens to", modern.until(
        lambda each: each.get("method") == "notifications/resources/updated"))
    legacy.call("swarm_create", {"name": f"after-{pid}"})
    changed = modern.until(lambda each: each.get("method") == "notifications/resources/updated")
    check("the new node tells of changes too",
          changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "listen:0", changed)
    check("the modern client works", works(modern))
    # Stopped in order, it stays so until somebody wants something.
    pid = world.node_pid()
    world.skein("stop")
    check("a node that is told to stop stops", until(lambda: not lives(pid)))
    time.sleep(K_NOBODY_COMES_S)
    check("and stays so while nobody asks", world.node_pid() is None)
    check("the next request starts it", works(modern))
    for each in (legacy, modern):
        each.process.stdin.close()
        check("the bridges end well", each.process.wait(K_NODE_WAIT_S) == 0)
    world.skein("stop")


def odd_lines(world, check):
    """What cannot be read is answered with its id, and a line that is too long is passed over."""
    client = world.client()
    client.ask("tools/list")
    client.process.stdin.write('{"jsonrpc":"2.0","id":71,"method":"tools/call","params":{"name":"task_submit",'
                               '"arguments":{"type":"echo","params":"half \\ud83d"},"_meta":{'
                               '"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
                               '"io.modelcontextprotocol/clientCapabilities":{}}}}\n')
    client.process.stdin.flush()
    made = client.answer(71)["result"]["structuredContent"]
    result = client.call("task_wait", {"id": made["id"]})["structuredContent"]["task"]["result"]
    check("half a character is read as one that says so", result == "half \ufffd", result)
    client.process.stdin.write('{"jsonrpc":"2.0","id":72,"method":"tools/call","params":' + "[" * 70 + "]" * 70 + "}\n")
    client.process.stdin.write('{"jsonrpc":"2.0","id":73,"method":"x","params":{\n')
    long = "x" * (5 << 20)
    client.process.stdin.write('{"jsonrpc":"2.0","method":"tools/list","params":{"a":"' + long + '"},"id":74}\n')
    client.process.stdin.flush()
    for number, code in ((72, -32600), (73, -32700), (74, -32600)):
        told = client.answer(number)
        check(f"the error has the id of the request ({number})", told["error"]["code"] == code, told)
    check("and the session goes on", client.ask("tools/list")["result"]["tools"])
    client.process.stdin.close()
    check("it ends well", client.process.wait(K_NODE_WAIT_S) == 0)


def is_executing(world):
    return bool(json.loads(world.skein("tasks", "--state", "executing", "--json").stdout)["tasks"])


def hurried_end(world, check):
    """The SDKs send SIGTERM two seconds after they have closed standard input; a task may run longer."""
    client = world.client()
    client.call("task_submit", {"type": "sleep", "params": 6000})
    pid = world.node_pid()
    until(lambda: is_executing(world))
    client.process.stdin.close()
    time.sleep(K_HURRY_S)
    client.process.terminate()
    check("a signal while the node finishes its work is no failure", client.process.wait(5) == 0)
    check("the node finishes it and ends", until(lambda: not lives(pid)))


def joined_while_it_stops(world, check, works):
    """A client that comes while the node of another still finishes its work."""
    first = world.client()
    first.call("task_submit", {"type": "sleep", "params": 3000})
    pid = world.node_pid()
    until(lambda: is_executing(world))
    first.process.stdin.close()
    check("the node of a client that has gone finishes its work", until(lambda: world.node_state() == "draining"))
    second = world.client()
    second.initialize("2025-11-25")
    check("who comes now is served by it", second.ask("tools/list")["result"]["tools"] and world.node_pid() == pid)
    check("and a new task waits for the next node", works(second) and world.node_pid() not in (None, pid))
    second.process.stdin.close()
    check("its bridge ends well", second.process.wait(K_NODE_WAIT_S) == 0)
    # All at once, as from a pipe: the input is over before the next node is there.
    first = world.client()
    first.call("task_submit", {"type": "sleep", "params": 2000})
    until(lambda: is_executing(world))
    first.process.stdin.close()
    until(lambda: world.node_state() == "draining")
    asked = json.dumps(first.request("tools/call", {"name": "task_submit", "arguments": {"type": "echo"}}, 9)) + "\n"
    done = subprocess.run([SKEIN, "mcp", "--data", world.data], cwd=world.folder, input=asked, capture_output=True,
                          text=True, timeout=2 * K_NODE_WAIT_S, check=False)
    answer = json.loads(done.stdout)
    check("so does one whose client has said everything", "id" in answer["result"].get("structuredContent", {}), done)
    check("and ends with 0", done.returncode == 0, done)


OPERATORS = (section("executors.builtin", kind="function") + swarm("default", 1, 2, executor="builtin")
             + command("shout", "tr", "a-z", "A-Z") + swarm("loud", 1, executor="shout"))


def operator_of(world):
    """`skein up` with a config of its own on the world's folder."""
    return Node(world.folder, OPERATORS, file=world.folder / "c.toml", http=LOOPBACK).up()


def operators_node(world, check, works):
    operator = operator_of(world)
    client = world.client()
    client.initialize("2025-06-18")
    check("beside an operator's node it works", works(client) and world.node_pid() == operator.pid)
    operator.kill()
    time.sleep(K_NOTICED_S)
    asked = client.request("tools/call", {"name": "swarm_status", "arguments": {"name": "loud"}})
    client.send(asked)
    time.sleep(K_NOBODY_COMES_S)
    check("while the operator's node is down it starts none", world.node_pid() is None)
    fresh = world.client()  # a client that begins now does neither
    early = fresh.request("tools/list")
    fresh.send(early)
    operator.up()
    check("the operator's node can come back", operator.code is None)
    check("what waited for it is answered by it",
          client.answer(asked["id"])["result"]["structuredContent"]["name"] == "loud")
    check("also to a client that began meanwhile", fresh.answer(early["id"])["result"]["tools"])
    check("it is the operator's", world.node_pid() == operator.pid)
    operator.kill()
    late = client.request("tools/list")
    begin = time.monotonic()
    client.send(late)
    told = client.answer(late["id"])
    took = time.monotonic() - begin
    check("a request does not wait for ever", K_NODE_WAIT_S - 2 < took < K_NODE_WAIT_S + 5, took)
    check("and its error says what to do", "skein up" in told["error"]["message"] and "c.toml" in
          told["error"]["message"], told)
    for each in (client, fresh):
        each.process.stdin.close()
        each.process.wait(K_NODE_WAIT_S)
    done = subprocess.run([SKEIN, "mcp", "--attach", "--data", world.data], input="", capture_output=True, text=True,
                          timeout=K_NODE_WAIT_S, check=False)
    check("--attach without a node ends with 5", done.returncode == 5 and "no node is running" in done.stderr, done)
    taken = world.client("--take-over")
    check("--take-over starts one all the same", works(taken) and world.node_pid() is not None)
    taken.process.stdin.close()
    taken.process.wait(K_NODE_WAIT_S)


def node_by_url(world, check, works):
    operator = operator_of(world)
    url = operator.url
    token = world.data / "token"

    def remote(*more):
        return StdioClient([SKEIN, "mcp", "--node", url, "--token-file", token, *more], cwd=world.folder,
                           log=subprocess.DEVNULL)

    client = remote()
    client.initialize("2025-11-25")
    check("by its address a node works", works(client))
    modern = remote()
    check("also for a modern client", works(modern))
    big = modern.call("task_submit", {"type": "echo", "params": "x" * 200_000})["structuredContent"]["id"]
    modern.call("task_wait", {"id": big})
    whole = modern.ask("resources/read", {"uri": f"skein://tasks/{big}"})["result"]["contents"][0]["text"]
    check("with messages of any length", json.loads(whole)["result"] == "x" * 200_000)
    collect = answers_of(client, 1)
    world.waits(1)
    operator.kill()
    check("a call under way is answered when it goes", "Call again" in collect()[0]["error"]["message"])
    operator.up()
    check("and the session goes on when it is back", works(client))
    for each in (client, modern):
        each.process.stdin.close()
        check("a bridge by address ends well", each.process.wait(K_NODE_WAIT_S) == 0)
    wrong = world.folder / "wrong"
    wrong.write_text("guess\n")
    for arguments, words in (((url, "--token-file", wrong), "401"), ((url,), "401"),
                             ((url.replace("http", "https"),), "TLS"), (("nonsense",), "http://127.0.0.1:7433")):
        done = subprocess.run([SKEIN, "mcp", "--node", *arguments], input="", capture_output=True, text=True,
                              timeout=K_NODE_WAIT_S, check=False)
        check(f"{words}: said, and no bridge", done.returncode in (2, 5) and words in done.stderr, done)
        check(f"{words}: said once", done.stderr.count(words) == 1, done)
    asked = "".join(json.dumps({"jsonrpc": "2.0", "id": each, "method": "tools/list", "params": {}}) + "\n"
                    for each in (7, "eight"))
    for arguments, words in (((url, "--token-file", wrong), "was revoked or replaced"), ((url,), "token is missing")):
        done = subprocess.run([SKEIN, "mcp", "--node", *arguments], input=asked, capture_output=True, text=True,
                              timeout=K_NODE_WAIT_S, check=False)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        check(f"{words}: every request is answered with its id", [each["id"] for each in answers] == [7, "eight"], done)
        check(f"{words}: and told why", all(words in each["error"]["message"] for each in answers), done)
        check(f"{words}: then it ends with 5", done.returncode == 5, done)
    live = world.folder / "live"
    live.write_text(subprocess.run([SKEIN, "token", "create", "live", "--data", world.data], capture_output=True,
                                   text=True, timeout=K_NODE_WAIT_S, check=True).stdout)
    client = StdioClient([SKEIN, "mcp", "--node", url, "--token-file", live], cwd=world.folder, log=subprocess.DEVNULL)
    client.initialize("2025-11-25")
    check("with a token of its own it works", "result" in client.ask("tools/list"))
    subprocess.run([SKEIN, "token", "revoke", "live", "--data", world.data], capture_output=True, timeout=K_NODE_WAIT_S,
                   check=True)
    for round_of in range(3):
        told = client.ask("tools/list")
        check(f"once the token is revoked requests are answered ({round_of})", "revoked" in json.dumps(told), told)
    client.process.stdin.close()
    check("and the bridge ends well", client.process.wait(K_NODE_WAIT_S) == 0)
    operator.stop()
