"""Clients of a node that show a token: the Unix socket, and MCP over HTTP, TCP and WebSocket, also with streams that
stay open."""
import http.client
import json
import pathlib
import select
import socket
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "outside_parts"))
from live_node import Socket  # noqa: E402, beside this file

K_LIMIT_S = 30
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class TokenSocket(Socket):
    """The Unix socket with a token in hello."""

    def __init__(self, data, token):
        self.token = token
        super().__init__(data)

    def ask(self, op, **params):
        if op == "hello":
            params["token"] = self.token
        return super().ask(op, **params)


class McpHttp:
    def __init__(self, port, token):
        self.token, self.connection, self.last = token, http.client.HTTPConnection("127.0.0.1", port, timeout=30), 0

    def ask(self, method, **params):
        self.last += 1
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
                   "Mcp-Method": method}
        if name := params.get("name", params.get("uri", params.get("taskId"))):
            headers["Mcp-Name"] = name
        body = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": {"_meta": META, **params}}
        self.connection.request("POST", "/mcp", json.dumps(body), headers)
        response = self.connection.getresponse()
        text = response.read()
        return json.loads(text) if response.status == 200 else {"error": {"status": response.status, "text": text}}


class McpLines:
    """TCP, a message per line."""

    def __init__(self, port, token):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=K_LIMIT_S)
        self.lines, self.last = self.socket.makefile("rw", encoding="utf-8"), 0
        self.lines.write(json.dumps({"token": token}) + "\n")

    def closing(self):
        """What is said without being asked for, until the connection ends."""
        self.lines.flush()
        return self.lines.read()

    def ask(self, method, **params):
        self.last += 1
        body = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": {"_meta": META, **params}}
        self.lines.write(json.dumps(body) + "\n")
        self.lines.flush()
        line = self.lines.readline()
        return json.loads(line) if line else {"error": {"message": "closed"}}


class McpWebSocket:
    def __init__(self, port, token):
        self.socket, self.last = socket.create_connection(("127.0.0.1", port), timeout=K_LIMIT_S), 0
        self.socket.sendall((f"GET /mcp/ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
                             "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mcp, bearer."
                             f"{token}\r\n\r\n").encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            got = self.socket.recv(1)
            assert got, head
            head += got
        assert b" 101 " in head, head

    def closing(self):
        """The close frame that comes without being asked for: code and reason."""
        while (got := self.frame()) is not None:
            if got[0] == 8:
                return struct.unpack(">H", got[1][:2])[0], got[1][2:].decode()
        return None

    def exactly(self, count):
        got = b""
        while len(got) < count:
            more = self.socket.recv(count - len(got))
            if not more:
                return None
            got += more
        return got

    def frame(self):
        """Opcode and payload; None when it is closed."""
        head = self.exactly(2)
        if head is None:
            return None
        size = head[1] & 127
        if size == 126:
            size = struct.unpack(">H", self.exactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.exactly(8))[0]
        return head[0] & 15, self.exactly(size)

    def ask(self, method, **params):
        self.last += 1
        text = json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method,
                           "params": {"_meta": META, **params}}).encode()
        size = bytes([128 | len(text)]) if len(text) < 126 else bytes([128 | 126]) + struct.pack(">H", len(text))
        self.socket.sendall(b"\x81" + size + b"\0\0\0\0" + text)
        opcode, payload = self.frame() or (8, b"")
        if opcode == 8:
            return {"error": {"message": "closed", "code": struct.unpack(">H", payload[:2])[0] if payload else 0}}
        return json.loads(payload)


class Stream:
    """What a node sends on one request, message by message, for as long as it is open."""

    def __init__(self, port, token, method, body=None, path="/mcp", **headers):
        text = json.dumps(body) if body else ""
        named = {"Host": f"127.0.0.1:{port}", "Authorization": f"Bearer {token}", "Content-Length": len(text),
                 "Content-Type": "application/json",
                 "Accept": "application/json, text/event-stream" if body else "text/event-stream",
                 **{each.replace("_", "-"): value for each, value in headers.items()}}
        self.socket, self.seen = socket.create_connection(("127.0.0.1", port), timeout=K_LIMIT_S), 0
        head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n{text}".encode())
        self.got = self.socket.recv(1 << 16)
        self.status = int(self.got.split()[1])

    def rest(self):
        """All that comes until the node ends the stream."""
        while not self.got.endswith(b"0\r\n\r\n") and (more := self.socket.recv(1 << 16)):
            self.got += more
        return self.got.decode()

    def messages(self, seconds=1.0):
        """Those that have come since the last time, until nothing comes for so long."""
        while select.select([self.socket], [], [], seconds)[0] and (more := self.socket.recv(1 << 16)):
            self.got += more
        lines = [each.removeprefix(b"data: ") for each in self.got.splitlines()]
        every = [json.loads(each) for each in lines if each.startswith(b"{")]
        since, self.seen = every[self.seen:], len(every)
        return since


def listening(at, token, *uris):
    body = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
            "params": {"_meta": META, "notifications": {"resourceSubscriptions": list(uris)}}}
    return Stream(at.port, token, "POST", body, MCP_Protocol_Version="2026-07-28", Mcp_Method="subscriptions/listen")


class LegacySession:
    """Of the protocol's earlier versions, with its stream of notifications."""

    def __init__(self, at, token):
        self.at, self.token, self.id = at, token, None
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        self.status, self.answer = self.ask("initialize", hello)
        self.stream = None
        if self.status == 200:
            self.stream = Stream(at.port, token, "GET", Mcp_Session_Id=self.id, MCP_Protocol_Version="2025-06-18")

    def ask(self, method, params):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream"}
        if self.id:
            headers |= {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": "2025-06-18"}
        connection = http.client.HTTPConnection("127.0.0.1", self.at.port, timeout=K_LIMIT_S)
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
                           headers)
        response = connection.getresponse()
        self.id = self.id or response.getheader("Mcp-Session-Id")
        return response.status, response.read().decode()
