"""Hostile clients of REST at /api/v1: paths, methods, types, queries, bodies, and readers of events that stop."""
import json
import random
import time

import bad_inputs
from lib.waiting import until
from node import K_READERS, K_SECONDS, Closed

K_SPOILED = 400
K_CANCELLERS = 40
K_CANCELLED = 25  # tasks of each
NO_TASK = "01000000-0000-7000-8000-000000000000"
# Whatever a damaged request may turn into; 201 is a task that was submitted all the same.
ANY = bad_inputs.ANY | {201, 409, 422}


def request(node, method, path, body=None, more=(), json_type="application/json", token=None):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token or node.secret}", *more]
    body = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    if body is not None:
        lines += [f"Content-Length: {len(body)}"] + ([f"Content-Type: {json_type}"] if json_type else [])
    return "\r\n".join(lines + ["", ""]).encode("utf-8", "surrogateescape") + (body or b"")


def wrong_paths_and_methods(_node):
    for path in ("/api/v1", "/api/v1/", "/api/v1/task", "/api/v1/tasks/", "/api/v1//tasks", "/api/v2/tasks", "/api/",
                 "/api/v1/../v1/tasks", "/api/v1/%2e%2e/v1/tasks", "/api/v1/tasks/%00", "/api/v1/tasks/%ff",
                 "/api/v1/tasks/%4", "/api/v1/tasks/%zz", "/api/v1/TASKS", "/api/v1/%74asks", "/api/v1/tasks/x/y/z",
                 "/api/v1/swarms//pause", "/api/v1/stop", "/api/v1/log_level", "/api/v1/chaos_kill", "/api/v1/backup"):
        yield path, ("GET", path), 404, "not_found"
    for method, path in (("PUT", "/tasks"), ("DELETE", "/tasks"), ("PATCH", "/tasks/x"), ("POST", "/status"),
                         ("GET", "/tasks/x/cancel"), ("HEAD", "/status"), ("OPTIONS", "/tasks"), ("TRACE", "/node"),
                         ("BREW", "/tree"), ("get", "/status")):
        yield f"{method} {path}", (method, "/api/v1" + path), 405, "method_not_allowed"


def wrong_queries(_node):
    for query in ("limit=0", "limit=-1", "limit=1.5", "limit=1e3", "limit=0x10", "limit=+5", "limit=", "limit=5x",
                  "limit=99999999999999999999", "limit=18446744073709551616", "limit=1001", "limit=5&limit=5",
                  "colour=red", "limit", "=5", "%ff=1", "type=%ff", "type=%4", "type=%", "type=%zz", "type=a%00b",
                  "state=asleep", "finished_from=yesterday", "li%6Dit=1&limit=2"):
        yield query, ("GET", f"/api/v1/tasks?{query}"), 400, "invalid"
    for path in ("/processes?sort=colour", "/events?kinds=sunrise", "/events?task=x", "/events?after=-1",
                 "/events?after=18446744073709551616", "/tree?depth=0", "/tree?depth=33", "/status?x=1"):
        yield path, ("GET", "/api/v1" + path), 400, "invalid"
    yield "a cursor that was never given", ("GET", "/api/v1/tasks?cursor=zzz"), 400, "bad_cursor"
    yield "an id that is none", ("GET", "/api/v1/tasks/" + "x" * 1000), 400, "invalid"
    yield "an id of nothing", ("GET", f"/api/v1/tasks/{NO_TASK}"), 404, "task_not_found"


