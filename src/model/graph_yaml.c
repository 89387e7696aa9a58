/* model/graph_yaml.c - reads model files in YAML (docs/use/models.md).
 *
 *   name: small
 *   layers:
 *     - {name: conv1, type: convolution, channels: 8, kernel: 5, activation: relu}
 *     - {name: out, type: dense, inputs: conv1}
 *   heads:
 *     - {input: out, weight: 1}
 *
 * Read strictly: a key that is unknown, repeated or not valid for the layer's type is refused with
 * its line, and so is a number out of range.
 */
#include "model/graph_keys.h"

#include "base/yaml.h"
#include "model/custom.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 40, KEY_SIZE = 32 };

typedef struct reader {
    drove_yaml *yaml;
    drove_graph *graph;
    const char *file;
} reader;

/* The keys of one mapping so far. */
typedef struct given {
    size_t n;
    char word[MOST_KEYS][KEY_SIZE];
    int line[MOST_KEYS], column[MOST_KEYS];
} given;

/* ---- pieces ---- */

/* Puts the position before the current text. */
static drove_status at(const reader *r, drove_status status, int line, int column)
{
    if (status == DROVE_OK || status == DROVE_E_NOMEM) return status;
    return drove__fail_in(DROVE_E_DATA, "%s:%d:%d", r->file, line, column);
}

/* Reads the next key of a mapping into key, or the mapping's end. */
static drove_status next_key(const reader *r, given *g, const char *what, bool *ended,
                             drove_yaml_item *item, char key[KEY_SIZE])
{
    DROVE_TRY(drove__yaml_next(r->yaml, item));
    *ended = item->kind == DROVE_YAML_MAPPING_END;
    if (*ended) return DROVE_OK;
    if (item->kind != DROVE_YAML_VALUE) return drove__yaml_unexpected(r->yaml, item, what);
    for (size_t i = 0; i < g->n; i++) {
        if (strcmp(g->word[i], item->text) != 0) continue;
        return drove__yaml_fail(r->yaml, item->line, item->column,
                                "expected each word once, found \"%.80s\" again (first on line %d)",
                                item->text, g->line[i]);
    }
    snprintf(key, KEY_SIZE, "%s", item->text);
    if (g->n == MOST_KEYS || strlen(item->text) >= KEY_SIZE) {
        return drove__yaml_fail(r->yaml, item->line, item->column, "unknown word \"%.80s\"",
                                item->text);
    }
    strcpy(g->word[g->n], key);
    g->line[g->n] = item->line;
    g->column[g->n++] = item->column;
    return DROVE_OK;
}

static drove_status unknown_key(const reader *r, const drove_yaml_item *item, const char *key,
                                const char *const *words, size_t n_words)
{
    return at(r, drove__fail_unknown("word", key, words, n_words), item->line, item->column);
}

static drove_status read_value(const reader *r, const char *key, drove_yaml_item *item)
{
    char expected[64];
    snprintf(expected, sizeof expected, "one value for \"%s\"", key);
    return drove__yaml_expect(r->yaml, DROVE_YAML_VALUE, expected, item);
}

/* A name from the current item. */
static drove_status take_name(const reader *r, const drove_yaml_item *item,
                              char into[DROVE_LAYER_NAME_SIZE])
{
    return at(r, drove__graph_take_name(item->text, into), item->line, item->column);
}

static drove_status read_name(const reader *r, const char *key, drove_yaml_item *item,
                              char into[DROVE_LAYER_NAME_SIZE])
{
    DROVE_TRY(read_value(r, key, item));
    return take_name(r, item, into);
}

/* ---- a layer's options ---- */

static void *field(drove_layer_options *o, size_t offset)
{
    return (char *)o + offset;
}

