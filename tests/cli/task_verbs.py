"""submit, tasks, task show|cancel|retry|wait|logs, against a running node."""
import re

from harness import NO_TASK

ID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$")


def submitted(home, *args):
    task = home.ok("submit", *args).out.strip()
    assert ID.match(task), task
    return task


def test_submit_prints_the_id_and_with_wait_the_result(home):
    submitted(home, "echo", "--params", '{"a":1}')
    home.ok("submit", "echo", "--params", '{"a":[1,"x"]}', "--wait", out='{"a":[1,"x"]}\n')
    task = home.ok("submit", "echo", "--params", "7", "--wait", "--json").json
    assert (task["state"], task["result"], task["params"]) == ("completed", 7, 7)


def test_submit_reads_params_from_a_file_and_from_standard_input(home):
    (home.path / "params.json").write_text('{"from":"file"}\n')
    home.ok("submit", "echo", "--file", "params.json", "--wait", out='{"from":"file"}')
    home.ok("submit", "echo", "--file", "-", "--wait", stdin='"from stdin"\n', out="from stdin\n")
    home.ok("submit", "bytes", "--swarm", "counters", "--params", '"12345"', "--wait", out="8\n")


def test_submit_with_a_key_finds_the_first_task(home):
    first = submitted(home, "echo", "--key", "k1")
    assert submitted(home, "echo", "--key", "k1") == first


def test_submit_count_takes_no_key_since_that_would_be_one_task(home):
    home.expect(2, "submit", "echo", "--key", "k2", "--count", "3", out="",
                err="--key makes one task of all the copies")


def test_submit_for_an_agent(home):
    agent = home.ok("agents", "--json").json["agents"][0]
    spawned = home.ok("agent", "spawn", "--executor", "function", "--name", "ada").out.strip()
    done = home.ok("submit", "echo", "--agent", "ada", "--route-key", "r", "--params", "1", "--wait", "--json").json
    assert spawned == "ada" and agent["id"] != "ada" and done["agent"] == "ada" and done["route_key"] == "r", done
    home.expect(3, "submit", "echo", "--agent", "adda", err="there is no agent 'adda' (did you mean 'ada'?)")
    home.expect(2, "submit", "echo", "--agent", "ada", "--agent-fallback", "all", err="must be none or any")
    waiting = submitted(home, "echo", "--agent", "away", "--agent-fallback", "any", "--agent-wait-ms", "1500")
    assert "waits        agent 'away' is not running" in home.ok("task", "show", waiting).out
    home.ok("task", "wait", waiting)
    assert "fell back    any agent may have it" in home.ok("task", "show", waiting).out
    assert any("task_unpinned" in line and "from agent 'away'" in line
               for line in home.ok("events").out.splitlines())
    home.ok("agent", "stop", "ada")


def test_submit_count_is_load(home):
    home.ok("submit", "echo", "--count", "500", "--wait", out="500 accepted, 0 refused")
    report = home.ok("submit", "echo", "--count", "50", "--wait", "--json").json
    assert report["accepted"] == 50 and report["completed"] == 50 and report["per_second"] > 0
    full = home.expect(7, "submit", "nobody", "--swarm", "small", "--count", "30", "--timeout-ms", "1500",
                       err="20 refused with queue_full")
    assert "10 accepted, 20 refused" in full.out, full.story()


