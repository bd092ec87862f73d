"""Sections of skein.toml as text: one call for what would be five lines of TOML in every script."""
import json


def section(header, **keys):
    """[header] with its keys; a key whose value is None is left out."""
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if value is not None]
    return f"[{header}]\n" + "".join(lines)


def swarm(name, least, most=None, executor=None, **keys):
    """Of `least` to `most` agents; of exactly `least` when no `most` is given."""
    return section(f"swarms.{name}", executor=executor, min=least, max=least if most is None else most, **keys)


def command(name, *words, **keys):
    """An executor that runs a program for each task."""
    return section(f"executors.{name}", kind="command", command=words, **keys)


def stdio(name, *words, **keys):
    """An executor that runs a program for as long as its agent lives."""
    return section(f"executors.{name}", kind="stdio", command=words, **keys)


def agent(name, **keys):
    """One of [[agents]]."""
    return "[" + section("agents", id=name, **keys).replace("[agents]\n", "[agents]]\n", 1)
