"""The conformance suite and the Inspector, from npm with the Node they need, installed once into the build folder.

The lock file names everything. What only the Inspector's web page needs (vite) is replaced by a package of a few bytes.
"""
import fcntl
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent / "npm"
K_INSTALL_LIMIT_S = 400


def install(build):
    """The folder node_modules, or None with the reason said."""
    if not shutil.which("npm"):
        print("skipped: npm: it is not installed")
        return None
    folder = build / "mcp_conformance"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two tests may come at once
        wanted = (HERE / "package-lock.json").read_text()
        done = folder / "installed"
        if done.exists() and done.read_text() == wanted:
            return folder / "node_modules"
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / name, folder)
        try:
            subprocess.run(["npm", "ci", "--ignore-scripts", "--silent"], cwd=folder, timeout=K_INSTALL_LIMIT_S,
                           capture_output=True, text=True, check=True)
        except subprocess.SubprocessError as failed:
            print(f"skipped: npm: it could not install the tools: {failed}")
            return None
        done.write_text(wanted)
    return folder / "node_modules"
