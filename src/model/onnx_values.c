/* model/onnx_values.c - values of an ONNX file, and the layers that are made of its nodes. */
#include "model/onnx_file.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 1 << 16 };

/* ---- values ---- */

void drove__onnx_constant(const Drove__Onnx__Tensor *t, drove_onnx_value *value)
{
    value->kind = DROVE_ONNX_CONSTANT;
    value->tensor = t;
    value->type = t->has_data_type ? t->data_type : 0;
    value->rank = t->n_dims <= DROVE_ONNX_MOST_RANK ? (unsigned)t->n_dims : 0;
    for (unsigned i = 0; i < value->rank; i++)
        value->side[i] = t->dims[i] > 0 && t->dims[i] <= INT32_MAX ? (size_t)t->dims[i] : 0;
}

drove_onnx_value *drove__onnx_find(const drove_onnx_reader *r, const char *name)
{
    for (size_t i = 0; i < r->n_values; i++) {
        if (strcmp(r->value[i].name, name) == 0) return &r->value[i];
    }
    return NULL;
}

drove_status drove__onnx_add_value(drove_onnx_reader *r, const drove_onnx_node *n,
                                   const drove_onnx_value *value)
{
    if (value->name == NULL || value->name[0] == '\0') return DROVE_OK; /* nobody can read it */
    if (drove__onnx_find(r, value->name) != NULL)
        return drove__onnx_fail(r, n, "\"%.60s\" is made twice", value->name);
    if (r->n_values == r->room) {
        size_t room = 2 * r->room + 64;
        if (room > MOST_VALUES)
            return drove__onnx_fail(r, n, "expected at most %d values", MOST_VALUES);
        drove_onnx_value *grown = drove__grow(r->value, room, sizeof *grown);
        if (grown == NULL) return drove__fail_nomem("values", room * sizeof *grown);
        r->value = grown;
        r->room = room;
    }
    r->value[r->n_values++] = *value;
    return DROVE_OK;
}

drove_status drove__onnx_alias(drove_onnx_reader *r, const drove_onnx_node *n,
                               const drove_onnx_value *value)
{
    drove_onnx_value own = *value;
    if (n->node->n_output == 0 || n->node->output[0][0] == '\0')
        return drove__onnx_fail(r, n, "expected an output, found none");
    own.name = n->node->output[0];
    DROVE_TRY(drove__onnx_add_value(r, n, &own));
    for (size_t i = 1; i < n->node->n_output; i++) {
        own.name = n->node->output[i];
        own.kind = n->others;
        DROVE_TRY(drove__onnx_add_value(r, n, &own));
    }
    return DROVE_OK;
}

drove_onnx_value *drove__onnx_result(const drove_onnx_reader *r, const drove_onnx_node *n)
{
    return n->node->n_output > 0 ? drove__onnx_find(r, n->node->output[0]) : NULL;
}

size_t drove__onnx_count_readers(const drove_onnx_reader *r, const char *name)
{
    const Drove__Onnx__Graph *g = r->model->graph;
    size_t count = 0;
    for (size_t i = 0; i < g->n_node; i++) {
        for (size_t k = 0; k < g->node[i]->n_input; k++)
            count += strcmp(g->node[i]->input[k], name) == 0;
    }
    for (size_t i = 0; i < g->n_output; i++)
        count += g->output[i]->name != NULL && strcmp(g->output[i]->name, name) == 0;
    return count;
}

/* Readers are looked for from node `first` on: each comes after what it reads. */
static bool is_last(const drove_onnx_reader *r, const char *name, size_t first, unsigned depth)
{
    static const char *const of_labels[] = {"ArgMax", "ZipMap"};
    static const char *const copies[] = {"Cast", "Identity"};
    const Drove__Onnx__Graph *g = r->model->graph;
    for (size_t i = first; i < g->n_node; i++) {
        const Drove__Onnx__Node *node = g->node[i];
        bool reads = false, is_label = false, is_copy = false;
        for (size_t k = 0; k < node->n_input; k++)
            reads = reads || strcmp(node->input[k], name) == 0;
        if (!reads) continue;
        if (node->op_type == NULL) return false;
        for (size_t k = 0; k < DROVE_COUNT(of_labels); k++)
            is_label = is_label || strcmp(node->op_type, of_labels[k]) == 0;
        for (size_t k = 0; k < DROVE_COUNT(copies); k++)
            is_copy = is_copy || strcmp(node->op_type, copies[k]) == 0;
        if (is_label) continue;
        if (!is_copy || node->n_output != 1 || depth == 8) return false;
        if (!is_last(r, node->output[0], i + 1, depth + 1)) return false;
    }
    return true;
}

bool drove__onnx_is_last(const drove_onnx_reader *r, const char *name)
{
    return is_last(r, name, 0, 0);
}

drove_status drove__onnx_claim(drove_onnx_reader *r, const drove_onnx_node *n,
                               const drove_onnx_value *value)
{
    if (!drove__onnx_is_float(value->type))
        return drove__onnx_fail(r, n, "\"%.60s\": expected weights of floats, found %s",
                                value->name, drove__onnx_type_name(value->type));
    for (size_t i = 0; i < r->n_taken; i++) {
        if (r->taken[i] != value->tensor) continue;
        if (value->tensor->n_dims > 1)
            return drove__onnx_fail(r, n,
                                    "\"%.60s\": expected weights of one layer, found those of "
                                    "another one: drove has no layers that share weights",
                                    value->name);
        r->notes |= DROVE_ONNX_NOTE_SHARED;
        return DROVE_OK;
    }
    if (r->n_taken == r->taken_room) {
        const size_t room = 2 * r->taken_room + 16;
        const Drove__Onnx__Tensor **grown = drove__grow(r->taken, room, sizeof *grown);
        if (grown == NULL) return drove__fail_nomem("constants", room * sizeof *grown);
        r->taken = grown;
        r->taken_room = room;
    }
    r->taken[r->n_taken++] = value->tensor;
    return DROVE_OK;
}

