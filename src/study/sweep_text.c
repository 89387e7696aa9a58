/* study/sweep_text.c - see sweep_text.h. */
#include "study/sweep_text.h"

#include "study/expand.h"

#include <string.h>

enum { TEXT_SIZE = 512, MOST_COLUMNS = 16 };

static void text_of(const json_t *object, char into[TEXT_SIZE])
{
    drove__sweep_text(json_object_get(object, "settings"), into, TEXT_SIZE);
}

static long long count_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static double real_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *plural(long long n)
{
    return n == 1 ? "" : "s";
}

/* ---- the runs ---- */

void drove__sweep_print_list(const json_t *report, FILE *stream)
{
    size_t i;
    const json_t *entry;
    char text[TEXT_SIZE];
    const json_t *settings = json_object_get(report, "settings");
    const json_t *runs = json_object_get(report, "runs");
    const size_t n_settings = json_array_size(settings), n_runs = json_array_size(runs);
    json_array_foreach(settings, i, entry)
    {
        drove__sweep_text(entry, text, sizeof text);
        fprintf(stream, "setting %zu: %s\n", i + 1, text);
    }
    fprintf(stream, "settings: %zu, seeds: %zu, runs: %zu, in this order:\n", n_settings,
            n_runs / n_settings, n_runs);
    json_array_foreach(runs, i, entry) fprintf(stream, "run %zu: setting %lld, seed %lld\n", i + 1,
                                               count_of(entry, "setting"), count_of(entry, "seed"));
}

/* ---- the best of each group ---- */

typedef struct cells {
    char text[MOST_COLUMNS][TEXT_SIZE];
    size_t n;
} cells;

static char *next_cell(cells *row)
{
    return row->text[row->n++];
}

static void add_words(cells *row, const char *const *words)
{
    for (; *words != NULL; words++) snprintf(next_cell(row), TEXT_SIZE, "%s", *words);
}

static void fill_row(const json_t *names, const json_t *group, cells *row)
{
    static const char *const nothing[] = {"none", "-", "-", "-", NULL};
    size_t i;
    const json_t *name;
    row->n = 0;
    json_array_foreach(names, i, name)
    {
        const json_t *value =
            json_object_get(json_object_get(group, "group"), json_string_value(name));
        snprintf(next_cell(row), TEXT_SIZE, "%s", value != NULL ? json_string_value(value) : "-");
    }
    if (json_object_get(group, "setting") == NULL) {
        add_words(row, nothing);
    } else {
        /* The number of the best setting, and its options that are not the group's. */
        char text[TEXT_SIZE];
        const char *key;
        json_t *value, *own = json_copy(json_object_get(group, "settings"));
        json_object_foreach(json_object_get(group, "group"), key, value)(void)
            json_object_del(own, key);
        drove__sweep_text(own, text, sizeof text);
        const int size = json_object_size(own) > 0 ? TEXT_SIZE - 32 : 0;
        snprintf(next_cell(row), TEXT_SIZE, "%lld%s%.*s", count_of(group, "setting"),
                 size > 0 ? ": " : "", size, text);
        json_decref(own);
        snprintf(next_cell(row), TEXT_SIZE, "%.4g", real_of(group, "median"));
        snprintf(next_cell(row), TEXT_SIZE, "%lld", count_of(group, "n_runs"));
        snprintf(next_cell(row), TEXT_SIZE, "%lld of %lld (to %.4g)", count_of(group, "n_near"),
                 count_of(group, "n_settings"), real_of(group, "slowest_near"));
    }
    snprintf(next_cell(row), TEXT_SIZE, "%lld", count_of(group, "n_crashed"));
}

static void fill_head(const json_t *names, cells *row)
{
    static const char *const words[] = {"fastest setting", "median",  "runs",
                                        "within 10 %",     "crashed", NULL};
    size_t i;
    const json_t *name;
    row->n = 0;
    json_array_foreach(names, i, name)
        snprintf(next_cell(row), TEXT_SIZE, "%s", json_string_value(name));
    add_words(row, words);
}

static void widen(const cells *row, int width[MOST_COLUMNS])
{
    for (size_t i = 0; i < row->n; i++) {
        const int n = (int)strlen(row->text[i]);
        if (n > width[i]) width[i] = n;
    }
}

static void print_row(const cells *row, const int width[MOST_COLUMNS], FILE *stream)
{
    for (size_t i = 0; i + 1 < row->n; i++) fprintf(stream, "%-*s  ", width[i], row->text[i]);
    fprintf(stream, "%s\n", row->text[row->n - 1]);
}

void drove__sweep_print_best(const json_t *report, FILE *stream)
{
    size_t i;
    cells row;
    const json_t *group;
    int width[MOST_COLUMNS] = {0};
    const json_t *names = json_object_get(report, "group_by");
    const json_t *best = json_object_get(report, "best");
    fprintf(stream, "%s: the least median among settings with at most 10 %% crashed runs\n\n",
            json_string_value(json_object_get(report, "figure")));
    fill_head(names, &row);
    widen(&row, width);
    json_array_foreach(best, i, group)
    {
        fill_row(names, group, &row);
        widen(&row, width);
    }
    fill_head(names, &row);
    print_row(&row, width, stream);
    json_array_foreach(best, i, group)
    {
        fill_row(names, group, &row);
        print_row(&row, width, stream);
    }
}

/* ---- at the end of a sweep ---- */

void drove__sweep_print_summary(const json_t *report, FILE *stream)
{
    const char *outcome, *folder = json_string_value(json_object_get(report, "out"));
    char settings[TEXT_SIZE];
    json_t *n;
    fprintf(stream, "%lld of %lld runs are done:", count_of(report, "done"),
            count_of(report, "runs"));
    json_object_foreach(json_object_get((json_t *)report, "outcomes"), outcome, n)
        fprintf(stream, " %lld %s", (long long)json_integer_value(n), outcome);
    fputc('\n', stream);
    const json_t *best = json_array_get(json_object_get(report, "best"), 0);
    if (json_object_get(best, "setting") == NULL) {
        fprintf(stream, "  best        none has reached a target\n");
    } else {
        text_of(best, settings);
        fprintf(stream,
                "  best        setting %lld (%s): target met in %.4g s, the median of %lld run%s\n",
                count_of(best, "setting"), settings, real_of(best, "median"),
                count_of(best, "n_runs"), plural(count_of(best, "n_runs")));
    }
    fprintf(stream, "  results     %s/results.jsonl\n", folder);
    if (count_of(report, "signal") != 0)
        fprintf(stream, "  interrupted: the same command with --out %s goes on\n", folder);
}

/* ---- pairs ---- */

void drove__sweep_print_pair(const json_t *report, FILE *stream)
{
    char a[TEXT_SIZE], b[TEXT_SIZE];
    const json_t *of = json_object_get(report, "a"), *over = json_object_get(report, "b");
    const long long n = (long long)json_array_size(json_object_get(report, "ratios"));
    text_of(of, a);
    text_of(over, b);
    fprintf(stream, "%s of setting %lld (%s)\nover that of setting %lld (%s):\n",
            json_string_value(json_object_get(report, "figure")), count_of(of, "setting"), a,
            count_of(over, "setting"), b);
    fprintf(
        stream,
        "  median ratio %.4g, 95 %% interval %.4g to %.4g, of %lld seed%s; %lld without a ratio\n",
        real_of(report, "median"), real_of(report, "low"), real_of(report, "high"), n, plural(n),
        count_of(report, "n_without"));
}
