"""Many at once: floods, guessers, a thousand who say nothing, and a node that is out of descriptors."""
import resource
import select
import threading
import time

from lib.waiting import until
from node import K_CONNECTIONS, K_SECONDS

K_FLOODERS = 4
K_FLOOD_S = 3
K_FAIR_S = 0.5  # the worst answer of one client while others flood
K_GUESSES = 100
K_ACCEPTED_S = 0.5  # as many as can be are accepted and answered by then


class Flood:
    """Clients that ask as fast as they can, without waiting for answers, in threads of their own."""

    def __init__(self, node, count):
        self.is_over = False
        self.answered = 0
        self.threads = [threading.Thread(target=self.run, args=(node,), daemon=True) for _ in range(count)]
        for each in self.threads:
            each.start()

    def run(self, node):
        with node.client() as client:
            batch = client.request("tools/call", {"name": "task_list", "arguments": {"limit": 5}}) * 200
            while not self.is_over:
                client.send(batch)
                for _ in range(200):
                    client.response()
                    self.answered += 1

    def end(self):
        self.is_over = True
        for each in self.threads:
            each.join()


def flood(story, node):
    """One that floods waits for itself: others are answered in time, tasks too."""
    crowd = Flood(node, K_FLOODERS)
    worst = worst_task = 0
    try:
        with node.client() as client:
            end = time.monotonic() + K_FLOOD_S
            while time.monotonic() < end:
                begin = time.monotonic()
                client.ask("tools/list")
                worst = max(worst, time.monotonic() - begin)
                begin = time.monotonic()
                task = client.call("task_submit", type="echo", params={})["id"]
                client.call("task_wait", id=task)
                worst_task = max(worst_task, time.monotonic() - begin)
    finally:
        crowd.end()
    print(f"beside {K_FLOODERS} floods ({crowd.answered / K_FLOOD_S:.0f} answers/s) the worst answer took "
          f"{worst * 1000:.0f} ms, the worst task {worst_task * 1000:.0f} ms")
    story.check(f"beside floods an answer takes {K_FAIR_S} s at most", worst < K_FAIR_S, f"{worst:.2f} s")
    story.check("and a task twice that", worst_task < 2 * K_FAIR_S, f"{worst_task:.2f} s")


def a_thousand_who_say_nothing(story, node):
    """[http] connections are kept, the next client is told 503 and when to come back; at the limit they are closed."""
    until(lambda: len(node.descriptors()) <= node.base)
    with node.client() as old:
        silent = [node.client() for _ in range(K_CONNECTIONS - 1)]
        story.check("a client that was there before is served", old.ask("tools/list").status == 200)
        with node.client() as late:
            late.send(late.request("tools/list"))
            told = late.response()
            story.check("one too many is told 503 and when to come back",
                        (told.status, told.headers.get("retry-after")) == (503, "1"), told.status)
            story.check("and closed", late.is_closed())

        def is_next_served():
            old.ask("tools/list")
            with node.client() as next_:
                next_.send(next_.request("tools/list"))
                return next_.response().status == 200

        story.check("when the silent ones are closed the next is served", until(is_next_served, 3 * K_SECONDS, 0.1))
        closed = sum(client.is_closed(K_SECONDS) for client in silent)
        story.check("each of them is closed", closed == len(silent), f"{closed} of {len(silent)}")
        for client in silent:
            client.socket.close()


def room_for(node, count):
    """A limit on open files that leaves so many."""
    taken = set(node.descriptors())
    limit = 0
    while count > 0 or limit in taken:
        count -= limit not in taken
        limit += 1
    return limit


def out_of_descriptors(story, node):
    """Who is accepted is served; others wait in the kernel's queue until a descriptor is free. Tasks go on."""
    soft, hard = resource.prlimit(node.pid, resource.RLIMIT_NOFILE)
    with node.client() as old:
        old.ask("tools/list")
        resource.prlimit(node.pid, resource.RLIMIT_NOFILE, (room_for(node, 4), hard))
        try:
            crowd = [node.client() for _ in range(20)]
            for each in crowd:
                each.send(each.request("tools/list"))
            time.sleep(K_ACCEPTED_S)
            sockets = {each.socket: each for each in crowd}
            served = [sockets[each] for each in select.select(list(sockets), [], [], 0)[0]]
            story.check("as many as there are descriptors for are served", 0 < len(served) < 20, len(served))
            task = old.call("task_submit", type="echo", params={})["id"]
            story.check("tasks go on", old.call("task_wait", id=task)["task"]["state"] == "completed")
            found = []
            for each in served + [each for each in crowd if each not in served]:
                found.append(each.response().status)
                each.socket.close()
            story.check("all are served as descriptors come free", found == [200] * 20, found)
        finally:
            resource.prlimit(node.pid, resource.RLIMIT_NOFILE, (soft, hard))
    with node.client() as new:
        story.check("then all is as before", new.ask("tools/list").status == 200)


def guessers(story, node):
    """Wrong tokens: 401, soon 429 with when to come back, and closed; the right one works all the while."""
    before = node.log().count("wrong token")
    found = {}
    open_after = 0
    with node.client() as client:
        for at in range(K_GUESSES):
            with node.client() as guesser:
                guesser.send(guesser.request("tools/list", token=f"guess-{at}") * 2)
                got = guesser.response()
                open_after += not guesser.is_closed() or guesser.bytes != b""
            found[got.status] = found.get(got.status, 0) + 1
            if at % 10 == 0:
                story.check("the right token works beside guesses", client.ask("tools/list").status == 200)
    story.check("guesses are refused, most of them unread",
                {429} <= set(found) <= {401, 429} and found.get(401, 0) <= 20, found)
    story.check("each costs a connection", open_after == 0, open_after)
    story.check("and told when to come back", got.headers.get("retry-after") == "10", got.headers)
    log = node.log()
    story.check("the log says so, and not what was shown", "wrong token" in log and "guess-" not in log)
    logged = log.count("wrong token") - before
    story.check("and does not grow with the guesses", logged <= 20, logged)


SCENARIOS = [flood, a_thousand_who_say_nothing, out_of_descriptors, guessers]
