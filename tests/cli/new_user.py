"""What a new user meets: mistakes that must not do harm, waits that tell why, answers that can be read."""
import json
import os
import re
import signal
import subprocess
import time

from harness import Home, Node, with_home
from lib.config import command, section, swarm
from lib.places import BUILD
from lib.waiting import wait_for

CONFIG = (section("node", data="data", drain="1s") + section("operations", wait_max="1s") + command("words", "wc", "-w")
          + swarm("default", 2, 4) + swarm("words", 1, executor="words", capabilities=["words"]))


def with_node(test):
    """A home with a node of its own."""
    def run(home):
        (home.path / "skein.toml").write_text(CONFIG)
        node = Node(home)
        try:
            test(home, node)
        finally:
            node.kill()
    run.__name__ = test.__name__
    return with_home(run)


def started(home, *args):
    return subprocess.Popen([str(BUILD / "bin/skein"), *args], cwd=home.path, env=home.env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


@with_home
def test_a_wrong_config_stops_every_verb_but_doctor_and_config(home):
    other = Home()
    node = Node(home, env={"XDG_STATE_HOME": str(home.path / "state")})
    try:
        default = {"XDG_STATE_HOME": str(home.path / "state")}
        (home.path / "skein.toml").write_text('[node]\ndata = "mydata"\n[swarms.x]\nmim = 1\n')
        for verb in ("stop", "status", "submit echo", "tasks", "agents", "task show x", "reload", "backup away", "top",
                     "log verify", "archive verify", "mcp"):
            home.expect(8, *verb.split(), out="", err="skein.toml is wrong", env=default)
        home.expect(1, "doctor", out="FAIL  config", env=default)
        home.expect(8, "config", "check", err="skein.toml:4: unknown key 'mim'", env=default)
        (home.path / "skein.toml").unlink()
        home.ok("status", env=default)
    finally:
        node.kill()
        other.remove()


@with_home
def test_a_folder_that_is_named_needs_no_config(home):
    """As docs/cli.md says: the config is read only where it must say which folder is meant."""
    node = Node(home, "--data", str(home.path / "data"))
    try:
        (home.path / "skein.toml").write_text("[swarms.x]\nmim = 1\n")
        home.expect(0, "status", "--data", str(home.path / "data"))
        home.expect(0, "status", env={"SKEIN_DATA": str(home.path / "data")})
    finally:
        node.kill()


@with_home
def test_every_line_of_a_log_in_json_is_json(home):
    """Also why a node does not start: its port is taken, or its folder."""
    (home.path / "skein.toml").write_text('[node]\ndata = "data"\nlog_format = "json"\n')
    node = Node(home)
    try:
        port = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", node.log())
        taken = ["--data", "other", "--http", f"127.0.0.1:{port[1]}"] if port else ["--data", "data"]
        for words in (["--data", "data"], taken):
            ended = home.run("up", *words)
            assert ended.code != 0 and ended.err, ended.story()
            for line in ended.err.splitlines():
                assert json.loads(line)["level"] in ("debug", "info", "warning", "error"), ended.story()
    finally:
        node.kill()


@with_home
def test_an_empty_data_folder_is_a_mistake(home):
    for verb in ("up", "status", "submit echo", "mcp", "log verify", "archive verify"):
        home.expect(2, *verb.split(), "--data", "", out="", err="--data: it is empty")
    home.expect(2, "up", "--data=", out="", err="--data")


@with_node
def test_an_empty_id_is_no_task(home, _node):
    """Ids may be given by their beginning: with a single task there, an unset variable would mean that one."""
    task = home.ok("submit", "sleep", "--params", "60000").out.strip()
    for words in (("task", "cancel", ""), ("task", "show", ""), ("task", "wait", ""), ("task", "logs", ""),
                  ("task", "retry", ""), ("submit", "echo", "--after", ""), ("events", "--task", ""), ("backup", "")):
        home.expect(2, *words, out="", err="is a shell variable not set?")
    assert home.ok("task", "show", task, "--json").json["state"] != "cancelled"


@with_home
def test_a_time_and_its_older_name_are_one_option(home):
    for words in (("--timeout", "1s", "--timeout-ms", "1"), ("--timeout-ms", "1", "--timeout", "1s")):
        home.expect(2, "status", *words, out="", err="--timeout and --timeout-ms are the same option")
    assert "Excludes" not in home.ok("help", "submit").out, "it would name an option that the help does not show"


@with_home
def test_a_wrong_address_is_blamed_on_its_option(home):
    home.expect(2, "up", "--http", "127.0.0.1:99999", out="", err="--http 127.0.0.1:99999: ")
    home.expect(2, "up", "--tcp", "nowhere", out="", err="--tcp nowhere: ")


@with_node
def test_a_reload_names_a_data_folder_that_differs(home, _node):
    home.expect(0, "reload", out="nothing has changed", err="")
    (home.path / "skein.toml").write_text(CONFIG.replace('"data"', '"elsewhere"'))
    home.expect(0, "reload", "--data", "data", err="[node] data differs and is taken over at the next start")
    home.expect(5, "status", err="no node is running in elsewhere")


@with_node
def test_a_task_says_why_it_waits(home, _node):
    wait_for(lambda: len(home.ok("agents", "--json").json["agents"]) == 3, "the agents do not come")
    warned = home.expect(0, "submit", "words", err="warning: the task waits: no agent of swarm 'default' can do "
                         "'words'; swarm 'words' can: --swarm words\n")
    task = warned.out.strip()
    assert "waits        no agent of swarm 'default' can do 'words'" in home.ok("task", "show", task).out
    shown = home.ok("task", "show", task, "--json").json
    assert (shown["waits_for"], shown["able_swarms"]) == ("no_able_agent", ["words"]), shown
    home.expect(4, "task", "wait", task, "--timeout-ms", "300", err="because no agent of swarm 'default'")
    home.ok("submit", "words", "--swarm", "words", "--params", '"a b"', "--wait", out="2\n")
    home.ok("swarm", "pause", "default")
    home.expect(0, "submit", "echo",
                err="warning: the task waits: swarm 'default' is paused: 'skein swarm resume default'")
    home.ok("swarm", "resume", "default")
    first = home.ok("submit", "sleep", "--params", "60000").out.strip()
    second = home.ok("submit", "echo", "--after", first, "--delay-ms", "1000", "--deadline-ms", "90000",
                     "--task-timeout-ms", "5000").out.strip()
    shown = home.ok("task", "show", second).out
    for line in (rf"waits +1 task must be completed first: {first}", rf"after +{first}", r"timeout +5\.0 s",
                 r"deadline +\d{4}-\d\d-\d\dT", r"not before +\d{4}-", r"capabilities +echo"):
        assert re.search(f"^{line}", shown, re.MULTILINE), (line, shown)
    assert re.search(r"^started +\d{4}-", home.ok("task", "show", first).out, re.MULTILINE)


@with_node
def test_a_wait_says_what_was_not_known_at_its_beginning(home, _node):
    home.ok("swarm", "create", "late", "--executor", "words")
    warned = home.expect(4, "submit", "words", "--swarm", "late", "--wait", "--timeout", "5s", err="warning: the task "
                         "waits: no agent of swarm 'late' can do 'words'; swarm 'words' can: --swarm words\n")
    assert warned.err.count("warning:") == 1, warned.err
    warned = home.expect(4, "submit", "words", "--swarm", "late", "--wait", "--timeout", "3s", err="warning:")
    assert warned.err.count("warning:") == 1, f"it is said once: {warned.err}"


@with_node
def test_ids_may_be_short(home, _node):
    task = home.ok("submit", "echo", "--params", "1", "--wait", "--json").json["id"]
    assert home.ok("task", "show", task[:20], "--json").json["id"] == task
    assert home.ok("task", "wait", task[:23]).out == "1\n"
    other = home.ok("submit", "echo").out.strip()
    both = home.expect(2, "task", "show", os.path.commonprefix([task, other]), err="could be more than one task").err
    assert task in both and other in both, both
    home.expect(3, "task", "show", "ffff", out="", err="no task has an id that begins with 'ffff'")
    home.expect(2, "submit", "echo", "--after", "nope", out="", err="'nope' is not a task id or the beginning of one")
    assert home.ok("events", "--task", task[:20], "--json").lines[0]["task"] == task


@with_node
def test_errors_are_json_for_programs(home, _node):
    def error(code, *args):
        return json.loads(home.expect(code, *args, "--json", out="").err.splitlines()[-1])["error"]

    assert error(3, "submit", "echo", "--swarm", "nope")["code"] == "swarm_not_found"
    assert "there is no swarm 'nope'" in error(3, "submit", "echo", "--swarm", "nope")["message"]
    assert error(2, "submit", "echo", "--attempts", "101")["message"] == "attempts is 101, the limit is 100"
    assert error(2, "status", "--nosuch")["exit"] == 2
    assert error(5, "status", "--data", "nowhere")["code"] == "unreachable"
    assert error(4, "submit", "sleep", "--params", "60000", "--wait", "--timeout-ms", "200")["code"] == "timeout"


@with_node
def test_a_wait_outlives_the_node_and_says_its_id_first(home, node):
    for how in (signal.SIGTERM, signal.SIGKILL):
        waiting = started(home, "submit", "sleep", "--params", "2500", "--wait")
        task = re.match(r"task ([0-9a-f-]{36})\n", waiting.stderr.readline())[1]
        wait_for(lambda: home.ok("task", "show", task, "--json").json["state"] == "executing", "it does not begin")
        node.end(0 if how == signal.SIGTERM else -9, how)
        node.__init__(home)
        _, err = waiting.communicate(timeout=30)
        assert waiting.returncode == 0, err
        assert "waiting for it to come back" in err, err


@with_node
def test_a_wait_is_longer_than_the_nodes_own(home, _node):
    begin = time.monotonic()
    home.ok("submit", "sleep", "--params", "2500", "--wait", "--timeout-ms", "20000")
    assert time.monotonic() - begin > 2


@with_node
def test_an_interrupted_wait_says_that_the_task_goes_on(home, _node):
    waiting = started(home, "submit", "sleep", "--params", "60000", "--wait")
    task = re.match(r"task ([0-9a-f-]{36})\n", waiting.stderr.readline())[1]
    wait_for(lambda: home.ok("task", "show", task, "--json").json["state"] == "executing", "it does not begin")
    wait_for(lambda: home.ok("status", "--json").json["tasks"]["waiters"] == 1, "nobody waits for it")
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=10)
    assert waiting.returncode == -signal.SIGINT and f"the task goes on: 'skein task wait {task}'" in err, err


