"""Verbs that need no node: init, config, version, completion, log, restore, archive; and what a wrong line gets."""
import shutil
import subprocess

from harness import Node, with_home
from lib.places import ROOT
from lib.waiting import wait_for


@with_home
def test_init_writes_a_config_that_is_right_and_never_over_one(home):
    home.expect(0, "init", out="skein.toml\n", err="'skein up' runs it")
    before = (home.path / "skein.toml").read_text()
    home.expect(1, "init", out="", err="already exists and was not changed")
    assert (home.path / "skein.toml").read_text() == before
    assert home.ok("init", "other.toml", "--json").json == {"file": "other.toml"}
    home.ok("config", "check", out="3 executors, 3 swarms")
    home.expect(1, "init", "nosuch/skein.toml", out="", err="cannot be written here")


@with_home
def test_config_check_names_file_line_and_what_was_meant(home):
    (home.path / "skein.toml").write_text('[node]\nnmae = "a"\n\n[swarms.build]\nexecutor = "cmd"\nmin = "many"\n')
    wrong = home.expect(8, "config", "check", out="").err
    assert "skein.toml:2: unknown key 'nmae' (did you mean 'name'?)" in wrong, wrong
    assert "skein.toml:5: " in wrong and "skein.toml:6: " in wrong, wrong
    report = home.expect(8, "config", "check", "--json", err="").json
    assert not report["ok"] and [each["line"] for each in report["faults"]] == [2, 5, 6], report
    home.expect(8, "up", out="", err="skein.toml:2:")
    home.expect(8, "config", "check", "nosuch.toml", out="",
                err="nosuch.toml: cannot be read (No such file or directory); 'skein init' writes one")
    home.expect(8, "config", "check", ".", out="", err=".: cannot be read (Is a directory)")
    (home.path / "skein.toml").write_text("[node\n")
    home.expect(8, "config", "check", out="", err="skein.toml:1:")
    (home.path / "skein.toml").write_text("")
    home.expect(8, "config", "check", "--set", "node.nmae=1", err="did you mean 'name'?")


@with_home
def test_config_limits(home):
    home.ok("config", "limits", out="WHAT HAPPENS THERE")
    home.expect(8, "config", "limits", "nosuch.toml", out="", err="nosuch.toml: cannot be read")
    listed = home.ok("config", "limits", "--json").lines
    assert {each["key"] for each in listed} >= {"open_tasks", "line_bytes"}
    values = {(each["section"], each["key"]): each["value"] for each in listed}
    assert (values["[limits]", "attempts"], values["[node]", "name"]) == (100, "node"), values
    assert home.ok("config", "limits", "--markdown").out == (ROOT / "docs/limits.md").read_text()


@with_home
def test_version_and_usage(home):
    assert home.ok("version").out == home.ok("--version").out
    assert set(home.ok("version", "--json").json) == {"version", "protocol"}
    home.expect(2, "statsu", out="", err="unknown verb 'statsu' (did you mean 'status'?)")
    home.expect(2, "wait", out="", err="unknown verb 'wait' (did you mean 'task wait'?)")
    home.expect(2, "run", out="", err="did you mean 'submit' a task or 'up' for a node?")
    home.expect(2, "restart", out="", err="did you mean 'stop', then 'up'?")
    home.expect(2, "config", out="", err="needs one of check, limits")
    home.expect(2, "status", "--jsn", out="", err="unknown option '--jsn' (did you mean '--json'?)")
    home.expect(2, "status", "more", out="", err="'skein status --help' shows the options")
    home.expect(2, out="", err="Usage")
    listed = home.ok("--help").out
    assert listed.index("Every day:") < listed.index("  submit ") < listed.index("Swarms and agents:"), listed
    shown = home.ok("help", "submit").out
    assert "--task-timeout" in shown and "[default: normal]" in shown, shown
    assert "Example:\n  skein submit echo" in shown, shown
    assert "-ms" not in shown, "older options are taken, not shown"


def all_verbs(home, path=()):
    """Every verb as --help lists them."""
    is_verbs = False
    for line in home.ok(*path, "--help").out.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            is_verbs = line not in ("Options:", "Positionals:", "Example:")
        words = line.split()
        if is_verbs and words and line.startswith("  ") and not line.startswith("   "):
            yield (*path, words[0])
            yield from all_verbs(home, (*path, words[0]))


@with_home
def test_every_verb_has_help_json_a_place_in_the_docs_and_in_the_man_page(home):
    verbs = list(all_verbs(home))
    assert ("task", "show") in verbs and len(verbs) > 50, verbs
    cli_page = (ROOT / "docs/cli.md").read_text()
    man_page = (ROOT / "packaging/skein.1").read_text()
    for verb in verbs:
        text = home.ok(*verb, "--help").out
        is_group = "\nSubcommands:\n" in text
        assert home.ok("help", *verb).out == text, verb
        exempt = verb[0] in ("up", "mcp", "completion")
        assert is_group or exempt or "--json" in text, f"{verb} has no --json"
        assert is_group or "\nExample:\n  skein " + " ".join(verb) in text, f"{verb} has no example"
        assert "UINT" not in text and "-ms" not in text, f"{verb}: a type or an option of before is shown"
        assert f"`{verb[0]}" in cli_page, f"docs/cli.md does not know {verb}"
        assert all(f"\\fB{word}\\fR".replace("-", "\\-") in man_page for word in verb if verb[0] != "chaos"), verb