static drove_status take_count(const reader *r, const drove_graph_key *k,
                               const drove_yaml_item *item, size_t *out)
{
    uint64_t n = 0;
    drove_status status =
        drove__parse_u64(k->name, item->text, (uint64_t)k->least, (uint64_t)k->most, &n);
    *out = (size_t)n;
    return at(r, status, item->line, item->column);
}

static drove_status take_real(const reader *r, const drove_graph_key *k,
                              const drove_yaml_item *item, float *out)
{
    double x = 0;
    drove_status status = drove__parse_real(k->name, item->text, k->least, k->most, &x);
    *out = (float)x;
    return at(r, status, item->line, item->column);
}

/* Above 0 at least a millionth: less would change nothing, without a word. */
static drove_status take_rate(const reader *r, const drove_graph_key *k,
                              const drove_yaml_item *item, float *out)
{
    DROVE_TRY(take_real(r, k, item, out));
    if (*out > 0.0f && *out < 1e-6f)
        return drove__yaml_fail(r->yaml, item->line, item->column,
                                "%s: expected 0 or a number from 1e-06 to 1e+06, found \"%.80s\"",
                                k->name, item->text);
    if (*out == 0.0f) *out = DROVE_LR_NONE;
    return DROVE_OK;
}

/* One number for both, or [height, width]. */
static drove_status read_pair(const reader *r, const drove_graph_key *k, drove_yaml_item *item,
                              size_t *first, size_t *second)
{
    DROVE_TRY(drove__yaml_next(r->yaml, item));
    if (item->kind == DROVE_YAML_VALUE) {
        DROVE_TRY(take_count(r, k, item, first));
        *second = *first;
        return DROVE_OK;
    }
    if (item->kind != DROVE_YAML_LIST)
        return drove__yaml_unexpected(r->yaml, item, "a number, or [height, width]");
    DROVE_TRY(drove__yaml_expect(r->yaml, DROVE_YAML_VALUE, "[height, width]", item));
    DROVE_TRY(take_count(r, k, item, first));
    DROVE_TRY(drove__yaml_expect(r->yaml, DROVE_YAML_VALUE, "[height, width]", item));
    DROVE_TRY(take_count(r, k, item, second));
    return drove__yaml_expect(r->yaml, DROVE_YAML_LIST_END, "[height, width]", item);
}

/* The padding: one number for all sides, [height, width], or [above, left, below, right]. */
static drove_status read_sides(const reader *r, const drove_graph_key *k, drove_yaml_item *item,
                               drove_layer_options *o)
{
    static const char expected[] = "a number, [height, width], or [above, left, below, right]";
    size_t side[4], n = 0;
    DROVE_TRY(drove__yaml_next(r->yaml, item));
    if (item->kind == DROVE_YAML_VALUE) {
        DROVE_TRY(take_count(r, k, item, &side[0]));
        side[1] = side[0];
        n = 2;
    } else if (item->kind == DROVE_YAML_LIST) {
        for (; n <= 4; n++) {
            DROVE_TRY(drove__yaml_next(r->yaml, item));
            if (item->kind == DROVE_YAML_LIST_END && (n == 2 || n == 4)) break;
            if (item->kind != DROVE_YAML_VALUE || n == 4)
                return drove__yaml_unexpected(r->yaml, item, expected);
            DROVE_TRY(take_count(r, k, item, &side[n]));
        }
    } else return drove__yaml_unexpected(r->yaml, item, expected);
    o->window.ph = side[0];
    o->window.pw = side[1];
    o->padding.below = side[n == 4 ? 2 : 0];
    o->padding.right = side[n == 4 ? 3 : 1];
    return DROVE_OK;
}

