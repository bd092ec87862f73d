"""Faults and views that name the thing they are about: swarms with problems, agents, files, limits, tables."""
import json
import re
import socket
import threading

from harness import Node, with_home
from lib.config import command, section, stdio, swarm
from lib.waiting import wait_for

MUTE = """import sys, time
print('{"type":"hello","protocol":1}')  # not flushed
time.sleep(600)
"""
CHATTY = """import json, os, sys
print(json.dumps({"type": "hello", "protocol": 1, "capabilities": ["chat"]}), flush=True)
for line in sys.stdin:
    task = json.loads(line)
    if task["type"] == "shutdown":
        break
    if task["type"] != "task":
        continue
    print(task["params"], file=sys.stderr, flush=True)
    if task["params"] == "the last words":
        os._exit(3)
    print(json.dumps({"type": "result", "task": task["task"], "fence": task["fence"], "result": 1}), flush=True)
"""
CONFIG = (section("node", data="data", drain="1s") + section("http", enabled=False) + command("words", "wc", "-w")
          + stdio("mute", "python3", "mute.py", hello_timeout="300ms") + stdio("chatty", "python3", "chatty.py")
          + swarm("words", 1, executor="words", capabilities=["words"]) + swarm("mute", 1, executor="mute")
          + swarm("chatty", 1, executor="chatty", capabilities=["chat"]))


def with_node(test):
    """A home with a node of its own, whose swarm 'default' has no executor."""
    def run(home):
        for name, text in (("skein.toml", CONFIG), ("mute.py", MUTE), ("chatty.py", CHATTY)):
            (home.path / name).write_text(text)
        node = Node(home)
        try:
            test(home, node)
        finally:
            node.kill()
    run.__name__ = test.__name__
    return with_home(run)


def answer_once(listener, line):
    link, _ = listener.accept()
    with link:
        link.recv(4096)
        link.sendall(line.encode() + b"\n")


@with_node
def test_an_agent_that_does_not_flush_its_hello_is_a_problem_of_its_swarm(home, _node):
    words = r"executor 'mute', agent 'mute-\d+': 'python3', pid \d+: it has not said hello within 300 ms; does it flush"
    wait_for(lambda: re.search(words, home.run("doctor").out), lambda: home.run("doctor").story())
    assert re.search(words, home.ok("swarm", "show", "mute").out)
    row = [line.split() for line in home.ok("swarms").out.splitlines() if line.startswith("mute")]
    assert row[0][-1] == "1", row
    assert re.search(words, (home.path / "node.log").read_text())


@with_node
def test_what_an_agent_wrote_in_earlier_tasks_is_not_in_a_failure(home, _node):
    home.ok("submit", "chat", "--swarm", "chatty", "--params", '"a secret of the first task"', "--wait")
    task = home.ok("submit", "chat", "--swarm", "chatty", "--params", '"the last words"', "--attempts", "1").out.strip()
    home.expect(6, "task", "wait", task)
    logs = home.ok("task", "logs", task).out
    assert "the last words" in logs and "secret" not in logs, logs


@with_node
def test_a_swarm_without_an_executor_shows_no_numbers(home, _node):
    row = [line.split() for line in home.ok("swarms").out.splitlines() if line.startswith("default")]
    assert row == [["default", "active", "closed", "0", "-", "-", "built", "in"]], row
    home.ok("swarm", "scale", "words", "--max", "7")
    shown = home.expect(0, "swarms", err="* changed at run time").out
    assert re.search(r"^words .* 1 to 7\* ", shown, re.MULTILINE), shown
    wait_for(lambda: "WARN  default      swarm 'default' has no agents of its own" in home.run("doctor").out,
             lambda: home.run("doctor").story())


