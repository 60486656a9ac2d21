"""report.html: self-contained, escaped, readable in every state of a study."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from tare.report import contents, page, svg
from tare.stats import known, metrics
from tare.stats.intervals import Estimate
from tests.unit.factory import record
from tests.unit.report import cases

VOID = {"meta", "br", "img", "link", "hr", "input"}


class Outline(HTMLParser):
    """Tags, attributes and text of a page; checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


@pytest.fixture
def rendered(tmp_path):
    def render(make, **info) -> str:
        one = make()
        path = tmp_path / "report.html"
        figures = cases.figures_of(one, tmp_path)
        page.write(path, cases.INFO | info, one.overhead, one.runs, one.plan, one.records, figures)
        return path.read_text(encoding="utf-8")

    return render


def outline(html: str) -> Outline:
    parser = Outline()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


@pytest.mark.parametrize("make", cases.ALL)
def test_well_formed_and_self_contained(make, rendered):
    html = rendered(make)
    found = outline(html)
    assert found.tags["script"] == found.tags["link"] == found.tags["img"] == found.tags["iframe"] == 0
    for tag, name, value in found.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in ("src", "href", "xlink:href", "action"):
            assert value.startswith("#"), (tag, name, value)
    assert not re.search(r"@import|url\((?!#)", html)
    assert "Content-Security-Policy" in html


@pytest.mark.parametrize("make", [cases.full, cases.mixed, cases.nothing])
def test_ids_are_unique_and_references_lead_somewhere(make, rendered):
    html = rendered(make)
    found = outline(html)
    ids = Counter(value for _, name, value in found.attributes if name == "id")
    assert [value for value, number in ids.items() if number > 1] == []
    wanted = [value[1:] for _, name, value in found.attributes if name in ("href", "xlink:href")]
    wanted += [value for _, name, value in found.attributes if name == "aria-labelledby"]
    wanted += re.findall(r"url\(#([^)]*)\)", html)
    assert set(wanted) <= set(ids)


def test_for_screen_readers(rendered):
    found = outline(rendered(cases.mixed))
    assert ("html", "lang", "en") in found.attributes
    assert found.tags["caption"] == found.tags["table"] == 5
    scopes = Counter(value for tag, name, value in found.attributes if name == "scope")
    assert scopes["col"] > 20
    assert scopes["row"] > 20
    assert scopes["rowgroup"] == 4
    assert Counter(value for tag, name, value in found.attributes if name == "role")["img"] == 2
    assert found.tags["h1"] == 1


def test_for_phones_print_and_the_dark(rendered):
    html = rendered(cases.full)
    assert 'name="viewport"' in html
    assert "@media print" in html
    assert "prefers-color-scheme: dark" in html


def test_nothing_is_markup_that_should_be_text(rendered):
    html = rendered(cases.hostile, title=cases.HOSTILE)
    found = outline(html)
    assert found.tags["script"] == found.tags["img"] == 0
    assert '<script>alert("x")</script> & $HOME_{x} | 50 % `rm -rf`' in found.words
    assert found.words.count('<script>alert("x")</script>') >= 4
    assert "<code>rm -rf</code>" in html


def test_what_it_says_of_a_full_study(rendered):
    words = outline(rendered(cases.full)).words
    assert words.startswith("What a container costs")
    assert "72 of 72 runs measured." in words
    assert "Measured on 2026-01-02" in words
    assert "performance_overhead_pct = (baseline − environment) / baseline × 100" in words
    assert "Everything that was asked for can be used here." in words
    assert "0.94 after 215 steps" in words
    assert "runs/lenet-torch/1/docker.json" in words
    assert "Example CPU" in words
    assert "2.13.0+cpu" in words
    assert "take turns" in words
    assert "Settings: quiet" in words
    assert "±2 %" in words


def test_what_it_says_of_a_mixed_study(rendered):
    words = outline(rendered(cases.mixed)).words
    assert "1 without a result" in words
    assert "podman all cells podman is not installed. Install it with apt-get install podman ." in words
    assert "all environments vgg16-torch no V100 here." in words
    assert "lenet-torch, docker, repetition 2: failed" in words
    assert (
        "killed for memory. It happened at this stage: turn. Record: runs/lenet-torch/2/docker.json" in words
    )
    assert "at chance after 215 steps" in words
    assert "fcn-r-torch, docker: 0 of 6 blocks measured" in words
    assert "not comparable: software torch" in words


def test_what_it_says_of_a_drift(rendered):
    words = outline(rendered(cases.drifting)).words
    assert "docker: drift: the overhead rose by about 0." in words
    assert "points a block over 8 blocks (p" in words
    assert "Where at least 6 blocks were measured it is looked for" in words


