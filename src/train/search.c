/* train/search.c - see search.h.  The numbers are those of docs/results/tables.md. */
#include "train/search.h"

#include "base/mem.h"
#include "base/spec.h"
#include "data/weights.h"
#include "table/schema.h"
#include "auto/choose.h"
#include "config/resolve.h"
#include "problem/disk.h"
#include "problem/problem.h"
#include "values/interrupt.h"
#include "values/say.h"
#include "run/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINEAR "linear" /* logistic where the data have classes */

enum {
    MOST_ROWS = 12000, /* of the comparison */
    LEAST_ROWS = 40,   /* fewer: the first candidate, without a comparison */
    MOST_HELD_ROWS = 3000,
    WANTED_HELD_ROWS = 2000, /* of all divisions together */
    PATIENCE = 3,            /* evaluations */
    ALL_DIVISIONS = 2,       /* tried by all candidates; then the better ones go on */
    MOST_FINALISTS = 5,
    MOST_ROWS_ON_ALL = 3000, /* a smaller table is trained on all rows for the length found */
    MOST_KEY_VALUES = 4096,
    LEAST_KEY_VALUES = 100, /* of a column of whole numbers */
    LEAST_ID_VALUES = 20,   /* of ids and codes that may be numbers */
    MOST_WEIGHTS = 1 << 22,
    MOST_FEATURES_PER_ROW = 10, /* that occur; the first candidate has any number */
    MOST_ENCODINGS = 8
};
static const double WANTED_UPDATES = 15000.0, LEAST_EPOCHS = 12.0, MOST_EPOCHS = 300.0;
static const double TOLERANCE = 0.005;
static const uint64_t COMPARED_NS = 3000000000; /* between two lines about the trial runs */
static const double LEAST_PROGRESS = 0.01;      /* against a constant guess */
/* Products with the first layer's weights in all forward passes of a candidate, and its updates,
 * which change every weight, also where an example has few features: seconds. */
static const double MOST_PRODUCTS = 2e10, UPDATE_WORK = 4.0;

/* ---- candidates ---- */

typedef struct candidate {
    const char *model;
    unsigned width; /* units of its first layer; 0: linear */
    unsigned bins;  /* of number columns (table/schema.h) */
    bool keys;      /* columns of repeated keys are categories */
    bool ids;       /* whole-number ids and codes are numbers: their order may say something */
    bool words;     /* of columns of free text, which the others leave out */
    double decay;   /* --weight-decay, unless it is given */
} candidate;

/* Simplest first. */
static const candidate candidates[] = {
    {.model = LINEAR},
    {.model = LINEAR, .bins = 16},
    {.model = LINEAR, .keys = true},
    {.model = LINEAR, .ids = true},
    {.model = LINEAR, .words = true},
    {.model = "mlp:64", .width = 64, .decay = 1e-3},
    {.model = "mlp:64", .width = 64, .bins = 32, .decay = 1e-3},
    {.model = "mlp:64", .width = 64, .keys = true},
    {.model = "mlp:64", .width = 64, .ids = true, .decay = 1e-3},
    {.model = "mlp:128,128", .width = 128, .decay = 1e-3},
    {.model = "mlp:128,128", .width = 128, .bins = 32, .decay = 1e-3},
    {.model = "mlp:128,128,128", .width = 128},
};
_Static_assert(DROVE_COUNT(candidates) <= DROVE_MOST_CANDIDATES, "room for all results");

/* The error of the mean difference of two candidates' losses; 0: too few divisions, or losses that
 * are not finite. */
static double standard_error(const drove_candidate_result *a, const drove_candidate_result *b)
{
    const unsigned n = a->n_tried, least = 3;
    double squares = 0.0;
    for (unsigned i = 0; i < n; i++) {
        double d = (a->loss_of[i] - b->loss_of[i]) - (a->loss - b->loss);
        squares += d * d;
    }
    if (n < least || !isfinite(squares)) return 0.0;
    return sqrt(squares / (double)(n - 1) / (double)n);
}