def test_submit_says_what_is_wrong(home):
    home.expect(2, "submit", out="", err="TYPE is required")
    home.expect(2, "submit", "echo", "--params", "{bad", out="", err="the params are not JSON")
    home.expect(2, "submit", "echo", "--priority", "urgent", err="must be low, normal, high or critical")
    home.expect(2, "submit", "echo", "--count", "0", err="--count is from 1")
    home.expect(2, "submit", "echo", "--count", "many", err="--count")
    home.expect(2, "submit", "echo", "--parms", "1", err="unknown option '--parms' (did you mean '--params'?)")
    home.expect(2, "submit", "echo", "--file", "nosuch.json", err="nosuch.json: No such file")
    home.expect(2, "submit", "echo", "--file", "skein.toml", "--params", "1", err="choose one")
    home.expect(3, "submit", "echo", "--swarm", "nosuch", err="'skein swarms' lists the swarms")
    for option in ("--key", "--agent", "--swarm", "--route-key"):
        home.expect(2, "submit", "echo", option, "", out="", err=f"{option} must not be empty")
    for option in ("--swarm", "--type", "--text"):
        home.expect(2, "tasks", option, "", out="", err=f"{option} must not be empty")
    home.expect(2, "agents", "--swarm", "", out="", err="--swarm must not be empty")
    home.expect(2, "token", "create", "ci", "--swarm", "", out="", err="--swarm must not be empty")
    home.expect(2, "submit", "echo", "--capability", "", out="", err="--capability must not be empty")
    home.expect(2, "submit", "echo", "--capability", "code review", out="", err="use '-' or '_' instead")
    home.expect(2, "submit", "echo", "--delay", "1s", "--delay-ms", "2000", out="",
                err="--delay and --delay-ms are the same option; give one of them")
    home.expect(2, "submit", "echo", "--timeout", "9s", "--timeout-ms", "9000", out="",
                err="--timeout and --timeout-ms are the same option; give one of them")
    (home.path / "large.json").write_text('"' + "x" * (300 << 10) + '"')
    home.expect(2, "submit", "echo", "--file", "large.json", err="params has 307202 bytes, the limit is 262144")
    (home.path / "larger.json").write_text('"' + "x" * (2 << 20) + '"')
    home.expect(2, "submit", "echo", "--file", "larger.json", err="larger.json has more than 1048576 bytes")


def test_a_failed_task_has_its_own_exit_code(home):
    home.expect(6, "submit", "sleep", "--params", '"long"', "--wait", out="", err="sleep takes milliseconds")
    failed = home.expect(6, "submit", "fail", "--attempts", "2", "--wait", "--json", err='{"id":"')
    assert failed.json["state"] == "failed" and len(failed.json["failed_attempts"]) == 2
    home.expect(6, "submit", "fail", "--attempts", "1", "--wait", err="no reason was given")


def test_what_takes_too_long_has_its_own_exit_code(home):
    waited = home.expect(4, "submit", "sleep", "--params", "60000", "--wait", "--timeout-ms", "200", out="",
                         err="it goes on; 'skein task wait")
    task = re.search(r"task ([0-9a-f-]{36})", waited.err)[1]
    home.expect(4, "task", "wait", task, "--timeout", "100ms", err="is still")
    home.ok("task", "cancel", task, out="cancelled")
    home.expect(6, "task", "wait", task, err="cancelled")


def test_tasks_are_listed_filtered_and_paged(home):
    for number in range(3):
        home.ok("submit", "echo", "--params", f'"needle {number}"', "--wait")
    listed = home.expect(0, "tasks", "--limit", "40", out="ID ").out
    assert "queued" in listed and "completed" in listed and "echo" in listed
    page = home.expect(0, "tasks", "--text", "needle", "--limit", "2", "--json").json
    assert len(page["tasks"]) == 2 and page["cursor"], page
    rest = home.ok("tasks", "--text", "needle", "--limit", "2", "--cursor", page["cursor"], "--json").json
    assert len(rest["tasks"]) == 1 and not rest.get("cursor"), rest
    every = home.ok("tasks", "--text", "needle", "--limit", "1", "--all", "--json").lines
    assert len({each["id"] for each in every}) == 3
    home.expect(0, "tasks", "--limit", "1", out="ID ", err="more: --cursor")
    assert all(each["state"] == "failed" for each in home.ok("tasks", "--state", "failed", "--all", "--json").lines)
    assert all(each["swarm"] == "counters" for each in home.ok("tasks", "--swarm", "counters", "--json").json["tasks"])
    home.expect(2, "tasks", "--state", "bogus", out="", err="--state 'bogus' must be queued")
    home.expect(2, "tasks", "--cursor", "bogus", out="", err="cursor")


def test_one_task_is_shown_with_its_attempts(home):
    task = submitted(home, "fail", "--attempts", "2")
    home.expect(6, "task", "wait", task)
    shown = home.ok("task", "show", task, out="state        failed").out
    assert re.search(r"attempts +2 of 2$", shown, re.MULTILINE)
    assert home.ok("task", "show", task, "--json").json["id"] == task
    logs = home.ok("task", "logs", task, out="ATTEMPT").out
    assert logs.count("transient") == 2
    assert len(home.ok("task", "logs", task, "--json").json["failed_attempts"]) == 2


