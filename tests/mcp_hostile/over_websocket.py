"""Hostile clients of the WebSocket at /mcp/ws: handshakes, frames that RFC 6455 forbids, and messages that are none."""
import json
import random
import time

from lib.waiting import until
from lib.websocket import frame, handshake
from node import K_SECONDS, Closed

K_MESSAGE_BYTES = 4 << 20
K_PINGS = 5000
K_RANDOM = 200
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA


def handshakes(story, node):
    """Who may not, or does not ask for a WebSocket as RFC 6455 says, is answered in HTTP."""
    good = handshake(node.secret)
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    wrong_token = {401, 429}  # by then others may have guessed
    cases = [
        ("no token", good.replace(f"Authorization: Bearer {node.secret}\r\n", ""), wrong_token),
        ("a wrong token", good.replace(node.secret, "guess-of-ws"), wrong_token),
        ("a wrong one as a subprotocol",
         good.replace(f"Authorization: Bearer {node.secret}", "Sec-WebSocket-Protocol: mcp, bearer.guess-of-ws"),
         wrong_token),
        ("the token in the query",
         handshake(None, path=f"/mcp/ws?token={node.secret}"), wrong_token),
        ("a page from elsewhere", good.replace(key, key + "\r\nOrigin: http://evil.example"), {403}),
        ("a page without an origin", good.replace(key, key + "\r\nOrigin: null"), {403}),
        ("another host", good.replace("Host: localhost", "Host: evil.example"), {403}),
        ("no upgrade", good.replace("Upgrade: websocket\r\n", ""), {426}),
        ("another upgrade", good.replace("Upgrade: websocket", "Upgrade: h2c"), {426}),
        ("no Connection: Upgrade", good.replace("Connection: Upgrade", "Connection: keep-alive"), {426}),
        ("version 8", good.replace("Version: 13", "Version: 8"), {426}),
        ("no key", good.replace(key + "\r\n", ""), {400}),
        ("a short key", good.replace(key, "Sec-WebSocket-Key: AAAA"), {400}),
        ("a key that is no base64", good.replace("dGhlIHNhbXBsZSBub25jZQ", "!" * 22), {400}),
        ("a POST", good.replace("GET ", "POST "), {400}),
        ("a body", good.replace(key, key + "\r\nContent-Length: 1") + "x", {400}),
        ("another path", good.replace("/mcp/ws", "/mcp/ws/"), {404}),
    ]
    for what, text, statuses in cases:
        with node.client() as client:
            client.send(text.encode())
            found = client.response().status
            story.check(f"WebSocket: a handshake with {what}: {statuses}", found in statuses, found)
    with node.websocket(more=["Sec-WebSocket-Extensions: permessage-deflate"]) as client:
        story.check("WebSocket: compression is not spoken", "sec-websocket-extensions" not in client.head, client.head)