unsigned drove__search_choose(const drove_search *s, double tolerance)
{
    const drove_candidate_result *winner = NULL;
    double best = INFINITY;
    double constant = NAN;
    unsigned most = 0;
    for (unsigned i = 0; i < s->n; i++)
        if (s->candidate[i].n_tried > most) most = s->candidate[i].n_tried;
    for (unsigned i = 0; i < s->n; i++) {
        if (s->candidate[i].n_tried != most) continue;
        constant = s->candidate[i].constant_loss;
        if (!(s->candidate[i].loss < best)) continue;
        winner = &s->candidate[i];
        best = winner->loss;
    }
    double room = constant > best ? tolerance * (constant - best) : 0.0;
    for (unsigned i = 0; i < s->n && winner != NULL; i++) {
        const drove_candidate_result *c = &s->candidate[i];
        if (c->n_tried != most) continue;
        if (c->loss <= best + fmax(room, standard_error(c, winner))) return i;
    }
    return 0;
}

/* ---- data of the trial runs ---- */

typedef struct encoding { /* the data as some candidates see them */
    unsigned bins;
    bool keys, ids, words;
    char spec[DROVE_TEXT_SIZE]; /* --data that gives it */
    drove_data *data;           /* at most MOST_ROWS rows; targets standardised */
    uint64_t n_occurring;       /* features that are not 0 in all of them */
} encoding;

typedef struct search {
    const drove_config *config;
    const drove_interrupt *interrupt;
    const drove_clock *clock;
    const drove_callbacks *cb;
    drove_search *out;
    encoding encoding[MOST_ENCODINGS];
    size_t n_encodings;
    const candidate *of[DROVE_MOST_CANDIDATES]; /* of each result */
    encoding *sees[DROVE_MOST_CANDIDATES];
    size_t n_rows_whole;
} search;

/* Appends "key=value" to a spec; false: there is no room. */
static bool add_key(char spec[DROVE_TEXT_SIZE], const char *key, const char *value)
{
    size_t n = strlen(spec);
    int used = snprintf(spec + n, DROVE_TEXT_SIZE - n, "%c%s=%s", strchr(spec, '?') ? '&' : '?',
                        key, value);
    return used > 0 && (size_t)used < DROVE_TEXT_SIZE - n;
}

static bool has_key(const char *spec, const char *key)
{
    char wanted[40];
    snprintf(wanted, sizeof wanted, "%s=", key);
    const char *keys = strchr(spec, '?'), *at = keys != NULL ? strstr(keys, wanted) : NULL;
    return at != NULL && (at[-1] == '?' || at[-1] == '&');
}

/* A column that says which thing a row is about, if things have several rows: its order may say
 * nothing, each value much. */
static bool is_key(const drove_column *c, uint64_t n_rows)
{
    if (c->n_distinct < 2) return false;
    if (c->type == DROVE_COLUMN_ID)
        return c->n_distinct <= MOST_KEY_VALUES && 5 * c->n_distinct <= 4 * n_rows;
    return c->type == DROVE_COLUMN_NUMBER && c->is_whole && !c->is_distinct_least &&
           c->n_distinct >= LEAST_KEY_VALUES && 3 * c->n_distinct <= n_rows;
}

static bool is_numbered(const drove_column *c, uint64_t n_rows)
{
    (void)n_rows;
    bool is_text = c->type == DROVE_COLUMN_ID || c->type == DROVE_COLUMN_CATEGORY ||
                   c->type == DROVE_COLUMN_HASHED;
    return is_text && c->is_whole && c->n_distinct >= LEAST_ID_VALUES;
}

static bool is_free_text(const drove_column *c, uint64_t n_rows)
{
    (void)n_rows;
    return c->type == DROVE_COLUMN_FREE_TEXT;
}

/* "nr:category+id:category" of the wanted columns, for a type of ":category"; false: there are
 * none, or they are too many to name. */
