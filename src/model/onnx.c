/* model/onnx.c - reads networks of ONNX, with their parameters as initial ones.
 *
 * Nodes stand in an order in which each comes after those that it reads.  A value of the file is a
 * blob of the network, a constant, a size computed from others, or something that is made of the
 * network's outputs, such as labels; what becomes of an operator, onnx_ops.c says.
 *
 * Source: ONNX's operators, versions 7 to 23; the subset is in docs/models.md.
 */
#include "model/onnx_file.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 1 << 16, MOST_NODES = 1 << 13 };

/* ---- errors ---- */

drove_status drove__onnx_fail(const drove_onnx_reader *r, const drove_onnx_node *n,
                              const char *format, ...)
{
    char text[DROVE_ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n == NULL) return drove__fail(DROVE_E_DATA, "%s: %s", r->file, text);
    const Drove__Onnx__Node *node = n->node;
    const char *name = node->name != NULL && node->name[0] != '\0' ? node->name
                       : node->n_output > 0                        ? node->output[0]
                                                                   : "";
    return drove__fail(DROVE_E_DATA, "%s: node \"%.60s\" (%.40s): %s", r->file, name,
                       node->op_type != NULL ? node->op_type : "", text);
}

/* ---- parsing ---- */

typedef struct budget { /* of one parse: messages may be many times as large as the file */
    size_t n_left;
    bool is_starved;
} budget;

static void *take(void *context, size_t n_bytes)
{
    budget *b = context;
    void *memory = n_bytes <= b->n_left ? malloc(n_bytes > 0 ? n_bytes : 1) : NULL;
    b->is_starved = b->is_starved || memory == NULL;
    b->n_left -= memory != NULL ? n_bytes : 0;
    return memory;
}

