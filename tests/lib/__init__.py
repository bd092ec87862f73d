"""What the script tests share; tests/lib/run tests it. A script finds it with

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

places     the tree, the build directory, the program, a free port
waiting    until, wait_for: waits for a condition, never longer than a limit
checks     Tally: counts what holds, runs tests, prints 'N passed, N failed'
config     sections of skein.toml as text
node       Node: starts, kills, stops, pauses and restarts `skein up`; its log, token, ports and verbs
clients    Socket and Rest: the Unix socket and /api/v1
mcp        clients of MCP over HTTP, standard input and output, TCP and WebSocket
websocket  frames of a WebSocket
processes  what /proc tells about OS processes
stdio_agent    the protocol of agents that tests bring along
npm_tools, mcp_schemas    programs from npm, and the schemas of MCP, where they can be had

The judges from outside (tests/damage, tests/faults, tests/kill) use it too: nothing here shares code with the program.
"""
import sys

sys.dont_write_bytecode = True  # no __pycache__ in the tree
