/* engine/linear/constants.c - a machine's constants as a file: docs/methods/benchmarks.md,
 * "Constants of the throughput model".
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "engine/linear/throughput.h"

#include "base/alive.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/given.h"
#include "base/json.h"
#include "base/locale.h"
#include "base/spec.h"
#include "base/status.h"
#include "base/topo.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BYTES = 1 << 20, DIGITS = 6, FORMAT = 2 };
static const char *const problem_name[2] = {"dense", "sparse"};

/* ---- where ---- */

drove_status drove__throughput_path(char **out)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool has_config = config != NULL && config[0] == '/'; /* a relative one is to be ignored */
    *out = NULL;
    if (!has_config && (home == NULL || home[0] == '\0'))
        return drove__fail(DROVE_E_ARG, "the folder of constants: neither XDG_CONFIG_HOME nor HOME "
                                        "is set");
    int n = asprintf(out, "%s%s/drove/throughput.json", has_config ? config : home,
                     has_config ? "" : "/.config");
    if (n >= 0) return DROVE_OK;
    *out = NULL;
    return drove__fail_nomem("a path", 1);
}

/* Makes the folders that lead to path; one that cannot be made is what the file's error says. */
static drove_status make_folders(const char *path)
{
    char *folder = strdup(path);
    if (folder == NULL) return drove__fail_nomem(path, strlen(path));
    for (char *c = folder + 1; *c != '\0'; c++) {
        if (*c != '/') continue;
        *c = '\0';
        mkdir(folder, 0777);
        *c = '/';
    }
    free(folder);
    return DROVE_OK;
}

/* ---- writing ---- */

drove_status drove__throughput_save(const drove_throughput *constants, const char *path)
{
    drove_writer *w = NULL;
    json_t *rows = json_array(), *all = json_object();
    for (unsigned row = 0; row < DROVE_THROUGHPUT_ROWS; row++) {
        json_t *object = json_object();
        drove__json_set(&object, "signature", json_string(drove__throughput_signature[row]));
        for (int s = 0; s < 2; s++) {
            const drove_throughput_row *r = &constants->row[s][row];
            if (r->gnps <= 0.0) continue;
            json_t *parallel =
                json_pack("{s:f, s:f, s:f}", "slope", r->parallel.slope, "zero_features",
                          r->parallel.zero_features, "most", r->parallel.most);
            drove__json_set(&object, problem_name[s],
                            json_pack("{s:f, s:f, s:f, s:f, s:o}", "gnps", r->gnps, "step_ns",
                                      r->step_ns, "spill_ns", r->spill_ns, "cache_bytes",
                                      r->cache_bytes, "parallel", parallel));
        }
        drove__json_add(&rows, object);
    }
    drove__json_set(&all, "throughput", json_integer(FORMAT));
    drove__json_set(&all, "machine", json_string(constants->machine));
    drove__json_set(&all, "n_cores", json_integer(constants->n_cores));
    drove__json_set(&all, "date", json_string(constants->date));
    drove__json_set(&all, "drove", json_string(constants->version));
    drove__json_set(&all, "rows", rows);
    char *text = drove__json_dump(all, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS));
    json_decref(all);
    if (text == NULL) return drove__fail_nomem("JSON text", 1);
    drove_status status = make_folders(path);
    if (status == DROVE_OK) status = drove__writer_create(path, &w);
    if (status == DROVE_OK) {
        fprintf(drove__writer_stream(w), "%s\n", text);
        status = drove__writer_commit(w);
    }
    free(text);
    return status;
}

/* ---- reading ---- */

typedef struct place { /* in a file, for errors: "FILE: rows[3].dense.gnps" */
    const char *path;
    char at[96];
} place;

static drove_status refuse(const place *at, const char *key, const char *expected)
{
    return drove__fail(DROVE_E_DATA, "%s: %s%s%s: expected %s", at->path, at->at,
                       at->at[0] != '\0' ? "." : "", key, expected);
}

/* A number of least to most. */
static drove_status get_real(const json_t *from, const place *at, const char *key, double least,
                             double most, double *out)
{
    const json_t *value = json_object_get(from, key);
    double x = json_number_value(value);
    if (json_is_number(value) && x >= least && x <= most) {
        *out = x;
        return DROVE_OK;
    }
    char text[96];
    snprintf(text, sizeof text, "a number of %g to %g, found %s%.6g", least, most,
             json_is_number(value) ? "" : "none, ", x);
    if (!json_is_number(value)) text[strlen(text) - strlen(", 0")] = '\0';
    return refuse(at, key, text);
}

static drove_status get_text(const json_t *from, const place *at, const char *key, char *into,
                             size_t size)
{
    const char *text = json_string_value(json_object_get(from, key));
    if (text == NULL || strlen(text) >= size) return refuse(at, key, "a short text");
    snprintf(into, size, "%s", text);
    return DROVE_OK;
}

static drove_status get_object(const json_t *from, const place *at, const char *key,
                               const json_t **out, place *inside)
{
    *out = json_object_get(from, key);
    if (!json_is_object(*out)) return refuse(at, key, "an object");
    *inside = (place){.path = at->path};
    snprintf(inside->at, sizeof inside->at, "%.60s%s%s", at->at, at->at[0] != '\0' ? "." : "", key);
    return DROVE_OK;
}

