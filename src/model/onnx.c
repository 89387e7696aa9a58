/* model/onnx.c - reads networks of ONNX, with their parameters as initial ones.
 *
 * Nodes stand in an order in which each comes after those that it reads.  A value of the file is a
 * blob of the network, a constant, a size computed from others, or something that is made of the
 * network's outputs, such as labels; what becomes of an operator, onnx_ops.c says.  A network
 * computes here what it computes by ONNX's definition, or it is refused: an attribute that an
 * operator's reader does not know is an error, and so is a set of operators that this file does not
 * know.
 *
 * Source: ONNX's operators, sets 7 to 28; the subset is in docs/use/models.md.
 */
#include "model/onnx_file.h"

#include "base/mem.h"
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 1 << 13, LEAST_SET = 7, MOST_SET = 28, MOST_ML_SET = 5 };

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

static bool is_onnx(const char *domain)
{
    return domain == NULL || domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
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

    /* The sets of operators that it was written for. */
    for (size_t i = 0; i < r->model->n_opset_import; i++) {
        const Drove__Onnx__OperatorSet *set = r->model->opset_import[i];
        const int64_t version = set->has_version ? set->version : 0;
        if (is_onnx(set->domain)) r->version = version;
        else if (strcmp(set->domain, "ai.onnx.ml") == 0) r->ml_version = version;
    }
    if (r->version != 0 && (r->version < LEAST_SET || r->version > MOST_SET))
        return drove__onnx_fail(r, NULL,
                                "expected ONNX's set of operators %d to %d, found %lld: "
                                "onnx.version_converter makes another of it",
                                LEAST_SET, MOST_SET, (long long)r->version);
    if (r->ml_version > MOST_ML_SET)
        return drove__onnx_fail(r, NULL,
                                "expected the set of operators ai.onnx.ml up to %d, found %lld",
                                MOST_ML_SET, (long long)r->ml_version);
    return DROVE_OK;
}

/* ---- nodes ---- */

/* True if an input is of this kind.  all: all that are given are constants or of it. */
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

/* Every attribute must be known: one that is not may change what the operator computes. */
static drove_status check_attributes(drove_onnx_reader *r, const drove_onnx_node *n,
                                     const char *known)
{
    for (size_t i = 0; i < n->node->n_attribute; i++) {
        const char *name = n->node->attribute[i]->name != NULL ? n->node->attribute[i]->name : "";
        const size_t length = strlen(name);
        bool is_known = false;
        for (const char *at = known; !is_known && (at = strstr(at, name)) != NULL;
             at += length > 0) {
            is_known = length > 0 && (at == known || at[-1] == ' ') &&
                       (at[length] == ' ' || at[length] == '\0');
            if (length == 0) break;
        }
        if (!is_known)
            return drove__onnx_fail(r, n, "%.40s: expected none, as drove has nothing like it",
                                    name);
    }
    return DROVE_OK;
}