def test_what_it_says_when_there_is_little(rendered):
    words = outline(rendered(cases.nothing)).words
    assert "Nothing has been measured yet: 72 runs planned." in words
    assert "No run has ended yet." in words
    assert "Nothing of this study can be measured here." in outline(rendered(cases.nowhere)).words
    bare = outline(rendered(cases.only_bare)).words
    assert "No environment is compared with another in this study: only bare is planned." in bare
    assert "the true overhead is 0" in outline(rendered(cases.again)).words


def test_times_and_the_papers_protocol(rendered):
    words = outline(rendered(cases.ladder, schedule="sequential")).words
    assert "(environment − baseline) / baseline × 100" in words
    assert "follow one another" in words
    assert "take turns" not in words
    assert "Settings: default" in words


def test_the_same_study_gives_the_same_page(rendered):
    assert rendered(cases.mixed) == rendered(cases.mixed)


def test_how_quiet_it_was(rendered):
    words = outline(rendered(cases.noisy)).words
    assert "2 of 12 runs were noisy. Noisy runs count like all others" in words
    assert "other processes used 31 to 38 % of the CPUs (2 times)" in words
    assert "lenet-torch docker 4 2 0 other processes" in words
    assert "it is not judged" not in words
    assert "18 runs could not be judged" not in words
    assert "No run has been judged. 72 runs could not be judged." in outline(rendered(cases.full)).words
    assert "No run has been made yet." in outline(rendered(cases.nothing)).words


def test_what_differs_by_nature_is_told_in_detail(rendered):
    html = rendered(cases.differing)
    words = outline(html).words
    assert "docker bare all cells /dev/shm 64 MiB in docker and 12 GiB in bare; seccomp filter" in words
    assert f"podman bare {cases.CELLS[0]} /dev/shm 64 MiB in podman and 12 GiB in bare" in words
    assert "docker†" in words
    assert "All 72 runs were found to be where their labels say." in words
    full = outline(rendered(cases.full)).words
    assert "†" not in full
    assert "None of the 72 runs was judged" in full


def test_without_figures(tmp_path):
    one = cases.full()
    html = page.render(cases.INFO, one.overhead, one.runs, one.plan, one.records, {})
    assert outline(html).tags["svg"] == 0


def test_a_foreign_svg_is_refused():
    for text in ("<p>no</p>", "<svg><script>x</script></svg>", '<svg onload="x"></svg>'):
        with pytest.raises(ValueError, match="no SVG that Tare wrote"):
            svg.inline(text, "overhead", "title")
    made = svg.inline(
        '<svg width="9" viewBox="0 0 1 1"><g id="a"/><use xlink:href="#a"/></svg>', "f", "a < b"
    )
    assert made == (
        '<svg id="f" role="img" aria-labelledby="f-title" viewBox="0 0 1 1">'
        '<title id="f-title">a &lt; b</title>'
        '<g id="f-a"/><use xlink:href="#f-a"/></svg>'
    )


def test_period():
    days = ["2026-01-02T03:00:00Z", "2026-01-04T03:00:00Z"]
    runs = [record(repetition=n, started_at=day) for n, day in enumerate(days, start=1)]
    assert contents.period(runs) == "Measured from 2026-01-02 to 2026-01-04"
    assert contents.period(runs[:1]) == "Measured on 2026-01-02"
    assert contents.period([]) == ""


def test_without_a_self_check_the_page_says_how_to_make_one(rendered):
    assert "make self-check" in outline(rendered(cases.ALL[0])).words


@pytest.mark.parametrize(
    ("truth", "said"), [(2.91, "each interval holds its truth"), (9.09, "NOT all of them were met")]
)
def test_the_last_self_check_is_shown(truth, said):
    one = cases.ALL[0]()
    estimate = Estimate(mean=0.0296, sd=0.004, blocks=12, metric=metrics.THROUGHPUT)
    problem = "" if truth < 3 else "the joint interval misses it"
    answer = known.Answer("lenet-torch", "injected-3", "bare", truth, estimate, (2.4, 3.4), problem)
    check = known.SelfCheck([answer], "2026-02-03")
    html = page.render(cases.INFO, one.overhead, one.runs, one.plan, one.records, {}, self_check=check)
    words = outline(html).words
    assert f"of 2026-02-03, measured 1 overhead whose truth is known beforehand: {said}." in words
    assert f"injected-3 {truth} 2.92" in words
    assert (problem or "met") in words
