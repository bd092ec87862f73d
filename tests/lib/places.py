"""Where things are: the source tree, the build directory that SKEIN_BUILD names (default: build/), and free ports."""
import os
import pathlib
import socket

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SKEIN_BUILD") or ROOT / "build").resolve()
SKEIN = BUILD / "bin/skein"
LOOPBACK = "127.0.0.1:0"  # an address to listen at: the kernel chooses the port


def free_port():
    """A port that nobody listened at a moment ago. Where the node may choose, give it LOOPBACK instead."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
