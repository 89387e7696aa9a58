/* pack/assemble.c - see assemble.h.
 *
 *   clip                       the examples, smoothly clipped
 *   bins0.take .scale .cut     an embedding (pack/embed.h), and bins0, the two together
 *   bins0.linear, bins0.wide   linear members of it, and hidden layers of all that have one
 *   deep3.0, deep3.1           hidden layers of a member that has two
 *   out                        weights and biases over all of these, times the shares
 */
#include "pack/assemble.h"

#include "base/mem.h"
#include "model/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = DROVE_PACK_MOST_MEMBERS * DROVE_PACK_MOST_DIVISIONS };

typedef struct blob { /* that the last layer reads */
    char name[DROVE_LAYER_NAME_SIZE];
    size_t width;
    unsigned n_parts; /* whose last hidden layers, or outputs, it holds one behind the other */
    unsigned part[MOST_PARTS];
    bool is_linear; /* the sum of the outputs of its parts */
} blob;

typedef struct builder {
    const drove_part_of_pack *part;
    unsigned n, n_outputs;
    const drove_embedding *embedding[MOST_PARTS]; /* distinct ones */
    bool has_images;
    unsigned n_embeddings, n_blobs;
    blob blob[MOST_PARTS];
    drove_graph graph;
} builder;

static drove_status add(builder *b, const drove_layer_ops *ops, const char *name,
                        const char *bottom, drove_node **out)
{
    DROVE_TRY(drove__graph_add(&b->graph, ops, name, bottom, out));
    (*out)->opt.w_lr = (*out)->opt.b_lr = 1.0f; /* in the description 0 is a frozen layer */
    return DROVE_OK;
}

/* ---- embeddings ---- */

static drove_status copy_floats(const float *from, size_t n, drove_floats *to)
{
    to->value = drove__grow(NULL, n, sizeof *to->value);
    if (to->value == NULL) return drove__fail_nomem("a layer's numbers", n * sizeof *to->value);
    memcpy(to->value, from, n * sizeof *to->value);
    to->n = n;
    return DROVE_OK;
}

static void name_of(const builder *b, unsigned e, const char *what,
                    char into[DROVE_LAYER_NAME_SIZE])
{
    const drove_embedding *of = b->embedding[e];
    if (of == NULL || of->n_more == 0)
        snprintf(into, DROVE_LAYER_NAME_SIZE, "%s%s", of == NULL ? "sparse" : "clip", what);
    else
        snprintf(into, DROVE_LAYER_NAME_SIZE, "%s%u%s", of->opt.bins > 0 ? "bins" : "waves", e,
                 what);
}

/* The blob that members on an embedding read. */
static const char *input_of(const builder *b, unsigned e, char into[DROVE_LAYER_NAME_SIZE])
{
    if (b->embedding[e] == NULL) return drove__graph_input(&b->graph);
    name_of(b, e, "", into);
    return into;
}

/* Examples that are images become vectors first, in the order of files. */
static drove_status add_flat(builder *b, size_t n)
{
    drove_node *node;
    DROVE_TRY(add(b, &drove__layer_gather, "flat", drove__graph_input(&b->graph), &node));
    node->opt.index.value = drove__grow(NULL, n, sizeof *node->opt.index.value);
    if (node->opt.index.value == NULL) return drove__fail_nomem("an embedding", n * 4);
    for (size_t i = 0; i < n; i++) node->opt.index.value[i] = (uint32_t)i;
    node->opt.index.n = n;
    return DROVE_OK;
}

static drove_status add_clip(builder *b)
{
    drove_node *node;
    for (unsigned e = 0; e < b->n_embeddings; e++) {
        if (b->embedding[e] == NULL) continue;
        const char *bottom = drove__graph_input(&b->graph);
        if (b->has_images) {
            DROVE_TRY(add_flat(b, b->embedding[e]->n_inputs));
            bottom = "flat";
        }
        DROVE_TRY(add(b, &drove__layer_activation, "clip", bottom, &node));
        node->act = DROVEK_CURVE_smooth_clip;
        node->opt.level = DROVE_ACT_OWN;
        return DROVE_OK;
    }
    return DROVE_OK;
}

