"""Draws report.html: one self-contained page with a plot and a table per benchmark."""

import html
import itertools
import math

import matrix

NAMES = {"weft": "Weft", "weft_unaware": "Weft, not aware of blocking", "weft_worker": "Weft, worker identity",
         "weft_abt": "Weft through abt.h",
         "argobots": "Argobots", "massivethreads": "MassiveThreads",
         "qthreads": "Qthreads", "lace": "Lace", "libfork": "libfork", "tbb": "oneTBB",
         "boost_fiber": "Boost.Fiber", "libgomp": "libgomp", "libomp": "libomp",
         "weft_clang": "Weft, by clang", "bolt": "BOLT",
         "pthread": "pthreads", "go": "Go"}

STYLE = """
:root { --ink: #1c2430; --soft: #5b6675; --line: #d9dee5; --peer: #9fb0c3; --weft: #c8471f;
        --goal: #1f7a4d; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8ebef; --soft: #a2adba; --line: #3a4350; --peer: #5f738a; --weft: #f0774f;
          --goal: #5fc793; --paper: #171b21; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { margin-top: 2.4rem; font-size: 1.25rem; }
h3 { font-size: .95rem; font-weight: 600; color: var(--soft); margin: 1.2rem 0 .2rem; }
table { border-collapse: collapse; font-size: .85rem; width: 100%; }
th, td { text-align: left; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line);
         vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
tr.weft td { font-weight: 600; } .bad { color: #d22; font-weight: 600; }
.good { color: var(--goal); } .soft { color: var(--soft); } .wide { overflow-x: auto; }
svg { max-width: 100%; height: auto; display: block; }
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
svg text.soft { fill: var(--soft); font-size: 11px; } svg text.goal { fill: var(--goal); font-size: 11px; }
"""

LEFT, WIDTH, RIGHT, ROW = 130, 500, 210, 24  # of a plot, in pixels


def number(value):
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{value:.3g}"


def escape(text):
    return html.escape(str(text))


def label(params):
    return ", ".join(f"{key} = {value}" for key, value in sorted(params.items()))


def group_params(row):
    """What makes rows one plot; a library with a smaller problem stays with the others."""
    smaller = any(name == row["benchmark"] for name, _ in matrix.SMALLER)
    return {key: value for key, value in row["params"].items() if not (smaller and key == "n")}


class Scale:
    """Logarithmic, because the libraries are orders of magnitude apart; whole decades."""

    def __init__(self, values):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)

    def x(self, value):
        part = (math.log10(max(value, 10.0 ** self.low)) - self.low) / (self.high - self.low)
        return LEFT + WIDTH * min(max(part, 0), 1)

    def decades(self):
        return [10.0 ** power for power in range(self.low, self.high + 1)]


def bar(row, scale, y, weft):
    own = row["library"] == "weft"
    colour = "var(--weft)" if own else "var(--peer)"
    bold = ' font-weight="700"' if own else ""
    name = escape(NAMES[row["library"]])
    if not row["runs"]:
        return (f'<text x="{LEFT - 8}" y="{y + 16}" text-anchor="end">{name}</text>'
                f'<text x="{LEFT + 6}" y="{y + 16}" class="bad" style="fill:#d22">failed</text>')
    end = scale.x(row["median"])
    text = f"{number(row['median'])} {row['unit']}"
    if weft and not own and weft["median"] > 0:
        text += f"  ·  {number(row['median'] / weft['median'])}× Weft"
    parts = [f'<text x="{LEFT - 8}" y="{y + 16}" text-anchor="end"'
             f'{bold}>{name}</text>',
             f'<rect x="{LEFT}" y="{y + 4}" width="{max(end - LEFT, 1):.1f}" height="{ROW - 8}" '
             f'rx="2" fill="{colour}"><title>{escape(row["version"])}</title></rect>']
    right = end
    if row["min"] and row["max"] > row["min"]:
        low, right = scale.x(row["min"]), max(scale.x(row["max"]), end)
        middle = y + ROW / 2
        parts.append(f'<path d="M{low:.1f} {middle}H{right:.1f}M{low:.1f} {middle - 4}v8'
                     f'M{right:.1f} {middle - 4}v8" stroke="var(--ink)" fill="none"/>')
    parts.append(f'<text x="{right + 8:.1f}" y="{y + 16}">{escape(text)}</text>')
    return "".join(parts)