static drove_status read_node(drove_onnx_reader *r, const Drove__Onnx__Node *node)
{
    static const char *const copies[] = {"Cast",      "Identity", "Reshape",     "Squeeze",
                                         "Unsqueeze", "Flatten",  "LabelEncoder"};
    drove_onnx_node n = {.node = node, .others = DROVE_ONNX_ABSENT};
    if (node->op_type == NULL) return drove__onnx_fail(r, &n, "expected an operator, found none");
    const char *domain = is_onnx(node->domain) ? "" : node->domain;
    const drove_onnx_op *op = drove__onnx_ops;
    while (op->name != NULL &&
           (strcmp(op->name, node->op_type) != 0 || strcmp(op->domain, domain) != 0))
        op++;

    /* Its inputs, without those that are left out at the end. */
    size_t n_inputs = node->n_input;
    while (n_inputs > 0 && node->input[n_inputs - 1][0] == '\0') n_inputs--;
    if (n_inputs > DROVE_LAYER_MOST_BOTTOMS)
        return drove__onnx_fail(r, &n, "expected at most %d inputs, found %zu",
                                (int)DROVE_LAYER_MOST_BOTTOMS, n_inputs);
    for (size_t i = 0; i < n_inputs; i++) {
        const char *name = node->input[i];
        const drove_onnx_value *value = drove__onnx_find(r, name);
        if (name[0] == '\0') continue;
        if (value == NULL)
            return drove__onnx_fail(r, &n, "input \"%.60s\": no node before it has this output",
                                    name);
        if (value->kind == DROVE_ONNX_ABSENT)
            return drove__onnx_fail(r, &n,
                                    "input \"%.60s\": expected the first output of an operator, "
                                    "found another one: drove's layers have one output",
                                    name);
        n.input[i] = *value;
    }
    n.n_inputs = n_inputs;
    if (has_kind(&n, DROVE_ONNX_SIZES, true) && is_onnx(node->domain))
        return drove__onnx_compute_sizes(r, &n);

    /* Operators that give labels another type or other sides leave them labels. */
    bool copies_labels = false;
    for (size_t i = 0; i < DROVE_COUNT(copies); i++)
        copies_labels = copies_labels || strcmp(node->op_type, copies[i]) == 0;
    if (copies_labels && has_kind(&n, DROVE_ONNX_ASIDE, true))
        return drove__onnx_alias(r, &n, &n.input[0]);
    if (op->name == NULL)
        return drove__onnx_fail(r, &n,
                                "drove has no layer for this operator (docs/use/models.md "
                                "lists those that it has)");
    DROVE_TRY(check_attributes(r, &n, op->attributes));

    /* Inputs in the order that the operator takes, and all in one. */
    bool is_first = (op->takes & DROVE_ONNX_TAKES_LAST) == 0, is_last = false;
    for (size_t i = 0; i < n.n_inputs; i++) {
        is_first = is_first || (n.input[i].kind == DROVE_ONNX_BLOB && n.input[i].rank > 2 &&
                                !n.input[i].is_last);
        is_last = is_last || n.input[i].is_last;
    }
    for (size_t i = 0; i < n.n_inputs; i++) {
        if (is_first && is_last) DROVE_TRY(drove__onnx_turn(r, &n, &n.input[i]));
        if ((op->takes & DROVE_ONNX_TAKES_PADDED) == 0 && !drove__onnx_has_no_zeros(&n.input[i]))
            return drove__onnx_fail(r, &n,
                                    "input \"%.60s\": expected a Conv or a pooling alone behind a "
                                    "Pad",
                                    node->input[i]);
    }
    return op->read(r, &n);
}

/* ---- the whole ---- */

/* The sides of an example as the file has them, where it is silent as the data have them.  An input
 * of other sides with as many numbers is reshaped: [N, 784] reads images, [N, 1, 28, 28] rows of a
 * table. */
