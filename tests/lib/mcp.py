"""MCP clients over standard input and output, HTTP, TCP and WebSocket. Each shows every message it gets to
`on_message(version, method, message)`, with the method of the request that it answers. Every wait is bounded."""
import http.client
import json
import queue
import socket
import struct
import subprocess
import threading
import time
import urllib.parse

from lib import websocket

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
TASKS = META + "tasks"
K_LIMIT_S = 60


def modern(params, capabilities=None):
    """Params as a modern client sends them."""
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": capabilities or {}}
    return dict(params, _meta=meta | params.get("_meta", {}))


def request(ident, method, params=None):
    """A modern request."""
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": modern(params or {})}


class Client:
    def __init__(self, on_message=None):
        self.on_message = on_message
        self.version = MODERN
        self.capabilities = {}
        self.methods = {}
        self.last_id = 0

    def request(self, method, params=None, message_id=None):
        self.last_id += 1
        message_id = self.last_id if message_id is None else message_id
        self.methods[json.dumps(message_id)] = method
        params = dict(params or {})
        if self.version == MODERN:
            params = modern(params, self.capabilities)
        return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}

    def saw(self, message):
        if self.on_message:
            method = self.methods.get(json.dumps(message.get("id"))) if "method" not in message else None
            self.on_message(self.version, method, message)

    def initialize(self, version, capabilities=None):
        """The beginning of a legacy client."""
        self.version = version
        result = self.ask("initialize", {"protocolVersion": version, "capabilities": capabilities or {},
                                         "clientInfo": {"name": "test", "version": "1"}})["result"]
        self.notify("notifications/initialized")
        return result

    def call(self, tool, arguments=None, **params):
        return self.ask("tools/call", dict(params, name=tool, arguments=arguments or {}))["result"]


class StdioClient(Client):
    """With a server of its own; its stderr goes to `log`."""

    def __init__(self, command, on_message=None, cwd=None, log=None):
        super().__init__(on_message)
        self.process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                        text=True, encoding="utf-8")
        self.inbox = queue.Queue()
        self.others = []  # what came and answers nothing that is waited for
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.inbox.put(line)
        self.inbox.put(None)

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def next(self, limit=K_LIMIT_S):
        line = self.inbox.get(timeout=limit)
        assert line is not None, "the server has closed its output"
        message = json.loads(line)
        for each in message if isinstance(message, list) else [message]:
            self.saw(each)
        return message

    def until(self, fits, limit=K_LIMIT_S):
        """The first message that fits; the others are kept."""
        for each in self.others:
            if fits(each):
                self.others.remove(each)
                return each
        end = time.monotonic() + limit
        while True:
            message = self.next(max(0.01, end - time.monotonic()))
            if fits(message):
                return message
            self.others.append(message)

    def answer(self, message_id, limit=K_LIMIT_S):
        return self.until(lambda each: "method" not in each and each.get("id") == message_id, limit)

    def ask(self, method, params=None, message_id=None):
        message = self.request(method, params, message_id)
        self.send(message)
        return self.answer(message["id"])

    def close(self):
        """Its exit code after the end of input."""
        self.process.stdin.close()
        return self.process.wait(K_LIMIT_S)


