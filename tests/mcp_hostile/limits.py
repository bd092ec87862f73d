"""Clients that send too much, too slowly or not to the end. K_SECONDS is the node's limit on each kind of waiting."""
import time

from lib.waiting import until
from node import K_SECONDS, Closed, Lines

K_SLACK_S = 2  # a limit is looked at four times in its length
K_SLOW_CLIENTS = 50
K_BODY_BYTES = 4 << 20
K_HEAD_BYTES = 16 << 10


def too_large(story, node):
    """Head: 431. Path: 414. Body: 413, whether its length is said, shown or comes in chunks."""
    plain = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {node.secret}\r\n".encode()
    chunked = plain + b"Transfer-Encoding: chunked\r\n\r\n"
    cases = [
        ("a head that is too long", b"GET /mcp HTTP/1.1\r\nX: " + b"x" * (2 * K_HEAD_BYTES), 431),
        ("a head without an end", b"x" * (2 * K_HEAD_BYTES), 431),
        ("100 headers", plain + b"X: y\r\n" * 100 + b"\r\n", 431),
        ("a path that is too long", b"GET /" + b"x" * 3000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        ("a length that is too large", plain + b"Content-Length: %d\r\n\r\n" % (K_BODY_BYTES + 1), 413),
        ("a body that is sent in spite of it",
         plain + b"Content-Length: %d\r\n\r\n" % (2 * K_BODY_BYTES) + b"x" * (2 * K_BODY_BYTES), 413),
        ("chunks that are too much", chunked + (b"100000\r\n" + b"x" * (1 << 20) + b"\r\n") * 5, 413),
        ("a chunk that says too much", chunked + b"fffffff\r\n", 413),
        ("bytes in chunks of their own", chunked + b"1\r\nx\r\n" * K_BODY_BYTES, 413),
        ("chunks with long extensions", chunked + (b"1;" + b"e" * 250 + b"\r\nx\r\n") * 30000, 413),
    ]
    for what, data, status in cases:
        with node.client() as client:
            try:
                client.send(data)
            except OSError:
                pass  # closed while we still sent; the answer is there all the same
            try:
                found = client.response().status
            except Closed:
                found = "closed without a word"
            story.check(f"{what}: {status}", found == status, found)
            story.check(f"{what}: the connection is closed", client.is_closed())
    with Lines(node) as mcp:
        mcp.send(b"x" * (K_BODY_BYTES + 2))
        told = mcp.line()
        story.check("an MCP line over 4 MiB: -32600", told["error"]["code"] == -32600, told)
        story.check("and the connection is closed", mcp.line() is None)


def slow(story, node):
    """Who does not send a request within [http] receive: 408, while others are served at once."""
    clients = [node.client() for _ in range(K_SLOW_CLIENTS)]
    head = clients[0].request("tools/list")
    body_at = head.index(b"\r\n\r\n") + 4
    begin = time.monotonic()
    slowest = 0
    for step in range(int(K_SECONDS / 0.25) + 1):
        for at, client in enumerate(clients):
            # A byte of the head at a time, or the head and then a byte of the body at a time.
            from_ = 0 if at % 2 == 0 else body_at
            data = head[from_ + step:from_ + step + 1] if step or at % 2 == 0 else head[:body_at + 1]
            try:
                client.send(data)
            except OSError:
                pass
        with node.client() as other:
            asked = time.monotonic()
            other.ask("tools/list")
            slowest = max(slowest, time.monotonic() - asked)
        time.sleep(max(0, begin + 0.25 * (step + 1) - time.monotonic()))
    found = []
    for client in clients:
        try:
            found.append(client.response().status)
        except Closed:
            found.append(None)
    took = time.monotonic() - begin
    story.check(f"{K_SLOW_CLIENTS} slow clients: 408", set(found) == {408}, found)
    story.check("at the limit", took < K_SECONDS + K_SLACK_S, f"after {took:.1f} s")
    story.check("and they are closed", all(client.is_closed() for client in clients))
    story.check("others are served meanwhile within 0.5 s", slowest < 0.5, f"{slowest:.2f} s")
    print(f"beside {K_SLOW_CLIENTS} slow clients a request takes {slowest * 1000:.0f} ms at most")
    for client in clients:
        client.socket.close()


def half_closed(story, node):
    """A whole request is answered though the client will send nothing more; half of one is not; a stream ends."""
    with node.client() as client:
        client.send(client.request("tools/list") * 3)
        client.close_output()
        found = [client.response().status for _ in range(3)]
        story.check("what was asked before the client closed its side is answered", found == [200] * 3, found)
        story.check("and then it is closed", client.is_closed())
    with node.client() as client:
        client.send(client.request("tools/list")[:-5])
        client.close_output()
        story.check("half a request is closed without a word", client.is_closed() and client.bytes == b"", client.bytes)
    with node.client() as client:
        client.send(client.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
        client.until(b"acknowledged")
        client.close_output()
        story.check("a stream whose client has closed its side ends", client.is_closed())


def gone(story, node):
    """Clients that vanish in the middle leave nothing."""
    before = len(node.descriptors())
    for at in range(200):
        client = node.client()
        request = client.request("tools/call", {"name": "task_list", "arguments": {}})
        if at % 4 == 0:
            client.send(request[:at])
        elif at % 4 == 1:
            client.send(request * 20)
        elif at % 4 == 2:
            client.send(client.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
        client.reset()
    left = until(lambda: len(node.descriptors()) <= before)
    story.check("200 connections that were reset are gone", left, f"{len(node.descriptors())} of {before}")


def does_not_read(story, node):
    """Who asks and never reads is closed after [http] stalled; meanwhile nothing more is read from it."""
    before = node.resident_mb()
    with node.client() as client:
        client.socket.settimeout(0.5)
        request = client.request("tools/list") * 100
        sent = 0
        try:
            for _ in range(1000):
                client.send(request)
                sent += len(request)
        except OSError:
            pass
        grown = node.resident_mb() - before
        story.check("what a client does not read is bounded", grown < 64, f"{grown:.0f} MB for {sent} bytes sent")

        def is_cut():
            try:
                client.socket.send(b"x")
            except TimeoutError:
                return False
            except OSError:
                return True
            return False

        story.check("and then it is closed", until(is_cut, K_SECONDS + K_SLACK_S + 2))


def silent(story, node):
    """A connection that says nothing is closed after [http] idle, before its first request and after one."""
    with node.client() as never, node.client() as once:
        once.ask("tools/list")
        begin = time.monotonic()
        closed = never.is_closed(K_SECONDS + K_SLACK_S) and once.is_closed(K_SLACK_S)
        took = time.monotonic() - begin
        story.check("silent connections are closed at the limit", closed and took > K_SECONDS * 0.7,
                    f"closed: {closed} after {took:.1f} s")
        story.check("without a word", never.bytes + once.bytes == b"")


SCENARIOS = [too_large, slow, half_closed, gone, does_not_read, silent]
