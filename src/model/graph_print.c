/* model/graph_print.c - prints a graph's description as YAML that drove__graph_read_yaml reads back
 * as an equal graph; saved models carry it for networks from files. */
#include "model/graph_keys.h"

#include <stdlib.h>
#include <string.h>

static const void *field(const drove_layer_options *o, size_t offset)
{
    return (const char *)o + offset;
}

/* True if the option has its default. */
static bool is_default(const drove_graph_key *k, const drove_layer_options *o,
                       const drove_layer_options *d, unsigned n_bottoms)
{
    const void *a = field(o, k->offset), *b = field(d, k->offset);
    switch (k->kind) {
    case DROVE_KEY_COUNT: return *(const size_t *)a == *(const size_t *)b;
    case DROVE_KEY_SIDES:
        return o->window.ph == d->window.ph && o->window.pw == d->window.pw &&
               o->padding.below == d->padding.below && o->padding.right == d->padding.right;
    case DROVE_KEY_PAIR:
        return *(const size_t *)a == *(const size_t *)b &&
               *(const size_t *)field(o, k->offset2) == *(const size_t *)field(d, k->offset2);
    case DROVE_KEY_REAL:
    case DROVE_KEY_RATE: return *(const float *)a == *(const float *)b;
    case DROVE_KEY_FILLER:
        return ((const drove_filler *)a)->kind == ((const drove_filler *)b)->kind &&
               ((const drove_filler *)a)->value == ((const drove_filler *)b)->value;
    case DROVE_KEY_REALS: return memcmp(a, b, n_bottoms * sizeof(float)) == 0;
    case DROVE_KEY_LIST: return ((const drove_floats *)a)->n == 0;
    case DROVE_KEY_INDICES: return ((const drove_indices *)a)->n == 0;
    default: return *(const bool *)a == *(const bool *)b;
    }
}

/* The shortest text that reads back as the same float, and so stays in range. */
static void print_real(FILE *f, float value)
{
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) break;
    }
    fputs(text, f);
}

static void print_reals(FILE *f, const float *value, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fputs(i == 0 ? "[" : ", ", f);
        print_real(f, value[i]);
    }
    fputc(']', f);
}

static void print_pair(FILE *f, size_t first, size_t second)
{
    if (first == second) fprintf(f, "%zu", first);
    else fprintf(f, "[%zu, %zu]", first, second);
}

/* Numbers of one value from `at` on. */
static size_t count_same(const drove_indices *list, size_t at, uint32_t value)
{
    size_t n = 0;
    while (at + n < list->n && list->value[at + n] == value) n++;
    return n;
}

/* FIRST-LASTxTIMES for the longest stretches of that form. */
static void print_indices(FILE *f, const drove_indices *list)
{
    for (size_t i = 0; i < list->n;) {
        const uint32_t first = list->value[i];
        const size_t times = count_same(list, i, first);
        uint32_t n_values = 1;
        while (first + n_values > first &&
               count_same(list, i + n_values * times, first + n_values) == times)
            n_values++;
        fprintf(f, "%s%lu", i == 0 ? "[" : ", ", (unsigned long)first);
        if (n_values > 1) fprintf(f, "-%lu", (unsigned long)(first + n_values - 1));
        if (times > 1) fprintf(f, "x%zu", times);
        i += n_values * times;
    }
    fputc(']', f);
}

static void print_option(FILE *f, const drove_graph_key *k, const drove_layer_options *o,
                         unsigned n_bottoms)
{
    const void *a = field(o, k->offset);
    fprintf(f, ", %s: ", k->name);
    switch (k->kind) {
    case DROVE_KEY_COUNT: fprintf(f, "%zu", *(const size_t *)a); break;
    case DROVE_KEY_PAIR:
        print_pair(f, *(const size_t *)a, *(const size_t *)field(o, k->offset2));
        break;
    case DROVE_KEY_SIDES:
        if (o->padding.below == o->window.ph && o->padding.right == o->window.pw)
            print_pair(f, o->window.ph, o->window.pw);
        else
            fprintf(f, "[%zu, %zu, %zu, %zu]", o->window.ph, o->window.pw, o->padding.below,
                    o->padding.right);
        break;
    case DROVE_KEY_REAL: print_real(f, *(const float *)a); break;
    case DROVE_KEY_RATE:
        print_real(f, *(const float *)a != DROVE_LR_NONE ? *(const float *)a : 0.0f);
        break;
    case DROVE_KEY_FILLER: {
        const drove_filler *filler = a;
        fprintf(f, "\"%s:", filler->kind);
        print_real(f, filler->value);
        fputc('"', f);
        break;
    }
    case DROVE_KEY_REALS: print_reals(f, a, n_bottoms); break;
    case DROVE_KEY_LIST:
        print_reals(f, ((const drove_floats *)a)->value, ((const drove_floats *)a)->n);
        break;
    case DROVE_KEY_INDICES: print_indices(f, a); break;
    case DROVE_KEY_FLAG: fputs(*(const bool *)a ? "true" : "false", f); break;
    case DROVE_KEY_NO: fputs(*(const bool *)a ? "false" : "true", f); break;
    }
}

drove_status drove__graph_print_yaml(const drove_graph *graph, char **out)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *f = open_memstream(&text, &size_bytes);
    if (f == NULL) return drove__fail_nomem("the description of a model", 0);
    fprintf(f, "name: \"%s\"\n", graph->name);
    if (graph->input[0] != '\0') fprintf(f, "input: \"%s\"\n", graph->input);
    fputs("layers:\n", f);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const drove_node *node = &graph->node[i];
        const drove_layer_options defaults = drove__graph_default_options(node->ops);
        unsigned bit = drove__graph_kind_bit(node->ops);
        fprintf(f, "  - {name: \"%s\", type: %s, inputs: ", node->name, node->ops->name);
        for (unsigned b = 0; b < node->n_bottoms; b++)
            fprintf(f, "%s\"%s\"", b == 0 ? "[" : ", ", node->bottom[b]);
        fputc(']', f);
        if (node->top[0] != '\0') fprintf(f, ", output: \"%s\"", node->top);
        if (node->act != DROVEK_LINEAR)
            fprintf(f, ", activation: %s", drove__graph_act_name(node->act));
        for (const drove_graph_key *k = drove__graph_keys; k->name != NULL; k++) {
            if ((k->uses & bit) == 0 || is_default(k, &node->opt, &defaults, node->n_bottoms))
                continue;
            print_option(f, k, &node->opt, node->n_bottoms);
        }
        fputs("}\n", f);
    }
    if (graph->n_heads > 0) fputs("heads:\n", f);
    for (unsigned h = 0; h < graph->n_heads; h++) {
        fprintf(f, "  - {input: \"%s\", weight: ", graph->head[h].bottom);
        print_real(f, graph->head[h].weight);
        fputs("}\n", f);
    }
    bool is_complete = ferror(f) == 0;
    if (fclose(f) != 0 || !is_complete) {
        free(text);
        return drove__fail_nomem("the description of a model", size_bytes);
    }
    *out = text;
    return DROVE_OK;
}
