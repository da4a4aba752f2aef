"""How models and results look in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from ._errors import LimitError, WriteError

if TYPE_CHECKING:
    from ._model import Model
    from ._report import Report
    from ._result import Result

_SECONDS = 20  # for one picture, or one page
_LARGEST_PAGE = 1 << 23  # characters, of what a notebook keeps


def picture(model: Model) -> str | None:
    """SVG; None without Graphviz, and where it takes too long."""
    try:
        drawn = model.draw(seconds=_SECONDS)
    except (WriteError, LimitError):
        return None
    return drawn[drawn.index("<svg"):]


def page(result: Result[Any]) -> str:
    """HTML: the page of a run in a frame; nothing where it cannot be drawn."""
    try:
        drawn = result.draw(seconds=_SECONDS)
    except (WriteError, LimitError):
        return ""
    if len(drawn) > _LARGEST_PAGE:
        return ""
    return folded("Each rewrite, before and after",
                  f'<iframe srcdoc="{escape(drawn)}" width="100%" '
                  'height="600"></iframe>')


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """HTML."""
    def row(kind: str, cells: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(str(cell))}</{kind}>"
                                for cell in cells) + "</tr>"
    return ("<table><thead>" + row("th", head) + "</thead><tbody>" +
            "".join(row("td", cells) for cells in rows) + "</tbody></table>")


def listed(title: str, texts: Iterable[str]) -> str:
    """HTML; nothing for no texts."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<p>{escape(title)}</p><ul>{items}</ul>" if items else ""


def folded(title: str, content: str) -> str:
    """HTML that opens with a click."""
    return (f"<details><summary>{escape(title)}</summary>{content}"
            "</details>")


def report(its: Report) -> str:
    """HTML."""
    rules = [(r.name, r.rewrites, len(r.rejected)) for r in its.rules
             if r.rewrites]
    ops = [(op, its.ops_before.get(op, 0), its.ops_after.get(op, 0))
           for op in sorted({*its.ops_before, *its.ops_after})]
    proof = its.verified
    return "".join([
        f"<p><b>{its.nodes_before} nodes became {its.nodes_after}</b>, for the "
        f"target {escape(its.target)}",
        f"; verified on {proof.inputs} inputs" if proof else "", "</p>",
        table(["rule", "rewrites", "rejected"], rules) if rules else
        "<p>No rule rewrote anything.</p>",
        listed("Warnings", (w.message for w in its.warnings)),
        listed("Assumptions", (a.text for a in its.assumptions)),
        folded("Ops", table(["op", "before", "after"],
                            [o for o in ops if o[1] != o[2]]))])


def contents(model: Model) -> str:
    """HTML: what a model has, in numbers."""
    its = model.contents()
    values = [(v["name"], v["dtype"], v["shape"])
              for v in its["inputs"] + its["outputs"]]
    return (f"<p><b>{escape(model.name or 'a model')}</b></p>" +
            table(["input or output", "type", "shape"], values) +
            folded("Ops", table(["op", "nodes"], its["ops"].items())))
