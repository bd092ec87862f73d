"""Clients of a node that show a token: the Unix socket, and MCP over HTTP, TCP and WebSocket, also with streams that
stay open."""
import http.client
import json
import select
import socket

from lib.clients import Socket
from lib.mcp import HttpClient, LineClient, WebSocketClient, modern
from lib.waiting import K_LIMIT_S

META = modern({})["_meta"]


class TokenSocket(Socket):
    """The Unix socket with a token in hello."""

    def __init__(self, data, token):
        super().__init__(data, token=token)


class McpHttp(HttpClient):
    """What is not answered with 200 is an error with its status."""

    def __init__(self, port, token):
        super().__init__(f"http://127.0.0.1:{port}/mcp", token)

    def ask(self, method, **params):
        response, connection = self.post(self.request(method, params))
        text = response.read()
        connection.close()
        return json.loads(text) if response.status == 200 else {"error": {"status": response.status, "text": text}}


class McpLines(LineClient):
    def ask(self, method, **params):
        return super().ask(method, params)


class McpWebSocket(WebSocketClient):
    def ask(self, method, **params):
        return super().ask(method, params)


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