def forbidden_frames(story, node):
    """The code that RFC 6455 has for each, and nothing more is read."""
    half = frame(b"\xe2\x82", TEXT, last=False)
    mebi = b"x" * (1 << 20)
    cases = [
        ("a frame that is not masked", frame(b"{}", masked=False), 1002),
        ("the bit of compression", frame(b"{}", reserved=4), 1002),
        ("the second reserved bit", frame(b"{}", reserved=2), 1002),
        ("the third reserved bit", frame(b"{}", reserved=1), 1002),
        *[(f"the opcode {each:#x}", frame(b"", each), 1002) for each in (3, 4, 5, 6, 7, 0xB, 0xC, 0xD, 0xE, 0xF)],
        ("a ping of 126 bytes", frame(b"x" * 126, PING), 1002), ("a close of 126", frame(b"x" * 126, CLOSE), 1002),
        ("a ping in fragments", frame(b"x", PING, last=False), 1002),
        ("a close in fragments", frame(b"", CLOSE, last=False), 1002),
        ("a fragment of nothing", frame(b"x", CONTINUATION), 1002),
        ("a message within another", frame(b"x", last=False) + frame(b"x"), 1002),
        ("binary", frame(b"{}", BINARY), 1003), ("binary in fragments", frame(b"", BINARY, last=False), 1003),
        ("invalid UTF-8", frame(b"\xff\xfe"), 1007), ("an overlong NUL", frame(b"\xc0\x80"), 1007),
        ("a surrogate", frame(b"\xed\xa0\x80"), 1007),
        ("a character that is cut", half + frame(b"", CONTINUATION), 1007),
        ("a length over 4 MiB", frame(b"", said=K_MESSAGE_BYTES + 1), 1009),
        ("a length of 2^63", frame(b"", said=1 << 63), 1009), ("of 2^64-1", frame(b"", said=(1 << 64) - 1), 1009),
        ("fragments over 4 MiB", frame(mebi, last=False) + frame(mebi, CONTINUATION, last=False) * 3 +
         frame(b"x", CONTINUATION, last=False), 1009),
        ("a close of one byte", frame(b"x", CLOSE), 1002),
        ("a close whose reason is no UTF-8", frame(b"\x03\xe8\xff", CLOSE), 1002),
        *[(f"a close with {each}", frame(each.to_bytes(2, "big"), CLOSE), 1002)
          for each in (0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535)],
        *[(f"a close with {each}", frame(each.to_bytes(2, "big"), CLOSE), each) for each in (1000, 1001, 3000, 4999)],
        ("a close without a code", frame(b"", CLOSE), None),
    ]
    for what, data, code in cases:
        with node.websocket() as client:
            try:
                client.send(data + frame(client.discover("late")))
            except OSError:
                pass  # closed while we still sent; the close is there all the same
            kind, payload = client.frame()
            found = int.from_bytes(payload[:2], "big") if payload else None
            story.check(f"WebSocket: {what}: {code}", (kind, found) == (CLOSE, code), (kind, payload[:100]))
            story.check(f"WebSocket: {what}: closed", client.is_closed())


def messages(story, node):
    """What is no message is an error in a text frame, and the connection goes on."""
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    cases = [
        ("nothing", b"", -32700), ("half a message", request[:-1], -32700),
        ("half a surrogate pair, which is read", request.replace(b"tools", b"\\ud800"), -32602),
        ("nested 1,000,000 deep", b"[" * 1000000, -32600),
        ("a member twice", request.replace(b'"id": 1', b'"id": 1, "id": 2'), -32600),
        ("a batch", b"[" + request + b"]", -32600), ("a number", b"7", -32600),
        ("params that are a list", request.replace(b'"tools/list"', b'"tools/list", "params": []'), -32602),
    ]
    with node.websocket() as client:
        for what, text, code in cases:
            client.send(frame(text))
            got = client.message()
            story.check(f"WebSocket: {what}: {code}", got.get("error", {}).get("code") == code, got)
        task = client.call(1, "task_submit", type="sleep", params=300)["id"]
        waits = client.request("same", "tools/call", {"name": "task_wait", "arguments": {"id": task}})
        client.send(frame(waits) * 2)
        second, first = client.message(), client.message()
        story.check("WebSocket: an id under way: -32600", second.get("error", {}).get("code") == -32600, second)
        story.check("WebSocket: and the first is answered", "result" in first, first)