def line(index, scale, bottom, value, text, colour, kind):
    """A dashed line across the bars, with its text above them."""
    x, y = scale.x(value), 12 + 15 * index
    return (f'<path d="M{x:.1f} {y + 3}V{bottom}" stroke="{colour}" stroke-width="1.5" '
            f'stroke-dasharray="5 4"/><text class="{kind}" x="{x + 4:.1f}" y="{y}">'
            f'{escape(text)} = {number(value)}</text>')


def plot(rows, all_rows):
    good = [row for row in rows if row["runs"]]
    if not good:
        return '<p class="bad">Every library failed here.</p>'
    weft = next((row for row in good if row["library"] == "weft"), None)
    goals = matrix.targets(weft or dict(good[0], library="weft"), all_rows)
    values = [value for row in good for value in (row["min"], row["max"]) if value > 0]
    lines = [(value, "target " + text, "var(--goal)", "goal") for value, text in goals]
    lines += [(value, text, "var(--soft)", "soft") for value, text in matrix.references(good[0])]
    values += [value for value, *_ in lines if value > 0]
    scale = Scale(values or [1.0])
    top = 10 + 15 * len(lines)
    height = top + ROW * len(rows) + 26
    bottom = height - 22
    parts = [f'<svg viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" width="{LEFT + WIDTH + RIGHT}" '
             f'role="img">']
    for decade in scale.decades():
        x = scale.x(decade)
        parts.append(f'<path d="M{x:.1f} {top}V{bottom}" stroke="var(--line)"/>'
                     f'<text class="soft" x="{x:.1f}" y="{height - 8}" text-anchor="middle">'
                     f'{number(decade)} {escape(good[0]["unit"])}</text>')
    for i, row in enumerate(rows):
        parts.append(bar(row, scale, top + i * ROW, weft))
    for i, (value, text, colour, kind) in enumerate(lines):
        parts.append(line(i, scale, bottom, value, text, colour, kind))
    return "".join(parts) + "</svg>"


def goal_cell(row, all_rows):
    if row["library"] != "weft" or not row["runs"]:
        return ""
    cells = []
    for value, text in matrix.targets(row, all_rows):
        met = row["median"] <= value
        cells.append(f'<span class="{"good" if met else "bad"}">{"met" if met else "missed"}: '
                     f'{escape(text)} ({number(value)})</span>')
    return "<br>".join(cells)


def table(rows, all_rows):
    weft = next((row for row in rows if row["library"] == "weft" and row["runs"]), None)
    lines = ['<div class="wide"><table><tr><th>library</th><th class="n">median</th>'
             '<th class="n">min</th><th class="n">max</th><th>unit</th><th class="n">runs</th>'
             '<th class="n">CPU s</th><th class="n">× Weft</th><th>target</th><th>version, build, '
             'way of use</th></tr>']
    for row in rows:
        ratio = number(row["median"] / weft["median"]) if weft and weft["median"] and row[
            "runs"] else ""
        extra = f' <span class="soft">({escape(label(row["params"]))})</span>' if matrix.SMALLER.get(
            (row["benchmark"], row["library"])) else ""
        lines.append(
            f'<tr class="{row["library"]}"><td>{escape(NAMES[row["library"]])}{extra}</td>'
            f'<td class="n">{number(row["median"])}</td><td class="n">{number(row["min"])}</td>'
            f'<td class="n">{number(row["max"])}</td><td>{escape(row["unit"])}</td>'
            f'<td class="n">{row["runs"]}</td><td class="n">{number(row["cpu_s"])}</td>'
            f'<td class="n">{ratio}</td><td>{goal_cell(row, all_rows)}</td>'
            f'<td class="{"soft" if row["runs"] else "bad"}">{escape(row["version"])}</td></tr>')
    return "\n".join(lines) + "</table></div>"


