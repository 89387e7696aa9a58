/* model/freeze.c - see freeze.h. */
#include "model/freeze.h"

#include "base/mem.h"
#include "base/spec.h"
#include "model/custom.h"

#include <stdlib.h>
#include <string.h>

static bool has_parameters(const drove_layer *l)
{
    return l->n_w + l->n_b > 0;
}

size_t drove__head_layer(const drove_model *model, unsigned h)
{
    size_t l = model->head[h].layer;
    while (!has_parameters(&model->layer[l])) {
        const drove_layer *layer = &model->layer[l];
        if (layer->n_bottoms != 1 || layer->bottom[0] == 0) return model->n_layers;
        l = layer->bottom[0] - 1;
    }
    return l;
}

/* ---- names ---- */

bool drove__is_of_head(const drove_model *m, size_t l)
{
    for (unsigned h = 0; h < m->n_heads; h++)
        if (drove__head_layer(m, h) == l) return true;
    return false;
}

static bool is_body(const char *word, size_t n)
{
    return n == 4 && strncmp(word, "body", n) == 0;
}

/* Does the word, n bytes of text, mean layer l? */
static bool means(const drove_model *m, const char *word, size_t n, size_t l)
{
    const char *name = m->layer[l].name;
    if (is_body(word, n)) return !drove__is_of_head(m, l);
    if (n > 0 && word[n - 1] == '*') return strncmp(name, word, n - 1) == 0;
    return strlen(name) == n && strncmp(name, word, n) == 0;
}

static drove_status fail_unknown(const drove_model *m, const char *word, size_t n)
{
    char text[DROVE_LAYER_NAME_SIZE + 2];
    const char **names = calloc(m->n_layers + 1, sizeof *names);
    if (names == NULL) return drove__fail_nomem("names of layers", m->n_layers * sizeof *names);
    size_t n_names = 0;
    for (size_t l = 0; l < m->n_layers; l++)
        if (has_parameters(&m->layer[l])) names[n_names++] = m->layer[l].name;
    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), word);
    const char *near = drove__nearest(text, names, n_names);
    drove_status status =
        drove__fail(DROVE_E_ARG,
                    "freeze: expected layers with parameters (NAME, NAME* or body), found \"%s\"; "
                    "%s\"%s\"%s",
                    text, near != NULL ? "did you mean " : "the network's first is ",
                    near != NULL  ? near
                    : n_names > 0 ? names[0]
                                  : "none",
                    near != NULL ? "?" : " (drove model shows all)");
    free(names);
    return status;
}

/* Has each head a last layer, all others being the body? */
static drove_status check_body(const drove_model *m)
{
    for (unsigned h = 0; h < m->n_heads; h++) {
        if (drove__head_layer(m, h) < m->n_layers) continue;
        const drove_layer *l = &m->layer[m->head[h].layer];
        return drove__fail(DROVE_E_ARG,
                           "freeze=body: model %s: expected a single last layer with parameters "
                           "below \"%s\" (%s), found none: name the layers",
                           m->spec, l->name, l->ops->name);
    }
    return DROVE_OK;
}

drove_status drove__freeze_choose(const drove_model *whole, const char *names, bool *is_frozen)
{
    for (size_t l = 0; l < whole->n_layers; l++)
        is_frozen[l] =
            has_parameters(&whole->layer[l]) && whole->layer[l].opt.w_lr == DROVE_LR_NONE;
    for (const char *word = names; *word != '\0';) {
        const size_t n = strcspn(word, ",");
        bool is_known = false;
        if (is_body(word, n)) DROVE_TRY(check_body(whole));
        for (size_t l = 0; l < whole->n_layers; l++) {
            if (!has_parameters(&whole->layer[l]) || !means(whole, word, n, l)) continue;
            is_frozen[l] = is_known = true;
        }
        if (!is_known) return fail_unknown(whole, word, n);
        word += n + (word[n] == ',');
    }
    bool any = false;
    for (size_t l = 0; l < whole->n_layers; l++) {
        if (has_parameters(&whole->layer[l]) && !is_frozen[l]) return DROVE_OK;
        any = any || is_frozen[l];
    }
    if (!any) return DROVE_OK; /* without parameters */
    return drove__fail(DROVE_E_ARG,
                       "freeze: model %s: expected a layer that is trained, found all frozen",
                       whole->spec);
}

/* ---- where the model can be cut ---- */

/* These number an image that is a layer's output as [h][w][c], and one that is the model's input as
 * [c][h][w]. */
static bool reads_flat(const drove_layer *l)
{
    return l->ops == &drove__layer_dense || l->ops == &drove__layer_flatten;
}

