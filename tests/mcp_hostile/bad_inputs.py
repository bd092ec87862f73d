"""Malformed inputs, made from a seed: requests that are cut, twisted, or were never any. Each comes with the statuses
that may answer it; None stands for a connection that is closed without a word."""
import json
import random

VERSION = "2026-07-28"
# Whatever a damaged request may turn into. A server that breaks says 500, one that is full 503: neither is here.
ANY = {200, 202, 400, 401, 403, 404, 405, 406, 413, 414, 415, 429, 431, 501, 505, None}
BROKEN = {400, 413, 414, 431, 501, 505, None}
JUNK = [None, True, False, 0, -1, 1.5, 1e308, 2**63, "", "x" * 300, "\u0000", [], {}, [[]], {"a": {"b": [None]}}]


def message(rng):
    """A request that would be answered."""
    name, arguments = rng.choice([
        ("task_list", {"limit": 1}), ("task_status", {"id": "01000000-0000-7000-8000-000000000000"}),
        ("swarm_list", {}), ("agent_list", {}), ("metrics", {}), ("tree", {"depth": 1})])
    meta = {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {}}
    method, params = rng.choice([
        ("tools/call", {"name": name, "arguments": arguments}), ("tools/list", {}), ("server/discover", {}),
        ("resources/read", {"uri": "skein://status"}), ("prompts/get", {"name": "node_health", "arguments": {}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "diagnose_task"},
                                 "argument": {"name": "task", "value": ""}})])
    return {"jsonrpc": "2.0", "id": rng.randrange(1000), "method": method, "params": dict(params, _meta=meta)}


def head(token, said, length=None, more=()):
    params = said.get("params") if isinstance(said, dict) else None
    params = params if isinstance(params, dict) else {}
    lines = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}",
             "Content-Type: application/json", f"MCP-Protocol-Version: {VERSION}"]
    if isinstance(said, dict) and isinstance(said.get("method"), str):
        lines.append(f"Mcp-Method: {said['method']}")
        name = params.get("name", params.get("uri"))
        if isinstance(name, str) and said["method"] in ("tools/call", "prompts/get", "resources/read"):
            lines.append(f"Mcp-Name: {name}")
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join(lines + list(more) + ["", ""]).encode("utf-8", "surrogatepass")


def whole(token, body, said):
    return head(token, said, len(body)) + body


def twisted(rng, value):
    """The same value with one place in it replaced by junk of another type, or taken away."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        kind = rng.random()
        if kind < 0.15:
            return {k: v for k, v in value.items() if k != key}
        if kind < 0.25:
            return dict(value, **{key + "_": rng.choice(JUNK)})
        return dict(value, **{key: twisted(rng, value[key])})
    return rng.choice(JUNK)


def spoiled(rng, data):
    """Some bytes of it changed, taken away, doubled or put in."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        if not data:
            break
        at = rng.randrange(len(data))
        kind = rng.randrange(5)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at:at + rng.randint(1, 20)]
        elif kind == 2:
            data[at:at] = data[at:at + rng.randint(1, 40)]
        elif kind == 3:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
        else:
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def cut_request(rng, token):
    said = message(rng)
    text = whole(token, json.dumps(said).encode(), said)
    return text[:rng.randrange(1, len(text))], {None}


def cut_json(rng, token):
    said = message(rng)
    body = json.dumps(said).encode()
    return whole(token, body[:rng.randrange(0, len(body))], said), {400}


def wrong_types(rng, token):
    said = twisted(rng, message(rng))
    return whole(token, json.dumps(said).encode(), said), ANY - {None}