static drove_status settle_input(drove_onnx_reader *r, const Drove__Onnx__Value *input,
                                 drove_onnx_value *value)
{
    const Drove__Onnx__TensorType *type = input->type != NULL ? input->type->tensor_type : NULL;
    const Drove__Onnx__Shape *shape = type != NULL ? type->shape : NULL;
    const drove_model_io *io = r->io;
    const drove_shape image = io != NULL ? io->image : (drove_shape){0};
    const bool has_image = drove__shape_floats(image) != 0;
    const size_t here[] = {image.c, image.h, image.w};
    size_t n_open = 0, known = 1;
    char text[128];
    value->type = type != NULL && type->has_elem_type ? type->elem_type : DROVE_ONNX_T_FLOAT;
    if (!drove__onnx_is_float(value->type) &&
        (value->type < 2 || value->type > DROVE_ONNX_T_INT64)) /* the integers */
        return drove__onnx_fail(r, NULL, "input \"%.60s\": expected numbers, found %s", value->name,
                                drove__onnx_type_name(value->type));
    if (shape == NULL && io == NULL) return DROVE_OK;
    if (shape != NULL && (shape->n_dim == 0 || shape->n_dim > 4))
        return drove__onnx_fail(r, NULL,
                                "input \"%.60s\": expected 1 to 4 dimensions, those of a batch of "
                                "vectors or images, found %zu",
                                value->name, shape->n_dim);
    value->rank = shape != NULL ? (unsigned)shape->n_dim : has_image ? 4 : 2;
    for (unsigned i = 0; i < value->rank; i++) {
        const Drove__Onnx__Dimension *d = shape != NULL ? shape->dim[i] : NULL;
        const bool is_fixed = d != NULL && d->size_case == DROVE__ONNX__DIMENSION__SIZE_VALUE;
        if (is_fixed && (d->value < 1 || d->value > INT32_MAX))
            return drove__onnx_fail(r, NULL,
                                    "input \"%.60s\": expected sides from 1 on, found %lld",
                                    value->name, (long long)d->value);
        value->side[i] = is_fixed ? (size_t)d->value : 0;
    }

    /* TensorFlow's images have their channels last: those of the data in that order, too. */
    if (has_image && value->rank == 4) {
        const size_t last[] = {image.h, image.w, image.c};
        bool fits = true, fits_last = true;
        for (unsigned i = 1; i < 4; i++) {
            fits = fits && (value->side[i] == 0 || value->side[i] == here[i - 1]);
            fits_last = fits_last && (value->side[i] == 0 || value->side[i] == last[i - 1]);
        }
        value->is_last = !fits && fits_last;
        for (unsigned i = 1; i < 4; i++) {
            if (value->side[i] == 0) value->side[i] = value->is_last ? last[i - 1] : here[i - 1];
        }
        if (value->is_last) return DROVE_OK;
    }
    for (unsigned i = 1; i < value->rank; i++) {
        if (value->side[i] == 0) n_open++;
        else if (known <= INT32_MAX) known *= value->side[i];
    }
    if (io == NULL && n_open > 0) {
        value->rank = 0;
        return DROVE_OK;
    }
    for (unsigned i = 1; i < value->rank && n_open == 1; i++) { /* what the others leave */
        if (value->side[i] == 0) value->side[i] = io->n_features / known;
    }
    if (io == NULL || (n_open < 2 && drove__onnx_each(value) == io->n_features)) {
        const bool is_same =
            !has_image || value->rank != 4 ||
            (value->side[1] == image.c && value->side[2] == image.h && value->side[3] == image.w);
        if (is_same) return DROVE_OK;
    }
    for (unsigned i = 1; i < value->rank && n_open > 1; i++)
        value->side[i] = value->side[i] == 0 ? 1 : value->side[i];
    if (has_image)
        return drove__fail(DROVE_E_SHAPE,
                           "%s: input \"%.60s\": expected examples of %s, found images of %zu x "
                           "%zu x %zu (channels, height, width) in the data",
                           r->file, value->name, drove__onnx_shape_text(value, text), image.c,
                           image.h, image.w);
    return drove__fail(
        DROVE_E_SHAPE,
        "%s: input \"%.60s\": expected examples of %s, found %zu numbers in the data", r->file,
        value->name, drove__onnx_shape_text(value, text), io->n_features);
}

/* Older files list the constants among the inputs. */
static drove_status take_input(drove_onnx_reader *r)
{
    const Drove__Onnx__Graph *g = r->model->graph;
    const char *first = NULL;
    for (size_t i = 0; i < g->n_input; i++) {
        const char *name = g->input[i]->name;
        drove_onnx_value value = {
            .name = name, .kind = DROVE_ONNX_BLOB, .node = DROVE_ONNX_NO_NODE, .graph = "data"};
        if (name == NULL || drove__onnx_find(r, name) != NULL) continue;
        if (first != NULL)
            return drove__onnx_fail(
                r, NULL,
                "input \"%.60s\": expected one input, \"%.60s\", and the others as "
                "constants of the file",
                name, first);
        first = name;
        memcpy(r->graph.input, value.graph, sizeof r->graph.input);
        DROVE_TRY(settle_input(r, g->input[i], &value));
        const drove_shape image = r->io != NULL ? r->io->image : (drove_shape){0};
        const bool is_vector = drove__shape_floats(image) == 0 || image.h * image.w == 1;
        const bool is_image = value.rank > 2 && drove__onnx_each(&value) != value.side[1];
        const bool is_whole = r->io == NULL || value.rank == 0 || value.is_last ||
                              (value.rank == 4   ? !is_vector || !is_image
                               : value.rank <= 2 ? is_vector
                                                 : is_vector && !is_image);
        if (!is_whole) { /* the data's sides are others */
            const drove_onnx_node no_node = {.node = NULL};
            drove_onnx_value from = value;
            from.rank = 0;
            DROVE_TRY(drove__onnx_reshape(r, &no_node, &from, value.rank, value.side, &value));
        }
        DROVE_TRY(drove__onnx_add_value(r, NULL, &value));
    }
    if (r->graph.input[0] != '\0') return DROVE_OK;
    return drove__onnx_fail(r, NULL, "expected an input, found none");
}