/* Can the layers from n on be a part that reads blob n alone? */
static bool is_cut(const drove_model *m, size_t n, bool *is_flat)
{
    size_t n_flat = 0, n_readers = 0;
    const drove_shape s = m->layer[n - 1].out;
    for (size_t l = n; l < m->n_layers; l++) {
        for (unsigned b = 0; b < m->layer[l].n_bottoms; b++) {
            if (m->layer[l].bottom[b] < n) return false;
            if (m->layer[l].bottom[b] > n) continue;
            n_readers++;
            n_flat += reads_flat(&m->layer[l]);
        }
    }
    for (unsigned h = 0; h < m->n_heads; h++)
        if (m->head[h].layer < n) return false;
    *is_flat = n_readers > 0 && n_flat == n_readers;
    return n_flat == 0 || n_flat == n_readers || s.h * s.w == 1 || s.c == 1;
}

drove_model_cut drove__freeze_cut(const drove_model *whole, const bool *is_frozen)
{
    drove_model_cut best = {0};
    bool is_flat, any = false;
    for (size_t l = 0; l + 1 < whole->n_layers; l++) {
        const drove_layer *layer = &whole->layer[l];
        const bool is_random = (layer->ops == &drove__layer_dropout && layer->opt.ratio > 0.0f) ||
                               layer->ops->custom != NULL;
        if ((has_parameters(layer) && !is_frozen[l]) || is_random) break;
        any = any || has_parameters(layer);
        if (any && is_cut(whole, l + 1, &is_flat)) best = (drove_model_cut){l + 1, is_flat};
    }
    return best;
}

/* ---- parts ---- */

static drove_status copy_text(const char *from, char **to)
{
    if (from == NULL) return DROVE_OK;
    *to = strdup(from);
    return *to != NULL ? DROVE_OK : drove__fail_nomem("a model", strlen(from));
}

/* Layers [first, last) and room for one more, reading blob `first` as the input; is_frozen NULL:
 * all are. */
static drove_status copy_layers(const drove_model *whole, size_t first, size_t last,
                                const bool *is_frozen, drove_model *m)
{
    m->layer = calloc(last - first + 1, sizeof *m->layer);
    if (m->layer == NULL) return drove__fail_nomem("layers", (last - first) * sizeof *m->layer);
    m->is_chain = true;
    for (size_t i = first; i < last; i++) {
        drove_layer *l = &m->layer[m->n_layers++];
        *l = whole->layer[i];
        DROVE_TRY(drove__layer_lists_copy(&l->opt));
        for (unsigned b = 0; b < l->n_bottoms; b++) l->bottom[b] -= (uint32_t)first;
        l->training.is_frozen = has_parameters(l) && (is_frozen == NULL || is_frozen[i]);
        m->is_chain = m->is_chain && l->ops == &drove__layer_dense && l->bottom[0] == i - first;
        m->is_random = m->is_random || (l->ops == &drove__layer_dropout && l->opt.ratio > 0.0f);
    }
    return DROVE_OK;
}

/* Weights, biases and statistics of a layer that both have; not those of a new head. */
static void copy_views(const drove_layer *from, const float *values, const drove_layer *to,
                       float *into)
{
    if (from->n_w != to->n_w || from->n_b != to->n_b) return;
    if (from->n_w > 0)
        memcpy(into + to->w_offset, values + from->w_offset, from->n_w * sizeof *into);
    if (from->n_b > 0)
        memcpy(into + to->b_offset, values + from->b_offset, from->n_b * sizeof *into);
    if (from->n_statistics > 0)
        memcpy(into + to->s_offset, values + from->s_offset, from->n_statistics * sizeof *into);
}

/* Views of the part's layers, and its frozen parameters. */
static drove_status fill_frozen(const drove_model *whole, const float *theta, size_t first,
                                drove_model *m)
{
    DROVE_TRY(drove__model_lay_out(m));
    if (m->n_frozen == 0) return DROVE_OK;
    m->frozen = drove__alloc(m->n_frozen, sizeof *m->frozen);
    if (m->frozen == NULL)
        return drove__fail_nomem("frozen parameters", m->n_frozen * sizeof *m->frozen);
    memset(m->frozen, 0, m->n_frozen * sizeof *m->frozen);
    for (size_t l = 0; l < m->n_layers; l++) /* one that was added has no parameters */
        if (m->layer[l].training.is_frozen)
            copy_views(&whole->layer[first + l], theta, &m->layer[l], m->frozen);
    return DROVE_OK;
}

