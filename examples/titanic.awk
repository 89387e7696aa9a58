# titanic.awk - the passengers of the Titanic, one a line: class, age, sex, and whether they survived.
#
#     awk -f examples/titanic.awk >titanic.csv
#     awk -v part=test -f examples/titanic.awk >titanic-test.csv
#
# The counts are those of the British Board of Trade's inquiry of 1912, as Dawson gives them (The "Unusual Episode" Data
# Revisited, Journal of Statistics Education 3, 1995), without the crew: 1316 people.  They come in a mixed order, the same
# on every machine; one in five is in the part `test`, the others are not.
BEGIN {
    n = split("1st,adult,man 118 57;1st,adult,woman 4 140;1st,child,man 0 5;1st,child,woman 0 1;" \
              "2nd,adult,man 154 14;2nd,adult,woman 13 80;2nd,child,man 0 11;2nd,child,woman 0 13;" \
              "3rd,adult,man 387 75;3rd,adult,woman 89 76;3rd,child,man 35 13;3rd,child,woman 17 14", group, ";")
    for (i = 1; i <= n; i++) {
        split(group[i], f, " ")
        for (k = 0; k < f[2]; k++) row[n_rows++] = f[1] ",no"
        for (k = 0; k < f[3]; k++) row[n_rows++] = f[1] ",yes"
    }
    number = 1
    print "class,age,sex,survived"
    for (i = n_rows - 1; i >= 0; i--) {
        number = number * 16807 % 2147483647 # Park and Miller, CACM 31, 1988: exact in doubles
        j = int(number / 2147483647 * (i + 1))
        if ((i % 5 == 0) == (part == "test")) print row[j]
        row[j] = row[i]
    }
}