/* ---- the output ---- */

static drove_node *find_top(const drove_graph *g, const char *blob)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        if (strcmp(drove__graph_top(&g->node[i]), blob) == 0) return &g->node[i];
    }
    return NULL;
}

/* The value that the network is for: an output, or what labels are made of where there is no other;
 * NULL: the file names none. */
static drove_status find_output(drove_onnx_reader *r, const drove_onnx_value **out)
{
    const Drove__Onnx__Graph *g = r->model->graph;
    const drove_onnx_value *labels = NULL, *others = NULL;
    *out = NULL;
    for (size_t i = 0; i < g->n_output; i++) {
        const char *name = g->output[i]->name;
        const drove_onnx_value *v = name != NULL ? drove__onnx_find(r, name) : NULL;
        if (v == NULL)
            return drove__onnx_fail(r, NULL, "output \"%.60s\": no node has it",
                                    name != NULL ? name : "");
        if (v->kind == DROVE_ONNX_ASIDE) {
            if (labels != NULL && strcmp(labels->graph, v->graph) != 0) others = labels;
            labels = v;
            continue;
        }
        if (v->kind != DROVE_ONNX_BLOB && v->kind != DROVE_ONNX_PAIR)
            return drove__onnx_fail(r, NULL,
                                    "output \"%.60s\": expected numbers that the network "
                                    "computes, found %s",
                                    name,
                                    v->kind == DROVE_ONNX_ABSENT ? "a second output of an operator"
                                    : v->kind == DROVE_ONNX_CONSTANT ? "a constant"
                                                                     : "sizes");
        if (!drove__onnx_has_no_zeros(v))
            return drove__onnx_fail(r, NULL,
                                    "output \"%.60s\": expected a Conv or a pooling behind a Pad",
                                    name);
        if (!drove__onnx_is_float(v->type))
            return drove__onnx_fail(r, NULL, "output \"%.60s\": expected floats, found %s", name,
                                    drove__onnx_type_name(v->type));
        if (*out != NULL && strcmp((*out)->graph, v->graph) != 0)
            return drove__onnx_fail(r, NULL,
                                    "expected one output, found \"%.60s\" and \"%.60s\": "
                                    "onnx.utils.extract_model makes a file of one",
                                    (*out)->name, name);
        *out = v;
    }
    if (*out != NULL || labels == NULL) return DROVE_OK;
    if (others != NULL)
        return drove__onnx_fail(r, NULL,
                                "expected one output, found labels of two parts of the network, "
                                "\"%.60s\" and \"%.60s\": onnx.utils.extract_model makes a file "
                                "of one",
                                others->name, labels->name);
    if (r->loss != NULL && r->io->n_classes == 0)
        return drove__onnx_fail(r, NULL,
                                "output \"%.60s\": expected values, as the data have them, "
                                "found labels",
                                labels->name);
    *out = labels;
    return DROVE_OK;
}

/* drove's own order of an image's numbers is not the file's: an output is a vector in that of the
 * file.  A network without a layer gets one. */