static drove_status read_reals(const reader *r, const drove_graph_key *k, drove_yaml_item *item,
                               float *out, unsigned *n_out)
{
    DROVE_TRY(drove__yaml_expect(r->yaml, DROVE_YAML_LIST, "a list of numbers", item));
    for (*n_out = 0;; ++*n_out) {
        DROVE_TRY(drove__yaml_next(r->yaml, item));
        if (item->kind == DROVE_YAML_LIST_END) return DROVE_OK;
        if (item->kind != DROVE_YAML_VALUE || *n_out == DROVE_LAYER_MOST_BOTTOMS)
            return drove__yaml_unexpected(r->yaml, item, "a list of at most 32 numbers");
        DROVE_TRY(take_real(r, k, item, &out[*n_out]));
    }
}

/* Replaces *out. */
static drove_status read_floats(const reader *r, const drove_graph_key *k, drove_yaml_item *item,
                                drove_floats *out)
{
    size_t room = 0;
    DROVE_TRY(drove__yaml_expect(r->yaml, DROVE_YAML_LIST, "a list of numbers", item));
    for (out->n = 0;; out->n++) {
        DROVE_TRY(drove__yaml_next(r->yaml, item));
        if (item->kind == DROVE_YAML_LIST_END && out->n > 0) return DROVE_OK;
        if (item->kind != DROVE_YAML_VALUE || out->n == DROVE_GRAPH_MOST_LIST)
            return drove__yaml_unexpected(r->yaml, item, "a list of 1 to 65536 numbers");
        if (out->n >= room) {
            room = 2 * room + 4;
            float *grown = realloc(out->value, room * sizeof *grown);
            if (grown == NULL) return drove__fail_nomem("a list of numbers", room * sizeof *grown);
            out->value = grown;
        }
        DROVE_TRY(take_real(r, k, item, &out->value[out->n]));
    }
}

/* A whole number at *text, which moves behind it; false: there is none. */
static bool take_digits(const char **text, uint64_t most, uint64_t *out)
{
    const char *first = *text;
    *out = 0;
    for (; **text >= '0' && **text <= '9' && *out <= most; ++*text)
        *out = 10 * *out + (uint64_t)(**text - '0');
    return *text > first && *out <= most;
}

/* Replaces *out. */
static drove_status read_indices(const reader *r, const drove_graph_key *k, drove_yaml_item *item,
                                 drove_indices *out)
{
    static const char expected[] = "a list of numbers and ranges, as [3, 0-7]";
    const uint64_t most = (uint64_t)k->most;
    DROVE_TRY(drove__yaml_expect(r->yaml, DROVE_YAML_LIST, expected, item));
    for (out->n = 0;;) {
        uint64_t first, last, times = 1;
        DROVE_TRY(drove__yaml_next(r->yaml, item));
        if (item->kind == DROVE_YAML_LIST_END && out->n > 0) return DROVE_OK;
        if (item->kind != DROVE_YAML_VALUE) return drove__yaml_unexpected(r->yaml, item, expected);
        const char *at = item->text;
        bool is_range = take_digits(&at, most, &first);
        last = first;
        if (is_range && *at == '-') is_range = at++, take_digits(&at, most, &last);
        if (is_range && *at == 'x') is_range = at++, take_digits(&at, most, &times);
        if (!is_range || *at != '\0' || last < first || times == 0)
            return drove__yaml_fail(r->yaml, item->line, item->column,
                                    "%s: expected a number or a range, as 3, 0-7 or 0-7x2 (each "
                                    "twice), found \"%.80s\"",
                                    k->name, item->text);
        const size_t left = DROVE_GRAPH_MOST_LIST - out->n;
        if (last - first >= left || times > left / (last - first + 1))
            return drove__yaml_fail(r->yaml, item->line, item->column,
                                    "%s: expected at most %d numbers, found more", k->name,
                                    DROVE_GRAPH_MOST_LIST);
        const size_t n = (size_t)((last - first + 1) * times);
        uint32_t *grown = realloc(out->value, (out->n + n) * sizeof *grown);
        if (grown == NULL) return drove__fail_nomem("a list of numbers", n * sizeof *grown);
        out->value = grown;
        for (size_t i = 0; i < n; i++) out->value[out->n++] = (uint32_t)(first + i / times);
    }
}