/* ---- parameters ---- */

bool drove__onnx_is_given(const drove_onnx_node *n, size_t input)
{
    return n->n_inputs > input && n->input[input].kind != DROVE_ONNX_NONE;
}

/* A constant of n numbers along one side; the others are 1. */
drove_status drove__onnx_take_vector(drove_onnx_reader *r, const drove_onnx_node *n, size_t input,
                                     size_t n_wanted, float **out)
{
    const drove_onnx_value *v = &n->input[input];
    if (v->kind != DROVE_ONNX_CONSTANT || drove__onnx_count(v->tensor) != n_wanted)
        return drove__onnx_fail(r, n, "expected %zu constant numbers as input %zu", n_wanted,
                                input + 1);
    return drove__onnx_floats_of(r, n, v->tensor, out);
}

/* The same for a parameter: a vector, which may have sides of 1 before it. */
drove_status drove__onnx_take_parameter(drove_onnx_reader *r, const drove_onnx_node *n,
                                        size_t input, size_t n_wanted, float **out)
{
    const drove_onnx_value *v = &n->input[input];
    if (v->kind == DROVE_ONNX_CONSTANT && v->rank > 0 && v->side[v->rank - 1] != n_wanted)
        return drove__onnx_fail(r, n, "expected %zu constant numbers as input %zu", n_wanted,
                                input + 1);
    DROVE_TRY(drove__onnx_take_vector(r, n, input, n_wanted, out));
    return drove__onnx_claim(r, n, v);
}

/* ---- layers ---- */

static bool is_taken(const drove_onnx_reader *r, const char *name)
{
    if (strcmp(name, drove__graph_input(&r->graph)) == 0) return true;
    for (size_t i = 0; i < r->graph.n_nodes; i++) {
        if (strcmp(r->graph.node[i].name, name) == 0) return true;
    }
    return false;
}

/* Letters, digits and . _ - of the parameters' name without its ending. */
static bool name_by_parameters(const drove_onnx_reader *r, const char *parameters,
                               char into[DROVE_LAYER_NAME_SIZE])
{
    static const char *const endings[] = {".weight", "_weight"};
    size_t n = strlen(parameters);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n_ending = strlen(endings[i]);
        if (n > n_ending && strcmp(parameters + n - n_ending, endings[i]) == 0) n -= n_ending;
    }
    if (n == 0 || n >= DROVE_LAYER_NAME_SIZE) return false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)parameters[i];
        bool is_first = i == 0; /* names that YAML takes for texts */
        if (!(is_first ? isalpha(c) : isalnum(c) || c == '.' || c == '_' || c == '-')) return false;
    }
    memcpy(into, parameters, n);
    into[n] = '\0';
    return !is_taken(r, into);
}

drove_status drove__onnx_layer(drove_onnx_reader *r, const drove_onnx_node *n,
                               const drove_layer_ops *ops, const char *parameters,
                               const drove_onnx_value *from, drove_onnx_value *to, drove_node **out)
{
    char name[DROVE_LAYER_NAME_SIZE];
    if (from->kind != DROVE_ONNX_BLOB)
        return drove__onnx_fail(r, n, "expected a part of the network as its input");
    if (!drove__onnx_is_float(from->type) && ops != &drove__layer_reshape)
        return drove__onnx_fail(r, n,
                                "expected floats as its input, found %s: drove computes with "
                                "floats alone",
                                drove__onnx_type_name(from->type));
    if (parameters == NULL || !name_by_parameters(r, parameters, name)) {
        size_t number = r->graph.n_nodes + 1;
        do snprintf(name, sizeof name, "%s%zu", ops->name, number++);
        while (is_taken(r, name));
    }
    DROVE_TRY(drove__graph_add(&r->graph, ops, name, from->graph, out));
    (*out)->opt = drove__graph_default_options(ops);
    *to = *from;
    to->node = (uint32_t)(r->graph.n_nodes - 1);
    memcpy(to->graph, name, sizeof name);
    return DROVE_OK;
}

drove_status drove__onnx_add(drove_onnx_reader *r, const drove_onnx_node *n,
                             const drove_layer_ops *ops, const char *parameters, drove_node **out)
{
    drove_onnx_value to;
    if (n->n_inputs == 0)
        return drove__onnx_fail(r, n, "expected a part of the network as its input");
    DROVE_TRY(drove__onnx_layer(r, n, ops, parameters, &n->input[0], &to, out));
    return drove__onnx_alias(r, n, &to);
}

/* Inputs of the node become those of the layer; all are parts of the network. */
drove_status drove__onnx_take_bottoms(drove_onnx_reader *r, const drove_onnx_node *n,
                                      drove_node *node)
{
    for (size_t i = 0; i < n->n_inputs; i++) {
        if (n->input[i].kind != DROVE_ONNX_BLOB)
            return drove__onnx_fail(r, n, "expected parts of the network as its inputs");
        memcpy(node->bottom[i], n->input[i].graph, sizeof node->bottom[i]);
    }
    node->n_bottoms = (unsigned)n->n_inputs;
    return DROVE_OK;
}
