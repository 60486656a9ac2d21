"""Benchmarks are scripts that import each other by their plain names, as when one of them is called."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
