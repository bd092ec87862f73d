"""Tokens that are bound to a swarm or a task: what they may see, name and be told of."""
import json

from clients import LegacySession, McpHttp, TokenSocket, listening
from lib.clients import Rest
from lib.waiting import until
from token_node import agents, code_of, create, node, submitted


def a_token_of_a_swarm_sees_that_swarm_only():
    with node(agents()) as at:
        mine = Rest(at.port, create(at, "bound", "--rank", "operate", "--swarm", "elsewhere"))
        theirs = at.rest().ask("POST", "/tasks", {"type": "echo"})[1]["id"]
        status, made = mine.ask("POST", "/tasks", {"type": "nobody-does-this"})
        assert status == 201, made
        assert at.rest().ask("GET", f"/tasks/{made['id']}")[1]["swarm"] == "elsewhere"
        assert mine.ask("GET", f"/tasks/{made['id']}")[0] == 200
        assert mine.ask("GET", f"/tasks/{theirs}")[0] == 404
        assert mine.ask("POST", f"/tasks/{theirs}/cancel", {})[0] == 404
        assert mine.ask("POST", "/tasks", {"type": "echo", "swarm": "default"})[0] == 403
        assert {each["swarm"] for each in mine.ask("GET", "/tasks")[1]["tasks"]} == {"elsewhere"}
        assert mine.ask("GET", "/swarms/elsewhere")[0] == 200
        assert mine.ask("GET", "/swarms/default")[0] == 403
        assert mine.ask("GET", "/agents")[0] == 403
        assert mine.ask("POST", f"/tasks/{made['id']}/cancel", {})[0] == 200


def a_bound_token_is_told_of_what_it_may_read_only():
    with node(agents()) as at:
        theirs, mine = submitted(at, type="nobody-does"), submitted(at, type="nobody-does", swarm="elsewhere")
        foreign = ["skein://tasks", "skein://tree", "skein://events", "skein://agents", "skein://status",
                   "skein://swarms", f"skein://tasks/{theirs}", "skein://swarms/default", "skein://agents/default-1"]
        bound = {create(at, "swarm", "--rank", "operate", "--swarm", "elsewhere"):
                 [f"skein://tasks/{mine}", "skein://swarms/elsewhere"],
                 create(at, "task", "--rank", "operate", "--task", mine): [f"skein://tasks/{mine}"]}
        streams = []
        for token, own in bound.items():
            session = LegacySession(at, token)
            for uri in foreign:
                first = listening(at, token, *own, uri).messages()[0]
                assert "error" in first, f"{uri}: {first}"
                assert "error" in session.ask("resources/subscribe", {"uri": uri})[1], uri
            for uri in own:
                assert '"result"' in session.ask("resources/subscribe", {"uri": uri})[1], uri
            streams += [(listening(at, token, *own), own), (session.stream, own)]
        for task in (theirs, mine):
            assert at.rest().ask("POST", f"/tasks/{task}/cancel", {})[0] == 200
        assert at.rest().ask("POST", "/swarms/default/pause", {})[0] == 200
        for stream, own in streams:
            told = {each["params"]["uri"] for each in stream.messages() if each.get("method", "").endswith("/updated")}
            assert f"skein://tasks/{mine}" in told and told <= set(own), told


def a_bound_token_learns_no_names():
    """Neither from an agent that is not there nor from a task that nobody in its swarm can do."""
    with node(agents()) as at:
        bound = Rest(at.port, create(at, "bound", "--rank", "operate", "--swarm", "talkers"))
        until(lambda: at.rest().ask("GET", "/swarms/talkers")[1].get("agents"))
        named = at.rest().ask("POST", "/tasks", {"type": "agent", "swarm": "talkers", "agent": "nobody"})[1]
        assert "default-1" in json.dumps(named), "the test would see nothing"
        wide = until(lambda: (got := at.rest().ask("POST", "/tasks", {"type": "agent", "swarm": "talkers"})[1])
                     and "agents" in got.get("waits", "") and got)
        answers = [bound.ask("POST", "/tasks", {"type": "agent", "agent": "nobody"})[1],
                   bound.ask("POST", "/tasks", {"type": "agent"})[1], bound.ask("GET", f"/tasks/{wide['id']}")[1],
                   bound.ask("POST", f"/tasks/{wide['id']}/wait", {"timeout_ms": 10})[1],
                   bound.ask("GET", "/tasks")[1]]
        assert code_of(answers[0]) == "agent_not_found", answers[0]
        for foreign in ("default-1", "agents-1"):
            for fallback in ("none", "any"):
                named = bound.ask("POST", "/tasks", {"type": "echo", "agent": foreign, "agent_fallback": fallback})[1]
                assert code_of(named) == "agent_not_found" and "'talkers' has no agent" in json.dumps(named), named
        own = until(lambda: [each["id"] for each in at.rest().ask("GET", "/agents")[1]["agents"]
                             if each["swarm"] == "talkers"])
        status, made = bound.ask("POST", "/tasks", {"type": "talk", "agent": own[0]})
        assert status == 201, made
        assert "waits" in answers[1] and "waits" in answers[2], answers
        for each in answers:
            text = json.dumps(each)
            for name in ("default-1", "'agents'", '"agents"', "'default'", "able_swarms"):
                assert name not in text, f"{name} in {text}"