static bool list_columns(const drove_schema *schema,
                         bool (*is_wanted)(const drove_column *, uint64_t), const char *type,
                         char *into, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        char name[DROVE_TEXT_SIZE];
        if (!is_wanted(c, schema->n_rows)) continue;
        int n = snprintf(into + used, size - used, "%s%s%s", used > 0 ? "+" : "",
                         drove__spec_escape(c->name, name, sizeof name), type);
        if (n < 0 || (size_t)n >= size - used) return false;
        used += (size_t)n;
    }
    return used > 0;
}

static bool has_numbers(const drove_schema *schema)
{
    for (size_t i = 0; i < schema->n_columns; i++)
        if (schema->column[i].type == DROVE_COLUMN_NUMBER && schema->column[i].n_distinct > 2)
            return true;
    return false;
}

/* --data of an encoding; false: these data cannot have it. */
static bool encode_spec(const search *s, const candidate *c, char spec[DROVE_TEXT_SIZE])
{
    const char *given = s->config->problem.data;
    const drove_data *plain = s->encoding[0].data;
    const drove_schema *schema = plain != NULL ? plain->storage->schema : NULL;
    char types[DROVE_TEXT_SIZE], number[24];
    snprintf(spec, DROVE_TEXT_SIZE, "%s", given);
    if (c->bins == 0 && !c->keys && !c->ids && !c->words) return true;
    if (schema == NULL || (c->bins > 0 && (has_key(given, "bins") || !has_numbers(schema))))
        return false;
    snprintf(number, sizeof number, "%u", c->bins);
    if (c->bins > 0 && !add_key(spec, "bins", number)) return false;
    if (c->words)
        return !has_key(given, "text") && !has_key(given, "columns") &&
               list_columns(schema, is_free_text, "", types, sizeof types) &&
               add_key(spec, "text", types);
    if (!c->keys && !c->ids) return true;
    if (has_key(given, "types") || has_key(given, "columns")) return false;
    if (c->ids)
        return list_columns(schema, is_numbered, ":number", types, sizeof types) &&
               add_key(spec, "types", types);
    if (has_key(given, "onehot") || !list_columns(schema, is_key, ":category", types, sizeof types))
        return false;
    snprintf(number, sizeof number, "%d", MOST_KEY_VALUES);
    return add_key(spec, "types", types) && add_key(spec, "onehot", number);
}

/* Trial runs see losses of targets with mean 0 and deviation 1, whatever the first one did. */
static void standardise_values(const drove_data *data)
{
    const size_t n = drove__storage_n_values(data->storage);
    if (data->storage->y_kind != DROVE_Y_VALUE) return;
    for (size_t k = 0; k < n; k++) {
        /* Value k of each example becomes one with mean 0 and deviation 1. */
        drove_storage *s = data->storage;
        double mean = 0.0, square = 0.0, weights = 0.0;
        for (size_t i = 0; i < s->n_rows; i++) {
            double weight = drove__data_metric_weight(data, i);
            mean += weight * (double)s->y_value[i * n + k];
            weights += weight;
        }
        mean /= weights;
        for (size_t i = 0; i < s->n_rows; i++) {
            double d = (double)s->y_value[i * n + k] - mean;
            square += drove__data_metric_weight(data, i) * d * d / weights;
        }
        double factor = square > 0.0 && isfinite(square) ? 1.0 / sqrt(square) : 1.0;
        for (size_t i = 0; i < s->n_rows; i++)
            s->y_value[i * n + k] = (float)(((double)s->y_value[i * n + k] - mean) * factor);
    }
}

