"""mixed_table.py: mixed.csv and new.csv with columns of every kind; some cells are missing, and new.csv has a value that
mixed.csv has not."""
import csv
import datetime
import random

random.seed(5)
for path, n in ("mixed.csv", 700), ("new.csv", 300):
    table = csv.writer(open(path, "w", encoding="utf-8"))
    table.writerow(["age", "smokes", "born", "seen", "zone", "shop", "price", "label", "y"])
    for _ in range(n):
        age = "" if random.random() < 0.1 else f"{random.gauss(40, 12):.3f}"
        smokes = random.choice(["yes", "No", "YES", "no", "", "n", "True"])
        born = datetime.date(1930, 1, 1) + datetime.timedelta(days=random.randrange(30000))
        born = "NA" if random.random() < 0.1 else str(born)
        seen = datetime.datetime(1965, 1, 1) + datetime.timedelta(seconds=random.randrange(1800000000))
        zone = random.choice(["1", "2", "7", "7.0", "x y", "Ä,b */", ""] + ["unseen"] * (path == "new.csv"))
        price = random.choice([f"{random.expovariate(0.01):.2f}", "inf"])
        y = (float(age or 30) * (1 if smokes.lower() in ("yes", "true") else -0.5) + 5 * zone.startswith("7")
             + (seen.hour + (3 if born == "NA" else 2020 - int(born[:4]))) / 3)
        table.writerow([age, smokes, born, seen.strftime("%Y-%m-%d %H:%M:%S"), zone, f"s{random.randrange(90)}", price,
                        random.choice("ab"), f"{y:.4f}"])
