#!/usr/bin/env python3
"""Figures of a page of drove report as one SVG file of its own, for docs/results/.

    drove report DIR --html page.html
    bench/run/page_figure.py page.html loss-time loss-epochs --names 'CPU;GPU' --title 'covtype, V100' --out picture.svg

A figure's name is what follows "f-" in its id.  --names stand for the series in the legend, in the page's order, with a semicolon between two; a legend is drawn once,
below all.  Colours are those of the light mode.
"""
import argparse
import html
import re
import sys

WIDTH, HEIGHT, LINE = 480, 320, 18


def colours(page):
    first = page[page.index(":root{"):]
    return dict(re.findall(r"(--[a-z0-9]+):(#[0-9a-f]+)", first[:first.index("}")]))


def plain(svg, colour):
    """Attributes that XML wants quoted, and no variables."""
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"=([^\s\"'>]+?)(?=\s|/?>)", r'="\1"', tag.group(0)), svg)
    return re.sub(r"var\((--[a-z0-9]+)\)", lambda m: colour[m.group(1)], svg)


def find(page, name):
    begin = page.find(f'<figure id="f-{name}">')
    if begin < 0:
        sys.exit(f"page_figure: no figure {name}; there are {' '.join(re.findall('<figure id=.f-([^>]*).>', page))}")
    figure = page[begin:page.index("</figure>", begin)]
    caption = re.search(r"<figcaption>(.*?)</figcaption>", figure, re.S).group(1)
    body = figure[figure.index("<svg"):]
    body = body[body.index(">") + 1:body.index("</svg>")]
    body = re.sub(r"<(title|desc)[^>]*>.*?</\1>", "", body, flags=re.S)
    legend = re.search(r"<ul class=legend.*?</ul>", figure, re.S)
    entries = re.findall(r"<svg viewBox=\"0 0 44 14\"[^>]*>(.*?)</svg> <span>(.*?)</span>", legend.group(0), re.S) if legend else []
    return caption, body, entries


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("page")
    p.add_argument("figure", nargs="+")
    p.add_argument("--names", default="")
    p.add_argument("--title", default="")
    p.add_argument("--out", required=True)
    args = p.parse_args()
    with open(args.page) as f:
        page = f.read()
    colour = colours(page)
    defs = re.search(r"<defs>.*?</defs>", page, re.S).group(0)
    found = [find(page, name) for name in args.figure]
    entries = found[0][2]
    names = [html.escape(n) for n in args.names.split(";")] if args.names else [name for _, name in entries]
    width, top = WIDTH * len(found), 24 if args.title else 0
    height = top + 24 + HEIGHT + LINE * len(entries) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">', defs,
           f'<rect width="{width}" height="{height}" fill="#fff"/>']
    if args.title:
        out.append(f'<text x="{width / 2}" y="18" text-anchor="middle" font-weight="bold" font-size="15">{html.escape(args.title)}</text>')
    for i, (caption, body, _) in enumerate(found):
        out.append(f'<text x="{WIDTH * i + WIDTH / 2}" y="{top + 18}" text-anchor="middle">{caption}</text>')
        out.append(f'<svg x="{WIDTH * i}" y="{top + 24}" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">{body}</svg>')
    for i, (mark, name) in enumerate(entries):
        y = top + 24 + HEIGHT + LINE * i
        out.append(f'<svg x="40" y="{y}" width="44" height="14" viewBox="0 0 44 14">{mark}</svg>')
        out.append(f'<text x="92" y="{y + 12}">{names[i] if i < len(names) else name}</text>')
    out.append("</svg>")
    with open(args.out, "w") as f:
        f.write(plain("\n".join(out), colour) + "\n")


if __name__ == "__main__":
    main()