/* The training data, less those that --test split holds back. */
static drove_status read_encoding(search *s, encoding *e)
{
    drove_config config;
    drove_choice choice = {0};
    drove_data *test = NULL;
    const bool is_first =
        e == &s->encoding[0]; /* what is wrong with the test data is said at once */
    drove__choice_add(&choice, "data", DROVE_FROM_CALLER, "%s", e->spec);
    if (s->config->problem.test != DROVE_TEST_SPLIT && !is_first)
        drove__choice_add(&choice, "test", DROVE_FROM_CALLER, "none");
    s->n_rows_whole = MOST_ROWS_ON_ALL + 1; /* of data larger than memory: more than that */
    DROVE_TRY(drove__config_derive(s->config, &choice, &config));
    drove_status status = drove__disk_read_some(&config, &e->data);
    if (status == DROVE_OK && e->data == NULL)
        status = drove__problem_read(&config, NULL, NULL, &e->data, &test, &s->n_rows_whole);
    drove__config_fini(&config);
    drove_data_destroy(test);
    DROVE_TRY(status);
    DROVE_TRY(
        drove__weights_of_classes(e->data, s->config->problem.class_weight)); /* by all rows */
    /* Some of the rows, in memory of their own. */
    drove_data *some = NULL, *copy = NULL;
    status = DROVE_OK;
    if (e->data->storage->x_kind != DROVE_X_QUANT) {
        if (e->data->n_rows > MOST_ROWS)
            status = drove__data_draw(e->data, MOST_ROWS, s->config->seed, &some);
        if (status == DROVE_OK) status = drove__data_copy(some != NULL ? some : e->data, &copy);
        drove_data_destroy(some);
        DROVE_TRY(status);
        drove_data_destroy(e->data);
        e->data = copy;
    }
    standardise_values(e->data);
    /* In a text few features occur: most hashes belong to no word. */
    const drove_storage *storage = e->data->storage;
    e->n_occurring = storage->n_features;
    if (storage->x_kind != DROVE_X_CSR) return DROVE_OK;
    bool *occurs = calloc(storage->n_features, sizeof *occurs);
    if (occurs == NULL) return drove__fail_nomem("features", storage->n_features);
    e->n_occurring = 0;
    for (uint64_t k = 0; k < storage->row_start[storage->n_rows]; k++) {
        e->n_occurring += !occurs[storage->index[k]];
        occurs[storage->index[k]] = true;
    }
    free(occurs);
    return DROVE_OK;
}

/* *out NULL: these data have no such encoding. */
static drove_status find_encoding(search *s, const candidate *c, encoding **out)
{
    encoding *e = &s->encoding[s->n_encodings];
    *out = NULL;
    for (size_t i = 0; i < s->n_encodings; i++)
        if (s->encoding[i].bins == c->bins && s->encoding[i].keys == c->keys &&
            s->encoding[i].ids == c->ids && s->encoding[i].words == c->words)
            *out = &s->encoding[i];
    if (*out != NULL || s->n_encodings == MOST_ENCODINGS) return DROVE_OK;
    *e = (encoding){.bins = c->bins, .keys = c->keys, .ids = c->ids, .words = c->words};
    if (!encode_spec(s, c, e->spec)) return DROVE_OK;
    s->n_encodings++;
    DROVE_TRY(read_encoding(s, e));
    *out = e;
    return DROVE_OK;
}

/* ---- the comparison ---- */

static const char *model_of(const candidate *c, const drove_data *data)
{
    bool has_values = data->storage->y_kind == DROVE_Y_VALUE;
    return c->width == 0 && !has_values ? "logistic" : c->model;
}

/* Epochs of a trial run of a candidate; fewer for very wide tables. */
static double epochs_of(const search *s, const candidate *c, const drove_data *data)
{
    const drove_search *out = s->out;
    const drove_storage *storage = data->storage;
    double n_train = (double)(out->n_rows - out->n_held);
    double n_updates = ceil(n_train / (double)drove__resolve_batch(s->config));
    double wanted = fmin(fmax(ceil(WANTED_UPDATES / n_updates), LEAST_EPOCHS), MOST_EPOCHS);
    double per_row = storage->x_kind == DROVE_X_CSR
                         ? (double)storage->row_start[storage->n_rows] / (double)storage->n_rows
                         : (double)storage->n_features;
    double weights = fmax(c->width, 1.0) * (double)storage->n_features;
    double products = per_row * fmax(c->width, 1.0) * n_train + UPDATE_WORK * weights * n_updates;
    return fmin(wanted, floor(MOST_PRODUCTS / (products * out->n_divisions)));
}