static drove_status read_row(const json_t *from, const place *at, drove_throughput *c)
{
    char signature[DROVE_DMGC_TEXT_SIZE];
    unsigned row = 0;
    DROVE_TRY(get_text(from, at, "signature", signature, sizeof signature));
    while (row < DROVE_THROUGHPUT_ROWS && strcmp(signature, drove__throughput_signature[row]) != 0)
        row++;
    if (row == DROVE_THROUGHPUT_ROWS) return refuse(at, "signature", "one of the paper's Table 2");
    for (int s = 0; s < 2; s++) {
        const json_t *one;
        place in;
        drove_throughput_row *r = &c->row[s][row];
        if (json_object_get(from, problem_name[s]) == NULL) continue;
        DROVE_TRY(get_object(from, at, problem_name[s], &one, &in));
        DROVE_TRY(get_real(one, &in, "gnps", 1e-9, 1e9, &r->gnps));
        DROVE_TRY(get_real(one, &in, "step_ns", 0.0, 1e12, &r->step_ns));
        DROVE_TRY(get_real(one, &in, "spill_ns", 0.0, 1e12, &r->spill_ns));
        DROVE_TRY(get_real(one, &in, "cache_bytes", 0, 1e15, &r->cache_bytes));
        const json_t *parallel;
        place within;
        DROVE_TRY(get_object(one, &in, "parallel", &parallel, &within));
        DROVE_TRY(get_real(parallel, &within, "slope", 1e-12, 1e6, &r->parallel.slope));
        DROVE_TRY(get_real(parallel, &within, "zero_features", 1e-300, 1e300,
                           &r->parallel.zero_features));
        DROVE_TRY(get_real(parallel, &within, "most", -1e6, 1.0, &r->parallel.most));
        r->parallel.least = -INFINITY;
    }
    return DROVE_OK;
}

static drove_status from_json(const json_t *all, const char *path, drove_throughput *c)
{
    const place at = {.path = path};
    double number;
    if (!json_is_object(all)) return drove__fail(DROVE_E_DATA, "%s: expected an object", path);
    DROVE_TRY(get_real(all, &at, "throughput", 1, FORMAT, &number));
    if (number < FORMAT)
        return refuse(&at, "throughput", "2; an older drove wrote 1: drove bench calibrate anew");
    DROVE_TRY(get_text(all, &at, "machine", c->machine, sizeof c->machine));
    DROVE_TRY(get_text(all, &at, "date", c->date, sizeof c->date));
    DROVE_TRY(get_text(all, &at, "drove", c->version, sizeof c->version));
    DROVE_TRY(get_real(all, &at, "n_cores", 1, 1e6, &number));
    c->n_cores = (unsigned)number;
    const json_t *rows = json_object_get(all, "rows");
    if (!json_is_array(rows)) return refuse(&at, "rows", "an array");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        place in = {.path = at.path};
        snprintf(in.at, sizeof in.at, "rows[%zu]", i);
        DROVE_TRY(read_row(json_array_get(rows, i), &in, c));
    }
    snprintf(c->source, sizeof c->source, "%s, %u processor%s, measured %s", c->machine, c->n_cores,
             c->n_cores == 1 ? "" : "s", c->date);
    return DROVE_OK;
}

static drove_status load(const char *path, drove_throughput *c)
{
    char *text;
    size_t n_bytes;
    json_error_t error;
    DROVE_TRY(drove__file_load(path, MOST_BYTES, &text, &n_bytes));
    json_t *all;
    drove_status status = drove__json_parse(text, n_bytes, JSON_REJECT_DUPLICATES, &error, &all);
    free(text);
    if (status == DROVE_E_NOMEM) return drove__fail_nomem(path, n_bytes);
    if (status != DROVE_OK) {
        return drove__fail(DROVE_E_DATA, "%s: line %d, column %d: expected JSON: %s", path,
                           error.line, error.column, error.text);
    }
    status = from_json(all, path, c);
    json_decref(all);
    return status;
}

/* ---- choosing ---- */

/* Those of this machine, where there are any; else the paper's. */
static drove_status load_here(drove_throughput *c)
{
    char *path;
    bool is_here = false;
    if (drove__throughput_path(&path) != DROVE_OK) return DROVE_OK; /* no home, no file */
    struct stat unused;
    drove_throughput stored = {0};
    drove_status status = DROVE_OK;
    if (stat(path, &unused) == 0) {
        status = load(path, &stored);
        unsigned n = 0;
        if (status == DROVE_OK) status = drove__topo_processors(&n);
        if (status == DROVE_OK)
            is_here = strcmp(stored.machine, drove__cpu_model()) == 0 && stored.n_cores == n;
    }
    free(path);
    if (is_here) *c = stored;
    return status;
}

drove_status drove_throughput_open(const char *which, drove_throughput **out)
{
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    *out = NULL;
    drove_throughput *c = malloc(sizeof *c);
    if (c == NULL) return drove__fail_nomem("constants", sizeof *c);
    *c = drove__throughput_paper;
    drove_status status = DROVE_OK;
    if (which == NULL || which[0] == '\0' || strcmp(which, "auto") == 0) {
        status = load_here(c);
    } else if (strcmp(which, "paper") != 0) {
        *c = (drove_throughput){0};
        status = load(which, c);
    }
    if (status != DROVE_OK) {
        free(c);
        return status;
    }
    *out = c;
    return DROVE_OK;
}

void drove_throughput_close(drove_throughput *constants)
{
    DROVE_END(constants, "constants");
    drove__alive_free(constants, free);
}