def a_bound_token_gives_its_swarm_no_way_out():
    with node(agents()) as at:
        bound = Rest(at.port, create(at, "bound", "--rank", "operate", "--swarm", "elsewhere"))
        for change in ({"executor": "agent"}, {"fallback": "default"}, {"fields": {"fallback": "default"}},
                       {"max": 2, "executor": "function"}):
            status, answer = bound.ask("PATCH", "/swarms/elsewhere", change)
            assert status == 403 and "would let its tasks run outside" in answer["error"]["message"], (change, answer)
        assert bound.ask("PATCH", "/swarms/elsewhere", {"max": 2})[0] == 200
        assert at.rest().ask("PATCH", "/swarms/elsewhere", {"fallback": "default"})[0] == 200


def a_token_is_made_for_what_is_there():
    with node(agents()) as at:
        open_task, done = submitted(at, type="nobody-does"), submitted(at, type="nobody-does")
        assert at.rest().ask("POST", f"/tasks/{done}/cancel", {})[0] == 200
        nobody = "0197f0c2-0000-7000-8000-000000000000"
        for words, code, said in ((("--swarm", "elswhere"), 3, "did you mean 'elsewhere'"),
                                  (("--swarm", "x"), 3, "known: agents, default"),
                                  (("--task", nobody), 3, nobody), (("--task", done), 7, "is cancelled"),
                                  (("--task", open_task, "--swarm", "elsewhere"), 2, "is one of swarm 'default'"),
                                  (("--task", open_task, "--children", "0"), 2, "from 1 to 20"),
                                  (("--task", open_task, "--depth", "0"), 2, "from 1 to 3")):
            refused = at.run("token", "create", "t", "--rank", "operate", *words)
            assert refused.returncode == code and said in refused.stderr, (words, refused)
        create(at, "t", "--rank", "operate", "--task", open_task, "--swarm", "default")


def a_bound_token_is_refused_members_of_the_wrong_type():
    """They are read before the bounds are: what is no name must not pass for no name at all."""
    with node(agents()) as at:
        theirs = submitted(at, type="nobody-does")
        mine = submitted(at, type="nobody-does", swarm="elsewhere")
        for bounds in (("--swarm", "elsewhere"), ("--task", mine)):
            token = create(at, "of" + bounds[0].replace("-", ""), "--rank", "operate", *bounds)
            bound = Rest(at.port, token)
            for wrong in ({"swarm": ["default"]}, {"swarm": {"name": "default"}}, {"swarm": 7}, {"key": ["k"]},
                          {"agent": ["default-1"]}, {"dependencies": theirs}, {"dependencies": [[theirs]]},
                          {"dependencies": {"id": theirs}}):
                status, answer = bound.ask("POST", "/tasks", {"type": "echo", **wrong})
                assert status == 400 and code_of(answer) == "invalid", (bounds, wrong, status, answer)
            with TokenSocket(at.data, token) as link:
                for op, wrong in (("task_status", {"id": [theirs]}), ("task_wait", {"id": {"id": theirs}}),
                                  ("task_cancel", {"id": 7}), ("task_status", {"id": mine, "swarm": ["default"]})):
                    assert code_of(link.ask(op, **wrong)) == "invalid", (bounds, op, wrong)
            client = McpHttp(at.port, token)
            answer = client.ask("tools/call", name="task_submit", arguments={"type": "echo", "swarm": ["default"]})
            assert answer["result"]["isError"], answer
        with TokenSocket(at.data, create(at, "swarm-only", "--rank", "operate", "--swarm", "elsewhere")) as link:
            for wrong in ({"name": ["default"]}, {"name": None}, {}):
                assert code_of(link.ask("swarm_pause", **wrong)) == "invalid", wrong
            assert code_of(link.ask("swarm_pause", name="default")) == "forbidden"
            assert code_of(link.ask("task_list", swarm=["default"])) == "invalid"


BOUND_TESTS = [
    a_token_of_a_swarm_sees_that_swarm_only,
    a_bound_token_is_told_of_what_it_may_read_only,
    a_bound_token_learns_no_names,
    a_bound_token_gives_its_swarm_no_way_out,
    a_token_is_made_for_what_is_there,
    a_bound_token_is_refused_members_of_the_wrong_type,
]
