"""Step f: what was found as JSON, as tables and as a plot."""

import datetime
import json
import re

import attention
import bandwidth
import rivals

WIDTH, BAR, LEFT = 900, 16, 460


def _ms(seconds):
    return "" if seconds is None else f"{seconds * 1e3:.4g}"


def _ratio(theirs, ours):
    return f"{theirs / ours:.2f}" if theirs and ours else ""


def _ops(counts):
    if counts is None:
        return "?"
    return ", ".join(f"{op} {count}" for op, count in counts.items()) or "none"


def _table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _equality(rows):
    return _table(["model", "equal", "worst difference", "on the CPU",
                   "plans of a folder", "why"], [
        [r["model"], "yes" if r["equal"] else "**no**",
         "" if r["worst"] is None else f"{r['worst']:.2g}", _ops(r["on_cpu"]),
         r["plans"], r["why"]] for r in rows])


def _attention(rows):
    table = _table(
        ["shape", "ms", "TFLOP/s", "PyTorch's ms over ours",
         "cuDNN's best plan over ours", "cuDNN's plans", "on the CPU",
         "why"], [
            [r["shape"], _ms(r["seconds"]),
             f"{r['operations_per_second'] / 1e12:.3g}" if r["seconds"] else "",
             _ratio(r["torch"], r["seconds"]),
             _ratio(attention.best_plan(r), r["seconds"]),
             len((r["plans"] or {}).get("candidates", [])) or "",
             _ops(r.get("on_cpu")), r["why"]]
            for r in rows])
    return table + "\n\n" + "\n".join(f"- {line}"
                                      for line in attention.summary(rows))


def _bandwidth(rows):
    return _table(
        ["kernel", "ms", "GB/s", f"of the chip's (goal {bandwidth.GOAL:.0%})",
         "on the CPU", "why"], [
            [r["kernel"], _ms(r.get("seconds")),
             f"{r['bytes_per_second'] / 1e9:.0f}" if r.get("seconds") else "",
             f"{r['share']:.0%}" if r["share"] else "", _ops(r.get("on_cpu")),
             r["why"]] for r in rows])


def _stacks(rows):
    return _table(
        ["stack", "ms", "PyTorch over ours", "compiled over ours",
         "ONNX Runtime over ours", "on the CPU", "why"], [
            [r["stack"], _ms(r["seconds"]), _ratio(r["torch"], r["seconds"]),
             _ratio(r["torch_compiled"], r["seconds"]),
             _ratio(r["onnxruntime"], r["seconds"]), _ops(r.get("on_cpu")),
             r["why"]] for r in rows])


def _sanitizer(rows):
    clean = {True: "yes", False: "**no**", None: ""}
    return _table(["tool", "model", "clean", "why"], [
        [r["tool"], r["model"], clean[r["clean"]], r["why"]] for r in rows])


PARTS = {"b": ("Outputs against the CPU's", _equality),
         "c": ("Attention", _attention),
         "d": ("Memory-bound kernels", _bandwidth),
         "e": ("Stacks", _stacks),
         "s": ("compute-sanitizer", _sanitizer)}


def page(found):
    machine = found["machine"]
    out = [f"# {machine.get('chip') or 'No GPU'}, {found['date']}", ""]
    if not found["measured"]:
        out += ["On stand-ins for the driver and its libraries: **no figure is "
                "measured**; only outputs mean something.", ""]
    out += [f"- {key}: {value}" for key, value in machine.items()
            if value is not None]
    out += [f"- {line}" for line in rivals.absent()]
    for step, (title, table) in PARTS.items():
        its = found["steps"].get(step)
        if its is None:
            continue
        out += ["", f"## {title}", ""]
        if its["error"]:
            out += [f"Ended: {its['error']}", ""]
        if its["rows"]:
            out.append(table(its["rows"]))
        out += ["", f"{its['seconds']:.0f} s."]
    return "\n".join(out) + "\n"


def bars(found):
    """(text, part of the goal) for the plot."""
    steps = found["steps"]
    out = []
    for row in steps.get("c", {}).get("rows", []):
        if row["torch"] and row["seconds"]:
            out.append((f"{row['shape']}: PyTorch over ours",
                        row["torch"] / row["seconds"]))
    for row in steps.get("d", {}).get("rows", []):
        if row["share"]:
            out.append((f"{row['kernel']}: of the goal",
                        row["share"] / bandwidth.GOAL))
    for row in steps.get("e", {}).get("rows", []):
        for key in ("torch", "torch_compiled", "onnxruntime"):
            if row[key] and row["seconds"]:
                out.append((f"{row['stack']}: {key} over ours",
                            row[key] / row["seconds"]))
    return out


def plot(found):
    """Bars; the line is at 1, which is a rival's speed or the goal."""
    all_bars = bars(found)
    most = max([2.0, *(value for _, value in all_bars)])
    unit = (WIDTH - LEFT - 60) / most
    height = BAR * (len(all_bars) + 2)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
             f'height="{height}" font-family="sans-serif" font-size="11">',
             '<rect width="100%" height="100%" fill="white"/>']
    if not found["measured"]:
        lines.append('<text x="5" y="12">not measured: on stand-ins</text>')
    for i, (text, value) in enumerate(all_bars):
        y = BAR * (i + 1)
        color = "#3a7" if value >= 1 else "#c53"
        lines += [f'<text x="{LEFT - 5}" y="{y + 11}" text-anchor="end">{text}'
                  "</text>",
                  f'<rect x="{LEFT}" y="{y + 2}" width="{value * unit:.1f}" '
                  f'height="{BAR - 4}" fill="{color}"/>',
                  f'<text x="{LEFT + value * unit + 4:.1f}" y="{y + 11}">'
                  f"{value:.2f}</text>"]
    lines += [f'<path d="M{LEFT + unit:.1f} {BAR} V{height - BAR}" '
              'stroke="black"/>', "</svg>"]
    return "\n".join(lines) + "\n"


def write(found, folder):
    """The three files; their paths."""
    chip = found["machine"].get("chip") or "none"
    chip = re.sub(r"[^a-z0-9]+", "-", chip.lower()).strip("-")
    stem = f"gpu-{chip}-{found['date']}"
    folder.mkdir(parents=True, exist_ok=True)
    texts = {".json": json.dumps(found, indent=1) + "\n", ".md": page(found),
             ".svg": plot(found)}
    for ending, text in texts.items():
        (folder / (stem + ending)).write_text(text)
    return [folder / (stem + ending) for ending in texts]


def today():
    return datetime.date.today().isoformat()
