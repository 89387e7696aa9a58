/* export/onnx_graph.c - see onnx_graph.h. */
#include "export/onnx_graph.h"

#include "base/file.h"
#include "base/mem.h"

#include <drove/version.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attribute's types, in ONNX's numbers. */
enum { OF_FLOAT = 1, OF_INT = 2, OF_INTS = 7, OF_STRINGS = 8 };

static char empty[] = "";

/* ---- memory ---- */

static void push(drove_onnx *g, drove_onnx_list *list, void *item)
{
    if (item == NULL || g->is_starved) return;
    if (list->n == list->room) {
        size_t room = 2 * list->room + 64;
        void **grown = drove__grow(list->item, room, sizeof *grown);
        g->is_starved = grown == NULL;
        if (grown == NULL) return;
        list->item = grown;
        list->room = room;
    }
    list->item[list->n++] = item;
}

void *drove__onnx_take(drove_onnx *g, size_t count, size_t size_bytes)
{
    void *block = g->is_starved ? NULL : calloc(count > 0 ? count : 1, size_bytes);
    g->is_starved = block == NULL;
    push(g, &g->blocks, block);
    if (!g->is_starved) return block;
    free(block);
    return NULL;
}

static char *copy_text(drove_onnx *g, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = drove__onnx_take(g, n, 1);
    if (copy == NULL) return empty;
    return memcpy(copy, text, n);
}