/* All but the first need enough rows for their weights, and time to be trained for long enough. */
static bool is_affordable(const search *s, const candidate *c, const encoding *e)
{
    uint64_t n_features = e->data->storage->n_features;
    if (c == &candidates[0]) return true;
    if (c->width > 0 && drove__choose_is_wide(e->data->storage)) return false;
    if (e->n_occurring > (uint64_t)MOST_FEATURES_PER_ROW * s->out->n_rows) return false;
    if (c->width * n_features > MOST_WEIGHTS) return false;
    return epochs_of(s, c, e->data) >= LEAST_EPOCHS;
}

static drove_status try_candidate(search *s, unsigned i, unsigned division, bool *is_interrupted)
{
    /* A trial takes the problem and the method of the run. */
    static const struct {
        const char *name, *value;
    } usual[] = {{"threads", "1"},      {"workers", "threads"}, {"strategy", "sequential"},
                 {"partition", "none"}, {"loaders", "auto"},    {"prefetch", "on"},
                 {"machine", "none"},   {"shard", "whole"},     {"test", "none"},
                 {"metrics", "none"},   {"eval_every", "auto"}, {"save_every", "never"},
                 {"eval_beside", "no"}, {"out", "none"},        {"resume", "none"},
                 {"timeline", "none"},  {"log", "none"}};
    _Static_assert(DROVE_COUNT(usual) + 5 <= DROVE_MOST_SETTINGS, "room for all settings");
    drove_candidate_result *r = &s->out->candidate[i];
    drove_trial_result trial;
    drove_choice choice = {0};
    const candidate *c = s->of[i];
    const double most_epochs = fmax(epochs_of(s, c, s->sees[i]->data), 1.0);
    for (size_t k = 0; k < DROVE_COUNT(usual); k++)
        drove__choice_add(&choice, usual[k].name, DROVE_FROM_CALLER, "%s", usual[k].value);
    drove__choice_add(&choice, "model", DROVE_FROM_CALLER, "%s", model_of(c, s->sees[i]->data));
    drove__choice_add(&choice, "until", DROVE_FROM_CALLER, "validation=%zu,patience=%d,epochs=%.0f",
                      s->out->n_held, PATIENCE, most_epochs);
    if (s->config->method.schedule == NULL)
        drove__choice_add(&choice, "schedule", DROVE_FROM_CALLER, "plateau:0.2?patience=%d&cuts=2",
                          PATIENCE);
    if (s->config->method.weight_decay == 0.0)
        drove__choice_add(&choice, "weight_decay", DROVE_FROM_CALLER, "%.17g", c->decay);
    drove__choice_add(&choice, "seed", DROVE_FROM_CALLER, "%llu",
                      (unsigned long long)(s->config->seed + division));
    standardise_values(s->sees[i]->data); /* the run before used units of its own */
    DROVE_TRY(drove__run_trial(s->config, &choice, s->interrupt, s->sees[i]->data, &trial));
    /* also between two trials */
    *is_interrupted = trial.outcome == DROVE_INTERRUPTED || drove__run_signal(s->interrupt) != 0;
    if (*is_interrupted) return DROVE_OK;
    double epochs = isfinite(trial.best_epochs) ? trial.best_epochs : 1.0;
    r->loss_of[r->n_tried] = trial.best_loss;
    double n = r->n_tried++;
    r->loss = (r->loss * n + trial.best_loss) / (n + 1.0);
    r->constant_loss = (r->constant_loss * n + trial.constant_loss) / (n + 1.0);
    r->epochs = (r->epochs * n + epochs) / (n + 1.0);
    r->log_lr = (r->log_lr * n + log(trial.lr)) / (n + 1.0);
    return DROVE_OK;
}

/* True if a candidate goes on: few enough were better so far. */
static bool is_finalist(const drove_search *out, unsigned i)
{
    unsigned n_better = 0;
    for (unsigned k = 0; k < out->n; k++)
        n_better += out->candidate[k].n_tried >= ALL_DIVISIONS &&
                    out->candidate[k].loss < out->candidate[i].loss;
    return n_better < MOST_FINALISTS;
}