static drove_status shape_output(drove_onnx_reader *r, const drove_onnx_value *output,
                                 const char **top)
{
    const drove_onnx_node no_node = {.node = NULL};
    drove_onnx_value from = *output, to;
    const size_t side[2] = {0, drove__onnx_each(output)};
    from.kind = DROVE_ONNX_BLOB;
    *top = find_top(&r->graph, output->graph) != NULL
               ? drove__graph_top(find_top(&r->graph, output->graph))
               : NULL;
    const bool is_image = output->rank > 2 && side[1] != output->side[drove__onnx_channels(output)];
    if (*top != NULL && !is_image) return DROVE_OK;
    if (output->rank == 0) {
        if (*top != NULL) return DROVE_OK;
        return drove__onnx_fail(r, NULL, "expected layers, found none");
    }
    if (!from.is_last || !is_image) from.rank = 0, from.is_last = false; /* in any case a layer */
    DROVE_TRY(drove__onnx_reshape(r, &no_node, &from, 2, side, &to));
    *top = drove__graph_top(&r->graph.node[to.node]);
    return DROVE_OK;
}

/* Keeps the nodes that lead to the output, in their order. */
static drove_status prune(drove_onnx_reader *r, const char *top)
{
    drove_graph *g = &r->graph;
    bool *is_needed = calloc(g->n_nodes + 1, sizeof *is_needed);
    size_t n = 0;
    if (is_needed == NULL) return drove__fail_nomem("layers", g->n_nodes);
    for (size_t i = g->n_nodes; i-- > 0;) { /* each comes after those that it reads */
        const drove_node *node = &g->node[i];
        is_needed[i] = is_needed[i] || strcmp(drove__graph_top(node), top) == 0;
        for (unsigned b = 0; is_needed[i] && b < node->n_bottoms; b++) {
            const drove_node *below = find_top(g, node->bottom[b]);
            if (below != NULL) is_needed[below - g->node] = true;
        }
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        if (is_needed[i]) g->node[n++] = g->node[i];
        else drove__graph_node_fini(&g->node[i]);
    }
    g->n_nodes = n;
    free(is_needed);
    return DROVE_OK;
}

/* ---- reshapes that nothing needs ---- */

/* True if all that reads a blob works on each number alone, or is a dense layer with weights, whose
 * rows are put in drove's order (graph_values.c). */
static bool suits_any_order(const drove_graph *g, const char *blob)
{
    bool is_read = false;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const drove_node *node = &g->node[i];
        bool reads = false;
        for (unsigned b = 0; b < node->n_bottoms; b++)
            reads = reads || strcmp(node->bottom[b], blob) == 0;
        if (!reads) continue;
        is_read = true;
        if (node->ops == &drove__layer_dense && node->values.w != NULL) continue;
        if (node->ops != &drove__layer_activation && node->ops != &drove__layer_dropout &&
            node->ops != &drove__layer_clip)
            return false;
        if (!suits_any_order(g, drove__graph_top(node))) return false;
    }
    return is_read;
}

/* A reshape of a reshape reads what that one reads; one to a vector goes where its order says
 * nothing. */
static void drop_reshapes(drove_graph *g)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        drove_node *node = &g->node[i];
        if (node->ops != &drove__layer_reshape) continue;
        const drove_node *below = find_top(g, node->bottom[0]);
        if (below != NULL && below->ops == &drove__layer_reshape && !below->opt.sides.is_last)
            memcpy(node->bottom[0], below->bottom[0], sizeof node->bottom[0]);
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        const drove_node *node = &g->node[i];
        if (!(node->ops == &drove__layer_reshape && node->opt.n_out == 0) ||
            !suits_any_order(g, drove__graph_top(node)))
            continue;
        for (size_t k = i + 1; k < g->n_nodes; k++) {
            for (unsigned b = 0; b < g->node[k].n_bottoms; b++) {
                if (strcmp(g->node[k].bottom[b], drove__graph_top(node)) == 0)
                    memcpy(g->node[k].bottom[b], node->bottom[0], sizeof node->bottom[0]);
            }
        }
    }
}

/* ---- the end: what the loss computes ---- */

