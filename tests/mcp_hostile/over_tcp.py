"""Hostile clients of TCP, where a message is a line and the first line shows the token."""
import json
import time

import bad_inputs
from lib.waiting import until
from node import K_SECONDS, K_TCP_CONNECTIONS, Node

K_TCP_LINES = 1000
K_LINES_AT_ONCE = 50
K_LINE_BYTES = 4 << 20
K_GUESSES = 40
K_FLOOD_S = 1.5
K_FAIR_S = 0.5


def malformed(story, node):
    """Each line that is no message gets an error; the connection goes on."""
    with node.tcp_client() as client:
        for at, text in enumerate(bad_inputs.lines(story.seed + 2, K_TCP_LINES, bad_inputs.message)):
            client.say(text)
            if at % K_LINES_AT_ONCE == 0:
                client.good(f"good-{at}")
        client.good("last")
    story.check(f"{K_TCP_LINES} malformed lines on TCP", True)


def one_by_one(story, node):
    """The answer of each kind of line, on a connection that goes on."""
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    deep = b"[" * 65 + b"]" * 65
    cases = [
        ("half a message", request[:-1], -32700), ("invalid UTF-8", request.replace(b"tools", b"\xff\xfe"), -32700),
        ("an overlong NUL", request.replace(b"tools", b"\xc0\x80"), -32700),
        ("half a surrogate pair, which is read", request.replace(b"tools", b"\\ud800"), -32602),
        ("a NUL", b"\x00", -32700), ("what HTTP begins with", b"GET /mcp HTTP/1.1", -32700),
        ("nested 65 deep", b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"a":' + deep + b"}}", -32600),
        ("nested 1,000,000 deep", b"[" * 1000000, -32600),
        ("a member twice", request.replace(b'"id": 1', b'"id": 1, "id": 2'), -32600),
        ("a batch", b"[" + request + b"]", -32600), ("a number", b"7", -32600),
        ("an id that is a list", request.replace(b": 1", b": [1]"), -32600),
        ("params that are a list", request.replace(b'"tools/list"', b'"tools/list", "params": []'), -32602),
        ("the token again", json.dumps({"token": node.secret}).encode(), -32600),
    ]
    with node.tcp_client() as client:
        for what, line, code in cases:
            client.say(line)
            got = client.line()
            story.check(f"TCP: {what}: {code}", (got or {}).get("error", {}).get("code") == code, got)
        client.say(b"")
        client.say(b"\r")
        client.good("after empty lines, which are passed over")


def duplicate_ids(story, node):
    with node.tcp_client() as client:
        task = client.call(1, "task_submit", type="sleep", params=300)["id"]
        waits = client.request("same", "tools/call", {"name": "task_wait", "arguments": {"id": task}})
        client.say(waits)
        client.say(waits)
        second, first = client.line(), client.line()
        story.check("TCP: an id that is under way: -32600", second.get("error", {}).get("code") == -32600, second)
        story.check("TCP: and the first is answered", first["id"] == "same" and "result" in first, first)


def first_lines(story, node):
    """Whatever does nothing but show the right token is an error without an id, and the end."""
    token = node.secret
    good = json.dumps({"token": token})
    cases = [
        ("nothing", ""), ("a request", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})), ("the token", token),
        ("a wrong token", '{"token":"guess-of-tcp"}'), ("a part of it", json.dumps({"token": token[:-1]})),
        ("more than it", json.dumps({"token": token + "x"})), ("a number", '{"token":1}'), ("a list", f"[{good}]"),
        ("another member too", good[:-1] + ',"x":1}'), ("the token twice", good[:-1] + ',"token":"x"}'),
        ("what HTTP has", f"Authorization: Bearer {token}"), ("half of it", good[:-1]), ("two on a line", good + good),
        ("5,000 bytes", '{"token":"' + "x" * 5000 + '"}'),
    ]
    for what, text in cases:
        with node.tcp_client(token=None) as client:
            client.say(text.encode())
            client.say(client.request(1, "server/discover"))
            told = client.line()
            holds = told is not None and "token" in told["error"]["message"] and "id" not in told
            story.check(f"TCP: a first line that is {what} is refused", holds, told)
            story.check(f"TCP: and closed after {what}", client.line() is None)
    with node.tcp_client(token=None) as client:
        client.send(b"x" * 100000)
        told = client.line()["error"]["message"]
        holds = "token" in told and "in time" not in told
        story.check("TCP: a first line without an end is refused unread", holds, told)


def guessers(story, node):
    """Told so ten times, then only to come back later; the right token works all the while."""
    before = node.log().count("tcp: a client sent a wrong token")
    told = set()
    for at in range(K_GUESSES):
        with node.tcp_client(token=f"guess-{at}") as client:
            told.add(client.line()["error"]["message"].split(";")[0].split(":")[0])
        if at % 10 == 0:
            with node.tcp_client() as client:
                client.good("beside guesses")
    story.check("TCP: guesses are soon put off", "too many wrong tokens" in told, told)
    log = node.log()
    logged = log.count("tcp: a client sent a wrong token") - before
    story.check("TCP: the log does not grow with the guesses", logged <= 20, logged)
    story.check("TCP: and has none of what was shown", "guess-" not in log and node.secret not in log)


