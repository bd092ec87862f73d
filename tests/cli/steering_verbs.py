"""agents, agent ..., swarms, swarm ..., log-level, reload, against a running node."""
from lib.waiting import wait_for


def agent(home, name):
    return home.ok("agent", "show", name, "--json").json


def test_agents(home):
    shown = home.ok("agents", out="AGENT").out
    assert shown.splitlines()[0].split() == ["AGENT", "ROLE", "STATUS", "SWARM", "LOAD", "HEARD", "DONE", "FAILED",
                                             "PASSED", "OVER", "CAPABILITIES"]
    agents = home.ok("agents", "--json").json["agents"]
    assert {each["swarm"] for each in agents} >= {"default", "counters"}
    assert all(each["heartbeat_age_ms"] < 10_000 for each in agents)


def test_an_agent_is_shown(home):
    name = home.ok("agent", "spawn", "--name", "fresh").out.strip()
    shown = home.ok("agent", "show", name, out="agent        fresh").out
    assert "none yet" in shown and "100%" not in shown, shown
    home.ok("agent", "stop", name)
    shown = home.ok("agent", "show", "default-1").out
    assert "completed" in shown and "TASK" in shown
    home.expect(3, "agent", "show", "nosuch", out="", err="there is no agent 'nosuch': 'skein agents' lists the agents")


def test_an_agent_is_spawned_paused_resumed_and_stopped(home):
    home.ok("agent", "spawn", "--name", "solo", "--capability", "alone", "--executor", "function", out="solo\n")
    home.ok("agent", "pause", "solo", out="agent 'solo' is paused\n")
    assert agent(home, "solo")["status"] == "paused"
    home.ok("agent", "resume", "solo", out="agent 'solo' is resumed\n")
    assert agent(home, "solo")["status"] == "idle"
    assert home.ok("agent", "pause", "solo", "--json").json == {}
    home.ok("agent", "stop", "solo", out="agent 'solo' is stopped\n")
    wait_for(lambda: home.run("agent", "show", "solo").code == 3, "the agent is still there")
    for verb in ("pause", "resume", "stop"):
        home.expect(3, "agent", verb, "solo", out="", err="there is no agent 'solo'")
    made = home.ok("agent", "spawn", "--json").json["id"]
    home.ok("agent", "stop", made)
    home.expect(2, "agent", "spawn", "--executor", "nosuch", out="", err="there is no executor 'nosuch'")
    home.expect(2, "agent", "spawn", "--capability", "code review", out="", err="use '-' or '_' instead")
    home.expect(2, "agent", "spawn", "--capability", "", out="", err="--capability must not be empty")
    home.expect(2, "swarm", "create", "spaced", "--capability", "code review", out="", err="use '-' or '_' instead")
    home.expect(2, "agent", out="", err="needs one of show, pause, resume, stop, start, update, cancel, spawn")


def test_swarms(home):
    shown = home.ok("swarms", out="SWARM").out
    assert "counters" in shown and "1 to 2" in shown
    assert {each["name"] for each in home.ok("swarms", "--json").json["swarms"]} >= {"default", "counters"}
    assert "min              3" in home.ok("swarm", "show", "default", out="swarm            default").out
    home.expect(3, "swarm", "show", "nosuch", out="", err="there is no swarm 'nosuch'")


