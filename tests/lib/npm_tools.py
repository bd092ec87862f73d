"""Programs from npm, installed once into the build folder. Their lock files name everything.

tests/lib/npm has the conformance suite, the Inspector and other clients, with the Node they need. What only the
Inspector's web page needs (vite) is replaced by a package of a few bytes.
"""
import fcntl
import pathlib
import shutil
import subprocess
import sys

CLIENTS = pathlib.Path(__file__).resolve().parent / "npm"
K_INSTALL_LIMIT_S = 400


def install(folder, source, needs=("npm",)):
    """Installs what the lock file in `source` names into `folder`. The folder node_modules, or None with the reason
    said."""
    if missing := [each for each in needs if not shutil.which(each)]:
        print(f"skipped: npm: {' and '.join(missing)} is not installed")
        return None
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two tests may come at once
        wanted = (source / "package-lock.json").read_text()
        done = folder / "installed"
        if done.exists() and done.read_text() == wanted:
            return folder / "node_modules"
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(source / name, folder)
        try:
            subprocess.run(["npm", "ci", "--ignore-scripts", "--silent"], cwd=folder, timeout=K_INSTALL_LIMIT_S,
                           capture_output=True, text=True, check=True)
        except subprocess.SubprocessError as failed:
            print(f"skipped: npm: it could not install what {source.name} needs: {failed}")
            return None
        done.write_text(wanted)
    return folder / "node_modules"


def clients_or_exit(build):
    """node_modules with the clients; ends the program, as one that tested nothing, where they cannot be had."""
    modules = install(build / "mcp_conformance", CLIENTS)
    if modules is None:
        print("0 passed, 0 failed")
        sys.exit(0)
    return modules