class HttpClient(Client):
    """A connection for each request."""

    def __init__(self, url, token=None, on_message=None):
        super().__init__(on_message)
        self.where = urllib.parse.urlparse(url)
        self.token = token
        self.session = None
        self.notices = []  # what came on the streams of requests

    def headers(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if self.version == MODERN:
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
            params = message.get("params", {})
            name = params.get("name") or params.get("uri") or params.get("taskId")
            if name:
                headers["Mcp-Name"] = name
        elif self.session:
            headers["MCP-Protocol-Version"] = self.version
        return headers

    def post(self, message):
        """The response, to be read, and its connection, to be closed."""
        connection = http.client.HTTPConnection(self.where.hostname, self.where.port, timeout=K_LIMIT_S)
        connection.request("POST", self.where.path, json.dumps(message), self.headers(message))
        response = connection.getresponse()
        self.session = response.getheader("Mcp-Session-Id") or self.session
        return response, connection

    def messages(self, response):
        """Each message of a response as it comes."""
        if "text/event-stream" not in response.getheader("Content-Type", ""):
            text = response.read()
            if text:
                message = json.loads(text)
                self.saw(message)
                yield message
            return
        end = time.monotonic() + K_LIMIT_S
        for line in response:
            assert time.monotonic() < end, "the stream says nothing but that it is there"
            if line.startswith(b"data: ") and line.strip() != b"data:":
                message = json.loads(line[6:])
                self.saw(message)
                yield message

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        response, connection = self.post(message)
        response.read()
        connection.close()
        assert response.status == 202, response.status

    def ask(self, method, params=None, message_id=None):
        message = self.request(method, params, message_id)
        response, connection = self.post(message)
        try:
            for each in self.messages(response):
                if "method" not in each and each.get("id") == message["id"]:
                    return each
                self.notices.append(each)
        finally:
            connection.close()
        raise AssertionError(f"{method} was not answered: {response.status}")

    def listen(self, notifications, message_id):
        """A stream that stays open: an iterator over its messages, and its connection."""
        response, connection = self.post(
            self.request("subscriptions/listen", {"notifications": notifications}, message_id))
        assert response.status == 200, response.status
        return self.messages(response), connection


class LineClient(Client):
    """TCP, a message per line. With a token, it logs in with that."""

    def __init__(self, port, token=None, on_message=None):
        super().__init__(on_message)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=K_LIMIT_S)
        self.file = self.socket.makefile("r", encoding="utf-8")
        if token is not None:
            self.send({"token": token})

    def send(self, message):
        self.socket.sendall((json.dumps(message) + "\n").encode())

    def next(self):
        """The next message; None at the end."""
        text = self.file.readline()
        if not text:
            return None
        message = json.loads(text)
        self.saw(message)
        return message

    def ask(self, method, params=None, message_id=None):
        """The answer; an error of its own when the node closes instead."""
        message = self.request(method, params, message_id)
        self.send(message)
        while (got := self.next()) is not None:
            if got.get("id") == message["id"]:
                return got
        return {"error": {"message": "closed"}}

    def closing(self):
        """What is said without being asked for, until the connection ends."""
        return self.file.read()


class WebSocketClient(Client):
    """A message per frame. Raises AssertionError with the head of the answer when the node refuses the upgrade."""

    def __init__(self, port, token, on_message=None):
        super().__init__(on_message)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=K_LIMIT_S)
        self.file = self.socket.makefile("rb")
        self.socket.sendall(websocket.handshake(None, [f"Sec-WebSocket-Protocol: mcp, bearer.{token}"]).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            assert line, head
            head += line
        assert b" 101 " in head, head

    def frame(self):
        """(opcode, payload); None at the end."""
        def take(count):
            got = self.file.read(count)
            if len(got) < count:
                raise EOFError
            return got

        try:
            return websocket.read_frame(take)
        except EOFError:
            return None

    def ask(self, method, params=None, message_id=None):
        """The answer; an error of its own when the node closes instead."""
        message = self.request(method, params, message_id)
        self.socket.sendall(websocket.frame(json.dumps(message).encode()))
        while (got := self.frame()) is not None and got[0] != websocket.CLOSE:
            answer = json.loads(got[1]) if got[0] == websocket.TEXT else {}
            if answer:
                self.saw(answer)
            if answer.get("id") == message["id"]:
                return answer
        code = struct.unpack(">H", got[1][:2])[0] if got and got[1] else 0
        return {"error": {"message": "closed", "code": code}}

    def closing(self):
        """The close frame that comes without being asked for: code and reason."""
        while (got := self.frame()) is not None:
            if got[0] == websocket.CLOSE:
                return struct.unpack(">H", got[1][:2])[0], got[1][2:].decode()
        return None