static drove_status read_option(const reader *r, const drove_graph_key *k, drove_yaml_item *item,
                                drove_layer_options *o, unsigned *n_reals)
{
    void *to = field(o, k->offset);
    if (k->kind == DROVE_KEY_PAIR) return read_pair(r, k, item, to, field(o, k->offset2));
    if (k->kind == DROVE_KEY_SIDES) return read_sides(r, k, item, o);
    if (k->kind == DROVE_KEY_REALS) return read_reals(r, k, item, to, n_reals);
    if (k->kind == DROVE_KEY_LIST) return read_floats(r, k, item, to);
    if (k->kind == DROVE_KEY_INDICES) return read_indices(r, k, item, to);
    DROVE_TRY(read_value(r, k->name, item));
    switch (k->kind) {
    case DROVE_KEY_COUNT: return take_count(r, k, item, to);
    case DROVE_KEY_REAL: return take_real(r, k, item, to);
    case DROVE_KEY_RATE: return take_rate(r, k, item, to);
    case DROVE_KEY_FILLER:
        return at(r, drove__graph_read_filler(item->text, to), item->line, item->column);
    default: break;
    }
    const bool yes = strcmp(item->text, "true") == 0;
    if (!yes && strcmp(item->text, "false") != 0) {
        return drove__yaml_fail(r->yaml, item->line, item->column,
                                "%s: expected true or false, found \"%.80s\"", k->name, item->text);
    }
    *(bool *)to = k->kind == DROVE_KEY_NO ? !yes : yes;
    return DROVE_OK;
}

/* ---- layers ---- */

typedef struct layer_text { /* a layer being read: its type may come last */
    drove_layer_options options;
    bool has[MOST_KEYS]; /* of drove__graph_keys */
    int line[MOST_KEYS], column[MOST_KEYS];
    const drove_layer_ops *ops;
    drove_node node;
    bool has_inputs;
    unsigned n_reals;
} layer_text;

static const char *const layer_words[] = {"name", "type", "inputs", "output", "activation"};
enum { N_LAYER_WORDS = sizeof layer_words / sizeof layer_words[0] };

static drove_status read_layer_value(const reader *r, const char *key, drove_yaml_item *item,
                                     layer_text *t)
{
    if (strcmp(key, "name") == 0) return read_name(r, key, item, t->node.name);
    if (strcmp(key, "output") == 0) return read_name(r, key, item, t->node.top);
    if (strcmp(key, "inputs") == 0) {
        t->has_inputs = true;
        /* One name, or a list of them. */
        DROVE_TRY(drove__yaml_next(r->yaml, item));
        if (item->kind == DROVE_YAML_VALUE) {
            t->node.n_bottoms = 1;
            return take_name(r, item, t->node.bottom[0]);
        }
        if (item->kind != DROVE_YAML_LIST)
            return drove__yaml_unexpected(r->yaml, item, "a name, or a list of names");
        for (t->node.n_bottoms = 0;; t->node.n_bottoms++) {
            DROVE_TRY(drove__yaml_next(r->yaml, item));
            if (item->kind == DROVE_YAML_LIST_END && t->node.n_bottoms > 0) return DROVE_OK;
            if (item->kind != DROVE_YAML_VALUE || t->node.n_bottoms == DROVE_LAYER_MOST_BOTTOMS)
                return drove__yaml_unexpected(r->yaml, item, "a list of 1 to 32 names");
            DROVE_TRY(take_name(r, item, t->node.bottom[t->node.n_bottoms]));
        }
    }
    if (strcmp(key, "type") == 0 || strcmp(key, "activation") == 0) {
        DROVE_TRY(read_value(r, key, item));
        drove_status status = key[0] == 't'
                                  ? drove__graph_find_kind(item->text, r->graph->kinds, &t->ops)
                                  : drove__graph_find_act(item->text, &t->node.act);
        return at(r, status, item->line, item->column);
    }
    const char *words[MOST_KEYS + N_LAYER_WORDS];
    size_t n = 0;
    for (; drove__graph_keys[n].name != NULL; n++) {
        words[n] = drove__graph_keys[n].name;
        if (strcmp(words[n], key) != 0) continue;
        t->has[n] = true;
        t->line[n] = item->line;
        t->column[n] = item->column;
        /* "channels" and "units" set the same field */
        return read_option(r, &drove__graph_keys[n], item, &t->options, &t->n_reals);
    }
    for (size_t i = 0; i < N_LAYER_WORDS; i++) words[n++] = layer_words[i];
    return unknown_key(r, item, key, words, n);
}