def test_a_swarm_has_a_whole_life(home):
    home.ok("swarm", "create", "flock", "--min", "1", "--max", "4", "--capability", "fly",
            out="swarm 'flock' is created")
    home.expect(7, "swarm", "create", "flock", out="",
                err="already exists: change its settings with 'skein swarm set flock'")
    home.expect(2, "swarm", "scale", "flock", "--min", "1", "--agents-min", "2", out="",
                err="--min and --agents-min are the same option; give one of them")
    home.expect(7, "swarm", "remove", "default", out="", err="swarm 'default' cannot be removed")
    home.expect(2, "swarm", "create", "bad", "--set", "nothing", err="write key=value")
    wait_for(lambda: home.run("agent", "show", "flock-1").code == 0, "the swarm has no agent")
    home.expect(2, "swarm", "create", "bad", "--set", "foo=1", err="unknown member 'foo'")
    home.ok("swarm", "scale", "flock", "--min", "2", out="swarm 'flock' has 2 to 4 agents")
    swarm = home.ok("swarm", "show", "flock", "--json").json
    assert swarm["overrides"] == {"agents_min": "2"}, swarm
    assert (swarm["settings"]["min"], swarm["settings"]["max"]) == (2, 4), swarm
    wait_for(lambda: home.run("agent", "show", "flock-2").code == 0, "the swarm was not scaled")
    assert home.ok("swarm", "scale", "flock", "--max", "3", "--json").json == {"name": "flock", "min": 2, "max": 3}
    home.ok("swarm", "set", "flock", "--idle-shrink", "7s", out="swarm 'flock' is changed")
    assert home.ok("swarm", "show", "flock", "--json").json["settings"]["idle_shrink"] == "7s"
    home.ok("swarm", "set", "flock", "--idle-after-ms", "8000")
    assert home.ok("swarm", "show", "flock", "--json").json["settings"]["idle_shrink"] == "8s"
    home.expect(2, "swarm", "set", "flock", "--idle-shrink", "8", out="", err="must be a time such as")
    home.expect(2, "swarm", "scale", "flock", out="", err="give one of them, or both")
    home.expect(2, "swarm", "scale", "flock", "--min", "few", out="", err="--min 'few' must be a whole number")
    home.expect(2, "swarm", "scale", "flock", "--max", "200000", out="", err="from 1 to 100000")
    home.expect(2, "swarm", "scale", "flock", "--max", "1", out="", err="2 to 1 agents cannot be")
    home.expect(3, "swarm", "scale", "nosuch", "--min", "1", err="there is no swarm 'nosuch'")
    states = {"pause": "paused", "resume": "active", "drain": "draining", "stop": "stopped"}
    for verb, state in states.items():
        home.ok("swarm", verb, "flock", out="swarm 'flock' is ")
        assert home.ok("swarm", "show", "flock", "--json").json["state"] == state
    home.expect(7, "submit", "fly", "--swarm", "flock", err="swarm 'flock' accepts no tasks")
    assert home.ok("swarm", "remove", "flock", "--json").json == {}
    for verb in (*states, "remove"):
        home.expect(3, "swarm", verb, "flock", out="", err="there is no swarm 'flock'")
    home.expect(2, "swarm", out="", err="needs one of show, create, set, scale")


def test_what_makes_no_sense_is_refused_with_what_would(home):
    home.expect(2, "swarm", "create", "odd", "--executor", "nope", out="", err="there is no executor 'nope'")
    home.expect(2, "swarm", "create", "odd", "--executor", "nope", out="", err="there are count, function")
    home.expect(2, "swarm", "create", "bad name!", out="", err="a name has letters, digits, '-', '_' and '.'")
    home.expect(2, "swarm", "create", "odd", "--role", "boss", out="", err="must be worker, specialist or coordinator")
    home.expect(2, "swarm", "create", "odd", "--min", "few", out="", err="--min 'few' must be a whole number")
    home.expect(3, "swarm", "show", "odd", out="", err="there is no swarm 'odd'")
    home.expect(2, "agent", "spawn", "--role", "boss", out="", err="must be worker, specialist or coordinator")
    home.expect(2, "agent", "spawn", "--name", "bad name!", out="", err="is not a valid name for an agent")
    home.ok("agent", "spawn", "--name", "twin", out="twin\n")
    home.expect(2, "agent", "spawn", "--name", "twin", out="", err="an agent 'twin' already exists")
    home.ok("agent", "stop", "twin")


def test_a_swarm_has_a_fallback_that_is_there(home):
    home.ok("swarm", "create", "nest", "--min", "1", "--max", "1")
    home.ok("swarm", "create", "wing", "--min", "1", "--max", "1", "--fallback", "nest")
    assert "fallback         nest" in home.ok("swarm", "show", "wing").out
    home.expect(2, "swarm", "create", "lost", "--fallback", "nosuch", out="", err="there is no swarm 'nosuch'")
    home.expect(2, "swarm", "create", "lost", "--fallback", "lost", out="", err="cannot be its own fallback")
    home.expect(3, "swarm", "show", "lost", out="", err="there is no swarm 'lost'")
    for name in ("wing", "nest"):
        home.ok("swarm", "remove", name)


def test_log_level(home):
    home.ok("log-level", out="info\n")
    home.ok("log-level", "debug", out="debug\n")
    assert home.ok("log-level", "--json").json == {"level": "debug"}
    home.ok("log-level", "info")
    home.expect(2, "log-level", "loud", out="", err="LEVEL 'loud' must be debug, info, warning or error")


def test_a_verb_without_a_view_of_its_own_shows_the_answer_plainly(home):
    assert home.ok("describe", "dispatcher").out.strip()
    home.expect(3, "describe", "nosuch", out="", err="nosuch")


def test_reload_says_what_changed_and_what_could_not(home):
    file = home.path / "skein.toml"
    before = file.read_text()
    file.write_text(before.replace('[node]', '[node]\nworkers = 3\ndrain = "7s"'))
    home.expect(0, "reload", out="changed: drain", err="[node] workers differs and is taken over at the next start")
    file.write_text(before.replace("[node]", "[nod]"))
    home.expect(8, "reload", "--data", "data", out="", err="unknown section 'nod' (did you mean 'node'?)")
    home.expect(8, "status", out="", err="skein.toml is wrong, so the node's data folder is not known")
    file.write_text(before)
    assert home.ok("reload", "--json").json["changed"] == ["drain"]
