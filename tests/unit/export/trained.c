/* trained.c - see trained.h. */
#include "trained.h"

#include "config/options.h"
#include "support/test.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void train_into(const char *out, const char *data, const char *model, ...)
{
    const char *const fixed[][2] = {{"data", data},   {"model", model},           {"out", out},
                                    {"threads", "1"}, {"strategy", "sequential"}, {"test", "none"},
                                    {"lr", "0.01"},   {"until", "updates=4"}};
    drove_options o = drove__options_default();
    drove_result *result = NULL;
    char command[96];
    va_list more;
    snprintf(command, sizeof command, "rm -rf %s", out); /* of an earlier run of the test */
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        assert_int_equal(drove_options_set(&o, fixed[i][0], fixed[i][1]), DROVE_OK);
    va_start(more, model);
    for (const char *name; (name = va_arg(more, const char *)) != NULL;)
        assert_int_equal(drove_options_set(&o, name, va_arg(more, const char *)), DROVE_OK);
    va_end(more);
    if (drove_train(&o, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove_result_destroy(result);
}

const char *const mixed_name[MIXED_COLUMNS] = {"age",  "smokes", "born", "seen",
                                               "zone", "shop",   "kind", "y"};
char mixed_cell[MIXED_ROWS][MIXED_COLUMNS][32];

void write_mixed(const char *path)
{
    static const char *const truth[] = {"yes", "No", "YES", "no", "nO"};
    static const char *const zone[] = {"1", "2", "7", "x y", "\303\204b"};
    /* around the ends of 4, 100 and 400 years */
    static const char *const day[] = {"2000-02-27", "2000-02-28", "2000-02-29", "2000-03-01",
                                      "1900-02-28", "1900-03-01", "1999-12-31", "2000-01-01",
                                      "1600-02-29", "2399-02-28", "1904-02-29", "1970-01-01"};
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int c = 0; c < MIXED_COLUMNS; c++)
        fprintf(f, "%s%c", mixed_name[c], c + 1 < MIXED_COLUMNS ? ',' : '\n');
    for (int i = 0; i < MIXED_ROWS; i++) {
        char(*cell)[32] = mixed_cell[i];
        const bool has_gap = i % 10 == 9;
        snprintf(cell[0], sizeof *cell, "%.3f", 20 + fmod(i * 7.77, 60));
        snprintf(cell[1], sizeof *cell, "%s", truth[i * 3 % 5]);
        snprintf(cell[2], sizeof *cell, "%04d-%02d-%02d", 1600 + i * 37 % 800, 1 + i * 5 % 12,
                 1 + i * 11 % 28);
        if (i % 10 == 0) snprintf(cell[2], sizeof *cell, "%s", day[i / 10]);
        snprintf(cell[3], sizeof *cell, "%04d-%02d-%02d %02d:%02d:%02d", 1968 + i % 9,
                 1 + i * 7 % 12, 1 + i * 13 % 28, i * 5 % 24, i * 17 % 60, i * 29 % 60);
        snprintf(cell[4], sizeof *cell, "%s", zone[i * 7 % 5]);
        snprintf(cell[5], sizeof *cell, "s%d", i * 31 % 40);
        snprintf(cell[6], sizeof *cell, "%s", i * 13 % 17 < 8 ? "a" : "b");
        snprintf(cell[7], sizeof *cell, "%.2f", sin(i) * 5 + i % 5);
        if (has_gap) cell[i / 10 % 6][0] = '\0';
        for (int c = 0; c < MIXED_COLUMNS; c++)
            fprintf(f, "%s%c", cell[c], c + 1 < MIXED_COLUMNS ? ',' : '\n');
    }
    assert_int_equal(fclose(f), 0);
}

double days_of(const char *cell)
{
    struct tm t = {0};
    const int n = sscanf(cell, "%d-%d-%d %d:%d:%d", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
                         &t.tm_min, &t.tm_sec);
    if (n != 3 && n != 6) return NAN;
    t.tm_year -= 1900;
    t.tm_mon--;
    return (double)timegm(&t) / 86400;
}
