#!/usr/bin/python3
"""modules.py [--check]: draws the product's modules from Package.swift into the guide, or checks that the picture is current.

A module stands above all that it imports. A line that follows from others is left out.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
PICTURE = ROOT / "Sources/awd/awd.docc/Resources/modules.svg"
STEP, HEIGHT, GAP, LETTER = 74, 26, 16, 7.4


def modules() -> dict[str, set[str]]:
    """The modules in Swift that the program is made of, with those that each imports."""
    manifest = (ROOT / "Package.swift").read_text()
    product = manifest[manifest.index("let libraries"):manifest.index("let tests")]
    found = {}
    for target in re.split(r"(?:\bmodule|\.executableTarget)\(", product)[1:]:
        name = re.search(r'(?:name: )?"(\w+)"', target)[1]
        # The dependencies are the last list of names before the next target.
        dependencies = re.findall(r'\[((?:\s*"\w+",?)*\s*)\]', target)
        found[name] = set(re.findall(r'"(\w+)"', dependencies[0])) if dependencies else set()
    found["awd"] |= set(re.findall(r'path: "Plugins/(\w+)"', manifest))
    return {name: {other for other in others if other in found} for name, others in found.items()}


def below(graph: dict[str, set[str]], name: str) -> set[str]:
    return graph[name].union(*(below(graph, other) for other in graph[name]))


def layers(graph: dict[str, set[str]]) -> list[list[str]]:
    """The modules by height, each layer in an order that keeps lines short."""
    heights: dict[str, int] = {}

    def height(name: str) -> int:
        if name not in heights:
            heights[name] = 1 + max((height(other) for other in graph[name]), default=-1)
        return heights[name]

    rows = [sorted(name for name in graph if height(name) == level) for level in range(max(map(height, graph)) + 1)]
    for _ in range(8):
        place = {name: (index + 0.5) / len(row) for row in rows for index, name in enumerate(row)}
        for row in rows:
            near = {name: [place[other] for other in graph if other in graph[name] or name in graph[other]] for name in row}
            row.sort(key=lambda name: sum(near[name]) / max(1, len(near[name])))
    return rows


def draw(graph: dict[str, set[str]]) -> str:
    lines = {name: others - set().union(*(below(graph, other) for other in others)) for name, others in graph.items()}
    rows = layers(lines)
    widths = {name: round(len(name) * LETTER) + 18 for name in graph}
    width = max(sum(widths[name] + GAP for name in row) for row in rows) + GAP
    boxes = {}
    for level, row in enumerate(reversed(rows)):
        gap = (width - sum(widths[name] for name in row)) / (len(row) + 1)
        left = gap
        for name in row:
            boxes[name] = (round(left), 12 + level * STEP)
            left += widths[name] + gap
    paths, texts = [], []
    for name in sorted(graph):
        x, y = boxes[name]
        texts.append(f'<rect x="{x}" y="{y}" width="{widths[name]}" height="{HEIGHT}" rx="5"/>'
                     f'<text x="{x + widths[name] / 2:g}" y="{y + 17}">{name}</text>')
        for other in sorted(lines[name]):
            ox, oy = boxes[other]
            start, end = x + widths[name] / 2, ox + widths[other] / 2
            top, middle = y + HEIGHT, (y + HEIGHT + oy) / 2
            paths.append(f'<path d="M{start:g} {top}C{start:g} {middle:g} {end:g} {middle:g} {end:g} {oy}"/>')
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {round(width)} {len(rows) * STEP - STEP + HEIGHT + 24}" role="img">',
        "<title>The modules of awd; each stands above those that it imports</title>",
        "<style>rect{fill:#f2f5f9;stroke:#5b6f8a}text{font:12px ui-monospace,monospace;text-anchor:middle;fill:#1a1f26}"
        "path{fill:none;stroke:#8fa3bd;stroke-width:.8}rect.page{fill:#fff;stroke:none}"
        "@media(prefers-color-scheme:dark){rect{fill:#1f2937;stroke:#8fa3bd}text{fill:#e5e9f0}path{stroke:#66788f}"
        "rect.page{fill:#0d1117}}</style>",
        '<rect class="page" x="0" y="0" width="100%" height="100%"/>', *paths, *texts, "</svg>", ""])


def main():
    picture = draw(modules())
    if "--check" not in sys.argv:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(picture)
    elif not PICTURE.exists() or PICTURE.read_text() != picture:
        sys.exit("the picture of the modules is not that of Package.swift: run python3 Tests/System/Modules/modules.py")


main()