/* Options that were given, over the type's defaults; refuses one that the type does not have. */
static drove_status settle_options(const reader *r, const layer_text *t, drove_layer_options *o)
{
    unsigned bit = drove__graph_kind_bit(t->ops);
    *o = drove__graph_default_options(t->ops);
    for (size_t i = 0; drove__graph_keys[i].name != NULL; i++) {
        const drove_graph_key *k = &drove__graph_keys[i];
        if (!t->has[i]) continue;
        if ((k->uses & bit) == 0) {
            return drove__yaml_fail(r->yaml, t->line[i], t->column[i], "%s has no \"%s\"",
                                    t->ops->name, k->name);
        }
        const bool is_pair = k->kind == DROVE_KEY_PAIR || k->kind == DROVE_KEY_SIDES;
        size_t size = is_pair || k->kind == DROVE_KEY_COUNT ? sizeof(size_t)
                      : k->kind == DROVE_KEY_REAL           ? sizeof(float)
                      : k->kind == DROVE_KEY_RATE           ? sizeof(float)
                      : k->kind == DROVE_KEY_FILLER         ? sizeof(drove_filler)
                      : k->kind == DROVE_KEY_LIST           ? sizeof(drove_floats)
                      : k->kind == DROVE_KEY_INDICES        ? sizeof(drove_indices)
                      : k->kind == DROVE_KEY_REALS          ? sizeof o->coefficient
                                                            : sizeof(bool);
        memcpy(field(o, k->offset), (const char *)&t->options + k->offset, size);
        if (is_pair) memcpy(field(o, k->offset2), (const char *)&t->options + k->offset2, size);
        if (k->kind == DROVE_KEY_SIDES) {
            o->padding.below = t->options.padding.below;
            o->padding.right = t->options.padding.right;
        }
        if (k->kind == DROVE_KEY_REALS && t->n_reals != t->node.n_bottoms) {
            return drove__yaml_fail(r->yaml, t->line[i], t->column[i],
                                    "expected %u coefficients, one for each input, found %u",
                                    t->node.n_bottoms, t->n_reals);
        }
    }
    return DROVE_OK;
}

/* Of a layer of type activation: refuses numbers that its activation does not have. */
static drove_status check_numbers(const reader *r, const layer_text *t)
{
    const drove_activation *act = drove__activation(t->node.act);
    const float least = 1e-6f; /* of softplus and smooth_clip, which divide by it */
    for (size_t i = 0; drove__graph_keys[i].name != NULL; i++) {
        const drove_graph_key *k = &drove__graph_keys[i];
        const bool is_slope = k->offset == offsetof(drove_layer_options, slope);
        if (!t->has[i]) continue; /* slope or level: the type has no other key */
        if ((is_slope ? act->slope.value : act->level.value) == 0.0f)
            return drove__yaml_fail(r->yaml, t->line[i], t->column[i], "%s has no \"%s\"",
                                    act->name, k->name);
        if (act->act == DROVEK_CURVE_softplus && t->options.slope < least)
            return drove__yaml_fail(r->yaml, t->line[i], t->column[i],
                                    "slope: expected at least %g for softplus, found %g",
                                    (double)least, (double)t->options.slope);
        if (act->act == DROVEK_CURVE_smooth_clip && t->options.level < least)
            return drove__yaml_fail(r->yaml, t->line[i], t->column[i],
                                    "level: expected at least %g for smooth_clip, found %g",
                                    (double)least, (double)t->options.level);
    }
    return DROVE_OK;
}