def test_a_task_is_cancelled_and_retried(home):
    task = submitted(home, "echo", "--params", "5", "--delay", "1min")
    home.expect(7, "task", "retry", task, out="", err="only failed or cancelled")
    home.ok("task", "cancel", task, "--reason", "not needed", out="cancelled\n")
    assert "not needed" in home.ok("task", "show", task).out
    home.expect(7, "task", "cancel", task, out="", err="is already cancelled")
    again = home.ok("task", "retry", task).out.strip()
    assert ID.match(again) and again != task
    assert home.ok("task", "show", again, "--json").json["retry_of"] == task
    other = submitted(home, "echo", "--delay-ms", "60000")
    assert home.ok("task", "cancel", other, "--json").json == {"state": "cancelled"}
    assert ID.match(home.ok("task", "retry", other, "--json").json["id"])


def test_tasks_that_are_not_there(home):
    for verb in ("show", "logs", "cancel", "retry", "wait"):
        home.expect(3, "task", verb, NO_TASK, out="", err=f"there is no task {NO_TASK}")
        home.expect(2, "task", verb, "bogus", out="", err="'bogus' is not a task id")
    home.expect(2, "task", out="", err="needs one of show, logs, cancel, retry, wait")
    home.expect(2, "task", "shw", NO_TASK, out="", err="unknown verb 'task shw' (did you mean 'show'?)")


def test_long_work_shows_a_bar_on_a_terminal_only(home):
    code, shown = home.on_terminal("submit", "echo", "--count", "2000", "--wait")
    assert code == 0 and "[###" in shown and "% submitted" in shown and "2000 completed" in shown, shown
    assert "[#" not in home.ok("submit", "echo", "--count", "100").out


def test_colours_on_a_terminal_only_and_never_with_no_color(home):
    assert "\033[" in home.on_terminal("tasks", "--limit", "3")[1]
    assert "\033[" not in home.on_terminal("tasks", "--limit", "3", env={"NO_COLOR": "1"})[1]
    assert "\033[" not in home.run("tasks", "--limit", "3").out


def test_numbers_and_files_that_make_no_sense_are_refused(home):
    for count in ("-5", "0", "1000000000000", "1000000000000000000000", "many"):
        home.expect(2, "submit", "echo", "--count", count, out="", err="count")
    home.expect(2, "top", "--rounds", "-1", out="", err="-1")
    home.expect(2, "status", "--timeout-ms", "-1", out="", err="-1")
    home.expect(2, "status", "--timeout", "5", out="", err="'5' is no time such as 250ms, 5s or 2h")
    home.expect(2, "submit", "echo", "--delay", "5", out="", err="--delay '5' must be a time such as 250ms, 5s or 2h")
    home.expect(2, "submit", "echo", "--attempts", "0", out="", err="--attempts '0' must be a whole number from 1")
    home.expect(2, "submit", "echo", "--file", ".", out="", err="--file takes a file")
    home.expect(2, "submit", "echo", "--file", "-", out="", err="- is empty")


def test_the_bar_is_taken_off_the_line_before_the_answer(home):
    code, shown = home.on_terminal("submit", "echo", "--count", "300")
    assert code == 0 and "\r\x1b[K300 accepted" in shown, shown


def test_repeats_of_a_key_are_not_counted_as_submitted(home):
    before = home.ok("status", "--json").json["tasks"]
    for _ in range(5):
        submitted(home, "echo", "--key", "counted-once")
    after = home.ok("status", "--json").json["tasks"]
    assert after["submitted"] - before["submitted"] == 1 and after["repeated"] - before["repeated"] == 4, after
    assert "answered with a task that was there" in home.ok("status").out


def test_a_trace_that_is_none_is_refused(home):
    home.expect(2, "submit", "echo", "--trace", "garbage\nPATH=/", out="", err="not a W3C traceparent")
    home.ok("submit", "echo", "--trace", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")


def test_a_terminal_is_shown_nothing_that_it_would_obey(home):
    task = submitted(home, "echo", "--params", '"harmless\u202etxt.exe"')
    home.ok("task", "wait", task)
    code, shown = home.on_terminal("task", "show", task)
    assert code == 0 and "harmless?txt.exe" in shown and "\u202e" not in shown, repr(shown)
    code, shown = home.on_terminal("task", "show", task, "--json")
    assert code == 0 and "harmless\\u202etxt.exe" in shown and "\u202e" not in shown, repr(shown)
    # A program gets what was given.
    assert home.ok("task", "show", task, "--json").json["result"] == "harmless\u202etxt.exe"