static drove_status create_like(const drove_model *whole, drove_model **out)
{
    drove_model *m = calloc(1, sizeof *m);
    if (m == NULL) return drove__fail_nomem("a model", sizeof *m);
    memcpy(m->spec, whole->spec, sizeof m->spec);
    memcpy(m->activation, whole->activation, sizeof m->activation);
    m->factors = whole->factors;
    m->label_smoothing = whole->label_smoothing;
    m->loss = whole->loss;
    m->n_outputs = whole->n_outputs;
    m->kinds = drove__kinds_keep(whole->kinds);
    *out = m;
    return DROVE_OK;
}

drove_status drove__part_above(const drove_model *whole, const float *theta, const bool *is_frozen,
                               const drove_model_cut *cut, drove_model **out)
{
    const size_t first = cut->n_below;
    drove_model *m;
    *out = NULL;
    DROVE_TRY(create_like(whole, &m));
    m->input = drove__blob_shape(whole, (uint32_t)first);
    m->n_inputs = drove__shape_floats(m->input);
    if (first > 0 && cut->is_flat) m->input = (drove_shape){m->n_inputs, 1, 1};
    drove_status status = copy_text(whole->graph_text, &m->graph_text);
    if (status != DROVE_OK) goto fail;
    if ((status = copy_layers(whole, first, whole->n_layers, is_frozen, m)) != DROVE_OK) goto fail;
    bool has_matrix = false;
    for (size_t l = 0; l < first; l++)
        has_matrix = has_matrix || drove__layer_has_matrix(&whole->layer[l]);
    for (size_t l = 0; l < m->n_layers; l++) {
        drove_layer *layer = &m->layer[l];
        layer->training.is_above_matrix = has_matrix;
        /* of one that reads a flattened image */
        if (first > 0 && cut->is_flat && layer->bottom[0] == 0 && reads_flat(layer))
            layer->in = m->input;
    }
    m->n_heads = whole->n_heads;
    for (unsigned h = 0; h < m->n_heads; h++) {
        m->head[h] = whole->head[h];
        m->head[h].layer -= first;
    }
    m->is_chain = m->is_chain && m->n_heads == 1;
    if ((status = fill_frozen(whole, theta, first, m)) != DROVE_OK) goto fail;
    *out = m;
    return DROVE_OK;
fail:
    drove__model_destroy(m);
    return status;
}

drove_status drove__part_below(const drove_model *whole, const float *theta,
                               const drove_model_cut *cut, drove_model **out)
{
    drove_model *m;
    *out = NULL;
    DROVE_TRY(create_like(whole, &m));
    m->input = whole->input;
    m->n_inputs = whole->n_inputs;
    m->loss = &drove__loss_squared; /* whose predictions are the outputs as they are */
    m->label_smoothing = 0.0f;
    drove_status status = copy_layers(whole, 0, cut->n_below, NULL, m);
    if (status != DROVE_OK) goto fail;

    /* The outputs as a vector. */
    const drove_shape s = drove__blob_shape(whole, (uint32_t)cut->n_below);
    drove_layer *last = &m->layer[m->n_layers];
    *last = (drove_layer){.ops = cut->is_flat ? &drove__layer_flatten : &drove__layer_reshape,
                          .n_bottoms = 1,
                          .bottom = {(uint32_t)cut->n_below},
                          .name = "kept",
                          .opt = {.sides = {.height = 1, .width = 1}}};
    m->n_outputs = drove__shape_floats(s);
    if ((status = last->ops->shape(last, &s, 1, m->n_outputs)) != DROVE_OK) goto fail;
    m->n_layers++;
    for (size_t l = 0; l < m->n_layers; l++) m->layer[l].training.is_only = false;
    m->head[m->n_heads++] = (drove_head){.layer = m->n_layers - 1, .weight = 1.0f};
    m->is_chain = false;
    if ((status = fill_frozen(whole, theta, 0, m)) != DROVE_OK) goto fail;
    *out = m;
    return DROVE_OK;
fail:
    drove__model_destroy(m);
    return status;
}

void drove__part_take(const drove_model *whole, size_t n_below, const drove_model *part,
                      const float *theta, float *part_theta)
{
    memset(part_theta, 0, part->n_params * sizeof *part_theta); /* the gaps */
    for (size_t l = 0; l < part->n_layers; l++)
        if (!part->layer[l].training.is_frozen)
            copy_views(&whole->layer[n_below + l], theta, &part->layer[l], part_theta);
}

void drove__part_give(const drove_model *whole, size_t n_below, const drove_model *part,
                      const float *part_theta, float *theta)
{
    for (size_t l = 0; l < part->n_layers; l++)
        if (!part->layer[l].training.is_frozen)
            copy_views(&part->layer[l], part_theta, &whole->layer[n_below + l], theta);
}