def pages(story, node):
    """What a web page can make a browser send does nothing, though no token is wanted."""
    folder = node.folder / "open"
    folder.mkdir()
    open_node = Node(folder, ("--auth", "none"))
    try:
        with open_node.tcp_client(token=None) as client:
            head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{open_node.tcp_port}\r\nOrigin: http://evil.example\r\n\r\n\n"
            client.send(head.encode())
            client.say(client.request(1, "tools/call", {"name": "task_submit", "arguments": {"type": "echo"}}))
            told = client.line()
            story.check("TCP: HTTP is told that it is no message", "not a message" in told["error"]["message"], told)
            story.check("TCP: and closed", client.line() is None)
        with open_node.tcp_client(token=None) as client:
            found = client.call(2, "task_list")
            story.check("TCP: and the task of a page is not there", found["tasks"] == [], found)
    finally:
        open_node.stop()


def too_large(story, node):
    with node.tcp_client() as client:
        try:
            client.send(b"x" * (K_LINE_BYTES + 2))
        except OSError:
            pass  # closed while we still sent; the answer is there all the same
        told = client.line()
        story.check("TCP: a line over 4 MiB: -32600", told and told["error"]["code"] == -32600, told)
        story.check("TCP: and the connection ends", client.line() is None)


def gone(story, node):
    """What was asked whole is answered, half a line is dropped; who vanishes leaves nothing."""
    before = len(node.descriptors())
    with node.tcp_client() as client:
        for at in range(3):
            client.say(client.request(at, "tools/list"))
        client.send(b'{"jsonrpc":"2.0","id":3')
        client.close_output()
        found = [client.line()["id"] for _ in range(3)]
        story.check("TCP: what was asked before the client closed its side is answered", found == [0, 1, 2], found)
        story.check("TCP: and half a line is not", client.line() is None)
    for at in range(100):
        client = node.tcp_client(token=node.secret if at % 4 else None)
        request = client.request(at, "tools/call", {"name": "task_list", "arguments": {}})
        if at % 4 == 1:
            client.send(json.dumps(request).encode()[:at])
        elif at % 4 == 2:
            for _ in range(20):
                client.say(request)
        elif at % 4 == 3:
            client.say(client.request(at, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
        client.reset()
    left = until(lambda: len(node.descriptors()) <= before)
    story.check("TCP: 100 connections that were reset are gone", left, f"{len(node.descriptors())} of {before}")


def served(node):
    """A client that was let in and answered; None when there is no place for it."""
    client = node.tcp_client()
    client.say(client.request(1, "server/discover"))
    if "result" in (client.line() or {}):
        return client
    client.socket.close()
    return None


def one_too_many(story, node):
    """[tcp] connections are kept, the next is told so and closed."""
    # Those of before may have their places for a moment.
    crowd = [until(lambda: served(node)) for _ in range(K_TCP_CONNECTIONS)]
    story.check("TCP: there is room for as many as there may be", all(crowd), crowd.count(None))
    with node.tcp_client(token=None) as late:
        told = late.line()
        story.check("TCP: one too many is told so", "too many connections" in told["error"]["message"], told)
        story.check("TCP: and closed", late.line() is None)
    for each in filter(None, crowd):
        each.socket.close()
    next_ = until(lambda: served(node))
    story.check("TCP: when they have gone the next is served", next_)
    next_.socket.close()


def flood(story, node):
    """Who asks without waiting waits for itself: others are answered in time."""
    worst = 0
    with node.tcp_client() as client, node.client() as other:
        batch = b"".join(json.dumps(client.request(at, "tools/list")).encode() + b"\n" for at in range(100))
        end = time.monotonic() + K_FLOOD_S
        answered = 0
        while time.monotonic() < end:
            client.send(batch)
            begin = time.monotonic()
            other.ask("tools/list")
            worst = max(worst, time.monotonic() - begin)
            answered += sum("result" in client.line() for _ in range(100))
    story.check(f"TCP: beside a flood another's answer takes {K_FAIR_S} s at most", worst < K_FAIR_S, f"{worst:.2f} s")
    print(f"TCP: {answered / K_FLOOD_S:.0f} answers/s to a flood, {worst * 1000:.0f} ms at worst for another client")


class Slow:
    """Clients that take their time; begun together with those of other ways in, looked at later."""

    def __init__(self, node):
        self.begin = time.monotonic()
        self.before_login = node.tcp_client(token=None)
        self.half_login = node.tcp_client(token=None)
        self.half_login.send(b'{"token":')
        self.half_line = node.tcp_client()
        self.half_line.send(b'{"jsonrpc":')
        self.silent = node.tcp_client()
        self.no_reader = node.tcp_client(limit_s=0.3, receive_bytes=4096)
        batch = b"".join(json.dumps(self.no_reader.request(at, "tools/list")).encode() + b"\n" for at in range(50))
        self.sent = 0
        try:
            for _ in range(500):
                self.no_reader.send(batch)
                self.sent += len(batch)
        except OSError:
            pass

    def trickle(self):
        """A byte more of what they do not end."""
        for each in (self.half_login, self.half_line):
            try:
                each.send(b" ")
            except OSError:
                pass

    def judge(self, story):
        for what, client, words in [("who shows no token", self.before_login, "no token was sent in time"),
                                    ("half a first line", self.half_login, "in time"),
                                    ("half a line", self.half_line, "the line was not completed in time")]:
            told = client.line()
            story.check(f"TCP: {what} is told so", words in (told or {}).get("error", {}).get("message", ""), told)
            story.check(f"TCP: {what} is closed", client.line() is None)
        story.check("TCP: who says nothing is closed without a word", self.silent.line() is None)
        story.check("TCP: who does not read is closed", until(self.no_reader.is_cut, 2 * K_SECONDS))
        for each in (self.before_login, self.half_login, self.half_line, self.silent, self.no_reader):
            each.socket.close()


def tcp(story, node):
    for part in (malformed, one_by_one, duplicate_ids, first_lines, guessers, pages, too_large, gone, one_too_many,
                 flood):
        part(story, node)


SCENARIOS = [tcp]
