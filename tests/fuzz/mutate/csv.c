/* tests/fuzz/mutate/csv.c - changes tables in text by their structure: cells, rows, columns,
 * quotes, separators, line ends.
 */
#include "mutate.h"

/* Cells that mean something to some reader. */
static const char *const cells[] = {"",
                                    "NA",
                                    "nan",
                                    "inf",
                                    "-1e999",
                                    "1,5",
                                    "0",
                                    "1",
                                    "-0.0",
                                    "1e-45",
                                    "3.5e38",
                                    "007",
                                    "12345678901234567890",
                                    "yes",
                                    "no",
                                    "true",
                                    "2024-02-29",
                                    "31.12.99",
                                    "1/2/2003",
                                    "12:30",
                                    "$1,234.50",
                                    "12 %",
                                    "\"a, b\"",
                                    "\"\"",
                                    "\"\"\"\"",
                                    "\"x",
                                    "\" 5 \"",
                                    "\xc3\xa9",
                                    "\xff",
                                    "a\tb",
                                    "2:1.5",
                                    "3:",
                                    "\"line\nend\"",
                                    "#",
                                    "+1",
                                    "label",
                                    "weight",
                                    "?",
                                    "1e5 ",
                                    "0x10",
                                    "1_000"};
static const char separators[] = ",;\t| :";

static bool is_separator(uint8_t c)
{
    return c != '\0' && strchr(separators, c) != NULL;
}

/* The cell around a place; quotes are not looked at. */
static void find_cell(const uint8_t *data, size_t size, size_t place, size_t *begin, size_t *end)
{
    *begin = *end = place;
    while (*begin > 0 && data[*begin - 1] != '\n' && !is_separator(data[*begin - 1])) --*begin;
    while (*end < size && data[*end] != '\n' && !is_separator(data[*end])) ++*end;
}

/* Cell number `column` of the line that begins at `begin`; false: there are fewer. */
static bool find_column(const uint8_t *data, size_t size, size_t begin, size_t column, size_t *from,
                        size_t *to)
{
    *from = begin;
    for (;; ++*from) {
        *to = *from;
        while (*to < size && data[*to] != '\n' && !is_separator(data[*to])) ++*to;
        if (column-- == 0) return true;
        *from = *to;
        if (*from >= size || data[*from] == '\n') return false;
    }
}

static size_t put(uint8_t *data, size_t size, size_t most, size_t begin, size_t end, const char *t)
{
    return mutate_splice(data, size, most, begin, end - begin, t, strlen(t));
}

/* One cell becomes a word, another cell, a quoted one, or two. */
static size_t change_cell(uint8_t *data, size_t size, size_t most, mutate_random *r)
{
    size_t begin, end, from, to;
    find_cell(data, size, mutate_below(r, size), &begin, &end);
    switch (mutate_below(r, 4)) {
    case 0: return put(data, size, most, begin, end, cells[mutate_below(r, COUNT(cells))]);
    case 1:
        find_cell(data, size, mutate_below(r, size), &from, &to);
        return mutate_copy(data, size, most, from, to - from, begin, end - begin);
    case 2:
        size = put(data, size, most, end, end, "\"");
        return put(data, size, most, begin, begin, "\"");
    default: return mutate_copy(data, size, most, begin, end - begin, end, 0);
    }
}

/* A row is doubled, removed, moved, or loses or gets its line break. */
static size_t change_row(uint8_t *data, size_t size, size_t most, mutate_random *r)
{
    size_t begin, end, other, behind;
    mutate_line(data, size, mutate_below(r, size), &begin, &end);
    mutate_line(data, size, mutate_below(r, size), &other, &behind);
    switch (mutate_below(r, 5)) {
    case 0: return mutate_copy(data, size, most, begin, end - begin, other, 0);
    case 1: return mutate_splice(data, size, most, begin, end - begin, "", 0);
    case 2: return mutate_copy(data, size, most, begin, end - begin, other, behind - other);
    case 3: return mutate_splice(data, size, most, end > begin ? end - 1 : end, end > begin, "", 0);
    default: return put(data, size, most, begin, begin, "\r\n");
    }
}

/* The same column of every row becomes one word, or goes. */
static size_t change_column(uint8_t *data, size_t size, size_t most, mutate_random *r)
{
    const size_t column = mutate_below(r, 6);
    const bool goes = mutate_below(r, 2) == 0;
    const char *word = cells[mutate_below(r, COUNT(cells))];
    for (size_t at = 0; at < size;) {
        size_t from, to, begin, end;
        if (find_column(data, size, at, column, &from, &to)) {
            if (goes && to < size && data[to] != '\n') to++;
            size = put(data, size, most, from, to, goes ? "" : word);
        }
        mutate_line(data, size, at, &begin, &end);
        at = end > at ? end : at + 1;
    }
    return size;
}

/* All separators of one kind become another one, or all line ends. */
static size_t change_separator(uint8_t *data, size_t size, mutate_random *r)
{
    const char from = separators[mutate_below(r, sizeof separators - 1)],
               to = separators[mutate_below(r, sizeof separators - 1)];
    for (size_t i = 0; i < size; i++) {
        if (data[i] == (uint8_t)from) data[i] = (uint8_t)to;
    }
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    mutate_random r = mutate_seed(seed);
    if (size == 0 || mutate_below(&r, 4) == 0) return LLVMFuzzerMutate(data, size, most);
    switch (mutate_below(&r, 8)) {
    case 0: return change_separator(data, size, &r);
    case 1: return change_column(data, size, most, &r);
    case 2:
    case 3: return change_row(data, size, most, &r);
    default: return change_cell(data, size, most, &r);
    }
}