static drove_status add_layer(const reader *r, layer_text *t, int line, int column)
{
    drove_node *node = NULL;
    if (t->node.name[0] == '\0')
        return drove__yaml_fail(r->yaml, line, column, "expected a layer with a name");
    if (t->ops == NULL) {
        return drove__yaml_fail(r->yaml, line, column, "layer \"%s\": expected a type",
                                t->node.name);
    }
    if (!t->has_inputs) t->node.n_bottoms = 1;
    drove_status status = drove__graph_add(r->graph, t->ops, t->node.name,
                                           t->has_inputs ? t->node.bottom[0] : NULL, &node);
    if (status != DROVE_OK) return at(r, status, line, column);
    node->n_bottoms = t->node.n_bottoms;
    if (t->has_inputs) memcpy(node->bottom, t->node.bottom, sizeof node->bottom);
    memcpy(node->top, t->node.top, sizeof node->top);
    node->act = t->node.act;
    node->line = line;
    bool is_activation = t->ops == &drove__layer_activation;
    if (is_activation && node->act == DROVEK_LINEAR) {
        return drove__yaml_fail(r->yaml, line, column,
                                "layer \"%s\": expected an activation, found none", node->name);
    }
    if (!is_activation && node->act != DROVEK_LINEAR && !t->ops->takes_act) {
        return drove__yaml_fail(r->yaml, line, column,
                                "layer \"%s\": %s takes no activation; expected a layer of type "
                                "activation after it",
                                node->name, t->ops->name);
    }
    status = settle_options(r, t, &node->opt);
    if (status == DROVE_OK && is_activation) status = check_numbers(r, t);
    drove_layer_options *no_owner = status == DROVE_OK ? &t->options : &node->opt;
    no_owner->offset = no_owner->factor = (drove_floats){0}; /* lists have one */
    no_owner->index = (drove_indices){0};
    return status;
}

/* One element of `layers`, whose mapping has begun. */
static drove_status read_layer(const reader *r, int line, int column)
{
    given g = {0};
    layer_text *t = calloc(1, sizeof *t);
    if (t == NULL) return drove__fail_nomem("a layer", sizeof *t);
    drove_status status = DROVE_OK;
    for (bool ended = false; !ended && status == DROVE_OK;) {
        char key[KEY_SIZE];
        drove_yaml_item item = {.line = line, .column = column};
        status = next_key(r, &g, "a word of a layer", &ended, &item, key);
        if (status == DROVE_OK && !ended) status = read_layer_value(r, key, &item, t);
    }
    if (status == DROVE_OK) status = add_layer(r, t, line, column);
    drove__layer_lists_free(&t->options);
    free(t);
    return status;
}

/* A list of mappings, each read by `read`. */
static drove_status read_list(const reader *r, const char *expected, drove_yaml_item *item,
                              drove_status (*read)(const reader *r, int line, int column))
{
    DROVE_TRY(drove__yaml_expect(r->yaml, DROVE_YAML_LIST, expected, item));
    for (;;) {
        DROVE_TRY(drove__yaml_next(r->yaml, item));
        if (item->kind == DROVE_YAML_LIST_END) return DROVE_OK;
        if (item->kind != DROVE_YAML_MAPPING)
            return drove__yaml_unexpected(r->yaml, item, expected);
        DROVE_TRY(read(r, item->line, item->column));
    }
}

/* ---- heads, the file ---- */

