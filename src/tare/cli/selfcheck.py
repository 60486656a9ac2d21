"""`tare self-check`: what is known beforehand, beside what was measured."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tare.campaign import selfcheck
from tare.campaign.options import configured, parse
from tare.plan.errors import StudyError
from tare.plan.study import load
from tare.report import contents, wording
from tare.stats import known


def self_check(arguments: Namespace) -> int:
    """Print the known answers of a study; 1 where one is wrong or missing.

    Raises:
        StudyError: the study was never begun, or has no answer that is known.
    """
    given = {"study": arguments.study, "results": arguments.results}
    asked = {key: str(value) for key, value in given.items() if value is not None}
    options = parse({**configured(Path.cwd()), "study": selfcheck.NAME, **asked}, Path.cwd())
    folder = options.results / load(options.study_file).name
    if not (folder / "study.json").exists():
        how = "`make self-check`" if asked.get("study") is None else "`snakemake --config study=...`"
        raise StudyError(f"{folder} holds no study yet; {how} measures it.")
    found = selfcheck.read(folder)[0].answers
    if not found:
        raise StudyError(
            f"Study {folder.name!r} has no comparison whose answer is known: it needs an environment that is its "
            "baseline under a second name, or one with `injected:`."
        )
    _print(found)
    wrong = [answer for answer in found if answer.problem]
    for answer in found:
        for words in filter(None, (answer.problem, answer.notes and f"note: {answer.notes}")):
            print(f"{answer.cell}, {answer.environment}: {wording.sentence(words)}")
    if wrong:
        print(f"Self-check FAILED: {len(wrong)} of {wording.count(len(found), 'known answer')} not met.")
        return 1
    print(f"Self-check passed: {wording.count(len(found), 'known answer')} met.")
    return 0


def _print(found: list[known.Answer]) -> None:
    table = Table("cell", "environment", title="Known answers: overhead, %")
    for name in ("n", "truth", "estimate", "95 % interval", "joint 99 %"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for row in contents.known_rows(found):
        cells = [
            row[key] for key in ("cell", "environment", "blocks", "truth", "estimate", "interval", "joint")
        ]
        table.add_row(*cells, "not met" if row["problem"] else "met")
    Console(width=100, highlight=False, markup=False).print(table)
