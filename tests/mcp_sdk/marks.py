"""An agent whose tasks never end: it says how far each is, and goes on."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.stdio_agent import send, tasks

for task in tasks("steps"):
    send(type="progress", task=task["task"], fence=task["fence"], mark={"step": 3, "of": 6})
