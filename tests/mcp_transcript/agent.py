"""A stdio agent that counts words. A task may ask to be held: its first attempt then writes who it is into a file and
never ends, so somebody has to kill it."""
import json
import os
import pathlib
import sys
import time

K_HELD_S = 600


def send(**message):
    print(json.dumps(message), flush=True)


send(type="hello", protocol=1, capabilities=["word_count"])
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "shutdown":
        break
    if message["type"] != "task":
        continue
    params = message["params"]
    if "hold" in params and not os.path.exists(params["hold"]):
        partial = pathlib.Path(params["hold"] + ".partial")
        partial.write_text(str(os.getpid()))
        partial.rename(params["hold"])
        time.sleep(K_HELD_S)
    send(type="result", task=message["task"], fence=message["fence"],
         result={"words": len(params["text"].split()), "attempt": message["attempt"]})
