"""A node that serves MCP over HTTP, in a folder of its own."""
import pathlib
import re
import subprocess
import sys
import time

K_START_LIMIT_S = 30
K_END_LIMIT_S = 60


class Node:
    def __init__(self, build, folder, *options, config=None):
        self.command = [build / "bin/skein", "up"] + ([config] if config else [])
        self.command += ["--data", folder / "data", *options]
        self.folder = folder
        self.port = 0
        self.process = None
        self.url = self.start()

    def start(self):
        """Its address; after the first time it has the same port again."""
        self.log = open(self.folder / "log", "w+", encoding="utf-8")
        self.process = subprocess.Popen([*self.command, "--http", f"127.0.0.1:{self.port}"], cwd=self.folder,
                                        stdout=self.log, stderr=subprocess.STDOUT)
        until = time.monotonic() + K_START_LIMIT_S
        while time.monotonic() < until and self.process.poll() is None:
            found = re.search(r"MCP is at (http://[^:]+:(\d+)\S*)", self.text())
            if found:
                self.port = int(found[2])
                return found[1]
            time.sleep(0.02)
        sys.exit(f"the node did not come up:\n{self.text()}")

    def text(self):
        return pathlib.Path(self.log.name).read_text()

    def token(self):
        return (self.folder / "data/token").read_text().strip()

    def kill(self):
        self.process.kill()
        self.process.wait(K_END_LIMIT_S)

    def end(self):
        """Its exit code."""
        self.process.terminate()
        return self.process.wait(K_END_LIMIT_S)
