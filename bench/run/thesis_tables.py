#!/usr/bin/env python3
"""Tables and pictures of docs/results/thesis.md and sensitivity.md, from the runs of bench/run/thesis_runs.py.

    bench/run/thesis_tables.py docs/results/thesis-runs.jsonl --picture docs/results/thesis-best.svg
    bench/run/thesis_tables.py docs/results/thesis-runs.jsonl --claims --picture docs/results/sensitivity.svg
"""
import argparse
import collections
import math
import statistics

from thesis_runs import COMMON, MACHINES, PRINTED, STRATEGIES, THESIS, WORKERS, grid_runs, own_best, read, seconds, thesis_best, times


def middle(records, name):
    """Median, a missing value counting as infinite; None without records."""
    return statistics.median(seconds(r, name) for r in records) if records else None


def shown(value, form=".2f"):
    return "-" if value is None else f"{value:{form}}" if math.isfinite(value) else "missed"


def interval(records, name):
    """Median, and least and greatest where they differ; a median that is missed stands alone."""
    values = sorted(seconds(r, name) for r in records)
    if not values:
        return "-"
    text = shown(statistics.median(values))
    return text if text == "missed" or values[0] == values[-1] else f"{text} ({shown(values[0])} - {shown(values[-1])})"


def n_seeds(records, **match):
    return len({r["seed"] for r in records if all(r[key] == value for key, value in match.items())})


def print_grid(records):
    settings, runs = times(records), grid_runs(records)
    print("<!-- t:grid modelled 1 -->\n| workers | strategy | lr, batch | seconds | settings | within 10 % | missed | crashed | *thesis: lr, batch* "
          "| *seconds* | *within 10 %, of 54* | *crashed, of 540* |\n" + "|---" * 12 + "|")
    for workers in WORKERS:
        for strategy in STRATEGIES:
            of = settings.get((strategy, workers), {})
            if not of:
                continue
            best_one = min(of, key=of.get)
            reached = math.isfinite(of[best_one])
            of_row = [r for r in runs if (r["strategy"], r["workers"]) == (strategy, workers)]
            said = THESIS.get((strategy, workers), ("-",) * 5)
            theirs = f"{said[0]}, {said[1]}" if said[0] != "-" else "-"
            print(f"| {workers} | `{strategy}` | " + (f"{best_one[0]:g}, {best_one[1]} | {of[best_one]:.3f}" if reached else "- | none")
                  + f" | {len(of)} | {sum(t <= 1.1 * of[best_one] for t in of.values()) if reached else '-'} | {sum(map(math.isinf, of.values()))} "
                  f"| {sum(r['outcome'] == 'crashed' for r in of_row)} | {theirs} | {said[3]} | {said[2]} | {said[4]} |")


def settings_of(records, goal):
    """(workers, strategy, step size, batch) -> runs of this goal without back-off, in the order of the tables"""
    found = collections.defaultdict(list)
    for r in records:
        if r["goal"] == goal and r["backoff"] == "none":
            found[r["workers"], r["strategy"], r["lr"], r["batch"]].append(r)
    return {key: found[key] for key in sorted(found, key=lambda k: (k[0], PRINTED.index(k[1]), k[2:]))}


def whose(records, workers, strategy, setting):
    names = [name for name, of in (("ours", own_best(records)), ("thesis", thesis_best())) if of.get((strategy, workers)) == setting]
    return " and ".join(names)


def print_best(records):
    found = {key: of for key, of in settings_of(records, "2").items() if key[1] in STRATEGIES}
    print(f"\n<!-- t:best modelled {len(next(iter(found.values())))} -->\n| workers | strategy | setting of | lr, batch | s to 10 % | s to 5 % | s to 2 % | updates/s | reached 2 % |\n"
          + "|---" * 9 + "|")
    for (workers, strategy, lr, batch), of in found.items():
        print(f"| {workers} | `{strategy}` | {whose(records, workers, strategy, (lr, batch))} | {lr:g}, {batch} | "
              + " | ".join(interval(of, f"s_to_{part}") for part in ("10", "5", "2"))
              + f" | {middle(of, 'updates_per_s'):,.0f} | {sum(r['outcome'] == 'reached' for r in of)} of {len(of)} |")


def print_own(records):
    print("\n<!-- t:own modelled 1 -->\n| workers | strategy | setting of | lr, batch | s to 10 % | s to 5 % | s to 2 % | updates/s | outcome |\n"
          + "|---" * 9 + "|")
    for (workers, strategy, lr, batch), of in settings_of(records, "own").items():
        print(f"| {workers} | `{strategy}` | {whose(records, workers, strategy, (lr, batch))} | {lr:g}, {batch} | "
              + " | ".join(interval(of, f"s_to_{part}") for part in ("10", "5", "2")) + f" | {middle(of, 'updates_per_s'):,.0f} | {of[0]['outcome']} |")


