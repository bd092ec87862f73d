"""A live node with a token, clients that may misbehave towards it, and what can be seen of it from outside."""
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import time

SKEIN = pathlib.Path(os.environ["SKEIN_BUILD"]).resolve() / "bin/skein"
K_START_LIMIT_S = 30
K_ANSWER_LIMIT_S = 10
K_SECONDS = 2  # the node's idle, receive and stalled limits here
K_CONNECTIONS = 1000
K_READERS = 20  # of events
K_LOOK_S = 0.02
VERSION = "2026-07-28"


def until(holds, limit_s=K_ANSWER_LIMIT_S):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(K_LOOK_S)
    return holds()


class Node:
    def __init__(self, folder, more=()):
        self.folder = pathlib.Path(folder)
        self.data = self.folder / "data"
        self.log = open(self.folder / "log", "w+")
        (self.folder / "skein.toml").write_text("[swarms.default]\nmin = 4\nmax = 4\n")
        limits = [f'{section}.{key}="{K_SECONDS}s"' for section, keys in
                  (("http", ("idle", "receive", "stalled")), ("tcp", ("login", "idle", "receive", "stalled")))
                  for key in keys]
        words = [SKEIN, "up", "--data", self.data, "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0", *more]
        for each in limits + [f"http.connections={K_CONNECTIONS}", f"tcp.connections={Tcp.K_CONNECTIONS}",
                              f"operations.subscribers={K_READERS}",
                              f"node.unauthenticated_max={2 * K_CONNECTIONS}"]:
            words += ["--set", each]
        self.process = subprocess.Popen(words, cwd=folder, stdout=self.log, stderr=subprocess.STDOUT)
        found = until(lambda: re.search(r"MCP is at http://127\.0\.0\.1:(\d+)/", self.text()), K_START_LIMIT_S)
        assert found, f"the node did not come up:\n{self.text()}"
        self.port = int(found[1])
        self.tcp_port = int(re.search(r"is at tcp 127\.0\.0\.1:(\d+)", self.text())[1])
        token = self.data / "token"
        self.token = token.read_text().strip() if token.exists() else None
        self.pid = self.process.pid
        self.base = 0  # descriptors with nobody connected

    def text(self):
        return pathlib.Path(self.log.name).read_text()

    def end(self):
        self.process.terminate()
        return self.process.wait(K_START_LIMIT_S)

    def run(self, *words):
        return subprocess.run([SKEIN, *words, "--data", self.data], capture_output=True, text=True, check=False,
                              timeout=K_START_LIMIT_S)

    def processes(self):
        return json.loads(self.run("ps", "--limit", "1", "--json").stdout)["count"]

    def descriptors(self):
        return sorted(int(each) for each in os.listdir(f"/proc/{self.pid}/fd"))

    def resident_mb(self):
        pages = int(pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 1e6

    def client(self, **more):
        return Client(self, **more)

    def tcp(self, token="", **more):
        """A client that has shown the node's token, or another; None: none yet."""
        return Tcp(self, self.token if token == "" else token, **more)

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
        params = dict(params or {}, _meta={"io.modelcontextprotocol/protocolVersion": VERSION,
                                           "io.modelcontextprotocol/clientCapabilities": {}})
        body = json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}).encode()
        return self.post(body, method, params.get("name", params.get("uri")), token, more)

    def post(self, body, method="tools/list", name=None, token=None, more=()):
        lines = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json",
                 f"Authorization: Bearer {token or self.node.token}", f"MCP-Protocol-Version: {VERSION}",
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


def message_of(ident, method, params=None):
    """A modern request."""
    meta = {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {}}
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": dict(params or {}, _meta=meta)}


class Tcp(Client):
    """Lines over TCP."""
    K_CONNECTIONS = 50

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


def frame(payload, opcode=1, last=True, masked=True, reserved=0, said=None):
    """A client's frame; `said` is what its head says of its length, when that is not so."""
    size = len(payload) if said is None else said
    head = bytes([(128 if last else 0) | reserved << 4 | opcode])
    mask_bit = 128 if masked else 0
    if size < 126:
        head += bytes([mask_bit | size])
    elif size < 1 << 16:
        head += bytes([mask_bit | 126]) + size.to_bytes(2, "big")
    else:
        head += bytes([mask_bit | 127]) + size.to_bytes(8, "big")
    if not masked:
        return head + payload
    mask = b"\x37\xfa\x21\x3d"
    key = int.from_bytes((mask * (len(payload) // 4 + 1))[:len(payload)], "big")
    return head + mask + (int.from_bytes(payload, "big") ^ key).to_bytes(len(payload), "big")


class WebSocket(Client):
    """Frames made by hand."""

    def __init__(self, node, more=(), **rest):
        super().__init__(node, **rest)
        self.request = lambda *words: json.dumps(message_of(*words)).encode()
        self.pongs = 0
        self.send(self.handshake(node.token, more).encode())
        self.head = self.until(b"\r\n\r\n").decode().lower()
        assert self.head.startswith("http/1.1 101 "), self.head

    @staticmethod
    def handshake(token, more=()):
        return "\r\n".join(["GET /mcp/ws HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}",
                            "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *more, "", ""])

    def discover(self, ident):
        return self.request(ident, "server/discover")

    def take(self, count):
        while len(self.bytes) < count:
            self.fill()
        found, self.bytes = self.bytes[:count], self.bytes[count:]
        return found

    def frame(self):
        """(opcode, payload); a server's is whole and not masked."""
        first, size = self.take(2)
        assert first & 0xF0 == 0x80 and size < 128, (first, size)
        if size > 125:
            size = int.from_bytes(self.take(2 if size == 126 else 8), "big")
        return first & 0x0F, self.take(size)

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
