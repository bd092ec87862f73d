"""status, tree, ps, trace, dump, top, events, doctor, against a running node."""
import json
import pathlib
import re
import signal
import subprocess
import threading

from lib.places import BUILD
from lib.waiting import wait_for


def follow(home, *args, lines):
    """The first lines of a verb that goes on for ever; it is interrupted then."""
    process = subprocess.Popen([str(BUILD / "bin/skein"), *args], cwd=home.path, env=home.env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(lines):
            yield process.stdout.readline()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)


def test_status(home):
    shown = home.ok("status", out="node      tested (running)").out
    assert re.search(r"tasks +\d+ open, \d+ ever", shown) and "journal   position" in shown
    status = home.ok("status", "--json").json
    assert status["node"]["name"] == "tested" and status["node"]["memory_bytes"] > 1 << 20
    assert status["tasks"]["submitted"] >= status["tasks"]["completed"]


def test_tree(home):
    shown = home.ok("tree", out="node_sup  one_for_one 5/60").out
    for each in ("├─ engine_sup  one_for_all 3/60", "agent_pool", "default-1", "counters-1", "swarm/default"):
        assert each in shown, shown
    tree = home.ok("tree", "--json").json
    assert [each["id"] for each in tree["children"]][:2] == ["engine_sup", "agents_sup"]
    home.expect(2, "tree", "--watch", "--json", "--bogus", out="", err="unknown option '--bogus'")


def test_tree_watch_goes_on(home):
    lines = follow(home, "tree", "--watch", "--every-ms", "100", "--json", lines=2)
    first = json.loads(next(lines))
    agent = home.ok("agent", "spawn", "--name", "watched").out.strip()
    second = json.loads(next(lines))
    lines.close()
    home.ok("agent", "stop", agent)
    assert first["id"] == second["id"] == "node_sup" and first != second


def test_ps(home):
    shown = home.expect(0, "ps", "--limit", "1000")
    assert "PID" in shown.out and "dispatch::Dispatcher" in shown.out and "processes" in shown.err
    for sort, key in (("mailbox", "mailbox"), ("time", "time_us"), ("memory", "memory"), ("handled", "handled")):
        values = [each[key] for each in home.ok("ps", "--sort", sort, "--json").json["processes"]]
        assert values == sorted(values, reverse=True), sort
    assert len(home.ok("ps", "--limit", "2", "--json").json["processes"]) == 2
    home.expect(2, "ps", "--sort", "colour", out="", err="--sort 'colour' must be mailbox, time, memory or handled")


def test_trace(home):
    shown = home.ok("trace", "dispatcher", "--within-ms", "1000", out="AFTER").out
    assert "dispatch::" in shown
    messages = home.ok("trace", "dispatcher", "--messages", "1", "--within-ms", "1000", "--json").json["messages"]
    assert len(messages) == 1, messages
    home.expect(3, "trace", "nosuch", out="", err="there is no process 'nosuch': give a name")


def test_dump(home):
    file = pathlib.Path(home.ok("dump").out.strip())
    assert "dispatch::Dispatcher" in file.read_text()
    assert pathlib.Path(home.ok("dump", "--json").json["path"]).exists()


def test_top_prints_what_it_sees(home):
    shown = home.ok("top", "--rounds", "2", "--every-ms", "100", out="node      tested").out
    assert "a second  " in shown and shown.count("AGENT") == 2
    looks = home.ok("top", "--rounds", "2", "--every-ms", "50", "--json").lines
    assert len(looks) == 2 and looks[0]["agents"] and looks[1]["node"]["cpu_ms"] >= looks[0]["node"]["cpu_ms"]


def test_top_has_a_screen_of_its_own_on_a_terminal(home):
    code, shown = home.on_terminal("top", "--every-ms", "100", keys=b"q", until=b"q ends this")
    assert code == 0 and "\033[?1049h" in shown and shown.rstrip().endswith("\033[?1049l"), repr(shown[-100:])
    code, shown = home.on_terminal("top", keys=b"\x03", until=b"q ends this")
    assert code == 0 and shown.rstrip().endswith("\033[?1049l"), repr(shown[-100:])


def test_events(home):
    task = home.ok("submit", "echo", "--wait", "--json").json["id"]
    story = [each["event"] for each in home.ok("events", "--task", task, "--json").lines]
    assert story == ["task_queued", "task_assigned", "task_started", "task_completed"], story
    shown = home.ok("events", "--task", task, "--kind", "task_assigned").out
    wanted = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z +task_assigned +" + task + "  to default-"
    assert re.search(wanted, shown), shown
    assert {each["event"] for each in home.ok("events", "--kind", "task_failed", "--json").lines} == {"task_failed"}
    home.expect(2, "events", "--kind", "bogus", out="", err="choose among task_queued")
    home.expect(2, "events", "--kind", "task_faild", out="", err="(did you mean 'task_failed'?)")
    home.expect(2, "events", "--task", "bogus", out="", err="'bogus' is not a task id")


def test_events_follow(home):
    lines = follow(home, "events", "--follow", "--kind", "swarm_changed", "--json", lines=1)
    # It tells of what happens while it listens, so it happens again until it was heard.
    heard = []
    reader = threading.Thread(target=lambda: heard.append(next(lines)))
    reader.start()
    for _ in range(50):
        home.ok("swarm", "pause", "default")
        home.ok("swarm", "resume", "default")
        reader.join(timeout=0.1)
        if heard:
            break
    lines.close()
    assert json.loads(heard[0])["event"] == "swarm_changed"


def test_doctor(home):
    # Left by a test of submit.
    wait_for(lambda: "'small': tasks wait that need nobody" in home.run("doctor").out, "it does not tell of them")
    for task in home.ok("tasks", "--swarm", "small", "--state", "queued", "--json").json["tasks"]:
        home.ok("task", "cancel", task["id"])
    wait_for(lambda: home.run("doctor").code == 0, "not well, and why not?")
    shown = home.ok("doctor", out="ok    node         answers").out
    assert "FAIL" not in shown and "ok    socket       mode 0600" in shown
    report = home.ok("doctor", "--json").json
    assert report["ok"] and {"config", "disk", "engine", "agents"} <= {each["check"] for each in report["checks"]}


def test_nobody_is_there(home):
    where = str(home.path / "nowhere")
    verbs = ("status", "tree", "ps", "top", "events", "tasks", "agents", "swarms", "dump", "reload", "stop",
             "log-level", "trace x", "submit echo", "task show x", "agent show x", "agent spawn", "swarm show x",
             "swarm create x", "swarm scale x --min 1")
    wanted = f"no node is running in {where}: start one with 'skein up'"
    for verb in verbs:
        home.expect(5, *verb.split(), "--data", where, out="", err=wanted)
    home.expect(1, "doctor", "--data", where, out="is not there: 'skein up' makes it")
    home.expect(5, "status", env={"SKEIN_DATA": where}, err=where)