const char *drove__onnx_print(drove_onnx *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n >= 0 ? drove__onnx_take(g, (size_t)n + 1, 1) : NULL;
    if (text == NULL) return empty;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void drove__onnx_fini(drove_onnx *g)
{
    drove_onnx_list *const lists[] = {&g->nodes,   &g->constants, &g->inputs,
                                      &g->outputs, &g->pairs,     &g->blocks};
    for (size_t i = 0; i < g->blocks.n; i++) free(g->blocks.item[i]);
    for (size_t i = 0; i < DROVE_COUNT(lists); i++) free(lists[i]->item);
    *g = (drove_onnx){0};
}

static char *new_name(drove_onnx *g, const char *what)
{
    return (char *)drove__onnx_print(g, "%s%zu/%s%s%s", g->prefix, g->n_names++,
                                     g->scope != NULL ? g->scope : "", g->scope != NULL ? "/" : "",
                                     what);
}

/* ---- values ---- */

static Drove__Onnx__Value *new_value(drove_onnx *g, const char *name, drove_onnx_type type,
                                     const size_t *dims, size_t rank, const char *doc)
{
    typedef struct parts {
        Drove__Onnx__Value value;
        Drove__Onnx__ValueType type;
        Drove__Onnx__TensorType tensor;
        Drove__Onnx__Shape shape;
    } parts;
    parts *p = drove__onnx_take(g, 1, sizeof *p);
    Drove__Onnx__Dimension **dim = drove__onnx_take(g, rank, sizeof *dim);
    for (size_t i = 0; i < rank && !g->is_starved; i++) {
        dim[i] = drove__onnx_take(g, 1, sizeof **dim);
        if (dim[i] == NULL) return NULL;
        drove__onnx__dimension__init(dim[i]);
        dim[i]->size_case =
            i == 0 ? DROVE__ONNX__DIMENSION__SIZE_SYMBOL : DROVE__ONNX__DIMENSION__SIZE_VALUE;
        if (i == 0) dim[i]->symbol = "N";
        else dim[i]->value = (int64_t)dims[i];
    }
    char *copy = copy_text(g, name), *doc_copy = copy_text(g, doc);
    if (g->is_starved) return NULL;
    drove__onnx__value__init(&p->value);
    drove__onnx__value_type__init(&p->type);
    drove__onnx__tensor_type__init(&p->tensor);
    drove__onnx__shape__init(&p->shape);
    p->shape.n_dim = rank;
    p->shape.dim = dim;
    p->tensor.has_elem_type = true;
    p->tensor.elem_type = (int32_t)type;
    p->tensor.shape = &p->shape;
    p->type.tensor_type = &p->tensor;
    p->value.name = copy;
    p->value.type = &p->type;
    p->value.doc_string = doc_copy;
    return &p->value;
}

void drove__onnx_input(drove_onnx *g, const char *name, drove_onnx_type type, const size_t *dims,
                       size_t rank, const char *doc)
{
    push(g, &g->inputs, new_value(g, name, type, dims, rank, doc));
}

void drove__onnx_output(drove_onnx *g, const char *name, const char *value, drove_onnx_type type,
                        const size_t *dims, size_t rank, const char *doc)
{
    (void)drove__onnx_node(g, "Identity", value, NULL, NULL);
    if (g->is_starved) return;
    Drove__Onnx__Node *last = g->nodes.item[g->nodes.n - 1];
    last->output[0] = copy_text(g, name);
    push(g, &g->outputs, new_value(g, name, type, dims, rank, doc));
}

/* ---- constants ---- */

static Drove__Onnx__Tensor *new_constant(drove_onnx *g, drove_onnx_type type, const size_t *dims,
                                         size_t rank)
{
    Drove__Onnx__Tensor *t = drove__onnx_take(g, 1, sizeof *t);
    int64_t *sides = drove__onnx_take(g, rank, sizeof *sides);
    char *name = new_name(g, "constant");
    if (g->is_starved) return NULL;
    drove__onnx__tensor__init(t);
    for (size_t i = 0; i < rank; i++) sides[i] = (int64_t)dims[i];
    t->n_dims = rank;
    t->dims = sides;
    t->has_data_type = true;
    t->data_type = (int32_t)type;
    t->name = name;
    push(g, &g->constants, t);
    return t;
}

/* A constant of these bytes, which are borrowed. */
static const char *add_raw(drove_onnx *g, drove_onnx_type type, const void *bytes,
                           size_t element_bytes, const size_t *dims, size_t rank)
{
    Drove__Onnx__Tensor *t = new_constant(g, type, dims, rank);
    size_t n = element_bytes;
    if (t == NULL) return empty;
    for (size_t i = 0; i < rank; i++) n *= dims[i];
    t->has_raw_data = true;
    t->raw_data.len = n;
    t->raw_data.data = (uint8_t *)bytes; /* only read: packing takes no const */
    g->n_bytes += n;
    return t->name;
}

static const void *copy_bytes(drove_onnx *g, const void *bytes, size_t n)
{
    void *copy = drove__onnx_take(g, n, 1);
    if (copy != NULL) memcpy(copy, bytes, n);
    return copy;
}

const char *drove__onnx_floats(drove_onnx *g, const float *values, const size_t *dims, size_t rank)
{
    return add_raw(g, DROVE_ONNX_FLOAT, values, sizeof *values, dims, rank);
}

const char *drove__onnx_float(drove_onnx *g, float value)
{
    return add_raw(g, DROVE_ONNX_FLOAT, copy_bytes(g, &value, sizeof value), sizeof value, NULL, 0);
}

const char *drove__onnx_doubles(drove_onnx *g, const double *values, size_t n)
{
    return add_raw(g, DROVE_ONNX_DOUBLE, copy_bytes(g, values, n * sizeof *values), sizeof *values,
                   &n, 1);
}

const char *drove__onnx_double(drove_onnx *g, double value)
{
    return add_raw(g, DROVE_ONNX_DOUBLE, copy_bytes(g, &value, sizeof value), sizeof value, NULL,
                   0);
}

const char *drove__onnx_ints(drove_onnx *g, const int64_t *values, const size_t *dims, size_t rank)
{
    size_t n = 1;
    for (size_t i = 0; i < rank; i++) n *= dims[i];
    return add_raw(g, DROVE_ONNX_INT64, copy_bytes(g, values, n * sizeof *values), sizeof *values,
                   dims, rank);
}

static ProtobufCBinaryData *list_texts(drove_onnx *g, const char *const *values, size_t n)
{
    ProtobufCBinaryData *list = drove__onnx_take(g, n, sizeof *list);
    for (size_t i = 0; i < n && !g->is_starved; i++) {
        list[i].data = (uint8_t *)copy_text(g, values[i]);
        list[i].len = strlen(values[i]);
        g->n_bytes += list[i].len;
    }
    return list;
}

const char *drove__onnx_strings(drove_onnx *g, const char *const *values, size_t n)
{
    Drove__Onnx__Tensor *t = new_constant(g, DROVE_ONNX_STRING, &n, 1);
    ProtobufCBinaryData *list = list_texts(g, values, n);
    if (g->is_starved) return empty;
    t->n_string_data = n;
    t->string_data = list;
    return t->name;
}

/* ---- nodes ---- */

const char *drove__onnx_node_of(drove_onnx *g, const char *op, const char *const *input, size_t n)
{
    const char *colon = strchr(op, ':'), *type = colon != NULL ? colon + 1 : op;
    Drove__Onnx__Node *node = drove__onnx_take(g, 1, sizeof *node);
    char **inputs = drove__onnx_take(g, n, sizeof *inputs);
    char **output = drove__onnx_take(g, 1, sizeof *output);
    Drove__Onnx__Attribute **attribute =
        drove__onnx_take(g, DROVE_ONNX_MOST_ATTRIBUTES, sizeof *attribute);
    char *name = new_name(g, type), *type_copy = copy_text(g, type);
    if (g->is_starved) return empty;
    for (size_t i = 0; i < n; i++) inputs[i] = (char *)input[i];
    output[0] = name;
    drove__onnx__node__init(node);
    node->n_input = n;
    node->input = inputs;
    node->n_output = 1;
    node->output = output;
    node->name = name;
    node->op_type = type_copy;
    node->attribute = attribute;
    if (colon != NULL) {
        node->domain = (char *)drove__onnx_print(g, "%.*s", (int)(colon - op), op);
        if (strcmp(node->domain, DROVE_ONNX_ML) == 0) g->has_ml = true;
        else g->has_microsoft = true;
    }
    push(g, &g->nodes, node);
    return name;
}

const char *drove__onnx_node(drove_onnx *g, const char *op, const char *a, const char *b,
                             const char *c)
{
    const char *const input[] = {a, b, c};
    return drove__onnx_node_of(g, op, input, b == NULL ? 1 : c == NULL ? 2 : 3);
}

static Drove__Onnx__Attribute *new_attribute(drove_onnx *g, const char *name, int32_t type)
{
    Drove__Onnx__Attribute *a = drove__onnx_take(g, 1, sizeof *a);
    char *copy = copy_text(g, name);
    if (g->is_starved) return NULL;
    Drove__Onnx__Node *node = g->nodes.item[g->nodes.n - 1];
    drove__onnx__attribute__init(a);
    a->name = copy;
    a->has_type = true;
    a->type = type;
    node->attribute[node->n_attribute++] = a;
    return a;
}

void drove__onnx_set_int(drove_onnx *g, const char *name, int64_t value)
{
    Drove__Onnx__Attribute *a = new_attribute(g, name, OF_INT);
    if (a == NULL) return;
    a->has_i = true;
    a->i = value;
}

void drove__onnx_set_float(drove_onnx *g, const char *name, float value)
{
    Drove__Onnx__Attribute *a = new_attribute(g, name, OF_FLOAT);
    if (a == NULL) return;
    a->has_f = true;
    a->f = value;
}

void drove__onnx_set_ints(drove_onnx *g, const char *name, const int64_t *values, size_t n)
{
    Drove__Onnx__Attribute *a = new_attribute(g, name, OF_INTS);
    const void *copy = copy_bytes(g, values, n * sizeof *values);
    if (g->is_starved) return;
    a->n_ints = n;
    a->ints = (int64_t *)copy;
}

void drove__onnx_set_strings(drove_onnx *g, const char *name, const char *const *values, size_t n)
{
    Drove__Onnx__Attribute *a = new_attribute(g, name, OF_STRINGS);
    ProtobufCBinaryData *list = list_texts(g, values, n);
    if (g->is_starved) return;
    a->n_strings = n;
    a->strings = list;
}

const char *drove__onnx_cast(drove_onnx *g, const char *value, drove_onnx_type type)
{
    const char *cast = drove__onnx_node(g, "Cast", value, NULL, NULL);
    drove__onnx_set_int(g, "to", type);
    return cast;
}

const char *drove__onnx_join(drove_onnx *g, const char *const *values, size_t n)
{
    if (n == 1) return values[0];
    const char *joined = drove__onnx_node_of(g, "Concat", values, n);
    drove__onnx_set_int(g, "axis", 1);
    return joined;
}

/* ---- the whole ---- */

void drove__onnx_pair(drove_onnx *g, const char *key, const char *value)
{
    Drove__Onnx__StringPair *pair = drove__onnx_take(g, 1, sizeof *pair);
    char *key_copy = copy_text(g, key), *value_copy = copy_text(g, value);
    if (g->is_starved) return;
    drove__onnx__string_pair__init(pair);
    pair->key = key_copy;
    pair->value = value_copy;
    push(g, &g->pairs, pair);
}

typedef struct file_buffer { /* what packing appends to */
    ProtobufCBuffer base;
    drove_writer *writer;
    drove_status status;
} file_buffer;

static void append(ProtobufCBuffer *base, size_t n, const uint8_t *bytes)
{
    file_buffer *b = (file_buffer *)base;
    if (b->status == DROVE_OK) b->status = drove__writer_write(b->writer, bytes, n);
}

drove_status drove__onnx_write(drove_onnx *g, const char *path)
{
    enum { MOST_SETS = 3 };
    const struct {
        const char *domain;
        int64_t version;
    } sets[MOST_SETS] = {{"", g->is_new ? DROVE_ONNX_NEW_OPSET : DROVE_ONNX_OPSET},
                         {DROVE_ONNX_ML, DROVE_ONNX_ML_OPSET},
                         {DROVE_ONNX_MICROSOFT, 1}};
    const bool is_used[MOST_SETS] = {true, g->has_ml, g->has_microsoft};
    Drove__Onnx__OperatorSet set[MOST_SETS], *set_list[MOST_SETS];
    Drove__Onnx__Model model = DROVE__ONNX__MODEL__INIT;
    Drove__Onnx__Graph graph = DROVE__ONNX__GRAPH__INIT;
    if (g->is_starved) return drove__fail_nomem("an ONNX graph", g->n_bytes);
    for (size_t i = 0; i < MOST_SETS; i++) {
        if (!is_used[i]) continue;
        drove__onnx__operator_set__init(&set[i]);
        set[i].domain = (char *)sets[i].domain;
        set[i].has_version = true;
        set[i].version = sets[i].version;
        set_list[model.n_opset_import++] = &set[i];
    }
    graph.name = "drove";
    graph.n_node = g->nodes.n;
    graph.node = (Drove__Onnx__Node **)g->nodes.item;
    graph.n_initializer = g->constants.n;
    graph.initializer = (Drove__Onnx__Tensor **)g->constants.item;
    graph.n_input = g->inputs.n;
    graph.input = (Drove__Onnx__Value **)g->inputs.item;
    graph.n_output = g->outputs.n;
    graph.output = (Drove__Onnx__Value **)g->outputs.item;
    model.has_ir_version = true;
    model.ir_version = g->is_new ? DROVE_ONNX_NEW_IR : DROVE_ONNX_IR;
    model.producer_name = "drove";
    model.producer_version = DROVE_VERSION;
    model.opset_import = set_list;
    model.graph = &graph;
    model.n_metadata_props = g->pairs.n;
    model.metadata_props = (Drove__Onnx__StringPair **)g->pairs.item;
    if (g->n_bytes > INT32_MAX || drove__onnx__model__get_packed_size(&model) > INT32_MAX)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "%s: expected at most 2 GiB, ONNX's limit, found a model of %.1f GiB",
                           path, (double)g->n_bytes / ((double)(1 << 30)));

    file_buffer buffer = {.base.append = append};
    DROVE_TRY(drove__writer_create(path, &buffer.writer));
    protobuf_c_message_pack_to_buffer(&model.base, &buffer.base);
    if (buffer.status == DROVE_OK) return drove__writer_commit(buffer.writer);
    drove__writer_abort(buffer.writer);
    return drove__fail_in(buffer.status, "%s", path);
}
