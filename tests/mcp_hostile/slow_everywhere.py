"""Slow, silent and unreading clients of TCP, WebSocket and REST, all at once: their limits run side by side."""
import time

import over_rest
import over_tcp
import over_websocket
from node import K_SECONDS

K_STEP_S = 0.25
K_FAIR_S = 0.5


def slow_everywhere(story, node):
    """Each is told so or closed at its limit; others are served at once meanwhile."""
    crowds = [each.Slow(node) for each in (over_tcp, over_websocket, over_rest)]
    worst = 0
    end = time.monotonic() + K_SECONDS
    while time.monotonic() < end:
        for each in crowds:
            each.trickle()
        begin = time.monotonic()
        with node.client() as other:
            other.ask("tools/list")
        worst = max(worst, time.monotonic() - begin)
        time.sleep(K_STEP_S)
    story.check(f"beside slow clients everywhere an answer takes {K_FAIR_S} s at most", worst < K_FAIR_S, worst)
    for each in crowds:
        each.judge(story)
    over_rest.readers_come_again(story, node)


SCENARIOS = [slow_everywhere]