def wrong_bodies(_node):
    tasks = ("POST", "/api/v1/tasks")
    deep = b"[" * 1000000
    for body in (b"{", b'{"type":', b"\xff\xfe", b'{"type":"\xff"}', b'{"type":"\\ud800"}', b'{"type":"a","type":"b"}',
                 deep, b'{"type":"a","params":' + b"[" * 65 + b"]" * 65 + b"}", b"{} {}", b"nul", b'{"type":1e999}'):
        yield repr(body[:40]), (*tasks, body), 400, "invalid_json"
    for body in ([], 7, None, "x", {}, {"type": 7}, {"type": None}, {"type": ["a"]}, {"type": "a", "prio": 1},
                 {"type": "a", "attempts": -1}, {"type": "a", "attempts": "many"}, {"type": "a", "delay_ms": 1.5},
                 {"type": "a", "priority": "urgent"}, {"type": "a", "dependencies": "x"},
                 {"type": "a", "dependencies": [7]}, {"type": "a", "capabilities": {}}, {"type": ""}):
        yield str(body), (*tasks, json.dumps(body).encode()), 400, "invalid"
    yield "a body where none belongs", ("GET", "/api/v1/status", {"a": 1}), 400, "invalid"
    yield "params that are too large", (*tasks, {"type": "a", "params": "x" * 600000}), 413, "too_large"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/json-seq", "",
                 "multipart/form-data; boundary=x"):
        yield f"Content-Type '{kind}'", (*tasks, {"type": "a"}, (), kind), 415, "unsupported_media_type"


def strangers(_node):
    path = ("GET", "/api/v1/status")
    yield "a page from elsewhere", (*path, None, ["Origin: http://evil.example"]), 403, "forbidden"
    yield "a page without an origin", (*path, None, ["Origin: null"]), 403, "forbidden"


def one_by_one(story, node):
    """The status and the code of each, in an error as the OpenAPI file has it, on a connection that goes on."""
    with node.client() as client:
        for group in (wrong_paths_and_methods, wrong_queries, wrong_bodies, strangers):
            for what, words, status, code in group(node):
                client.send(request(node, *words))
                got = client.response(has_body=words[0] != "HEAD")
                found = got.json.get("error", {}).get("code") if got.body else code
                story.check(f"REST: {what}: {status} {code}", (got.status, found) == (status, code),
                            f"{got.status} {got.body[:300]}")
                story.check(f"REST: {what}: says which methods there are", status != 405 or "allow" in got.headers)
        client.send(request(node, "GET", "/api/v1/status", more=["Range: bytes=0-1", "If-None-Match: *",
                                                                 "If-Range: x", "If-Modified-Since: x"]))
        got = client.response()
        story.check("REST: a part is asked for: all of it comes", got.status == 200 and "journal" in got.json, got.body)
    for what, token in (("a wrong token", "guess-of-rest"), ("the token and more", node.secret + "x")):
        with node.client() as client:
            client.send(request(node, "GET", "/api/v1/status", token=token))
            got = client.response()
            story.check(f"REST: {what}: 401 or 429, as JSON", got.status in (401, 429) and "code" in got.json["error"],
                        f"{got.status} {got.body}")
            story.check(f"REST: {what}: and closed", client.is_closed())
    with node.client() as client:
        client.send(request(node, "POST", "/api/v1/tasks", token="guess-of-rest",
                            more=["Content-Length: 4000000", "Content-Type: application/json"]))
        story.check("REST: a stranger's body is not waited for", client.response().status in (401, 429))
    log = node.log()
    story.check("REST: the log has none of what was shown", "guess-" not in log and node.secret not in log)


def spoiled(story, node):
    """Requests with some bytes changed: a status, or closed; never a 5xx of ours."""
    rng = random.Random(story.seed + 3)
    wrong = []
    for _ in range(K_SPOILED):
        data = bad_inputs.spoiled(rng, request(node, *rng.choice([
            ("GET", "/api/v1/tasks?limit=5&state=queued&type=a%20b"), ("GET", "/api/v1/tree?depth=2"),
            ("POST", f"/api/v1/tasks/{NO_TASK}/cancel", {"reason": "x"}), ("GET", "/api/v1/agents?limit=1&cursor=x"),
            ("POST", "/api/v1/swarms/none/scale", {"min": 1, "max": 2}), ("GET", "/api/v1/openapi.json")])))
        with node.client(limit_s=5) as client:
            try:
                client.send(data)
                client.close_output()
                found = client.response(has_body=not data.startswith(b"HEAD")).status
            except (Closed, OSError):
                found = None
            if found not in ANY:
                wrong.append((found, data))
    story.check(f"REST: {K_SPOILED} damaged requests get an answer", not wrong, wrong[:3])