static drove_status compare(search *s)
{
    drove_search *out = s->out;
    uint64_t begun_ns = drove__clock_now(s->clock), said_ns = begun_ns;
    unsigned n_done = 0;
    bool is_interrupted = false, goes_on[DROVE_MOST_CANDIDATES];
    drove_candidate_result whole[DROVE_MOST_CANDIDATES]; /* over the divisions that all have */
    if (out->n > 1)
        drove__run_say(s->cb, "model: comparing %u candidates on %zu rows (--model names one)",
                       out->n, out->n_rows);
    for (unsigned i = 0; i < out->n; i++) goes_on[i] = true;
    for (unsigned d = 0; d < out->n_divisions && !is_interrupted; d++) {
        memcpy(whole, out->candidate, sizeof whole);
        for (unsigned i = 0; i < out->n && d == ALL_DIVISIONS; i++)
            goes_on[i] = i == 0 || is_finalist(out, i); /* the simplest is cheap */
        for (unsigned i = 0; i < out->n && !is_interrupted; i++) {
            if (!goes_on[i]) continue;
            DROVE_TRY(try_candidate(s, i, d, &is_interrupted));
            if (is_interrupted) continue;
            n_done++;
            const uint64_t now_ns = drove__clock_now(s->clock);
            if (now_ns - said_ns < COMPARED_NS) continue;
            said_ns = now_ns;
            drove__run_say(s->cb, "model: %u of at most %u trial runs done in %.0f s", n_done,
                           out->n * out->n_divisions, (double)(now_ns - begun_ns) * 1e-9);
        }
        if (!is_interrupted) continue;
        memcpy(out->candidate, whole, sizeof whole); /* a division of some would favour them */
        out->n_divisions = d;
        out->is_interrupted = true;
    }
    out->chosen = drove__search_choose(out, TOLERANCE);
    return DROVE_OK;
}

/* ---- the choice ---- */

/* "logistic 0.48; mlp:64 0.44" of the candidates that were tried so often; or the names of those
 * that were tried less often, as losses on other divisions do not compare. */
static void list_losses(const drove_search *s, unsigned n_tried, bool is_all, char *into,
                        size_t size)
{
    size_t used = 0;
    *into = '\0';
    for (unsigned i = 0; i < s->n && used < size; i++) {
        const drove_candidate_result *c = &s->candidate[i];
        if (c->n_tried == 0 || (c->n_tried == n_tried) != is_all) continue;
        int n = snprintf(into + used, size - used, "%s%s", used > 0 ? "; " : "", c->name);
        used += n > 0 ? (size_t)n : 0;
        if (is_all && used < size) n = snprintf(into + used, size - used, " %.4g", c->loss);
        else n = 0;
        used += n > 0 ? (size_t)n : 0;
    }
}

static void say(const drove_search *s, const drove_callbacks *cb)
{
    const drove_candidate_result *best = &s->candidate[s->chosen];
    bool has_values = best->constant_loss == best->constant_loss && s->is_standardised;
    char all[700], fewer[700], guess[64] = "";
    if (best->constant_loss == best->constant_loss)
        snprintf(guess, sizeof guess, ", a constant guess %.4g", best->constant_loss);
    if (s->is_interrupted)
        drove__run_say(cb,
                       "model: comparison interrupted after %u division%s; an unfinished one "
                       "does not count",
                       s->n_divisions, s->n_divisions == 1 ? "" : "s");
    if (best->n_tried == 0 && s->is_interrupted) {
        drove__run_say(cb, "model: %s, the simplest", best->name);
        return;
    }
    if (best->n_tried == 0) {
        drove__run_say(cb,
                       "model: %s: fewer than %d rows, so no models were compared; figures of "
                       "so few rows say little",
                       best->name, LEAST_ROWS);
        return;
    }
    list_losses(s, best->n_tried, true, all, sizeof all);
    list_losses(s, best->n_tried, false, fewer, sizeof fewer);
    drove__run_say(cb,
                   "model: %s chosen: loss %.4g%s%s (%zu of %zu examples for "
                   "validation%s; %.1f s)",
                   best->name, best->loss, has_values ? " of standardised values" : "", guess,
                   s->n_held, s->n_rows, s->n_divisions > 1 ? ", in several ways" : "", s->seconds);
    if (s->n > 1)
        drove__run_say(
            cb,
            "model: compared: %s%s%s; of those about as good as the best, the simplest is taken",
            all, *fewer != '\0' ? "; dropped early: " : "", fewer);
    if (best->loss > best->constant_loss * (1.0 - LEAST_PROGRESS))
        drove__run_say(cb, "model: no candidate is at least 1 %% better than a constant guess: "
                           "these columns say little about the label");
}