def print_copy(records):
    print(f"\n<!-- t:copy modelled {n_seeds(records, goal='2', strategy='hogwild')} -->\n| workers | lr, batch | strategy | s to 5 % | s to 2 % | updates/s | staleness |\n" + "|---" * 7 + "|")
    found = settings_of(records, "2")
    for (workers, strategy, lr, batch), of in found.items():
        if strategy == "hogwild":
            for name, runs in (("hogwild", of), ("hogwild:copy", found[workers, "hogwild:copy", lr, batch])):
                print(f"| {workers} | {lr:g}, {batch} | `{name}` | " + " | ".join(interval(runs, f"s_to_{part}") for part in ("5", "2"))
                      + f" | {middle(runs, 'updates_per_s'):,.0f} | {middle(runs, 'staleness'):.2f} |")


def print_staleness(records):
    print(f"\n<!-- t:evals modelled {n_seeds(records, goal='staleness')} -->\n| strategy | workers | batch | updates/s | staleness | its median | dropped, % |\n" + "|---" * 7 + "|")
    for strategy in PRINTED:
        for workers in (8, 16, 32):
            for batch in (16, 64, 256):
                of = [r for r in records if r["goal"] == "staleness" and (r["strategy"], r["workers"], r["batch"]) == (strategy, workers, batch)]
                if of:
                    print(f"| `{strategy}` | {workers} | {batch} | {middle(of, 'updates_per_s'):,.0f} | {middle(of, 'staleness'):.2f} "
                          f"| {middle(of, 'staleness_p50'):.0f} | {middle(of, 'dropped_pct'):.1f} |")


def print_memory(records):
    print(f"\n<!-- t:s1 modelled {n_seeds(records, goal='sockets')} -->\n| workers | strategy | one socket: s to 5 % | epochs | updates/s | staleness | two sockets: s to 5 % | epochs | updates/s "
          "| staleness |\n" + "|---" * 10 + "|")
    found = collections.defaultdict(list)
    for r in records:
        if r["goal"] == "sockets":
            found[r["workers"], r["strategy"], r["bind"]].append(r)
    for workers in (7, 8):
        for strategy in STRATEGIES:
            both = [found.get((workers, strategy, bind), []) for bind in ("compact", "spread")]
            if all(both):
                print(f"| {workers} | `{strategy}` | " + " | ".join(
                    f"{shown(middle(of, 's_to_5'))} | {middle(of, 'epochs'):.0f} | {middle(of, 'updates_per_s'):,.0f} | {middle(of, 'staleness'):.2f}"
                    for of in both) + " |")


def print_backoff(records):
    kinds = ("none", "linear", "exponential", "random")
    print(f"\n<!-- t:s5 modelled {n_seeds(records, goal='2', backoff='linear')} -->\n| workers | strategy | lr, batch | back-off | s to 5 % | s to 2 % | reached 2 % |\n" + "|---" * 7 + "|")
    for workers in (8, 16, 32):
        for strategy in ("mutex", "rwlock", "leashed:inf"):
            lr, batch = thesis_best().get((strategy, workers), (None, None))
            for kind in kinds:
                of = [r for r in records if r["goal"] == "2" and (r["strategy"], r["workers"], r["lr"], r["batch"], r["backoff"]) == (strategy, workers, lr, batch, kind)]
                if of:
                    print(f"| {workers} | `{strategy}` | {lr:g}, {batch} | {kind} | {shown(middle(of, 's_to_5'))} | {shown(middle(of, 's_to_2'))} "
                          f"| {sum(r['outcome'] == 'reached' for r in of)} of {len(of)} |")


LINES = dict(zip(STRATEGIES, ("#d62728", "#9467bd", "#1f77b4", "#17becf", "#2ca02c", "#ff7f0e")))
PANEL, BESIDE = (340, 260), 420


