"""Counts checks and tests, tells about those that failed, and ends a script as scripts/run-tests expects it."""
import traceback


def tests_of(namespace, wanted=()):
    """The functions named test_*, in the order they are written in; only those that are wanted, if some are named."""
    return [each for name, each in list(namespace.items())
            if name.startswith("test_") and (not wanted or name in wanted)]


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what, holds, more=""):
        """One thing that must hold; `more` is printed when it does not. Returns whether it holds."""
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        if not holds:
            print(f"FAILED: {what}\n{more}", flush=True)
        return bool(holds)

    def run(self, name, test, *arguments):
        """One test, which fails by raising; the others still run. Returns what the test returned, None if it failed."""
        try:
            answer = test(*arguments)
            self.passed += 1
            return answer
        except Exception:  # whatever it was, the others still run
            self.failed += 1
            print(f"FAILED {name}\n{traceback.format_exc(limit=-3)}", flush=True)
            return None

    def run_all(self, tests, *arguments):
        for test in tests:
            self.run(test.__name__, test, *arguments)

    def end(self):
        """Prints the last line of a script; its exit code."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0
