"""`tare doctor`: what can be used here."""

from __future__ import annotations

import os
import shutil
from importlib import metadata

from rich.console import Console
from rich.table import Table

from tare import platforms
from tare.campaign.probing import probe
from tare.telemetry import gpu, host, quietness
from tare.worker.frameworks import FRAMEWORKS


def _quietness() -> Table:
    """What would disturb a measurement; nothing of it keeps anybody from measuring, so the exit status is not told."""
    table = Table("what disturbs", "what helps", title="How quiet is this machine")
    for finding in quietness.look():
        table.add_row(f"{finding.what}.", finding.remedy)
    if not table.rows:
        table.add_row(f"Nothing was seen within {quietness.SAMPLE_S:g} s.", "")
    return table


def doctor() -> int:
    """Print the machine, the environments, the frameworks and what disturbs; 0 if a comparison can be made here."""
    # no markup: an engine's own words may have brackets
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    console = Console(width=width, highlight=False, markup=False)
    machine = host.describe()
    console.print(
        f"{machine['cpu']}, {machine['usable_cpus']} of {machine['logical_cpus']} CPUs usable, "
        f"{machine['memory_bytes'] / 2**30:.0f} GiB, {machine['operating_system']}, "
        f"kernel {machine['kernel']}"
        f"{', virtual machine' if machine['virtual_machine'] else ''}; "
        f"GPUs: {', '.join(gpu.names()) or 'none'}; load {os.getloadavg()[0]:.1f}"
    )
    # apptainer is usable as such; that it takes a flag is said beside it
    found = probe(platforms.ENGINES, apptainer_asked=True, trial=True)
    table = Table("environment", "usable", "version", "why not, and what to do", title="Environments")
    for engine, availability in found.items():
        words = f"{availability.reason.rstrip('.')}. {availability.remedy}" if availability.reason else ""
        if engine == "apptainer" and availability.usable:
            words = "measured when Snakemake is called with --use-singularity; `make run` does"
        table.add_row(engine, "yes" if availability.usable else "no", availability.version, words)
    console.print(table)
    frameworks = Table("framework", "usable", "version", "why not, and what to do", title="Frameworks")
    missing = 0
    for name in FRAMEWORKS:
        try:
            frameworks.add_row(name, "yes", metadata.version(name), "")
        except metadata.PackageNotFoundError:
            missing += 1
            frameworks.add_row(name, "no", "", "it is not installed. Run `make setup` again.")
    console.print(frameworks)
    console.print(_quietness())
    comparable = any(found[engine].usable for engine in found if engine != "bare")
    if not comparable:
        console.print("No engine can be used: the quick study measures bare against itself until one can.")
    return 0 if comparable and not missing else 1