/* A model with keys knows persons, shops ... of the training data again, and no others. */
static void say_keys(const search *s)
{
    const drove_search *out = s->out;
    char names[400], list[400], escaped[DROVE_TEXT_SIZE], spec[DROVE_TEXT_SIZE];
    if (out->n == 0 || !s->of[out->chosen]->keys) return;
    const drove_schema *schema = s->encoding[0].data->storage->schema;
    /* "id", "shop" of the columns that a model with keys takes as categories, and the same as
     * id+shop. */
    size_t n = 0;
    *names = *list = '\0';
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        if (!is_key(c, schema->n_rows)) continue;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s\"%.40s\"", n > 0 ? ", " : "", c->name);
        used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", n++ > 0 ? "+" : "", c->name);
    }

    drove__spec_escape(list, escaped, sizeof escaped);
    snprintf(spec, sizeof spec, "%s", s->encoding[0].spec);
    const bool has_list = has_key(spec, "ignore");
    if (has_list || !add_key(spec, "ignore", escaped)) snprintf(spec, sizeof spec, "%s", escaped);
    drove__run_say(s->cb,
                   "model: column%s %s tell%s rows apart by what they are about: the losses hold "
                   "for known values, and rows with others will be predicted worse (%s'%s' leaves "
                   "%s out)",
                   n == 1 ? "" : "s", names, n == 1 ? "s" : "", has_list ? "?ignore= with " : "",
                   spec, n == 1 ? "it" : "them");
}

static drove_status search_all(search *s, drove_choice *choice)
{
    encoding *plain;
    DROVE_TRY(find_encoding(s, &candidates[0], &plain));
    drove_search *out = s->out;
    size_t n = s->encoding[0].data->n_rows, held = n / 5;
    if (held > MOST_HELD_ROWS) held = MOST_HELD_ROWS;
    size_t divisions = held > 0 ? (WANTED_HELD_ROWS + held - 1) / held : 1;
    out->n_rows = n;
    out->n_held = held;
    out->n_divisions =
        (unsigned)(divisions < DROVE_MOST_DIVISIONS ? divisions : DROVE_MOST_DIVISIONS);
    for (size_t i = 0; i < DROVE_COUNT(candidates); i++) {
        const candidate *c = &candidates[i];
        encoding *e;
        char bins[24] = "";
        DROVE_TRY(find_encoding(s, c, &e));
        if (e == NULL || !is_affordable(s, c, e)) continue;
        if (c->bins > 0) snprintf(bins, sizeof bins, " bins=%u", c->bins);
        drove_candidate_result *r = &out->candidate[out->n];
        snprintf(r->name, sizeof r->name, "%s%s%s", model_of(c, e->data), bins,
                 c->keys    ? " keys"
                 : c->ids   ? " ids"
                 : c->words ? " words"
                            : "");
        s->sees[out->n] = e;
        s->of[out->n++] = c;
    }
    s->out->is_standardised = plain->data->storage->y_kind == DROVE_Y_VALUE;
    if (plain->data->n_rows >= LEAST_ROWS) DROVE_TRY(compare(s));
    const unsigned chosen = out->chosen;
    const candidate *c = s->of[chosen];
    drove__choice_add(choice, "model", DROVE_BY_SEARCH, "%s", model_of(c, s->sees[chosen]->data));
    drove__choice_add(choice, "data", DROVE_BY_SEARCH, "%s", s->sees[chosen]->spec);
    if (s->config->method.weight_decay == 0.0)
        drove__choice_add(choice, "weight_decay", DROVE_BY_SEARCH, "%.17g", c->decay);
    /* A tenth of a small table's rows is worth more in training than as a judge. */
    const drove_candidate_result *r = &out->candidate[chosen];
    const bool is_open = s->config->length.is_auto && s->config->is_tuned;
    if (is_open && s->n_rows_whole <= MOST_ROWS_ON_ALL && r->n_tried != 0) {
        drove__choice_add(choice, "until", DROVE_BY_SEARCH, "epochs=%.0f",
                          fmax(ceil(r->epochs), 1.0));
        out->lr = exp(r->log_lr); /* trials of so short a run would be shorter still */
    }
    return DROVE_OK;
}