def bad_head(rng, token):
    said = message(rng)
    body = json.dumps(said).encode()
    lines = head(token, said, len(body)).split(b"\r\n")
    kind, at = rng.randrange(9), rng.randrange(1, len(lines) - 2)
    if kind == 0:
        lines[0] = rng.choice([b"", b"POST", b"POST /mcp", b"POST  /mcp HTTP/1.1", b"POST /mcp HTTP/9.9",
                               b"POST * HTTP/1.1", b"POST mcp HTTP/1.1", b"\x16\x03\x01\x02\x00", b"PRI * HTTP/2.0",
                               b"POST /mcp http/1.1"])
    elif kind == 1:
        lines[at] = lines[at].replace(b":", rng.choice([b" :", b"", b"\x00:", b"\x7f:"]), 1)
    elif kind == 2:
        lines.insert(at, rng.choice([b" folded", b"\tfolded", b": none", b"a\nb: c", b"a: b\rc", b"a: b\x00c"]))
    elif kind == 3:
        lines.insert(at, rng.choice([b"Content-Length: 5", b"Transfer-Encoding: chunked", b"Host: other"]))
    elif kind == 4:
        lines = [each for each in lines if not each.startswith(b"Host")]
    elif kind == 5:
        lines = [b"Content-Length: " + rng.choice([b"-1", b"+5", b"0x10", b"1e3", b"", b"9" * 40, b"5 5"])
                 if each.startswith(b"Content-Length") else each for each in lines]
    elif kind == 6:
        lines.insert(at, b"x: " + b"y" * 20000)
    elif kind == 7:
        lines[at:at] = [b"h%d: v" % i for i in range(100)]
    else:
        return b"\n".join(lines) + body, BROKEN
    return b"\r\n".join(lines) + body, BROKEN


def bad_chunks(rng, token):
    said = message(rng)
    body = json.dumps(said).encode()
    begin = head(token, said, None, ["Transfer-Encoding: chunked"])
    size = b"%x" % len(body)
    kind = rng.choice([b"z\r\n", b"-5\r\n", b"\r\n", size + b" \r\n", size + b"\n", b"fffffffffffffffff\r\n",
                       b"ffffffff\r\n", size + b";" + b"e" * 300 + b"\r\n", b"%x\r\n" % (len(body) - 1),
                       b"%x\r\n" % (len(body) + 3)])
    return begin + kind + body + b"\r\n0\r\n\r\n", BROKEN


def random_bytes(rng, _token):
    return bytes(rng.randrange(256) for _ in range(rng.randint(1, 400))), BROKEN


def spoiled_request(rng, token):
    said = message(rng)
    return spoiled(rng, whole(token, json.dumps(said).encode(), said)), ANY


def wrong_path(rng, token):
    said = message(rng)
    text = whole(token, json.dumps(said).encode(), said)
    path = rng.choice([b"/mcp/", b"/mcp/../etc/passwd", b"/%2e%2e", b"/mcp%00", b"/MCP", b"/nothing?x=1"])
    method = rng.choice([b"POST", b"GET", b"PUT", b"HEAD", b"OPTIONS", b"BREW"])
    return text.replace(b"POST /mcp", method + b" " + path, 1), {404}


KINDS = [cut_request, cut_json, wrong_types, bad_head, bad_chunks, random_bytes, spoiled_request, wrong_path]


def http_inputs(seed, count, token):
    """(what kind, bytes, statuses that may answer)"""
    rng = random.Random(seed)
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        data, answers = kind(rng, token)
        yield kind.__name__, data, answers


def lines(seed, count, make):
    """Lines that are wrong in some way, none of them with a line's end within. `make` gives a good message."""
    rng = random.Random(seed)
    for _ in range(count):
        said = make(rng)
        kind = rng.randrange(4)
        if kind == 0:
            text = json.dumps(twisted(rng, said)).encode()
        elif kind == 1:
            text = json.dumps(said).encode()
            text = text[:rng.randrange(len(text))]
        elif kind == 2:
            text = spoiled(rng, json.dumps(said).encode())
        else:
            text = bytes(rng.randrange(256) for _ in range(rng.randint(1, 200)))
        yield text.replace(b"\n", b" ")
