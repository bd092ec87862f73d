"""Inputs that are wrong: thousands of all kinds, then each kind that has an answer of its own."""
import json
import socket
import subprocess
import time

import bad_inputs
from lib.mcp import MODERN
from lib.places import SKEIN
from node import Closed, Lines

K_HANG_S = 5
K_LINES_AT_ONCE = 50
K_SHARE_OF_HTTP = 0.7  # of the inputs; the others come as lines


def answers_of(node, data):
    """The statuses that came back until the node closed, None last if it closed without a word after the first."""
    found = []
    with node.client(limit_s=K_HANG_S) as client:
        try:
            client.send(data)
            client.close_output()
        except OSError:
            pass  # it was closed while we still sent
        try:
            while True:
                found.append(client.response(has_body=not data.startswith(b"HEAD")).status)
        except Closed:
            return found or [None]


def malformed_http(story, node):
    """Each is refused with a status of 4xx or 501 or 505, or closed; none with a 5xx of ours; none hangs."""
    count = int(story.inputs * K_SHARE_OF_HTTP)
    slowest, wrong = 0, 0
    for kind, data, allowed in bad_inputs.http_inputs(story.seed, count, node.secret):
        begin = time.monotonic()
        try:
            found = answers_of(node, data)
            holds = found[0] in allowed and set(found[1:]) <= bad_inputs.ANY
        except (ValueError, TimeoutError) as failed:
            found, holds = repr(failed), False
        slowest = max(slowest, time.monotonic() - begin)
        if not holds and (wrong := wrong + 1) <= 3:
            story.check(f"{kind} is answered as stated", False, f"{found} for {data!r}")
    story.check(f"{count} malformed HTTP requests get their answers", wrong == 0, f"{wrong}, seed {story.seed}")
    print(f"{count} malformed HTTP requests, slowest {slowest * 1000:.0f} ms")


def malformed_lines(story, node):
    """Each line that is no message gets an error; the connection goes on."""
    count = (story.inputs - int(story.inputs * K_SHARE_OF_HTTP)) // 2
    with Lines(node) as mcp:
        for at, text in enumerate(bad_inputs.lines(story.seed, count, bad_inputs.message)):
            mcp.send(text)
            if at % K_LINES_AT_ONCE == 0:
                talked_to(story, mcp, mcp.request(f"good-{at}", "server/discover"), "id", f"good-{at}")
        talked_to(story, mcp, mcp.request("last", "server/discover"), "id", "last")
    story.check(f"{count} malformed MCP lines on the socket", True)

    def operation(rng):
        return {"id": rng.randrange(1, 99), "op": rng.choice(["status", "task_list", "tree", "processes", "describe"]),
                "params": {"limit": 1}}

    with Lines(node, mcp=False) as control:
        for at, text in enumerate(bad_inputs.lines(story.seed, count, operation)):
            control.send(text)
            if at % K_LINES_AT_ONCE == 0:
                talked_to(story, control, {"id": 1000 + at, "op": "status"}, "id", 1000 + at)
        talked_to(story, control, {"id": 999, "op": "status"}, "id", 999)
    story.check(f"{count} malformed lines on the CLI's socket", True)


def talked_to(story, lines, request, key, value):
    """Reads until the answer to a good request has come; all on the way is JSON."""
    lines.send(request)
    while (got := lines.line()) is not None:
        if got.get(key) == value and ("result" in got or "ok" in got):
            return
    story.check("the connection goes on after malformed lines", False, f"closed before the answer to {value}")
    raise Closed


