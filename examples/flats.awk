# awk -f examples/flats.awk >flats.csv        (-v n=500 -v seed=2: other flats, as for a test)
#
# Flats to let, one a line, as somebody might have noted them: numbers, words, a date, cells that nobody filled in.
# The rent follows from size, district, floor and balcony, and from chance: a standard deviation of 60.
# Random numbers by Park and Miller's generator, in whole numbers: the same file on every machine.
function random() { state = (state * 16807) % 2147483647; return state / 2147483647 }
function noise(   i, sum) { for (i = 0; i < 12; i++) sum += random(); return sum - 6 }
BEGIN {
    if (n == "") n = 2000
    state = 1000 + (seed == "" ? 1 : seed) * 7919
    split("old town,harbour,station,hill,meadows", district, ",")
    split("5.5 4 1 3 0", extra, " ")
    print "id,size,rooms,district,floor,balcony,free_from,rent"
    for (i = 1; i <= n; i++) {
        size = 25 + int(95 * random())
        rooms = 1 + int(size / 28 + random())
        where = 1 + int(5 * random())
        floor = int(7 * random())
        balcony = random() < 0.4 + floor / 20
        rent = 180 + (8 + extra[where]) * size + 15 * floor + 70 * balcony + 60 * noise()
        printf "%d,%s,%d,%s,%s,%s,2026-%02d-01,%d\n", 4000 + i, random() < 0.04 ? "" : size, rooms, district[where],
            random() < 0.1 ? "NA" : floor, balcony ? "yes" : "no", 1 + int(12 * random()), rent
    }
}
