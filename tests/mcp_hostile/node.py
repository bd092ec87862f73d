"""A live node with a token, clients that may misbehave towards it, and what can be seen of it from outside."""
import json
import os
import pathlib
import re
import socket
import struct

from lib import node as nodes
from lib.mcp import MODERN, request as message_of
from lib.places import LOOPBACK
from lib.websocket import frame, handshake, read_frame

K_ANSWER_LIMIT_S = 10
K_SECONDS = 2  # the node's idle, receive and stalled limits here
K_CONNECTIONS = 1000
K_TCP_CONNECTIONS = 50
K_READERS = 20  # of events


class Node(nodes.Node):
    """With short limits, few places and four agents."""

    def __init__(self, folder, more=()):
        limits = [f'{section}.{key}="{K_SECONDS}s"' for section, keys in
                  (("http", ("idle", "receive", "stalled")), ("tcp", ("login", "idle", "receive", "stalled")))
                  for key in keys]
        limits += [f"http.connections={K_CONNECTIONS}", f"tcp.connections={K_TCP_CONNECTIONS}",
                   f"operations.subscribers={K_READERS}", f"node.unauthenticated_max={2 * K_CONNECTIONS}"]
        super().__init__(folder, "[swarms.default]\nmin = 4\nmax = 4\n", *more, http=LOOPBACK, tcp=LOOPBACK,
                         settings=limits)
        self.up()
        self.secret = self.token() if (self.data / "token").exists() else None
        self.base = 0  # descriptors with nobody connected

    def processes(self):
        return self.json("ps", "--limit", "1")["count"]

    def resident_mb(self):
        pages = int(pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 1e6

    def client(self, **more):
        return Client(self, **more)

    def tcp_client(self, token="", **more):
        """A client that has shown the node's token, or another; None: none yet."""
        return Tcp(self, self.secret if token == "" else token, **more)

    def websocket(self, **more):
        return WebSocket(self, **more)


class Closed(Exception):
    """The node has closed the connection."""


class Response:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """Of a JSON-RPC error."""
        return self.json.get("error", {}).get("code")


class Client:
    """Raw bytes over TCP. Every wait is bounded."""

    def __init__(self, node, limit_s=K_ANSWER_LIMIT_S, receive_bytes=0, port=None):
        self.node = node
        self.socket = socket.socket()
        self.socket.settimeout(limit_s)
        if receive_bytes:  # it is soon slow to read
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.connect(("127.0.0.1", port or node.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.bytes = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def close_output(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """Ends without a word: the other side sees a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def fill(self):
        try:
            got = self.socket.recv(1 << 16)
        except ConnectionError:
            got = b""
        if not got:
            raise Closed
        self.bytes += got

    def until(self, mark):
        while mark not in self.bytes:
            self.fill()
        found, self.bytes = self.bytes.split(mark, 1)
        return found

    def response(self, has_body=True):
        """The next one; Closed when there is none, ValueError when it is no HTTP."""
        head = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        found = re.fullmatch(r"HTTP/1\.1 (\d{3}) [ -~]+", head[0])
        if not found:
            raise ValueError(f"no status line: {head[0]!r}")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:])}
        size = int(headers.get("content-length", 0)) if has_body else 0
        while len(self.bytes) < size:
            self.fill()
        body, self.bytes = self.bytes[:size], self.bytes[size:]
        return Response(int(found[1]), headers, body)

    def is_closed(self, limit_s=K_ANSWER_LIMIT_S):
        self.socket.settimeout(limit_s)
        try:
            while True:
                self.fill()
        except Closed:
            return True
        except TimeoutError:
            return False

    def is_cut(self):
        """Closed, as who sends and does not read finds out."""
        self.socket.settimeout(0.1)
        try:
            self.socket.send(b"x")
        except TimeoutError:
            return False
        except OSError:
            return True
        return False

    def request(self, method, params=None, ident=1, token=None, more=()):
        """The bytes of a modern request."""
        params = params or {}
        body = json.dumps(message_of(ident, method, params)).encode()
        return self.post(body, method, params.get("name", params.get("uri")), token, more)

    def post(self, body, method="tools/list", name=None, token=None, more=()):
        lines = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json",
                 f"Authorization: Bearer {token or self.node.secret}", f"MCP-Protocol-Version: {MODERN}",
                 f"Mcp-Method: {method}", f"Content-Length: {len(body)}", *more]
        if name:
            lines.append(f"Mcp-Name: {name}")
        return "\r\n".join(lines + ["", ""]).encode() + body

    def ask(self, method, params=None, **more):
        self.send(self.request(method, params, **more))
        return self.response()

    def call(self, tool, **arguments):
        """The structured result of a tool."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments}).json["result"]
        assert not result.get("isError"), result
        return result["structuredContent"]


class Tcp(Client):
    """Lines over TCP."""

    def __init__(self, node, token, **more):
        super().__init__(node, port=node.tcp_port, **more)
        self.request = message_of
        if token is not None:
            self.say({"token": token})

    def say(self, line):
        self.send((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")

    def line(self):
        """The next; None when the node has closed."""
        try:
            return json.loads(self.until(b"\n"))
        except Closed:
            return None

    def good(self, ident):
        """Asks what can be answered, and reads until it is; all on the way is JSON."""
        self.say(message_of(ident, "server/discover"))
        while (got := self.line()) is not None:
            if got.get("id") == ident and "result" in got:
                return
        raise AssertionError(f"closed before the answer to {ident}")

    def call(self, ident, tool, **arguments):
        self.say(message_of(ident, "tools/call", {"name": tool, "arguments": arguments}))
        return self.line()["result"]["structuredContent"]


class WebSocket(Client):
    """Frames made by hand."""

    def __init__(self, node, more=(), **rest):
        super().__init__(node, **rest)
        self.request = lambda *words: json.dumps(message_of(*words)).encode()
        self.pongs = 0
        self.send(handshake(node.secret, more).encode())
        self.head = self.until(b"\r\n\r\n").decode().lower()
        assert self.head.startswith("http/1.1 101 "), self.head

    def discover(self, ident):
        return self.request(ident, "server/discover")

    def take(self, count):
        while len(self.bytes) < count:
            self.fill()
        found, self.bytes = self.bytes[:count], self.bytes[count:]
        return found

    def frame(self):
        return read_frame(self.take)

    def message(self):
        """The next; pongs on the way are counted."""
        while True:
            kind, payload = self.frame()
            self.pongs += kind == 0xA
            if kind == 1:
                return json.loads(payload)
            assert kind == 0xA, (kind, payload)

    def call(self, ident, tool, **arguments):
        self.send(frame(self.request(ident, "tools/call", {"name": tool, "arguments": arguments})))
        return self.message()["result"]["structuredContent"]


class Lines:
    """The Unix socket; MCP on it when asked for."""

    def __init__(self, node, mcp=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(K_ANSWER_LIMIT_S)
        self.socket.connect(str(node.data / "skein.sock"))
        self.file = self.socket.makefile("rb")
        self.send({"id": 1, "op": "hello", "params": {"version": 2, "client": "test"}})
        self.hello = self.line()
        if mcp:
            self.send({"id": 2, "op": "mcp"})
            assert "ok" in self.line()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, said):
        self.socket.sendall((said if isinstance(said, bytes) else json.dumps(said).encode()) + b"\n")

    def line(self):
        """The next; None when the node has closed."""
        try:
            text = self.file.readline()
        except ConnectionError:
            text = b""
        return json.loads(text) if text else None

    request = staticmethod(message_of)