static drove_status read_head(const reader *r, int line, int column)
{
    static const char *const words[] = {"input", "weight"};
    const drove_graph_key weight = {.name = "weight", .least = 0, .most = 1e6};
    drove_graph_head head = {.weight = 1.0f, .line = line};
    given g = {0};
    for (bool ended = false; !ended;) {
        char key[KEY_SIZE];
        drove_yaml_item item = {.line = line, .column = column};
        DROVE_TRY(next_key(r, &g, "a word of a head", &ended, &item, key));
        if (ended) continue;
        if (strcmp(key, "input") == 0) {
            DROVE_TRY(read_name(r, key, &item, head.bottom));
        } else if (strcmp(key, "weight") == 0) {
            DROVE_TRY(read_value(r, key, &item));
            DROVE_TRY(take_real(r, &weight, &item, &head.weight));
        } else {
            return unknown_key(r, &item, key, words, 2);
        }
    }
    if (head.bottom[0] == '\0')
        return drove__yaml_fail(r->yaml, line, column, "expected a head with an input");
    if (r->graph->n_heads == DROVE_MODEL_MOST_HEADS) {
        return drove__yaml_fail(r->yaml, line, column, "expected at most %d heads, found more",
                                DROVE_MODEL_MOST_HEADS);
    }
    r->graph->head[r->graph->n_heads++] = head;
    return DROVE_OK;
}

static drove_status read_document(const reader *r)
{
    static const char *const words[] = {"name", "input", "layers", "heads"};
    given g = {0};
    int is_empty;
    DROVE_TRY(drove__yaml_begin(r->yaml, "a mapping with name and layers", &is_empty));
    if (is_empty) return drove__fail(DROVE_E_DATA, "%s: expected layers, found nothing", r->file);
    for (bool ended = false; !ended;) {
        char key[KEY_SIZE];
        drove_yaml_item item = {0};
        DROVE_TRY(next_key(r, &g, "name, input, layers or heads", &ended, &item, key));
        if (ended) continue;
        if (strcmp(key, "name") == 0) DROVE_TRY(read_name(r, key, &item, r->graph->name));
        else if (strcmp(key, "input") == 0) {
            /* Layers without inputs read it, so it must come before them. */
            if (r->graph->n_nodes > 0) {
                return drove__yaml_fail(r->yaml, item.line, item.column,
                                        "expected input before layers, found it after them");
            }
            DROVE_TRY(read_name(r, "input", &item, r->graph->input));
        } else if (strcmp(key, "layers") == 0)
            DROVE_TRY(read_list(r, "a list of layers", &item, read_layer));
        else if (strcmp(key, "heads") == 0)
            DROVE_TRY(read_list(r, "a list of heads", &item, read_head));
        else return unknown_key(r, &item, key, words, 4);
    }
    DROVE_TRY(drove__yaml_finish(r->yaml));
    if (r->graph->n_nodes > 0) return drove__graph_split_curves(r->graph);
    return drove__fail(DROVE_E_DATA, "%s: expected layers, found none", r->file);
}

drove_status drove__graph_read_yaml_with(const char *text, size_t n_bytes, const char *file,
                                         drove_kinds *kinds, drove_graph *out)
{
    drove_graph graph;
    reader r = {.graph = &graph, .file = file};
    drove__graph_init(&graph, "model");
    graph.file = file;
    graph.kinds = drove__kinds_keep(kinds);
    drove_status status =
        drove__yaml_open(text, n_bytes, file, DROVE_E_DATA, "word: value", &r.yaml);
    if (status == DROVE_OK) status = read_document(&r);
    drove__yaml_close(r.yaml);
    if (status != DROVE_OK) {
        drove__graph_fini(&graph);
        return status;
    }
    *out = graph;
    return DROVE_OK;
}

drove_status drove__graph_read_yaml(const char *text, size_t n_bytes, const char *file,
                                    drove_graph *out)
{
    return drove__graph_read_yaml_with(text, n_bytes, file, NULL, out);
}
