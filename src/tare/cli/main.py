"""`tare doctor`, `tare plan STUDY`, `tare status STUDY`, `tare summary STUDY`, `tare self-check`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tare
from tare.cli import doctor, selfcheck, study
from tare.measure.locks import LockHeld
from tare.plan.errors import StudyError
from tare.platforms import EngineError
from tare.records.store import BadRecord


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="tare",
        description="Measures what a platform costs deep-learning training. "
        "`make run` or `snakemake --cores all` measures; these commands tell what is there.",
    )
    top.add_argument("--version", action="version", version=f"tare {tare.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser(
        "doctor", help="which environments and frameworks are usable here, and why not, with the remedy"
    )
    command.set_defaults(run=lambda arguments: doctor.doctor())
    for name, run, text in (
        ("plan", study.plan, "what a study would measure, and how long that may take; measures nothing"),
        (
            "status",
            study.status,
            "what of a study is done, failed, missing; exit status 1 while a run failed",
        ),
        ("summary", study.summary, "the study's overheads; exit status 1 while a run failed"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument(
            "study", nargs="?", metavar="STUDY", help="a study's name or YAML file (config/config.yaml's)"
        )
        command.add_argument(
            "--results", type=Path, help="folder of all results (config/config.yaml's, or results)"
        )
        if name == "summary":
            command.add_argument(
                "--last", action="store_true", help="the study that Snakemake was last called for"
            )
        command.set_defaults(run=run)
    _add_overhead(commands)
    command = commands.add_parser(
        "self-check",
        help="known answers beside what was measured of them; exit status 1 where one is not met",
    )
    command.add_argument("study", nargs="?", metavar="STUDY", help="a study's name or YAML file (self-check)")
    command.add_argument(
        "--results", type=Path, help="folder of all results (config/config.yaml's, or results)"
    )
    command.set_defaults(run=selfcheck.self_check)
    return top


def _add_overhead(commands: Any) -> None:
    text = "the overhead of numbers that were measured elsewhere: two files with one value a run"
    command = commands.add_parser("overhead", help=text, description=text)
    for name, of in (("baseline", "the baseline"), ("platform", "the platform")):
        command.add_argument(f"--{name}", type=Path, required=True, metavar="CSV", help=f"numbers of {of}")
    command.add_argument(
        "--metric", choices=("throughput", "time"), required=True,
        help="throughput: more is better; time: less is better; in any unit",
    )  # fmt: skip
    command.add_argument(
        "--column", metavar="NAME", help="the values' column (the only one beside the pairs)"
    )
    command.add_argument(
        "--pair", metavar="NAME", help="the column that tells which values belong together (pair, or block)"
    )
    command.add_argument(
        "--margin-pct", type=float, default=2.0, help="overheads within this do not matter (2)"
    )
    command.add_argument("--level", type=float, default=0.95, help="confidence level of the interval (0.95)")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=_overhead)


def _overhead(arguments: argparse.Namespace) -> int:
    # here, since it loads what the other commands do not need
    from tare.cli import lists

    return lists.overhead(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status: 0 fine, 1 a run failed or not as asked, 2 wrong usage."""
    top = parser()
    parsed = top.parse_args(arguments)
    if getattr(parsed, "last", False) and (parsed.study or parsed.results):
        top.error("--last says which study and results; leave STUDY and --results out, or --last")
    try:
        status: int = parsed.run(parsed)
    except (StudyError, EngineError, BadRecord, LockHeld) as error:
        print(f"tare: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 0
    except OSError as error:
        print(
            f"tare: {error.filename or 'a file'} can't be read: {error.strerror or error}.", file=sys.stderr
        )
        return 1
    except KeyboardInterrupt:
        return 130
    return status