static bool has_loss(const drove_onnx_reader *r, const char *a, const char *b)
{
    return r->loss == NULL || strcmp(r->loss, a) == 0 || strcmp(r->loss, b) == 0;
}

/* A layer that makes probabilities, behind which up to this one nothing but bounds, fixed numbers,
 * sums and other sides stand; NULL: there is none.  n_left: layers to look at. */
static const drove_node *find_probabilities(const drove_graph *g, const drove_node *node,
                                            unsigned *n_left)
{
    static const drove_layer_ops *const through[] = {&drove__layer_reshape, &drove__layer_scale,
                                                     &drove__layer_clip,    &drove__layer_dropout,
                                                     &drove__layer_sum,     &drove__layer_concat,
                                                     &drove__layer_gather};
    bool goes_on = false;
    if (node == NULL || *n_left == 0) return NULL;
    --*n_left;
    if (node->ops == &drove__layer_softmax || node->ops == &drove__layer_normalize ||
        (node->ops == &drove__layer_activation && node->act == DROVEK_SIGMOID))
        return node;
    for (size_t i = 0; i < DROVE_COUNT(through); i++) goes_on = goes_on || node->ops == through[i];
    for (unsigned b = 0; goes_on && b < node->n_bottoms; b++) {
        const drove_node *found = find_probabilities(g, find_top(g, node->bottom[b]), n_left);
        if (found != NULL) return found;
    }
    return NULL;
}

/* A softmax or sigmoid at the end goes where drove's loss computes the same; another one stays with
 * a loss of values, and is refused with one that would make other probabilities of it. */
static drove_status settle_end(drove_onnx_reader *r, const char *top)
{
    const drove_node *last = find_top(&r->graph, top);
    const bool is_softmax = last->ops == &drove__layer_softmax;
    const bool is_sigmoid = last->ops == &drove__layer_activation && last->act == DROVEK_SIGMOID;
    if ((is_softmax && has_loss(r, "softmax", "hinge")) ||
        (is_sigmoid && has_loss(r, "sigmoid", "logistic")) ||
        (is_sigmoid && has_loss(r, "hinge", "hinge"))) {
        if (drove__graph_drop_probabilities(&r->graph, true)) r->notes |= DROVE_ONNX_NOTE_SIGMOID;
        return DROVE_OK;
    }
    const drove_custom *custom = r->io != NULL ? r->io->custom : NULL;
    const bool is_own = custom != NULL && custom->has_loss && r->loss != NULL &&
                        strcmp(r->loss, custom->loss_name) == 0;
    if (r->loss == NULL || strcmp(r->loss, "squared") == 0 || is_own) return DROVE_OK;
    if (is_softmax || is_sigmoid)
        return drove__fail(DROVE_E_SHAPE,
                           "%s: the network ends in a %s, which the loss %s does not compute: "
                           "expected %s",
                           r->file, is_softmax ? "softmax" : "sigmoid", r->loss,
                           is_softmax ? "data of one class an example"
                                      : "data of several labels, two classes and --loss logistic, "
                                        "or --loss squared");
    /* probabilities with something behind them would go through the loss's own once more */
    unsigned n_left = 1000;
    const drove_node *made = find_probabilities(&r->graph, last, &n_left);
    if (made == NULL) return DROVE_OK;
    return drove__fail(DROVE_E_SHAPE,
                       "%s: the network ends in a %s with layer \"%s\" as the last, which the loss "
                       "%s does not compute: expected --loss squared",
                       r->file, made->ops == &drove__layer_activation ? "sigmoid" : made->ops->name,
                       last->name, r->loss);
}