@with_home
def test_completion(home):
    script = home.ok("completion", "bash").out

    def completed(*words):
        ask = (f"{script}\nCOMP_WORDS=({' '.join(words)!s} '')\nCOMP_CWORD={len(words)}\n_skein\n"
               "printf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    assert {"up", "task", "swarms", "--version"} <= completed("skein")
    assert {"show", "cancel", "logs"} <= completed("skein", "task") and "up" not in completed("skein", "task")
    assert {"--json", "--data"} <= completed("skein", "task", "show", "0197")
    home.expect(2, "completion", "tcsh", out="", err="bash, zsh or fish")


def has_shell(name):
    if not shutil.which(name):
        print(f"skipped: {name}: it is not installed; its completions were not tried")
    return shutil.which(name)


@with_home
def test_completion_in_fish(home):
    script = home.ok("completion", "fish").out
    if not has_shell("fish"):
        return

    def completed(line):
        done = subprocess.run(["fish", "--no-config", "-c", f"source; complete -C '{line}'"], capture_output=True,
                              input=script, text=True, check=True, env=home.env)
        return {each.split("\t")[0] for each in done.stdout.splitlines()}, done.stdout

    assert {"task", "tasks"} <= completed("skein ta")[0]
    assert {"show", "cancel", "logs"} <= completed("skein task ")[0]
    assert "node's log" in completed("skein log-l")[1]
    assert {"--json", "--data"} <= completed("skein task show --")[0]
    assert "cancel" not in completed("skein task show ")[0]


@with_home
def test_completion_in_zsh(home):
    script = home.ok("completion", "zsh").out
    if not has_shell("zsh"):
        return

    def completed(*words):
        # What the script hands to the completion system, in whose place these stand.
        ask = ("compdef() { : }; compadd() { print -l -- ${@:2} }; _describe() { print -l -- ${(P)2} }\n"
               f"{script}\nwords=({' '.join(words)} ${{1-}}) CURRENT={len(words) + 1}\n_skein")
        done = subprocess.run(["zsh", "-f", "-c", ask, "zsh", *(["-"] if words[-1] == "show" else [])],
                              capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    assert any(each.startswith("log-level:") and "node's log" in each for each in completed("skein"))
    assert "show:Show a task with its params, result and failed attempts" in completed("skein", "task")
    assert {"--json", "--data"} <= set(completed("skein", "task", "show"))


@with_home
def test_log_restore_and_archive_work_on_the_folder_of_a_node_that_has_ended(home):
    (home.path / "skein.toml").write_text('[node]\ndata = "data"\n')
    node = Node(home)
    try:
        home.ok("submit", "echo", "--count", "20", "--wait")
        wait_for(lambda: home.ok("status", "--json").json["tasks"]["archived"] == 20, "not all came into the archive")
        home.expect(1, "archive", "rebuild", out="", err="another program has this journal open")
        home.expect(1, "log", "repair", out="", err="stop it first")
    finally:
        node.end()
    home.ok("log", "verify", out="whole")
    home.ok("log", "verify", "data", out="whole")
    home.ok("log", "verify", "--data", "data", out="whole")
    assert home.ok("log", "dump", "--data", "data").out == home.ok("log", "dump", "data/journal").out
    image = home.ok("log", "verify", "data/journal", "--json").json
    assert image["last"] > 3 and image["clean"] and image["snapshot"] is None, image
    entries = home.ok("log", "dump", "--json").lines
    assert len(entries) == image["last"]
    assert len(home.ok("log", "dump", "--from", str(image["last"])).out.splitlines()) == 1
    home.ok("log", "repair", out="nothing to repair")
    assert home.expect(0, "log", "repair", "--json").json["needed"] is False
    home.expect(1, "log", "verify", "nowhere", out="", err="nowhere")
    home.expect(1, "log", "skip", "data/journal", "999999", out="", err="999999")
    last = str(image["last"] - 1)
    home.expect(1, "log", "skip", "data/journal", last, err="nothing was changed; --yes")
    shutil.copytree(home.path / "data/journal", home.path / "copy")
    assert home.ok("restore", "copy", "restored", "--json").json["last"] == image["last"]
    home.expect(1, "restore", "copy", "restored", out="", err="restored")
    home.ok("restore", "copy", "again", out=f"again holds everything up to position {image['last']}; a node goes on")
    home.ok("log", "verify", "again", out="whole")
    saved = home.ok("backup", "data", "saved", "--json").json
    assert saved["last"] == image["last"] and saved["archived"] == 20, saved
    home.expect(1, "backup", "data", "saved", out="", err="saved exists already")
    home.ok("restore", "saved", "back", out="and 20 archived tasks; a node goes on from there")
    home.expect(1, "restore", "nowhere", "other", out="", err="nowhere")
    assert home.ok("archive", "rebuild", "--json").json["missing"] == 0
    home.ok("archive", "rebuild", out="archive.sqlite")
    home.expect(1, "archive", "rebuild", "--data", "nowhere", out="", err="there is no journal in nowhere")
    node = Node(home)
    try:
        assert home.ok("status", "--json").json["tasks"]["archived"] == 20
    finally:
        node.end()
