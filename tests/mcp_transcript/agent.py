"""A stdio agent that counts words. A task may ask to be held: its first attempt then writes who it is into a file and
never ends, so somebody has to kill it."""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import stdio_agent

K_HELD_S = 600

for task in stdio_agent.tasks("word_count"):
    params = task["params"]
    if "hold" in params and not os.path.exists(params["hold"]):
        partial = pathlib.Path(params["hold"] + ".partial")
        partial.write_text(str(os.getpid()))
        partial.rename(params["hold"])
        time.sleep(K_HELD_S)
    stdio_agent.result(task, {"words": len(params["text"].split()), "attempt": task["attempt"]})
