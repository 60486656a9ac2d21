"""What was found, in words."""

from __future__ import annotations

from tare.report.sentences import findings
from tests.unit.factory import study
from tests.unit.report import cases


def said(one: cases.Case) -> dict[str, str]:
    return {
        finding.subject: finding.text.replace("\N{NO-BREAK SPACE}", " ") for finding in findings(one.overhead)
    }


def test_range_median_and_verdicts_over_cells():
    found = said(cases.full())
    assert list(found) == ["bubblewrap", "docker", "podman"]
    assert found["docker"] == (
        "Overhead against bare from 2.50 % to 3.31 %, median 3.17 %, over 3 cells: 3 slower."
    )


def test_one_cell_has_its_interval():
    found = said(cases.case(*study()))
    assert found["docker"].startswith("Overhead against bare 2.")
    assert "[" in found["docker"]
    assert found["docker"].endswith("in the one cell lenet-torch: slower.")


def test_no_figure_of_it_is_rounded_across_the_margin():
    one = cases.case(*study())
    docker = one.overhead["environment"] == "docker"
    one.overhead.loc[docker, ["estimate_pct", "ci_low_pct", "ci_high_pct"]] = [1.2, 0.4, 1.9996]
    one.overhead.loc[docker, "verdict"] = "slower, within margin"
    assert "1.2000 % [0.4000, 1.9996] in the one cell" in said(one)["docker"]


def test_gaps_are_said():
    found = said(cases.mixed())
    assert "Not comparable in 1 cell: lenet-tensorflow." in found["bubblewrap"]
    assert "Nothing measured yet in 1 cell: fcn-r-torch." in found["docker"]
    assert (
        found["podman"] == "Not measured: podman is not installed. Install it with `apt-get install podman`."
    )
    assert found["vgg16-torch"] == "Not measured in any environment: no V100 here."


def test_bare_against_itself_says_how_finely_can_be_measured():
    found = said(cases.again())
    assert "the true overhead is 0" in found["bare-again"]
    assert "is told from none about half of the time on this machine" in found["bare-again"]
    assert found["bubblewrap"].startswith("Not measured: no user namespaces here.")


def test_bare_against_itself_that_comes_out_different():
    found = said(cases.case(*study(factors={"bare": 1.0, "bare-again": 1.05})))
    assert "In 1 of 1 cell the interval excludes 0 although nothing differs" in found["bare-again"]
    few = said(cases.case(*study(factors={"bare": 1.0, "bare-again": 1.05}, repetitions=1)))
    assert "Without an interval it says nothing" in few["bare-again"]


def test_nothing_to_say():
    assert said(cases.only_bare()) == {}
    assert list(said(cases.nowhere())) == ["fcn-r-torch, lenet-tensorflow and lenet-torch"]