static drove_status add_embedding(builder *b, unsigned e)
{
    const drove_embedding *of = b->embedding[e];
    char name[DROVE_LAYER_NAME_SIZE];
    drove_node *node;
    if (of == NULL || of->n_more == 0) return DROVE_OK;
    name_of(b, e, ".take", name);
    DROVE_TRY(add(b, &drove__layer_gather, name, drove__graph_input(&b->graph), &node));
    node->opt.index.value = drove__grow(NULL, of->n_more, sizeof *node->opt.index.value);
    if (node->opt.index.value == NULL)
        return drove__fail_nomem("an embedding", of->n_more * sizeof *of->source);
    memcpy(node->opt.index.value, of->source, of->n_more * sizeof *of->source);
    node->opt.index.n = of->n_more;
    name_of(b, e, ".scale", name);
    DROVE_TRY(add(b, &drove__layer_scale, name, NULL, &node));
    DROVE_TRY(copy_floats(of->offset, of->n_more, &node->opt.offset));
    DROVE_TRY(copy_floats(of->factor, of->n_more, &node->opt.factor));
    name_of(b, e, of->opt.bins > 0 ? ".cut" : ".sin", name);
    const drove_layer_ops *kind = of->opt.bins > 0 ? &drove__layer_clip : &drove__layer_activation;
    DROVE_TRY(add(b, kind, name, NULL, &node));
    if (of->opt.bins > 0) node->opt.bounds.high = 1.0f;
    else {
        node->act = DROVEK_CURVE_sin;
        node->opt.slope = DROVE_ACT_OWN;
    }
    char both[DROVE_LAYER_NAME_SIZE];
    name_of(b, e, "", both);
    DROVE_TRY(add(b, &drove__layer_concat, both, "clip", &node));
    snprintf(node->bottom[node->n_bottoms++], DROVE_LAYER_NAME_SIZE, "%s", name);
    return DROVE_OK;
}

/* ---- members ---- */

static drove_status add_dense(builder *b, const char *name, const char *bottom, size_t n_out,
                              drovek_act act)
{
    drove_node *node;
    DROVE_TRY(add(b, &drove__layer_dense, name, bottom, &node));
    node->opt.n_out = n_out;
    node->act = act;
    return DROVE_OK;
}

/* Members of an embedding with so many hidden layers, side by side in one layer.  Networks of
 * sparse examples are a chain: there linear members stand among those with one, their outputs z as
 * the two units max(z, 0) and max(-z, 0). */
static drove_status add_joined(builder *b, unsigned e, unsigned depth)
{
    blob *to = &b->blob[b->n_blobs];
    char bottom[DROVE_LAYER_NAME_SIZE];
    *to = (blob){.is_linear = depth == 0};
    const bool is_sparse = b->embedding[e] == NULL;
    if (is_sparse && depth == 0) return DROVE_OK;
    for (unsigned i = 0; i < b->n; i++) {
        const drove_part_of_pack *p = &b->part[i];
        const unsigned own = drove__member_depth(p->member);
        if (p->embedding != b->embedding[e] || (own != depth && !(is_sparse && own == 0))) continue;
        to->part[to->n_parts++] = i;
        to->width += own > 0 ? p->member->width[0] : 2 * b->n_outputs;
    }
    if (to->n_parts == 0) return DROVE_OK;
    if (depth == 0) to->width = b->n_outputs;
    name_of(b, e, depth == 0 ? ".linear" : ".wide", to->name);
    b->n_blobs++;
    return add_dense(b, to->name, input_of(b, e, bottom), to->width,
                     depth == 0 ? DROVEK_LINEAR : DROVEK_RELU);
}

static drove_status add_deep(builder *b, unsigned i)
{
    const drove_part_of_pack *p = &b->part[i];
    const unsigned depth = drove__member_depth(p->member);
    char bottom[DROVE_LAYER_NAME_SIZE];
    unsigned e = 0;
    if (depth < 2) return DROVE_OK;
    while (b->embedding[e] != p->embedding) e++;
    blob *to = &b->blob[b->n_blobs++];
    *to = (blob){.width = p->member->width[depth - 1], .n_parts = 1, .part = {i}};
    for (unsigned l = 0; l < depth; l++) {
        snprintf(to->name, sizeof to->name, "deep%u.%u", i, l);
        DROVE_TRY(add_dense(b, to->name, l == 0 ? input_of(b, e, bottom) : NULL,
                            p->member->width[l], DROVEK_RELU));
    }
    return DROVE_OK;
}

