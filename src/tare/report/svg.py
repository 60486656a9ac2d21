"""SVG files put into a page."""

from __future__ import annotations

import re

from markupsafe import Markup, escape


def inline(svg: str, prefix: str, title: str) -> Markup:
    """A figure of ours as part of an HTML page.

    Its ids get a prefix, so that two figures in a page don't share any; its size is left to the page; screen
    readers get its title.

    Args:
        svg: the content of an SVG file that `tare.report.figures` wrote.
        prefix: letters that no other figure of the page has.
        title: in words.

    Raises:
        ValueError: there is no SVG element, or one with a script in it.
    """
    # matplotlib writes the text that it draws into comments, so they go first
    body = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    start = body.find("<svg")
    if start < 0 or re.search(r"<script|\son\w+\s*=|javascript:", body, re.IGNORECASE):
        raise ValueError(f"the figure {prefix!r} is no SVG that Tare wrote; make it anew.")
    body = body[start:]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{prefix}-', body)
    body = re.sub(r'href="#', f'href="#{prefix}-', body)
    body = body.replace("url(#", f"url(#{prefix}-").replace("*{stroke", f"#{prefix} *{{stroke")
    opening, end = body[: body.index(">") + 1], body.index(">") + 1
    opening = re.sub(r'\s(width|height)="[^"]*"', "", opening)
    opening = opening.replace("<svg", f'<svg id="{prefix}" role="img" aria-labelledby="{prefix}-title"', 1)
    return Markup(f'{opening}<title id="{prefix}-title">{escape(title)}</title>{body[end:]}')
