"""The commands of README.md and docs/getting-started.md, run as they are written, one after the other in one shell.

A fenced block ```sh is run. Where its last line is `skein up`, which stays in the foreground, it gets a shell of its
own, as it says. A ```text block is what the block before must have printed, in this order; … stands for anything.
Blocks of make are looked up in the Makefile: the tests are run by one of them."""
import os
import re
import signal
import subprocess

from harness import Home
from lib.places import ROOT
from lib.waiting import wait_for

K_SHELL_LIMIT_S = 30
K_DONE = "===done==="
UP = re.compile(r"(^|&& )skein up\b")


class Shell:
    """bash in which one block is run after the other; a failing command fails it."""

    def __init__(self, home, folder):
        self.process = subprocess.Popen(["bash", "--norc"], cwd=folder, env=home.env, stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, block):
        self.process.stdin.write(f"set -e\n{block}\necho '{K_DONE}'\n")
        self.process.stdin.flush()
        said = []
        for line in self.process.stdout:
            if line.strip() == K_DONE:
                return "".join(said)
            said.append(line)
        raise AssertionError(f"a command failed in\n{block}\n{''.join(said)}")

    def start(self, block, log):
        """The last command stays; what it prints goes to the log."""
        self.process.stdin.write(f"set -e\n{block} > '{log}' 2>&1\n")
        self.process.stdin.close()

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def wait_until_up(home):
    wait_for(lambda: home.run("status").code == 0, (home.path / "up.log").read_text, K_SHELL_LIMIT_S)


def check_output(wanted, said, block):
    pattern = ".*".join(re.escape(line).replace("…", ".*") for line in wanted.strip().splitlines())
    assert re.search(pattern, said, re.DOTALL), f"{block}\nprinted\n{said}\nand not\n{wanted}"


def check_make(block):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for target in re.findall(r"^make ([a-z-]+)", block, re.MULTILINE):
        assert target in targets, f"there is no 'make {target}'"


def run_blocks(blocks):
    home = Home()
    nodes = []
    shell = Shell(home, home.path)
    said, block = "", ""
    try:
        for kind, text in blocks:
            if kind == "text":
                check_output(text, said, block)
                continue
            block = text
            if re.match(r"make ", text):
                check_make(text)
            elif UP.search(text.strip().splitlines()[-1]):
                folder = home.path / "flock" if (home.path / "flock").exists() else home.path
                nodes.append(Shell(home, folder))
                nodes[-1].start(text.strip(), home.path / "up.log")
                wait_until_up(home)
            else:
                said = shell.run(text)
                if re.search(r"^skein stop$", text, re.MULTILINE):
                    nodes[-1].process.wait(timeout=K_SHELL_LIMIT_S)
        shell.process.stdin.close()
    finally:
        home.run("stop")
        shell.end()
        for each in nodes:
            each.end()
        home.remove()


def fenced(text):
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if kind in ("sh", "text"):
            yield kind, block


def test_the_commands_of_getting_started_work_as_written():
    blocks = list(fenced((ROOT / "docs/getting-started.md").read_text()))
    assert len(blocks) > 15
    run_blocks(blocks)


def test_the_commands_of_the_readme_work_as_written():
    text = (ROOT / "README.md").read_text()
    blocks = list(fenced(text))
    assert any("skein up" in block for _, block in blocks)
    run_blocks(blocks)
    for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE):
        check_make(re.sub("^    ", "", block, flags=re.MULTILINE))
