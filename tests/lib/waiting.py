"""Waits for a condition. Every wait has a limit; no test sleeps for a time that it hopes is long enough."""
import time

K_LIMIT_S = 60  # a healthy node needs far less; a test that must see something sooner gives a limit of its own
K_LOOK_S = 0.01


def until(holds, limit_s=K_LIMIT_S, look_s=K_LOOK_S):
    """Calls `holds` until it returns something true, and returns that; what it returned last when the limit is over."""
    end = time.monotonic() + limit_s
    while True:
        found = holds()
        if found or time.monotonic() >= end:
            return found
        time.sleep(look_s)


def wait_for(holds, what, limit_s=K_LIMIT_S):
    """The same, but fails when the limit is over. `what` says what did not come: a text, or a function."""
    found = until(holds, limit_s)
    assert found, f"not within {limit_s} s: {what() if callable(what) else what}"
    return found