/* name[n] one behind the other in one blob, whose name replaces name[0]. */
static drove_status add_concats(builder *b, unsigned n, char (*name)[DROVE_LAYER_NAME_SIZE])
{
    for (unsigned level = 0; n > 1; level++) {
        unsigned n_made = 0;
        for (unsigned first = 0; first < n; first += DROVE_LAYER_MOST_BOTTOMS) {
            const unsigned left = n - first, most = DROVE_LAYER_MOST_BOTTOMS;
            const unsigned here = left < most ? left : most;
            char own[DROVE_LAYER_NAME_SIZE];
            drove_node *node;
            snprintf(own, sizeof own, "all%u.%u", level, n_made);
            if (here > 1) {
                DROVE_TRY(add(b, &drove__layer_concat, own, name[first], &node));
                for (unsigned i = 1; i < here; i++)
                    memcpy(node->bottom[node->n_bottoms++], name[first + i], DROVE_LAYER_NAME_SIZE);
                memcpy(name[n_made++], own, sizeof own);
            } else memmove(name[n_made++], name[first], DROVE_LAYER_NAME_SIZE);
        }
        n = n_made;
    }
    return DROVE_OK;
}

static drove_status describe(builder *b)
{
    char name[MOST_PARTS][DROVE_LAYER_NAME_SIZE];
    drove__graph_init(&b->graph, "pack");
    DROVE_TRY(add_clip(b));
    for (unsigned e = 0; e < b->n_embeddings; e++) DROVE_TRY(add_embedding(b, e));
    for (unsigned e = 0; e < b->n_embeddings; e++) {
        DROVE_TRY(add_joined(b, e, 0));
        DROVE_TRY(add_joined(b, e, 1));
    }
    for (unsigned i = 0; i < b->n; i++) DROVE_TRY(add_deep(b, i));
    for (unsigned i = 0; i < b->n_blobs; i++) memcpy(name[i], b->blob[i].name, sizeof name[i]);
    DROVE_TRY(add_concats(b, b->n_blobs, name));
    return add_dense(b, "out", name[0], 0, DROVEK_LINEAR);
}

/* ---- parameters ---- */

static const drove_layer *find_layer(const drove_model *model, const char *name)
{
    size_t l = 0;
    while (strcmp(model->layer[l].name, name) != 0) l++;
    return &model->layer[l];
}

static const drove_layer *layer_of(const drove_part_of_pack *p, const char *kind, unsigned number)
{
    char name[DROVE_LAYER_NAME_SIZE];
    snprintf(name, sizeof name, number == UINT32_MAX ? "%s" : "%s%u", kind, number);
    return find_layer(p->model, name);
}

/* to[rows][width], from its column `at` on, += share * from[rows][n]; and the biases. */
static void put(const drove_layer *from, const float *of, const drove_layer *to, float *theta,
                size_t at, float share)
{
    const size_t n = from->n_out, width = to->n_out, rows = from->n_w / n;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < n; k++)
            theta[to->w_offset + i * width + at + k] += share * of[from->w_offset + i * n + k];
    for (size_t k = 0; k < n; k++) theta[to->b_offset + at + k] += share * of[from->b_offset + k];
}

/* The same of a layer on an embedding, whose levels are differences of the network's cuts: their
 * weights become those of the cuts. */
static void put_first(const drove_part_of_pack *p, const drove_layer *from, const drove_layer *to,
                      float *theta, size_t at, float share)
{
    const drove_embedding *e = p->embedding;
    const size_t n = from->n_out, width = to->n_out;
    put(from, p->theta, to, theta, at, share);
    for (size_t k = 1; e != NULL && k < e->n_more; k++) {
        if (!e->is_level[k] || e->source[k] != e->source[k - 1]) continue;
        const size_t row = e->n_inputs + k;
        for (size_t i = 0; i < n; i++)
            theta[to->w_offset + row * width + at + i] -=
                share * p->theta[from->w_offset + (row - 1) * n + i];
    }
}

/* A linear member of sparse examples: units at `at` of the layer `to`, and the last layer's rows
 * w[2 n_outputs][n_outputs] that read them. */