static void give(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static drove_status parse(drove_onnx_reader *r, const char *bytes, size_t n_bytes)
{
    budget b = {.n_left = n_bytes < SIZE_MAX / 32 ? 16 * n_bytes + (1 << 20) : SIZE_MAX};
    ProtobufCAllocator allocator = {.alloc = take, .free = give, .allocator_data = &b};
    r->model = drove__onnx__model__unpack(&allocator, n_bytes, (const uint8_t *)bytes);
    if (r->model == NULL && b.is_starved && b.n_left > n_bytes)
        return drove__fail_nomem("an ONNX file", n_bytes);
    if (r->model == NULL || r->model->graph == NULL || r->model->n_opset_import == 0)
        return drove__onnx_fail(r, NULL, "expected an ONNX model, found something else");
    if (r->model->graph->n_node > MOST_NODES)
        return drove__onnx_fail(r, NULL, "expected at most %d nodes, found %zu", MOST_NODES,
                                r->model->graph->n_node);
    return DROVE_OK;
}

static void release(drove_onnx_reader *r)
{
    ProtobufCAllocator allocator = {.alloc = take, .free = give};
    if (r->model != NULL) drove__onnx__model__free_unpacked(r->model, &allocator);
    free(r->value);
}

/* ---- values ---- */

static drove_onnx_value *find_value(const drove_onnx_reader *r, const char *name)
{
    for (size_t i = 0; i < r->n_values; i++) {
        if (strcmp(r->value[i].name, name) == 0) return &r->value[i];
    }
    return NULL;
}

static drove_status add_value(drove_onnx_reader *r, const drove_onnx_node *n,
                              const drove_onnx_value *value)
{
    if (value->name == NULL || value->name[0] == '\0') return DROVE_OK; /* nobody can read it */
    if (find_value(r, value->name) != NULL)
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
    if (n->node->n_output == 0) return drove__onnx_fail(r, n, "expected an output, found none");
    own.name = n->node->output[0];
    DROVE_TRY(add_value(r, n, &own));
    for (size_t i = 1; i < n->node->n_output; i++) { /* masks, statistics of training */
        const drove_onnx_value other = {.name = n->node->output[i], .kind = DROVE_ONNX_ASIDE};
        DROVE_TRY(add_value(r, n, &other));
    }
    return DROVE_OK;
}

drove_status drove__onnx_mark(drove_onnx_reader *r, const drove_onnx_node *n, drove_onnx_kind kind)
{
    const drove_onnx_value value = {.kind = kind};
    return drove__onnx_alias(r, n, &value);
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

drove_status drove__onnx_add(drove_onnx_reader *r, const drove_onnx_node *n,
                             const drove_layer_ops *ops, const char *parameters, drove_node **out)
{
    char name[DROVE_LAYER_NAME_SIZE];
    if (n->n_inputs == 0 || n->input[0].kind != DROVE_ONNX_BLOB)
        return drove__onnx_fail(r, n, "expected a part of the network as its input");
    if (parameters == NULL || !name_by_parameters(r, parameters, name)) {
        size_t number = r->graph.n_nodes + 1;
        do snprintf(name, sizeof name, "%s%zu", ops->name, number++);
        while (is_taken(r, name));
    }
    DROVE_TRY(drove__graph_add(&r->graph, ops, name, n->input[0].graph, out));
    (*out)->opt = drove__graph_default_options(ops);
    drove_onnx_value value = {.kind = DROVE_ONNX_BLOB, .node = (uint32_t)(r->graph.n_nodes - 1)};
    memcpy(value.graph, name, sizeof name);
    return drove__onnx_alias(r, n, &value);
}

/* ---- nodes ---- */

static drove_status list_inputs(drove_onnx_reader *r, drove_onnx_node *n)
{
    size_t count = n->node->n_input;
    while (count > 0 && n->node->input[count - 1][0] == '\0') count--;
    if (count > DROVE_LAYER_MOST_BOTTOMS)
        return drove__onnx_fail(r, n, "expected at most %d inputs, found %zu",
                                (int)DROVE_LAYER_MOST_BOTTOMS, count);
    for (size_t i = 0; i < count; i++) {
        const char *name = n->node->input[i];
        const drove_onnx_value *value = find_value(r, name);
        if (name[0] == '\0') continue;
        if (value == NULL)
            return drove__onnx_fail(r, n, "input \"%.60s\": no node before it has this output",
                                    name);
        n->input[i] = *value;
    }
    n->n_inputs = count;
    return DROVE_OK;
}

/* Whether an input is of this kind; all: all that are given are constants or of it. */
static bool has_kind(const drove_onnx_node *n, drove_onnx_kind kind, bool all)
{
    bool found = false;
    for (size_t i = 0; i < n->n_inputs; i++) {
        drove_onnx_kind k = n->input[i].kind;
        found = found || k == kind;
        if (all && k != kind && k != DROVE_ONNX_CONSTANT && k != DROVE_ONNX_NONE) return false;
    }
    return found;
}

static const drove_onnx_op *find_op(const Drove__Onnx__Node *node)
{
    const char *domain = node->domain != NULL ? node->domain : "";
    if (strcmp(domain, "ai.onnx") == 0) domain = "";
    for (const drove_onnx_op *op = drove__onnx_ops; op->name != NULL; op++) {
        if (strcmp(op->name, node->op_type) == 0 && strcmp(op->domain, domain) == 0) return op;
    }
    return NULL;
}

static drove_status read_node(drove_onnx_reader *r, const Drove__Onnx__Node *node)
{
    drove_onnx_node n = {.node = node};
    if (node->op_type == NULL) return drove__onnx_fail(r, &n, "expected an operator, found none");
    const drove_onnx_op *op = find_op(node);
    DROVE_TRY(list_inputs(r, &n));
    if (has_kind(&n, DROVE_ONNX_SIZES, true)) return drove__onnx_mark(r, &n, DROVE_ONNX_SIZES);
    if (has_kind(&n, DROVE_ONNX_ASIDE, true)) return drove__onnx_mark(r, &n, DROVE_ONNX_ASIDE);
    if (op == NULL)
        return drove__onnx_fail(r, &n,
                                "drove has no layer for this operator (docs/models.md "
                                "lists those that it has)");
    return op->read(r, &n);
}

/* ---- the whole ---- */

static drove_status take_constants(drove_onnx_reader *r)
{
    const Drove__Onnx__Graph *g = r->model->graph;
    for (size_t i = 0; i < g->n_initializer; i++) {
        const drove_onnx_value value = {.name = g->initializer[i]->name,
                                        .kind = DROVE_ONNX_CONSTANT,
                                        .tensor = g->initializer[i]};
        DROVE_TRY(add_value(r, NULL, &value));
    }
    return DROVE_OK;
}

/* Older files list the constants among the inputs. */
static drove_status take_input(drove_onnx_reader *r)
{
    const Drove__Onnx__Graph *g = r->model->graph;
    for (size_t i = 0; i < g->n_input; i++) {
        const char *name = g->input[i]->name;
        drove_onnx_value value = {
            .name = name, .kind = DROVE_ONNX_BLOB, .node = DROVE_ONNX_NO_NODE, .graph = "data"};
        if (name == NULL || find_value(r, name) != NULL) continue;
        if (r->graph.input[0] != '\0')
            return drove__onnx_fail(r, NULL, "expected one input, found \"%.60s\", too", name);
        memcpy(r->graph.input, value.graph, sizeof value.graph);
        DROVE_TRY(add_value(r, NULL, &value));
    }
    if (r->graph.input[0] != '\0') return DROVE_OK;
    return drove__onnx_fail(r, NULL, "expected an input, found none");
}

static drove_status take_notes(drove_onnx_reader *r)
{
    static const char scaler[] = "Scaler is not imported: --data scales (?scale=)\n";
    static const char sigmoid[] = "the sigmoid at the end is left to the loss\n";
    char text[256];
    if (r->notes == 0) return DROVE_OK;
    snprintf(text, sizeof text, "%s%s", r->notes & DROVE_ONNX_NOTE_SCALER ? scaler : "",
             r->notes & DROVE_ONNX_NOTE_SIGMOID ? sigmoid : "");
    r->graph.notes = strdup(text);
    return r->graph.notes != NULL ? DROVE_OK : drove__fail_nomem("notes", sizeof text);
}

static drove_status import(drove_onnx_reader *r)
{
    const Drove__Onnx__Graph *g = r->model->graph;
    DROVE_TRY(take_constants(r));
    DROVE_TRY(take_input(r));
    for (size_t i = 0; i < g->n_node; i++) DROVE_TRY(read_node(r, g->node[i]));
    if (drove__graph_drop_probabilities(&r->graph, true)) r->notes |= DROVE_ONNX_NOTE_SIGMOID;
    if (r->graph.n_nodes == 0) return drove__onnx_fail(r, NULL, "expected layers, found none");
    return take_notes(r);
}

drove_status drove__graph_read_onnx(const char *bytes, size_t n_bytes, const char *file,
                                    drove_graph *out)
{
    drove_onnx_reader r = {.file = file};
    drove__graph_init(&r.graph, "model");
    r.graph.file = file;
    drove_status status = parse(&r, bytes, n_bytes);
    if (status == DROVE_OK) status = import(&r);
    release(&r);
    if (status != DROVE_OK) {
        drove__graph_fini(&r.graph);
        return status;
    }
    *out = r.graph;
    return DROVE_OK;
}