def pipelined(story, node):
    """Answered all, and in order."""
    with node.client() as client:
        client.send(b"".join(request(node, "GET", f"/api/v1/tasks/{at:08x}{NO_TASK[8:]}") for at in range(500)))
        found = [f"{at:08x}" in client.response().body.decode() for at in range(500)]
        story.check("REST: 500 requests at once are answered in order", all(found), found.count(True))


def events(node, query="", last=None, **more):
    client = node.client(**more)
    client.send(request(node, "GET", f"/api/v1/events{query}", more=[f"Last-Event-ID: {last}"] if last else []))
    return client


def resumed(story, node):
    """An id that was never given is one of before a restart."""
    for last in ("x", "-1", "zz-1", "1f3a-", "1f3a-27", "99999999999999999999-1", "1-99999999999999999999", "%00"):
        with events(node, last=last) as client:
            client.until(b"event: restarted")
            story.check(f"REST: Last-Event-ID '{last}': restarted", True)


def make_events(node):
    """More bytes of events than the kernel keeps for a reader: tasks that are cancelled with long reasons."""
    clients = [node.client() for _ in range(K_CANCELLERS)]
    tasks = {client: [] for client in clients}
    submit = request(node, "POST", "/api/v1/tasks", {"type": "echo", "delay_ms": 3600000})
    for client in clients:
        client.send(submit * K_CANCELLED)
    for client in clients:
        tasks[client] = [client.response().json["id"] for _ in range(K_CANCELLED)]
    for client in clients:
        client.send(b"".join(request(node, "POST", f"/api/v1/tasks/{each}/cancel", {"reason": "y" * 4000})
                             for each in tasks[client]))
    for client in clients:
        for _ in range(K_CANCELLED):
            assert client.response().status == 200
        client.socket.close()


class Slow:
    """Readers of events that stop reading, one reader too many, and half a body."""

    def __init__(self, node):
        self.half_body = node.client()
        self.half_body.send(request(node, "POST", "/api/v1/tasks", more=["Content-Length: 100"]) + b'{"type":')
        self.before = node.resident_mb()
        self.stopped = []
        while True:  # the node has readers of its own
            reader = events(node, "?after=0", receive_bytes=4096)
            self.late = reader.response()
            if self.late.status != 200 or len(self.stopped) > K_READERS:
                reader.socket.close()
                break
            self.stopped.append(reader)
        make_events(node)
        self.grown = node.resident_mb() - self.before

    def trickle(self):
        try:
            self.half_body.send(b" ")
        except OSError:
            pass

    def judge(self, story):
        story.check("REST: half a body: 408", self.half_body.response().status == 408)
        story.check("REST: and closed", self.half_body.is_closed())
        story.check("REST: one reader of events too many: 503 and when to come back",
                    (self.late.status, "retry-after" in self.late.headers) == (503, True), self.late.body)
        story.check("REST: there is room for all others", len(self.stopped) > K_READERS // 2, len(self.stopped))
        story.check("REST: what readers do not read is bounded", self.grown < 64, f"{self.grown:.0f} MB")
        cut = sum(bool(until(each.is_cut, 2 * K_SECONDS)) for each in self.stopped)
        story.check("REST: readers of events that stop reading are closed", cut == len(self.stopped),
                    f"{cut} of {len(self.stopped)}")
        for each in self.stopped + [self.half_body]:
            each.socket.close()


def readers_come_again(story, node):
    """The places of those that were closed are free."""
    def is_served():
        with events(node) as client:
            return client.response(has_body=False).status == 200

    story.check("REST: the place of a reader that was closed is free", until(is_served))


def rest(story, node):
    for part in (one_by_one, spoiled, pipelined, resumed):
        begin = time.monotonic()
        part(story, node)
        print(f"  {part.__name__}: {time.monotonic() - begin:.1f} s")


SCENARIOS = [rest]