static void put_signs(const drove_part_of_pack *p, const drove_layer *last, const drove_layer *to,
                      float *theta, size_t at, float *w)
{
    const size_t n = last->n_out;
    put(last, p->theta, to, theta, at, 1.0f);
    put(last, p->theta, to, theta, at + n, -1.0f);
    for (size_t k = 0; k < n; k++) {
        w[k * n + k] = (float)p->share;
        w[(n + k) * n + k] = -(float)p->share;
    }
}

/* The last layer's rows that read a blob, from `row` on. */
static void put_blob(const builder *b, const blob *from, const drove_model *model, size_t row,
                     float *theta)
{
    const drove_layer *out = find_layer(model, "out");
    const size_t n = out->n_out;
    float *w = theta + out->w_offset + row * n, *bias = theta + out->b_offset;
    size_t at = 0;
    for (unsigned i = 0; i < from->n_parts; i++) {
        const drove_part_of_pack *p = &b->part[from->part[i]];
        const drove_layer *last = layer_of(p, "out", UINT32_MAX);
        const unsigned depth = drove__member_depth(p->member);
        const float share = (float)p->share;
        if (from->is_linear) {
            put_first(p, last, find_layer(model, from->name), theta, 0, share);
            continue;
        }
        if (depth == 0) {
            put_signs(p, last, find_layer(model, from->name), theta, at, w + at * n);
            at += 2 * n;
            continue;
        }
        for (unsigned l = 0; l < depth; l++) {
            char name[DROVE_LAYER_NAME_SIZE];
            snprintf(name, sizeof name, "deep%u.%u", from->part[i], l);
            const drove_layer *own = layer_of(p, "hidden", l);
            const drove_layer *to = find_layer(model, depth == 1 ? from->name : name);
            if (l == 0) put_first(p, own, to, theta, depth == 1 ? at : 0, 1.0f);
            else put(own, p->theta, to, theta, 0, 1.0f);
        }
        for (size_t k = 0; k < last->n_w; k++) w[at * n + k] = share * p->theta[last->w_offset + k];
        for (size_t k = 0; k < n; k++) bias[k] += share * p->theta[last->b_offset + k];
        at += p->member->width[depth - 1];
    }
    for (size_t k = 0; k < n && from->is_linear; k++) w[k * n + k] = 1.0f;
}

drove_status drove__pack_assemble(const drove_part_of_pack *part, unsigned n, const float *constant,
                                  const drove_model_io *io, const char *loss, drove_model **model,
                                  float **theta)
{
    builder *b = drove__alloc(1, sizeof *b);
    *model = NULL;
    *theta = NULL;
    if (b == NULL) return drove__fail_nomem("a pack's network", sizeof *b);
    b->part = part;
    b->n = n;
    b->has_images = drove__shape_floats(io->image) > 0;
    b->n_outputs = (unsigned)part[0].model->n_outputs;
    for (unsigned i = 0; i < n; i++) {
        unsigned e = 0;
        while (e < b->n_embeddings && b->embedding[e] != part[i].embedding) e++;
        if (e == b->n_embeddings) b->embedding[b->n_embeddings++] = part[i].embedding;
    }
    char *text = NULL; /* as a saved model has it */
    drove_status status = describe(b);
    if (status == DROVE_OK) status = drove__graph_print_yaml(&b->graph, &text);
    if (status == DROVE_OK) status = drove__model_create_text(text, "pack", loss, io, model);
    free(text);
    if (status == DROVE_OK) {
        *theta = drove__alloc((*model)->n_params, sizeof **theta);
        if (*theta == NULL)
            status = drove__fail_nomem("the pack's parameters", (*model)->n_params * 4);
    }
    size_t row = 0;
    for (unsigned i = 0; i < b->n_blobs && status == DROVE_OK; i++) {
        put_blob(b, &b->blob[i], *model, row, *theta);
        row += b->blob[i].width;
    }
    for (unsigned k = 0; k < b->n_outputs && status == DROVE_OK; k++)
        (*theta)[find_layer(*model, "out")->b_offset + k] += constant[k];
    if (status != DROVE_OK) {
        drove__model_destroy(*model);
        *model = NULL;
    }
    drove__graph_fini(&b->graph);
    drove__free(b);
    return status;
}