def fragments_and_pings(story, node):
    """Fragments of a byte with pings between them are a message; floods of empty ones and of pings are borne."""
    with node.websocket() as client:
        text = client.discover("pieces")
        pieces = [frame(text[at:at + 1], TEXT if at == 0 else CONTINUATION, last=False) for at in range(len(text))]
        client.send(frame(b"x", PING).join(pieces) + frame(b"", CONTINUATION))
        got = client.message()
        story.check("WebSocket: a message in fragments of a byte is answered", got.get("id") == "pieces", got)
        story.check("WebSocket: and so is each ping between them", client.pongs == len(text) - 1, client.pongs)
        client.send(frame(b"", TEXT, last=False) + frame(b"", CONTINUATION, last=False) * 20000 +
                    frame(client.discover("empty"), CONTINUATION))
        story.check("WebSocket: so is one after 20,000 empty ones", client.message().get("id") == "empty")
        client.pongs = 0
        for _ in range(10):
            client.send(frame(b"p" * 125, PING) * (K_PINGS // 10))
        client.send(frame(client.discover("after pings")) + frame(b"unasked", PONG) * 100)
        story.check("WebSocket: a request after a flood of pings is answered", client.message()["id"] == "after pings")
        story.check("WebSocket: and so are the pings", client.pongs == K_PINGS, client.pongs)


def random_frames(story, node):
    """Whatever comes after the handshake: a close, an answer, or nothing until we end it."""
    rng = random.Random(story.seed)
    wrong = 0
    for _ in range(K_RANDOM):
        with node.websocket() as client:
            try:
                for _ in range(rng.randint(1, 5)):
                    body = rng.choice([rng.randbytes(rng.randint(0, 200)), client.discover("x"), b"{}", b""])
                    data = bytearray(frame(body, rng.choice([0, 1, 1, 1, 2, 8, 9, 10]), last=rng.random() < 0.8))
                    if rng.random() < 0.5:
                        data[rng.randrange(min(len(data), 8))] ^= 1 << rng.randrange(8)
                    client.send(bytes(data))
                client.close_output()
                while True:
                    wrong += client.frame()[0] not in (TEXT, CLOSE, PING, PONG)
            except (Closed, OSError):
                pass
    story.check(f"WebSocket: {K_RANDOM} clients that send random frames get frames", wrong == 0, wrong)


def gone(story, node):
    before = len(node.descriptors())
    for at in range(60):
        client = node.websocket()
        if at % 3 == 0:
            client.send(frame(client.discover(at))[:at + 1])
        elif at % 3 == 1:
            client.send(frame(client.request(at, "tools/call", {"name": "task_list", "arguments": {}})) * 20)
        else:
            wanted = {"notifications": {"toolsListChanged": True}}
            client.send(frame(client.request(at, "subscriptions/listen", wanted)))
        client.reset()
    left = until(lambda: len(node.descriptors()) <= before)
    story.check("WebSocket: 60 that were reset are gone", left, f"{len(node.descriptors())} of {before}")


class Slow:
    """Begun together with those of other ways in, looked at later."""

    def __init__(self, node):
        self.half_frame = node.websocket()
        self.half_frame.send(frame(self.half_frame.discover(1))[:20])
        self.half_message = node.websocket()
        self.half_message.send(frame(b"{", last=False))
        self.alive = node.websocket()
        self.no_reader = self.flood(node, frame(self.alive.request(1, "tools/list")) * 50)
        self.no_pong_reader = self.flood(node, frame(b"p" * 125, PING) * 500)

    @staticmethod
    def flood(node, data):
        client = node.websocket(limit_s=0.3, receive_bytes=4096)
        try:
            for _ in range(500):
                client.send(data)
        except OSError:
            pass
        return client

    def trickle(self):
        for client, data in ((self.half_frame, b" "), (self.half_message, frame(b" ", CONTINUATION, last=False))):
            try:
                client.send(data)
            except OSError:
                pass

    def judge(self, story):
        for what, client in (("frame", self.half_frame), ("message", self.half_message)):
            kind, payload = client.frame()
            found = (kind, int.from_bytes(payload[:2], "big"))
            story.check(f"WebSocket: half a {what}: closed with 1008", found == (CLOSE, 1008), (kind, payload))
        story.check("WebSocket: who does not read is closed", until(self.no_reader.is_cut, 2 * K_SECONDS))
        story.check("WebSocket: nor does who only pings", until(self.no_pong_reader.is_cut, 2 * K_SECONDS))
        self.alive.send(frame(self.alive.discover("alive")))
        story.check("WebSocket: who is only silent is not closed with them", self.alive.message()["id"] == "alive")
        for each in (self.half_frame, self.half_message, self.alive, self.no_reader, self.no_pong_reader):
            each.socket.close()


def websocket(story, node):
    for part in (handshakes, forbidden_frames, messages, fragments_and_pings, random_frames, gone):
        begin = time.monotonic()
        part(story, node)
        print(f"  {part.__name__}: {time.monotonic() - begin:.1f} s")


SCENARIOS = [websocket]