@with_node
def test_columns_are_as_wide_as_they_look(home, _node):
    for kind in ("\U0001f411\U0001f411", "plain"):
        home.ok("submit", kind, "--swarm", "words", "--delay", "1h")
    rows = home.ok("tasks").out.splitlines()
    wide, plain = (next(row for row in rows if kind in row) for kind in ("\U0001f411", "plain"))
    assert plain.index("words") == wide.index("words") + 2, rows


@with_node
def test_a_task_that_never_ran_has_no_attempts_to_look_at(home, _node):
    task = home.ok("submit", "words", "--swarm", "words", "--delay", "1h").out.strip()
    home.ok("task", "cancel", task)
    said = home.expect(6, "task", "wait", task, err="cancelled before it began").err
    assert "task logs" not in said, said


@with_node
def test_answers_for_programs_have_their_types(home, _node):
    path = home.ok("dump", "--json").json["path"]
    assert path.startswith(str(home.path)), path
    task = home.ok("submit", "words", "--swarm", "words", "--wait", "--json").json
    assert (task["attempts"], task["priority_name"]) == (1, "normal"), task
    agent = wait_for(lambda: home.ok("agent", "show", "chatty-1", "--json").json, "there is no agent")
    assert isinstance(agent["os_pid"], int), agent
    settings = home.ok("swarm", "show", "words", "--json").json["settings"]
    assert (settings["min"], settings["max"], settings["idle_shrink"]) == (1, 1, "30s"), settings


@with_node
def test_advice_of_the_command_line_names_verbs_only(home, _node):
    for words in (("agent", "show", "nobody"), ("agent", "pause", "nobody"), ("swarm", "show", "nobody"),
                  ("swarm", "pause", "nobody"), ("task", "show", "0197f0c2-0000-7000-8000-000000000000"),
                  ("agent", "start", "nobody"), ("submit", "words", "--agent", "nobody")):
        refused = home.expect(3, *words, out="", err="skein")
        assert not re.search(r"\btool\b|/api/v1|agent_list|task_list|swarm_list", refused.err), refused.err


@with_home
def test_a_node_of_another_release_is_told_apart_from_none(home):
    """By verbs that ask it once and by the one that stays."""
    folder = home.path / "data"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "skein.sock"))
        listener.listen()
        for verb, protocol, words in (("status", 1, "the node is older than this skein program"),
                                      ("mcp", 3, "this skein program is older than the node")):
            hello = json.dumps({"id": 1, "ok": {"name": "n", "version": "0.0.9", "protocol": protocol}})
            answering = threading.Thread(target=answer_once, args=(listener, hello))
            answering.start()
            home.expect(7, verb, "--data", "data", out="", err=words)
            answering.join()


@with_home
def test_a_file_that_is_no_text_is_said_to_be_none(home):
    (home.path / "binary").write_bytes(bytes(range(128, 256)))
    home.expect(2, "submit", "echo", "--file", "binary", out="", err="binary is not text in UTF-8")
    home.expect(2, "restart", out="", err="did you mean 'stop', then 'up'?")
    home.expect(8, "up", ".", out="", err=".: cannot be read (Is a directory)")


@with_home
def test_config_check_counts_one_as_one_and_knows_the_largest_swarm(home):
    file = home.path / "skein.toml"
    file.write_text('[[agents]]\nid = "ada"\n')
    home.ok("config", "check", out="1 named agent\n")
    file.write_text("[swarms.x]\nmax = 1000000\n")
    home.expect(8, "config", "check", err="skein.toml:2: [swarms.x] max: must be from 1 to 100000")


@with_home
def test_a_limit_of_processes_without_a_control_group_is_told(home):
    """Also when there is one: then it holds, and nothing is said."""
    (home.path / "skein.toml").write_text(section("node", data="data") + section("http", enabled=False)
                                          + command("few", "true", processes_max=5))
    node = Node(home)
    try:
        log = node.log()
        told = "executor 'few': processes_max is not enforced" in log
        assert told != bool(re.search(r"OS processes are held by .*\bpids\b", log)), log
    finally:
        node.kill()