/* *is_table: the data are a table; *is_file: they can be read again. */
static drove_status look_at_data(const char *data, bool *is_table, bool *is_file)
{
    drove_spec spec;
    struct stat about;
    DROVE_TRY(drove__data_parse(data, &spec));
    *is_table = strcmp(spec.name, "table") == 0;
    *is_file = true;
    for (unsigned i = 0; i < spec.n_args; i++)
        if (strcmp(spec.arg[i], "-") == 0 ||
            (stat(spec.arg[i], &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)))
            *is_file = false;
    drove__spec_fini(&spec);
    return DROVE_OK;
}

drove_status drove__search_default(const drove_config *config, bool has_ranks,
                                   const drove_callbacks *cb, drove_choice *choice)
{
    bool is_table, is_file;
    if (config->problem.model != NULL || config->problem.compares_model) return DROVE_OK;
    const bool is_new = config->files.resume == NULL;
    DROVE_TRY(look_at_data(config->problem.data, &is_table, &is_file));
    const bool searches = is_table && is_file && !has_ranks && is_new &&
                          config->problem.features[0] == '\0' && config->is_tuned;
    const char *model = searches ? "auto" : DROVE_MODEL_USUAL;
    drove__choice_add(choice, "model", DROVE_BY_KIND, "%s", model);
    if (is_table && !is_file && is_new)
        drove__run_say(cb, "model: %s (a pipe cannot be read twice, so no models were compared)",
                       model);
    return DROVE_OK;
}

drove_status drove__search_model(const drove_config *config, const drove_workers *workers,
                                 const drove_interrupt *interrupt, const drove_callbacks *cb,
                                 drove_search *out, drove_choice *choice)
{
    bool is_table, is_file;
    *out = (drove_search){0};
    if (!config->problem.compares_model) return DROVE_OK;
    if (workers->ranks.n > 1)
        return drove__fail(DROVE_E_ARG,
                           "--model auto: expected one process, found %u ranks: drove train in one "
                           "process names the model that it chooses",
                           workers->ranks.n);
    DROVE_TRY(look_at_data(config->problem.data, &is_table, &is_file));
    if (config->low.is_low)
        return drove__fail(DROVE_E_ARG, "--model auto: expected no low --precision, found %s",
                           config->low.precision);
    if (!is_file)
        return drove__fail(DROVE_E_ARG,
                           "--model auto: expected data that can be read more than once, found %s",
                           config->problem.data);
    search s = {.config = config,
                .interrupt = interrupt,
                .clock = workers->loop->clock,
                .cb = cb,
                .out = out};
    const uint64_t begun_ns = drove__clock_now(s.clock);
    drove_status status = search_all(&s, choice);
    out->seconds = (double)(drove__clock_now(s.clock) - begun_ns) * 1e-9;
    choice->search = out;
    if (status == DROVE_OK) say(out, cb);
    if (status == DROVE_OK) say_keys(&s);
    for (size_t i = 0; i < s.n_encodings; i++) drove_data_destroy(s.encoding[i].data);
    return status;
}