def json_that_is_wrong(story, node):
    """One answer for each kind, by status and JSON-RPC code, on a connection that goes on."""
    deep = b"[" * 65 + b"]" * 65
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    cases = [
        ("nothing", b"", 400, -32700), ("half a message", request[:-1], 400, -32700),
        ("invalid UTF-8", request.replace(b"tools", b"to\xff\xfels"), 400, -32700),
        ("an overlong NUL", request.replace(b"tools", b"\xc0\x80"), 400, -32700),
        ("half a surrogate pair, which is read", request.replace(b"tools", b"\\ud800"), 400, -32602),
        ("nested 65 deep", b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"a":' + deep + b"}}", 400, -32600),
        ("nested 1,000,000 deep", b"[" * 1000000, 400, -32600),
        ("a member twice", request.replace(b'"id": 1', b'"id": 1, "id": 2'), 400, -32600),
        ("a batch", b"[" + request + b"]", 400, -32600), ("a number", b"7", 400, -32600),
        ("an id that is a list", request.replace(b": 1", b": [1]"), 400, -32600),
        ("an id of 257 bytes", request.replace(b": 1", b': "' + b"x" * 257 + b'"'), 400, -32600),
        ("params that are a list", request.replace(b'"tools/list"', b'"tools/list", "params": []'), 400, -32602),
        ("a request and a response", b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', 400, -32600),
    ]
    with node.client() as client:
        for what, body, status, code in cases:
            client.send(client.post(body))
            got = client.response()
            story.check(f"{what}: {status} and {code}", (got.status, got.code) == (status, code),
                        f"{got.status} {got.body[:200]}")
        story.check("after all that the connection goes on", client.ask("tools/list").status == 200)


def duplicate_ids(story, node):
    """Under way on one connection: refused. Afterwards, or on another connection: a new request."""
    with Lines(node) as mcp:
        mcp.send(mcp.request(1, "tools/call", {"name": "task_submit", "arguments": {"type": "sleep", "params": 300}}))
        task = mcp.line()["result"]["structuredContent"]["id"]
        waits = mcp.request("same", "tools/call", {"name": "task_wait", "arguments": {"id": task}})
        mcp.send(waits)
        mcp.send(waits)
        second, first = mcp.line(), mcp.line()
        story.check("a second request with an id under way: -32600",
                    second.get("error", {}).get("code") == -32600 and second["id"] == "same", second)
        story.check("and the first is answered", first["id"] == "same" and "result" in first, first)
        mcp.send(mcp.request("same", "server/discover"))
        story.check("then the id is free again", "result" in mcp.line())
    with node.client() as client, node.client() as other:
        both = client.ask("tools/list", ident="x").status, other.ask("tools/list", ident="x").status
        story.check("two connections may use one id", both == (200, 200), both)


def who_may_ask(story, node):
    """Host and Origin before the token, the token before the body."""
    with node.client() as client:
        good = client.request("tools/list")

        def status_with(lines):
            client.send(good.replace(b"Host: localhost", lines.encode()))
            return client.response().status

        for host, status in [("localhost:1", 200), ("127.0.0.1:80", 200), ("[::1]", 200), ("192.0.2.1", 200),
                             ("evil.example", 403), ("localhost.evil.example", 403), ("127.0.0.1.evil.example", 403),
                             ("", 403)]:
            found = status_with(f"Host: {host}")
            story.check(f"Host '{host}': {status}", found == status, found)
        for origin, status in [("http://localhost:3000", 200), ("http://127.0.0.1", 200), ("null", 403),
                               ("http://evil.example", 403), ("http://localhost.evil.example", 403),
                               ("http://192.0.2.1", 403), ("file://", 403), ("", 403)]:
            found = status_with(f"Host: localhost\r\nOrigin: {origin}")
            story.check(f"Origin '{origin}': {status}", found == status, found)


def on_stdio(story, node):
    """skein mcp writes nothing but messages, answers what it can and ends with its input."""
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
    good = {"jsonrpc": "2.0", "id": "good", "method": "server/discover", "params": {"_meta": meta}}
    good = json.dumps(good).encode()
    rubbish = list(bad_inputs.lines(story.seed + 1, 200, bad_inputs.message))
    command = [SKEIN, "mcp", "--data", node.data]
    done = subprocess.run(command, input=b"\n".join(rubbish + [good, b""]), capture_output=True, timeout=20,
                          check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    story.check("stdout has nothing but messages", all(each.get("jsonrpc") == "2.0" for each in answers), answers)
    story.check("a good line after 200 bad ones is answered, and the end of the input is the end",
                done.returncode == 0 and any(each.get("id") == "good" for each in answers), done)
    after = json.dumps({"jsonrpc": "2.0", "id": "after", "method": "ping"}).encode() + b"\n"
    done = subprocess.run(command, input=b"x" * (5 << 20) + b"\n" + after, capture_output=True, timeout=20, check=False)
    story.check("a line of 5 MiB: an error, and the next line is answered",
                done.returncode == 0 and b"-32600" in done.stdout and b'"after"' in done.stdout,
                (done.returncode, done.stdout[:200]))


def unix_socket_crowd(story, node):
    """[socket] connections are served, the next is told so and closed."""
    held = []
    try:
        for _ in range(400):
            one = socket.socket(socket.AF_UNIX)
            one.connect(str(node.data / "skein.sock"))  # waits for room in the kernel's queue
            one.settimeout(K_HANG_S)
            held.append(one)
        told = held[-1].recv(4096)
        story.check("one too many on the socket is told so", b"overloaded" in told, told)
        story.check("and closed", held[-1].recv(4096) == b"")
    finally:
        for one in held:
            one.close()


SCENARIOS = [malformed_http, malformed_lines, json_that_is_wrong, duplicate_ids, who_may_ask, on_stdio,
             unix_socket_crowd]