static drove_status import(drove_onnx_reader *r)
{
    const Drove__Onnx__Graph *g = r->model->graph;
    const drove_onnx_value *output;
    const char *top = NULL;
    for (size_t i = 0; i < g->n_initializer; i++) {
        const Drove__Onnx__Tensor *t = g->initializer[i];
        const int32_t type = t->has_data_type ? t->data_type : 0;
        drove_onnx_value value = {.name = t->name};
        drove__onnx_constant(t, &value);
        r->has_half = r->has_half || type == DROVE_ONNX_T_FLOAT16 || type == DROVE_ONNX_T_BFLOAT16;
        if (type == DROVE_ONNX_T_DOUBLE) r->notes |= DROVE_ONNX_NOTE_DOUBLE;
        DROVE_TRY(drove__onnx_add_value(r, NULL, &value));
    }
    DROVE_TRY(take_input(r));
    r->is_done = calloc(g->n_node + 1, sizeof *r->is_done);
    if (r->is_done == NULL) return drove__fail_nomem("nodes", g->n_node);
    for (size_t i = 0; i < g->n_node; i++)
        if (!r->is_done[i]) DROVE_TRY(read_node(r, g->node[i]));
    DROVE_TRY(find_output(r, &output));
    if (output != NULL) DROVE_TRY(shape_output(r, output, &top));
    if (r->graph.n_nodes == 0) return drove__onnx_fail(r, NULL, "expected layers, found none");
    if (top == NULL) top = drove__graph_top(&r->graph.node[r->graph.n_nodes - 1]);
    char kept[DROVE_LAYER_NAME_SIZE];
    snprintf(kept, sizeof kept, "%s", top);
    DROVE_TRY(prune(r, kept)); /* what nothing needs must not count as a reader of the output */
    drop_reshapes(&r->graph);
    DROVE_TRY(prune(r, kept));
    DROVE_TRY(settle_end(r, kept));
    if (r->graph.n_nodes == 0) return drove__onnx_fail(r, NULL, "expected layers, found none");
    if (r->n_folded > 0) r->notes |= DROVE_ONNX_NOTE_FOLDED;
    if (r->has_half) r->notes |= DROVE_ONNX_NOTE_HALF;
    static const struct {
        unsigned bit;
        const char *text;
    } notes[] = {
        {DROVE_ONNX_NOTE_SIGMOID, "the sigmoid at the end is left to the loss\n"},
        {DROVE_ONNX_NOTE_SHARED,
         "vectors that several layers read in the file are a parameter of each layer here\n"},
        {DROVE_ONNX_NOTE_FOLDED,
         "convolutions have weights without names of their own: the exporter has folded batch "
         "normalisation into them (torch.onnx.export with training=TrainingMode.PRESERVE keeps "
         "it)\n"},
        {DROVE_ONNX_NOTE_HALF, "computes with floats where the file has floats of 16 bits\n"},
        {DROVE_ONNX_NOTE_DOUBLE, "computes with floats where the file has doubles\n"}};
    char text[1024];
    size_t used = 0;
    if (r->notes == 0) return DROVE_OK;
    for (size_t i = 0; i < DROVE_COUNT(notes); i++) {
        if (r->notes & notes[i].bit)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", notes[i].text);
    }
    r->graph.notes = strdup(text);
    return r->graph.notes != NULL ? DROVE_OK : drove__fail_nomem("notes", sizeof text);
}

drove_status drove__graph_read_onnx(const char *bytes, size_t n_bytes, const char *file,
                                    const char *loss, const drove_model_io *io, drove_graph *out)
{
    drove_onnx_reader r = {.file = file, .io = io};
    if (io != NULL) {
        r.loss = loss != NULL && loss[0] != '\0' ? loss
                 : io->is_multi_label            ? "sigmoid"
                 : io->n_classes > 0             ? "softmax"
                                                 : "squared";
    }
    drove__graph_init(&r.graph, "model");
    r.graph.file = file;
    drove_status status = parse(&r, bytes, n_bytes);
    if (status == DROVE_OK) status = import(&r);
    ProtobufCAllocator allocator = {.alloc = take, .free = give};
    if (r.model != NULL) drove__onnx__model__free_unpacked(r.model, &allocator);
    free(r.value);
    free(r.taken);
    free(r.is_done);
    if (status != DROVE_OK) {
        drove__graph_fini(&r.graph);
        return status;
    }
    *out = r.graph;
    return DROVE_OK;
}