@with_node
def test_time_limits_hold_while_connecting(home, node):
    node.process.send_signal(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        home.expect(4, "status", "--timeout-ms", "500", out="", err="the node did not answer in time")
        assert time.monotonic() - begin < 5
        home.expect(4, "status", "--timeout-ms", "0", out="", err="did not answer in time")
    finally:
        node.process.send_signal(signal.SIGCONT)


@with_node
def test_a_timeout_counts_for_its_agent(home, _node):
    failed = home.expect(6, "submit", "sleep", "--params", "60000", "--task-timeout-ms", "200", "--attempts", "1",
                         "--wait", "--json").json
    agent = failed["failed_attempts"][0]["agent"]
    wait_for(lambda: home.ok("agent", "show", agent, "--json").json["failed"] == 1, "it is not counted")
    assert home.ok("agent", "show", agent, "--json").json["success_rate"] == 0


@with_node
def test_the_log_has_failed_tasks_and_one_line_for_the_stop(home, node):
    task = home.expect(6, "submit", "fail", "--attempts", "1", "--wait", "--json").json["id"]
    log = home.path / "node.log"
    wait_for(lambda: f"task {task} of type 'fail' in swarm 'default' failed: " in log.read_text(), log.read_text)
    assert str(log) in home.ok("status").out and f"log          {log}" in home.run("doctor").out
    home.ok("stop", out="the node has stopped\n")
    node.end()
    ends = [line for line in log.read_text().splitlines() if "stopped" in line]
    assert len(ends) == 1 and ends[0].endswith("stopped"), ends


@with_node
def test_load_slows_down_when_the_node_has_enough(home, _node):
    home.ok("swarm", "create", "narrow", "--executor", "function", "--set", "open_tasks=20")
    done = home.expect(0, "submit", "echo", "--swarm", "narrow", "--count", "200", "--wait",
                       out="200 accepted, 0 refused")
    assert "200 completed" in done.out and "were sent again" in done.err, done.story()


@with_node
def test_results_do_no_harm_on_a_terminal_and_rows_stay_whole(home, _node):
    evil = json.dumps("\x1b]0;pwned\x07\x1b[2Jsafe")
    _, shown = home.on_terminal("submit", "echo", "--params", evil, "--wait")
    assert "safe" in shown and "\x1b]0;" not in shown and "\x1b[2J" not in shown, repr(shown)
    task = home.ok("submit", "echo", "--delay-ms", "60000").out.strip()
    home.ok("task", "cancel", task, "--reason", "one\ntwo")
    row = [line for line in home.ok("tasks").out.splitlines() if task in line]
    assert row[0].endswith("one two"), row


@with_node
def test_agents_are_counted_as_people_do(home, _node):
    for number in (10, 2):
        home.ok("agent", "spawn", "--name", f"a-{number}")
    names = [line.split()[0] for line in home.ok("agents").out.splitlines()]
    assert names.index("a-2") < names.index("a-10"), names


@with_node
def test_views_fit_their_terminal(home, _node):
    for number in range(12):
        home.ok("agent", "spawn", "--name", f"crowd-{number}")
    for columns, rows in ((60, 20), (100, 30), (40, 8)):
        code, shown = home.on_terminal("top", "--every-ms", "100", keys=b"q", until=b"q ends this",
                                       size=(rows, columns))
        frame = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.split("\x1b[H")[1])
        lines = frame.split("\r\n")
        assert code == 0 and len(lines) <= rows and all(len(line) <= columns for line in lines), (columns, rows, lines)
        assert lines[0].startswith("node") and lines[-1].startswith("q ends this"), lines
        code, shown = home.on_terminal("tree", "--watch", "--every-ms", "100", keys=b"q", until=b"q ends this",
                                       size=(rows, columns))
        lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.split("\x1b[H")[1]).split("\r\n")
        assert code == 0 and len(lines) <= rows and lines[0].startswith("node_sup"), lines
    _, shown = home.on_terminal("submit", "echo", "--count", "3000", "--wait", size=(24, 40))
    bars = [part for part in shown.split("\r") if "%" in part]
    assert bars and all(len(re.sub(r"\x1b\[K.*", "", bar, flags=re.DOTALL)) < 40 for bar in bars), bars[:3]


@with_node
def test_events_are_bounded_and_have_times(home, _node):
    home.ok("submit", "echo", "--count", "50", "--wait")
    home.expect(0, "events", "--limit", "3", err="the last 3 of ")
    assert len(home.expect(0, "events", "--limit", "3").out.splitlines()) == 3
    assert all(each["at"] > 0 for each in home.ok("events", "--limit", "0", "--json").lines)
    wait_for(lambda: not home.ok("events", "--since-ms", "1", "--kind", "task_completed").out, "old ones are left out")
    assert home.ok("events", "--since-ms", "60000", "--kind", "task_completed").out