def section(benchmark, rows, all_rows):
    def key(row):
        return sorted(group_params(row).items()), row["workers"]

    parts = [f'<h2 id="{benchmark}">{escape(matrix.TITLES[benchmark])} '
             f'<span class="soft">({benchmark})</span></h2>']
    for (params, workers), group in itertools.groupby(sorted(rows, key=key), key=key):
        group = sorted(group, key=lambda row: (row["library"] != "weft", row["median"] is None,
                                               row["median"] or 0))
        text = label(dict(params))
        unit = "OpenMP thread" if benchmark.startswith("omp_") else "worker"
        parts.append(f'<h3>{workers} {unit}{"s" if workers > 1 else ""}'
                     f'{": " + escape(text) if text else ""}</h3>')
        parts.append(plot(group, all_rows))
        parts.append(f"<details><summary>table</summary>{table(group, all_rows)}</details>")
    for name, params, library, why in matrix.LEFT_OUT:
        if name == benchmark:
            what = f" ({label(params)})" if params else ""
            parts.append(f'<p class="soft">{NAMES[library]}{escape(what)} left out: '
                         f'{escape(why)}.</p>')
    return "\n".join(parts)


def summary(rows):
    """Weft against its targets, all on one screen."""
    lines = []
    for row in rows:
        if row["library"] == "weft":
            cell = goal_cell(row, rows)
            if cell or not row["runs"]:
                lines.append(f'<tr><td><a href="#{row["benchmark"]}">{row["benchmark"]}</a></td>'
                             f'<td>{row["workers"]}</td><td>{escape(label(row["params"]))}</td>'
                             f'<td class="n">{number(row["median"])} {escape(row["unit"])}</td>'
                             f'<td>{cell or escape(row["version"])}</td></tr>')
    if not lines:
        return '<p class="bad">Weft itself was not measured.</p>'
    return ('<table><tr><th>benchmark</th><th>workers</th><th>params</th><th class="n">Weft</th>'
            '<th>target</th></tr>' + "".join(lines) + "</table>")


def notes():
    return """<ul>
<li>Bars are medians over the runs, whiskers the least and the greatest; <b>logarithmic scale</b>,
shorter is better. Green dashed lines are what Weft is to reach, grey ones what others have measured
elsewhere, or (ideal) what nobody could be faster than on these CPUs.</li>
<li>Each run is a process of its own on the same CPUs, with as many threads; libraries take turns
with Weft; every kernel checks its result.</li>
<li>CPU s are the seconds of CPU time of the process in the measured part: some libraries spin while
they wait, and buy their wall time with it.</li>
<li>Lace's and libfork's tasks <b>cannot block</b>: Lace's run on the stack of whoever waits,
libfork's are stackless coroutines. A ULT of Weft can be suspended anywhere.</li>
<li>Where there are several ways to use a library the fastest one is shown; the version says which.
</li></ul>"""


def page(rows, machine, found, left_out):
    facts = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>"
                    for key, value in machine.items())
    peers = "".join(f"<tr><th>{NAMES[name]}</th><td>{escape(version)}</td></tr>"
                    for name, version in found.items())
    peers += "".join(f'<tr><th>{NAMES[name]}</th><td class="bad">left out: not found</td></tr>'
                     for name in left_out)
    sections = [section(benchmark, [row for row in rows if row["benchmark"] == benchmark], rows)
                for benchmark in matrix.TITLES
                if any(row["benchmark"] == benchmark for row in rows)]
    failed = [row for row in rows if not row["runs"]]
    warning = f'<p class="bad">{len(failed)} failed: ' + ", ".join(
        f"{row['benchmark']}/{row['library']}" for row in failed) + "</p>" if failed else ""
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Weft: benchmarks'
            f'</title><meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
            f'</head><body><h1>Weft: benchmarks</h1>{warning}{notes()}<h2>Targets</h2>'
            f'{summary(rows)}<h2>Machine</h2><table>{facts}</table><h2>Libraries</h2>'
            f'<table>{peers}</table>{"".join(sections)}</body></html>\n')
