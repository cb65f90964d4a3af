#!/usr/bin/env python3
"""charts.py RESULTS FOLDER [--check]: draws the figures of RESULTS, a file that bench.py has written, as SVG into FOLDER.

A bar is a median, the line at its end the spread around it. awd's bars have a colour of their own. With --check nothing is
written; it fails where a picture isn't that of RESULTS."""
import html
import pathlib
import re
import sys

# The charts: name, title, part of the results, unit, and rows to leave out.
CHARTS = [
    ("http", "HTTP requests a second on one core, 32 connections", "http", "req/s"),
    ("tls", "HTTPS requests a second on one core", "tls", "req/s"),
    ("messages", "Durable messages of Msgr a second", "messages", "messages/s"),
    ("apptimist", "Messages of Apptimist a second, 8 of each sender on the way", "apptimist", "messages/s"),
    ("nodes", "One store or several nodes, on the same two cores", "nodes", "a second"),
]
WIDTH, LEFT, RIGHT, BAR, GAP, GROUP = 800, 310, 90, 15, 4, 12
STYLE = (":root{color-scheme:light dark}text{font:12px system-ui,sans-serif;fill:#1a1f26}.t{font-weight:600;font-size:14px}.g{font-weight:600}"
         ".n{text-anchor:end}.v{fill:#57606a}.b{fill:#b6c2d1}.a{fill:#2f6fdb}.s{stroke:#1a1f26;fill:none}.p{fill:#fff}"
         "@media(prefers-color-scheme:dark){text{fill:#e5e9f0}.v{fill:#9aa7b8}.b{fill:#4a586b}.a{fill:#6ea0f5}.s{stroke:#e5e9f0}.p{fill:#0d1117}}")


def rows(part: str, name: str) -> list[tuple[str, str, float, float]]:
    """Group, server, median and spread (a fraction) of each row."""
    found = []
    for line in part.splitlines()[1:]:
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) < 3 or "spread" in line:
            continue
        if name == "messages" and re.fullmatch(r"\d+", cells[1]):
            found.append(("", cells[0], float(cells[1]), int(cells[2].split()[0]) / 100))
        elif len(cells) > 3 and re.fullmatch(r"\d+", cells[2]) and cells[3].endswith("%"):
            if name != "apptimist" or "8 on the way" in cells[0]:
                group = cells[0].replace(" 8 on the way", "").rstrip(",") if name == "apptimist" else cells[0]
                found.append((group, cells[1], float(cells[2]), int(cells[3].split()[0]) / 100))
    return found


def draw(title: str, unit: str, data: list[tuple[str, str, float, float]]) -> str:
    most = max(value * (1 + min(spread, 1) / 2) for _, _, value, spread in data)
    scale = (WIDTH - LEFT - RIGHT) / most
    y, last, shapes = 34, "", []
    for group, server, value, spread in data:
        if group != last:
            y += GROUP if last else 0
            shapes.append(f'<text class="g" x="12" y="{y + 12}">{html.escape(group)}</text>')
            y += BAR + GAP
            last = group
        own = server.startswith(("awd", "SQLite", "PostgreSQL"))
        end = LEFT + value * scale
        half = value * min(spread, 1) / 2 * scale
        middle = y + BAR / 2
        shapes += [f'<text class="n" x="{LEFT - 8}" y="{y + 12}">{html.escape(server)}</text>',
                   f'<rect class="{"a" if own else "b"}" x="{LEFT}" y="{y}" width="{max(value * scale, 1):.1f}" height="{BAR}" rx="2"/>',
                   f'<path class="s" d="M{max(LEFT, end - half):.1f} {middle}H{end + half:.1f}"/>',
                   f'<text class="v" x="{end + half + 6:.1f}" y="{y + 12}">{value:,.0f}</text>']
        y += BAR + GAP
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 10}" role="img">',
                      f"<title>{html.escape(title)}</title>", f"<style>{STYLE}</style>",
                      f'<rect class="p" width="{WIDTH}" height="{y + 10}"/>',
                      f'<text class="t" x="12" y="22">{html.escape(title)} ({unit})</text>', *shapes, "</svg>", ""])


def main():
    results, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    text = pathlib.Path(results).read_text()
    parts = {part.split("\n", 1)[0][3:]: part for part in re.split(r"(?m)^(?=== )", text) if part.strip()}
    stale = []
    for name, title, part, unit in CHARTS:
        if part not in parts or not (data := rows(parts[part], part)):
            continue
        picture = folder / f"chart-{name}.svg"
        drawn = draw(title, unit, data)
        if "--check" not in sys.argv:
            picture.write_text(drawn)
        elif not picture.exists() or picture.read_text() != drawn:
            stale.append(picture.name)
    if stale:
        sys.exit(f"not those of {results}: {', '.join(stale)}")


main()
