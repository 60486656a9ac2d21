"""The command `tare`: what surrounds a run. Measuring itself is Snakemake's."""

from tare.cli.main import main

__all__ = ["main"]
