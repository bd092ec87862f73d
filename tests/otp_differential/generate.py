"""Random tree scripts. script(seed) returns one as text; equal seeds give equal scripts.

What it keeps away from, because the two would rightly differ: restarts between P and P + 1 seconds apart (OTP counts
whole seconds, we count exactly); a supervisor that is killed above a child that unlinked itself (OTP leaves that child
behind, we do not); two processes of one name; times so close that a busy machine decides.
"""
import random

K_LONG = 3600       # seconds: no restart leaves such a window within a script
K_SHORT = 2         # a window that a script waits out
K_WAIT_OUT_MS = 3300
RESTARTS = ["permanent", "transient", "temporary"]


class Script:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = []
        self.supervisors, self.pools, self.workers = [], [], []
        self.parent = {}
        self.auto = {}
        self.added = 0
        # Never both: see above.
        self.unlinks = self.rng.random() < 0.12
        self.short = self.rng.random() < 0.02
        self.slowest = 0

    def maybe(self, probability, text):
        return [text] if self.rng.random() < probability else []

    def flags(self, root=False):
        intensity = self.rng.choice([1, 3, 5, 10] if root else [0, 1, 2, 3, 5, 10])
        return [f"intensity={intensity}", f"period={K_SHORT if self.short else K_LONG}"]

    def child_options(self, parent, is_supervisor):
        rng, options = self.rng, []
        auto = self.auto.get(parent, "never")
        restart = rng.choice(RESTARTS + ["permanent"])
        if auto != "never" and rng.random() < 0.6:
            restart = rng.choice(["transient", "temporary"])
            options.append("significant")
        elif rng.random() < 0.01:
            options.append("significant")  # mostly refused
        if restart != "permanent" or rng.random() < 0.3:
            options.append(f"restart={restart}")
        if is_supervisor:
            killing = [] if self.unlinks else ["brutal_kill"]
            options += self.maybe(0.15, "shutdown=" + rng.choice(["infinity", "5000"] + killing))
        else:
            options += self.maybe(0.25, "shutdown=" + rng.choice(["infinity", "brutal_kill", "1000", "5000"]))
        return options

    def worker_options(self, parent, initial):
        rng = self.rng
        options = self.child_options(parent, False)
        if rng.random() < 0.2:
            first = 1 if rng.random() < (0.03 if initial else 0.2) else 2
            options.append("fails=" + ",".join(str(n) for n in range(first, first + rng.randint(1, 3))))
        elif rng.random() < 0.15:
            options.append(f"ignores={rng.randint(1, 4)}")
        kind = rng.random()
        if kind < 0.15:
            options.append("traps")
        elif kind < 0.22:
            # Far from the deadline on either side.
            options = [each for each in options if not each.startswith("shutdown=")]
            self.slowest = max(self.slowest, 25)
            options += [f"slow={rng.choice([10, 25])}", "shutdown=" + rng.choice(["1000", "infinity", "brutal_kill"])]
        elif kind < 0.24:
            options = [each for each in options if not each.startswith("shutdown=")]
            self.slowest = 300
            options += ["slow=300", "shutdown=30"]
        if self.unlinks and rng.random() < 0.3:
            options.append("unlinks")
        return options

    def supervisor(self, parent):
        name = f"s{len(self.supervisors)}"
        strategy = self.rng.choice(["one_for_one", "one_for_all", "rest_for_one"])
        auto = self.rng.choice(["never", "never", "never", "any_significant", "all_significant"])
        options = self.child_options(parent, True) if parent != "-" else []
        self.auto[name] = auto
        if auto != "never":
            options.insert(0, f"auto_shutdown={auto}")
        head = [f"supervisor {name} under {parent} strategy={strategy}"] + self.flags(parent == "-")
        self.lines.append(" ".join(head + options))
        self.supervisors.append(name)
        self.parent[name] = parent
        return name

    def pool(self, parent):
        name = f"p{len(self.pools)}"
        child = self.maybe(0.7, "child_restart=" + self.rng.choice(RESTARTS))
        child += self.maybe(0.3, "child_shutdown=" + self.rng.choice(["brutal_kill", "infinity", "1000"]))
        self.lines.append(" ".join([f"pool {name} under {parent}"] + self.flags() + child +
                                   self.child_options(parent, True)))
        self.pools.append(name)
        self.parent[name] = parent

    def worker(self, parent):
        name = f"w{len(self.workers)}"
        self.lines.append(" ".join([f"worker {name} under {parent}"] + self.worker_options(parent, True)))
        self.workers.append(name)
        self.parent[name] = parent

    def children(self, parent, depth):
        for _ in range(self.rng.randint(1, 4 if depth < 2 else 3)):
            kind = self.rng.random()
            if kind < 0.22 and depth < 4 and len(self.supervisors) < 6:
                self.children(self.supervisor(parent), depth + 1)
            elif kind < 0.32 and len(self.pools) < 2:
                self.pool(parent)
            else:
                self.worker(parent)

    def command(self):
        """Appends a command or two."""
        rng, say = self.rng, self.lines.append
        anyone = self.workers + self.supervisors + self.pools
        kind = rng.random()
        if kind < 0.26 and self.workers:
            say(f"crash {rng.choice(self.workers)}")
        elif kind < 0.40 and self.workers:
            say(f"exit {rng.choice(self.workers)} {rng.choice(['normal', 'shutdown', 'kill'])}")
        elif kind < 0.50 and not self.unlinks:
            self.kill(rng.choice(self.supervisors[1:] + self.pools or self.supervisors))
        elif kind < 0.515 and not self.unlinks:
            self.kill("s0")
        elif kind < 0.53:
            say(f"{rng.choice(['crash', 'count'])} {rng.choice(self.supervisors + self.pools)}")
        elif kind < 0.72:
            name = rng.choice(anyone)
            supervisor = self.parent.get(name, "s0")
            if supervisor == "-" or rng.random() < 0.06:
                supervisor = rng.choice(self.supervisors + self.pools)
            verb = rng.choice(["terminate_child", "terminate_child", "restart_child", "delete_child"])
            # A name that lives elsewhere must not be started here a second time: these three never do that.
            say(f"{verb} {supervisor} {name}")
            if verb == "terminate_child" and rng.random() < 0.6:
                say(f"{rng.choice(['restart_child', 'delete_child'])} {supervisor} {name}")
        elif kind < 0.84 and self.pools:
            pool = rng.choice(self.pools) if rng.random() < 0.97 else rng.choice(self.supervisors)
            name = f"k{self.added}"
            self.added += 1
            say(f"start_child {pool} as {name}")
            self.workers.append(name)
            self.parent[name] = pool
        elif kind < 0.93:
            self.start_worker()
        elif kind < 0.97:
            say(f"count {rng.choice(self.supervisors + self.pools)}")
        else:
            say(f"wait {rng.choice([1, 20])}")

    def kill(self, supervisor):
        self.lines.append(f"exit {supervisor} kill")
        if self.slowest:  # those that nobody restarts end in their own time: let them
            self.lines.append(f"wait {self.slowest + 100}")

    def start_worker(self):
        rng = self.rng
        supervisor = rng.choice(self.supervisors) if rng.random() < 0.97 else rng.choice(self.supervisors + self.pools)
        mine = [name for name in self.workers if self.parent[name] == supervisor and supervisor not in self.pools]
        if mine and rng.random() < 0.35:
            name = rng.choice(mine)
        else:
            name = f"x{self.added}"
            self.added += 1
            self.workers.append(name)
            self.parent[name] = supervisor
        self.lines.append(" ".join([f"start_worker {supervisor} {name}"] + self.worker_options(supervisor, False)))

    def text(self):
        self.children(self.supervisor("-"), 1)
        self.lines.append("start")
        for _ in range(self.rng.randint(3, 14)):
            self.command()
        if self.short:
            self.lines.append(f"wait {K_WAIT_OUT_MS}")
            for _ in range(self.rng.randint(2, 4)):
                self.command()
        if self.rng.random() < 0.7:
            self.lines.append("stop")
        return "\n".join(self.lines) + "\n"


def script(seed):
    return Script(seed).text()
