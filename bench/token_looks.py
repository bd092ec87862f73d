#!/usr/bin/env python3
"""What idle connections cost a node that looks twice a second whether their token still works: processor time of `skein
up` with many TCP connections that have said one message each, without tokens and with the first token.

    bench/token_looks.py build/bin/skein [CONNECTIONS [SECONDS]]

The difference of the two lines is the cost of the looks; docs/internals/performance.md has figures."""
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time

K_LIMIT_S = 60
K_SETTLE_S = 2  # after the last connection, before anything is measured
CONFIG = """[tcp]
enabled = true
listen = "127.0.0.1:0"
auth = "{auth}"
connections = {connections}
[http]
enabled = false
"""


def processor_s(pid):
    """User and system time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def port_in(log, node):
    end = time.monotonic() + K_LIMIT_S
    while time.monotonic() < end and node.poll() is None:
        found = re.search(r"is at tcp 127\.0\.0\.1:(\d+)", log.read_text())
        if found:
            return int(found[1])
        time.sleep(0.05)
    raise SystemExit(f"the node does not listen:\n{log.read_text()}")


def connected(port, token):
    """A connection that was let in and has been answered."""
    link = socket.create_connection(("127.0.0.1", port), timeout=K_LIMIT_S)
    shown = json.dumps({"token": token}) + "\n" if token else ""
    link.sendall((shown + json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}) + "\n").encode())
    return link


def measure(skein, auth, connections, seconds):
    with tempfile.TemporaryDirectory(prefix="skein-looks-") as folder:
        config, log = pathlib.Path(folder, "skein.toml"), pathlib.Path(folder, "log")
        config.write_text(CONFIG.format(auth=auth, connections=connections + 1))
        with open(log, "w", encoding="utf-8") as out:
            node = subprocess.Popen([skein, "up", config, "--data", f"{folder}/data"], stdout=out, stderr=out)
        try:
            port = port_in(log, node)
            token = pathlib.Path(folder, "data/token").read_text().strip() if auth == "token" else None
            links = [connected(port, token) for _ in range(connections)]
            assert all(link.recv(4096) for link in links), "a connection was closed"
            time.sleep(K_SETTLE_S)
            used, began = processor_s(node.pid), time.monotonic()
            time.sleep(seconds)
            used, took = processor_s(node.pid) - used, time.monotonic() - began
            print(f"auth {auth}: {connections} connections, {used:.2f} s of processor time in {took:.1f} s: "
                  f"{100 * used / took:.2f} % of a core", flush=True)
        finally:
            node.terminate()
            node.wait()


def main():
    skein, connections, seconds = (sys.argv[1:] + ["2000", "15"][len(sys.argv) - 2:])[:3]
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    for auth in ("none", "token"):
        measure(skein, auth, int(connections), float(seconds))


if __name__ == "__main__":
    main()