def draw_best(records, path):
    """Left: seconds to 2 % at the best setting of the grid, median, least and greatest.  Right: how many of the 54 settings reach 5 %."""
    ours, grid, runs = own_best(records), times(records), settings_of(records, "2")
    wide, high = PANEL
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * BESIDE + 130} {high + 90}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#fff"/>']

    def panel(left, title, ticks, at):
        out.append(f'<g transform="translate({left} 40)"><rect width="{wide}" height="{high}" fill="none" stroke="#888"/>'
                   f'<text x="{wide / 2}" y="-14" text-anchor="middle" font-size="14">{title}</text>')
        for i, workers in enumerate(WORKERS):
            out.append(f'<text x="{x(i):.0f}" y="{high + 18}" text-anchor="middle">{workers}</text>')
        out.append(f'<text x="{wide / 2}" y="{high + 38}" text-anchor="middle">workers</text>')
        for tick in ticks:
            out.append(f'<text x="-6" y="{at(tick) + 4:.0f}" text-anchor="end">{tick:g}</text>'
                       f'<line x1="0" x2="{wide}" y1="{at(tick):.1f}" y2="{at(tick):.1f}" stroke="#eee"/>')

    def x(i):
        return 30 + i * (wide - 60) / (len(WORKERS) - 1)

    def line(strategy, points):
        out.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" fill="none" stroke="{LINES[strategy]}" stroke-width="2"/>')

    def log_y(s):
        return high * (1 - (math.log(s) - math.log(0.2)) / (math.log(8) - math.log(0.2)))

    def settings_y(n):
        return high * (1 - n / 54)

    panel(60, "seconds to 2 %", (0.25, 0.5, 1, 2, 4), log_y)
    for k, strategy in enumerate(STRATEGIES):
        points = []
        for i, workers in enumerate(WORKERS):
            values = sorted(seconds(r, "s_to_2") for r in runs.get((workers, strategy, *ours.get((strategy, workers), ())), []))
            if values and math.isfinite(statistics.median(values)):
                points.append((x(i) + 3 * (k - 2.5), log_y(statistics.median(values))))
                out.append(f'<line x1="{points[-1][0]:.1f}" x2="{points[-1][0]:.1f}" y1="{log_y(values[0]):.1f}" '
                           f'y2="{max(0, log_y(min(values[-1], 8))):.1f}" stroke="{LINES[strategy]}"/>')
        line(strategy, points)
    out.append("</g>")
    panel(60 + BESIDE, "settings that reach 5 %, of 54", range(0, 55, 10), settings_y)
    for k, strategy in enumerate(STRATEGIES):
        line(strategy, [(x(i), settings_y(sum(map(math.isfinite, grid[strategy, workers].values())))) for i, workers in enumerate(WORKERS)])
        y = 20 + 20 * k
        out.append(f'<line x1="{wide + 12}" x2="{wide + 32}" y1="{y}" y2="{y}" stroke="{LINES[strategy]}" stroke-width="2"/>'
                   f'<text x="{wide + 38}" y="{y + 4}">{strategy}</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</g>", "</svg>"]) + "\n")


# ---- claims ----


class On:
    """What one machine's records say; None where they are not there."""

    def __init__(self, records, machine):
        self.records = [r for r in records if r["machine"] == machine]

    def rate(self, name, strategy, workers=16, batch=64):
        return middle([r for r in self.records if r["goal"] == "rates" and (r["strategy"], r["workers"], r["batch"]) == (strategy, workers, batch)], name)

    def settings(self, strategy, workers=16):
        """(step size, batch) -> median seconds to 5 %; None unless all of COMMON were run"""
        found = collections.defaultdict(dict)
        for r in self.records:
            if (r["goal"] == "5" and (r["strategy"], r["workers"], r["backoff"], r["bind"]) == (strategy, workers, "none", "spread")
                    and (r["lr"], r["batch"]) in COMMON[workers]):
                found[r["lr"], r["batch"]][r["seed"]] = seconds(r)
        return {key: statistics.median(of.values()) for key, of in found.items()} if set(found) == set(COMMON[workers]) else None

    def fastest(self, strategy, workers=16):
        of = self.settings(strategy, workers)
        return min(of.values()) if of else None

    def steps(self, strategy, workers=16):
        """step size -> median seconds with batches of 64, of those that reached 5 %"""
        of = self.settings(strategy, workers)
        return None if of is None else {lr: s for (lr, batch), s in of.items() if batch == 64 and math.isfinite(s)}

    def best_step(self, strategy, workers=16):
        of = self.steps(strategy, workers)
        return min(of, key=of.get) if of else None

    def reached(self, strategy):
        of = self.settings(strategy)
        return sum(map(math.isfinite, of.values())) if of else None

    def with_backoff(self, strategy):
        of = [middle([r for r in self.records if r["goal"] == "5" and (r["strategy"], r["workers"], r["lr"], r["batch"], r["backoff"]) ==
                      (strategy, 16, 0.004, 64, kind)], "s_to_5") for kind in ("linear", "none")]
        return ratio(*of)


def ratio(a, b):
    if a is None or b is None or b == 0 or (math.isinf(a) and math.isinf(b)):
        return None
    return math.inf if math.isinf(a) else 0.0 if math.isinf(b) else a / b


def least(*values):
    return None if None in values else min(values)


def less(a, b):
    return None if a is None or b is None else a - b


# (id, what the thesis says, what the number is, number of a machine, whether the number bears the claim)
CLAIMS = [
    ("full", "staleness of locks and Leashed-SGD is m - 1", "least mean of the three over m - 1",
     lambda m: least(*(ratio(m.rate("staleness", s), 15) for s in ("mutex", "rwlock", "leashed:inf"))), lambda x: x > 0.9),
    ("middle", "and concentrated there", "least median of the three over m - 1",
     lambda m: least(*(ratio(m.rate("staleness_p50", s), 15) for s in ("mutex", "rwlock", "leashed:inf"))), lambda x: x > 0.9),
    ("bound", "a persistence bound lowers staleness", "that of a bound of 1 over that without",
     lambda m: ratio(m.rate("staleness", "leashed:1"), m.rate("staleness", "leashed:inf")), lambda x: x < 0.9),
    ("zero", "a bound of 0 lowers it further", "that of a bound of 0 over that of 1",
     lambda m: ratio(m.rate("staleness", "leashed:0"), m.rate("staleness", "leashed:1")), lambda x: x < 0.9),
    ("batch-hogwild", "larger batches raise the staleness of HOGWILD!", "with 256 over with 16",
     lambda m: ratio(m.rate("staleness", "hogwild:copy", 16, 256), m.rate("staleness", "hogwild:copy", 16, 16)), lambda x: x > 1.1),
    ("batch-leashed", "and that of a bound of 1", "with 256 over with 16",
     lambda m: ratio(m.rate("staleness", "leashed:1", 16, 256), m.rate("staleness", "leashed:1", 16, 16)), lambda x: x > 1.1),
    ("drops", "a bound of 0 drops most steps", "part of the steps that it drops",
     lambda m: ratio(m.rate("dropped_pct", "leashed:0"), 100), lambda x: x > 0.5),
    ("updates", "HOGWILD! makes more updates a second than the mutex", "its over the mutex's",
     lambda m: ratio(m.rate("updates_per_s", "hogwild:copy"), m.rate("updates_per_s", "mutex")), lambda x: x > 1.1),
    ("updates-leashed", "and so does Leashed-SGD", "its over the mutex's",
     lambda m: ratio(m.rate("updates_per_s", "leashed:inf"), m.rate("updates_per_s", "mutex")), lambda x: x > 1.1),
    ("hogwild", "HOGWILD! is the fastest", "seconds of the next over its own",
     lambda m: ratio(least(*(m.fastest(s) for s in STRATEGIES[:-1])), m.fastest("hogwild:copy")), lambda x: x > 1.1),
    ("rwlock", "the read-write lock is faster than the mutex", "seconds of the mutex over its own",
     lambda m: ratio(m.fastest("mutex"), m.fastest("rwlock")), lambda x: x > 1.1),
    ("leashed", "locks are faster than Leashed-SGD", "seconds of Leashed-SGD over those of the faster lock",
     lambda m: ratio(m.fastest("leashed:inf"), least(m.fastest("mutex"), m.fastest("rwlock"))), lambda x: x > 1.1),
    ("slow1", "a persistence bound of 1 costs time", "seconds with a bound of 1 over those without",
     lambda m: ratio(m.fastest("leashed:1"), m.fastest("leashed:inf")), lambda x: x > 1.1),
    ("slow0", "one of 0 costs more", "seconds with 0 over those with 1",
     lambda m: ratio(m.fastest("leashed:0"), m.fastest("leashed:1")), lambda x: x > 1.1),
    ("stable", "Leashed-SGD reaches 5 % in more settings than the mutex", "settings of seven, less the mutex's",
     lambda m: less(m.reached("leashed:inf"), m.reached("mutex")), lambda x: x > 0),
    ("stable1", "with a bound of 1 too", "the same with a bound of 1",
     lambda m: less(m.reached("leashed:1"), m.reached("mutex")), lambda x: x > 0),
    ("unstable", "HOGWILD! reaches it in fewer", "its settings of seven, less the mutex's",
     lambda m: less(m.reached("hogwild:copy"), m.reached("mutex")), lambda x: x < 0),
    ("steps", "steps of the mutex must shrink with workers", "best step size with 16 over that with 2",
     lambda m: ratio(m.best_step("mutex"), m.best_step("mutex", 2)), lambda x: x < 0.9),
    ("steps-hogwild", "and those of HOGWILD!", "the same",
     lambda m: ratio(m.best_step("hogwild:copy"), m.best_step("hogwild:copy", 2)), lambda x: x < 0.9),
    ("eight", "the mutex is faster with 8 workers than with 16", "seconds with 16 over those with 8",
     lambda m: ratio(m.fastest("mutex", 16), m.fastest("mutex", 8)), lambda x: x > 1.1),
    ("sixteen", "and with 16 than with 32", "seconds with 32 over those with 16",
     lambda m: ratio(m.fastest("mutex", 32), m.fastest("mutex", 16)), lambda x: x > 1.1),
    ("eight-hogwild", "HOGWILD! is faster with 8 than with 16", "seconds with 16 over those with 8",
     lambda m: ratio(m.fastest("hogwild:copy", 16), m.fastest("hogwild:copy", 8)), lambda x: x > 1.1),
    ("backoff", "back-off helps the mutex", "seconds with linear back-off over those without, at 0.004",
     lambda m: m.with_backoff("mutex"), lambda x: x < 0.95),
    ("backoff-rwlock", "and not the read-write lock", "the same",
     lambda m: m.with_backoff("rwlock"), lambda x: x > 0.95),
]


def present(records):
    """The machines with all of rates."""
    had = collections.Counter((r["machine"], r["strategy"]) for r in records if r["goal"] == "rates" and (r["workers"], r["batch"]) == (16, 64))
    return [machine for machine in MACHINES if all(had[machine, strategy] for strategy in STRATEGIES)]


def judged(records):
    """(id, claim, number's meaning, machine -> (number, whether it holds) or None)"""
    for name, claim, meaning, number, holds in CLAIMS:
        row = {}
        for machine in present(records):
            value = number(On(records, machine))
            row[machine] = None if value is None else (value, bool(holds(value)))
        if any(row.values()):
            yield name, claim, meaning, row


def number_text(value):
    return str(value) if isinstance(value, int) else f"{value:.2f}" if math.isfinite(value) else "inf"


def print_claims(records):
    machines = present(records)
    print(f"<!-- t:claims modelled {n_seeds(records, goal='rates')} -->\n| | claim | number | " + " | ".join(machines) + " |\n" + "|---" * (3 + len(machines)) + "|")
    for name, claim, meaning, row in judged(records):
        cells = ["-" if v is None else f"{'yes' if v[1] else 'no'}, {number_text(v[0])}" for v in row.values()]
        print(f"| {name} | {claim} | {meaning} | " + " | ".join(cells) + " |")


CELL, ROW, LEFT, TOP = 70, 24, 380, 110
HOLDS, FAILS = "#a6cee3", "#fdbf6f"


def draw(records, path):
    """Claims by machines: blue where one holds, orange where not."""
    rows = list(judged(records))
    machines = present(records)
    width, height = LEFT + CELL * len(machines) + 60, TOP + ROW * len(rows) + 34
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#fff"/>']
    for i, machine in enumerate(machines):
        out.append(f'<text transform="translate({LEFT + CELL * i + CELL / 2 + 4} {TOP - 8}) rotate(-40)">{machine}</text>')
    for j, (_, claim, _, row) in enumerate(rows):
        y = TOP + ROW * j
        out.append(f'<text x="{LEFT - 8}" y="{y + 16}" text-anchor="end">{claim}</text>')
        for i, value in enumerate(row.values()):
            colour = "#eeeeee" if value is None else HOLDS if value[1] else FAILS
            out.append(f'<rect x="{LEFT + CELL * i}" y="{y}" width="{CELL - 2}" height="{ROW - 2}" fill="{colour}"/>')
            text = "" if value is None else number_text(value[0]).replace("inf", "&#8734;")
            out.append(f'<text x="{LEFT + CELL * i + CELL / 2 - 1}" y="{y + 16}" text-anchor="middle">{text}</text>')
    for i, (colour, text) in enumerate(((HOLDS, "the claim holds"), (FAILS, "it does not"))):
        x, y = LEFT + 2 * CELL * i, TOP + ROW * len(rows) + 8
        out.append(f'<rect x="{x}" y="{y}" width="14" height="14" fill="{colour}"/><text x="{x + 20}" y="{y + 12}">{text}</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="FILE")
    parser.add_argument("--claims", action="store_true", help="of sensitivity.md, by machine")
    parser.add_argument("--picture", metavar="SVG")
    args = parser.parse_args()
    records = read(args.runs)
    if args.claims:
        print_claims(records)
    else:
        for table in (print_memory, print_grid, print_staleness, print_best, print_backoff, print_copy, print_own):
            table(records)
    if args.picture:
        (draw if args.claims else draw_best)(records, args.picture)


if __name__ == "__main__":
    main()
