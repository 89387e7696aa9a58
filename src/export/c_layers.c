/* export/c_layers.c - the layers of a network as C: for each kind the function of c_parts.h that it
 * is, its constants, and the statements that call it.
 *
 * A new kind is a row of `kinds`, the functions that the row names, and a part of c_parts.h; a new
 * activation is a part act_NAME.
 */
#include "export/c_source.h"

#include "base/mem.h"
#include "export/c_parts_text.h"
#include "model/layer.h"
#include "model/pooling.h"
#include "model/pytorch.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A layer that is being written. */
typedef struct item {
    FILE *to;
    const drove_c_plan *p;
    const drove_layer *l;
    size_t at; /* its number */
    size_t y;  /* place of its output */
} item;

static item item_of(FILE *to, const drove_c_plan *p, size_t layer)
{
    return (item){to, p, &p->file->model->layer[layer], layer, p->place[layer + 1]};
}

static size_t places_of(drove_shape s)
{
    return s.h * s.w;
}

/* The next layer's batch normalisation is in this one's weights. */
static const drove_layer *folded(const item *i)
{
    const drove_model *model = i->p->file->model;
    for (size_t l = i->at + 1; l < i->p->n_layers; l++) {
        if (i->p->is_folded[l] && model->layer[l].bottom[0] == i->at + 1) return &model->layer[l];
    }
    return NULL;
}

/* ---- which row it is ---- */

static bool is_depthwise(const item *i)
{
    return i->l->in.c > 1 && i->l->opt.groups == i->l->in.c && i->l->out.c == i->l->in.c;
}

static bool reads_sparse(const item *i)
{
    return i->l->bottom[0] == 0 && i->p->file->x_kind == DROVE_X_CSR;
}

static bool has_one_output(const item *i)
{
    return i->l->n_out == 1;
}

static bool is_folded(const item *i)
{
    return i->p->is_folded[i->at];
}

static bool keeps_order(const item *i)
{
    return drove__pytorch_has_one_order(i->l->in) &&
           (i->l->opt.sides.is_last || drove__pytorch_has_one_order(i->l->out));
}

static bool is_last(const item *i)
{
    return i->l->opt.sides.is_last;
}

/* ---- constants ---- */

static drove_status write_floats(const item *i, char letter, const float *value, size_t n)
{
    char name[32];
    for (size_t k = 0; k < n; k++) {
        if (!isfinite(value[k]))
            return drove__fail(DROVE_E_NONFINITE, "layer %s: expected finite parameters, found %g",
                               i->l->name, (double)value[k]);
    }
    snprintf(name, sizeof name, "%c%zu", letter, i->at);
    drove__c_floats(i->to, name, value, n);
    return DROVE_OK;
}

/* factor x + offset of a batch normalisation. */
static void affine_of(const drove_modelfile *f, const drove_layer *l, size_t channel,
                      double *factor, double *offset)
{
    const float *theta = f->theta, *mean = theta + l->s_offset, *variance = mean + l->n_w;
    *factor = (double)theta[l->w_offset + channel] /
              sqrt((double)variance[channel] + (double)l->opt.epsilon);
    *offset = (double)theta[l->b_offset + channel] - (double)mean[channel] * *factor;
}

static size_t output_of(const drove_layer *l, size_t weight)
{
    if (l->ops == &drove__layer_dense) return weight % l->n_out;
    const size_t n_out = l->w_shape[4];
    return weight / (l->n_w / l->w_shape[0]) * n_out + weight % n_out;
}

/* w[n_w] and b[out.c], with the batch normalisation behind them; returns whether there are
 * biases. */
static bool fold_weights(const item *i, float *w, float *b)
{
    const drove_layer *l = i->l, *norm = folded(i);
    const drove_modelfile *f = i->p->file;
    double factor, offset;
    memcpy(w, f->theta + l->w_offset, l->n_w * sizeof *w);
    if (l->n_b > 0) memcpy(b, f->theta + l->b_offset, l->n_b * sizeof *b);
    if (norm == NULL) return l->n_b > 0;
    for (size_t k = 0; k < l->n_w; k++) {
        affine_of(f, norm, output_of(l, k), &factor, &offset);
        w[k] = (float)((double)w[k] * factor);
    }
    for (size_t k = 0; k < l->out.c; k++) {
        affine_of(f, norm, k, &factor, &offset);
        b[k] = (float)((double)b[k] * factor + offset);
    }
    return true;
}

static drove_status weights(const item *i)
{
    const drove_layer *l = i->l, *norm = folded(i);
    float *w = drove__alloc(2 * l->n_w + l->out.c, sizeof *w);
    if (w == NULL) return drove__fail_nomem("weights", l->n_w * sizeof *w);
    float *turned = w + l->n_w, *b = turned + l->n_w;
    const bool has_biases = fold_weights(i, w, b);

    /* What the arrays hold, for the reader. */
    if (l->ops == &drove__layer_dense) {
        fprintf(i->to, "/* w[%zu][%zu]: inputs, outputs", l->n_in, l->n_out);
    } else if (is_depthwise(i)) {
        const size_t n = l->w_shape[1] * l->w_shape[2], c = l->in.c;
        fprintf(i->to, "/* w[%zu][%zu][%zu]: height, width, channels", l->w_shape[1], l->w_shape[2],
                c);
        for (size_t k = 0; k < l->n_w; k++) turned[k % n * c + k / n] = w[k];
        w = turned;
    } else {
        fprintf(i->to,
                "/* w[%zu][%zu][%zu][%zu][%zu]: groups, height, width, inputs and outputs of a "
                "group",
                l->w_shape[0], l->w_shape[1], l->w_shape[2], l->w_shape[3], l->w_shape[4]);
    }
    if (has_biases) fprintf(i->to, "; b[%zu]", l->out.c);
    if (norm != NULL) {
        fputs("; with ", i->to);
        drove__c_comment(i->to, norm->name);
    }
    fputs(" */\n", i->to);

    drove_status status = write_floats(i, 'w', w, l->n_w);
    if (status == DROVE_OK && has_biases) status = write_floats(i, 'b', b, l->out.c);
    drove__free(w == turned ? turned - l->n_w : w);
    return status;
}

static drove_status window(const item *i)
{
    const drove_layer *l = i->l;
    const drovek_window *v = &l->opt.window;
    const bool is_convolution = l->ops == &drove__layer_convolution;
    const size_t groups = is_convolution ? l->w_shape[0] : 1,
                 kh = is_convolution ? l->w_shape[1] : v->kh,
                 kw = is_convolution ? l->w_shape[2] : v->kw;
    fprintf(i->to,
            "static const window s%zu = {\n"
            "    .h = %zu, .w = %zu, .c = %zu, .oh = %zu, .ow = %zu, .oc = %zu, .kh = %zu, .kw = "
            "%zu,\n"
            "    .sh = %zu, .sw = %zu, .ph = %zu, .pw = %zu, .dh = %zu, .dw = %zu, .groups = %zu",
            i->at, l->in.h, l->in.w, l->in.c, l->out.h, l->out.w, l->out.c, kh, kw,
            v->sh > 0 ? v->sh : 1, v->sw > 0 ? v->sw : 1, v->ph, v->pw, v->dh > 0 ? v->dh : 1,
            v->dw > 0 ? v->dw : 1, groups);
    if (l->ops == &drove__layer_average_pool) {
        const drovek_pool pool = drove__pooling_geometry(l, DROVEK_NHWC);
        fprintf(i->to, ",\n    .y0 = %zu, .x0 = %zu, .y1 = %zu, .x1 = %zu", pool.y0, pool.x0,
                pool.y1, pool.x1);
    }
    fputs("};\n", i->to);
    return is_convolution ? weights(i) : DROVE_OK;
}

static drove_status affine(const item *i)
{
    const size_t c = i->l->n_w;
    float *factor = drove__alloc(2 * c, sizeof *factor);
    if (factor == NULL) return drove__fail_nomem("batch normalisation", 2 * c * sizeof *factor);
    for (size_t k = 0; k < c; k++) {
        double a, b;
        affine_of(i->p->file, i->l, k, &a, &b);
        factor[k] = (float)a;
        factor[c + k] = (float)b;
    }
    drove_status status = write_floats(i, 'f', factor, c);
    if (status == DROVE_OK) status = write_floats(i, 'o', factor + c, c);
    drove__free(factor);
    return status;
}

static drove_status norms(const item *i)
{
    const drove_layer *l = i->l;
    const float *theta = i->p->file->theta;
    DROVE_TRY(write_floats(i, 'f', theta + l->w_offset, l->n_w));
    return write_floats(i, 'o', theta + l->b_offset, l->n_b);
}

static drove_status slopes(const item *i)
{
    return write_floats(i, 'a', i->p->file->theta + i->l->w_offset, i->l->n_w);
}

/* The fixed numbers of a scale layer, [h][w][c] where there is one for each number. */
static drove_status write_fixed(const item *i, char letter, const drove_floats *list)
{
    const drove_shape s = i->l->in;
    const size_t n = places_of(s);
    if (list->n != i->l->n_in || drove__pytorch_has_one_order(s))
        return list->n > 1 ? write_floats(i, letter, list->value, list->n) : DROVE_OK;
    float *turned = drove__alloc(list->n, sizeof *turned);
    if (turned == NULL) return drove__fail_nomem("fixed numbers", list->n * sizeof *turned);
    for (size_t k = 0; k < list->n; k++) turned[k % n * s.c + k / n] = list->value[k];
    drove_status status = write_floats(i, letter, turned, list->n);
    drove__free(turned);
    return status;
}

static drove_status fixed(const item *i)
{
    drove_status status = write_fixed(i, 'o', &i->l->opt.offset);
    return status == DROVE_OK ? write_fixed(i, 'f', &i->l->opt.factor) : status;
}

/* The places of a gather layer's numbers, in [h][w][c] but of the data as they are. */
static drove_status places(const item *i)
{
    enum { A_LINE = 12 };
    const drove_indices *index = &i->l->opt.index;
    const size_t n = i->l->bottom[0] == 0 ? 1 : places_of(i->l->in);
    const size_t c = i->l->bottom[0] == 0 ? 1 : i->l->in.c;
    fprintf(i->to, "static const unsigned long g%zu[%zu] = {", i->at, index->n);
    for (size_t k = 0; k < index->n; k++) {
        const size_t at = index->value[k];
        fprintf(i->to, "%s%zu,", k % A_LINE == 0 ? "\n    " : " ",
                c > 1 ? at % n * c + at / n : at);
    }
    fputs("\n};\n", i->to);
    return DROVE_OK;
}

/* ---- calls ---- */

/* Where an input lies. */
static size_t bottom_of(const item *i, unsigned bottom)
{
    return i->p->place[drove__c_array(i->p, i->l, bottom)];
}

static size_t x_of(const item *i)
{
    return bottom_of(i, 0);
}

static void put_biases(const item *i)
{
    if (i->l->n_b > 0 || folded(i) != NULL) fprintf(i->to, "b%zu, ", i->at);
    else fputs("NULL, ", i->to);
}

static void call_dense(const item *i, const char *part)
{
    fprintf(i->to, "    %s(scratch + %zu, %zu, w%zu, ", part, x_of(i), i->l->n_in, i->at);
    put_biases(i);
    if (!has_one_output(i) || reads_sparse(i)) fprintf(i->to, "%zu, ", i->l->n_out);
    fprintf(i->to, "scratch + %zu);\n", i->y);
}

static void call_window(const item *i, const char *part)
{
    fprintf(i->to, "    %s(&s%zu, scratch + %zu, ", part, i->at, x_of(i));
    if (i->l->n_w > 0) {
        fprintf(i->to, "w%zu, ", i->at);
        put_biases(i);
    }
    fprintf(i->to, "scratch + %zu);\n", i->y);
}

static void call_lrn(const item *i, const char *part)
{
    const drove_lrn *o = &i->l->opt.lrn;
    const float numbers[] = {o->alpha / (float)o->size, o->beta, o->kappa};
    fprintf(i->to, "    %s(scratch + %zu, %zu, %zu, %zu, ", part, x_of(i), places_of(i->l->in),
            i->l->in.c, (o->size - 1) / 2);
    for (size_t k = 0; k < DROVE_COUNT(numbers); k++) {
        drove__c_float(i->to, numbers[k]);
        fputs(", ", i->to);
    }
    fprintf(i->to, "scratch + %zu);\n", i->y);
}

static void call_affine(const item *i, const char *part)
{
    fprintf(i->to, "    %s(scratch + %zu, %zu, %zu, f%zu, o%zu, scratch + %zu);\n", part, x_of(i),
            places_of(i->l->in), i->l->in.c, i->at, i->at, i->y);
}

static void call_layer_norm(const item *i, const char *part)
{
    const drove_shape s = i->l->in;
    const drove_over *over = &i->l->opt.over;
    fprintf(
        i->to,
        "    %s(scratch + %zu, (const size_t[]){%zu, %zu, %zu}, (const size_t[]){%zu, %zu, %zu}, ",
        part, x_of(i), s.h, s.w, s.c, over->height ? s.h : 1, over->width ? s.w : 1,
        over->channels ? s.c : 1);
    drove__c_float(i->to, i->l->opt.epsilon);
    fprintf(i->to, ", f%zu, o%zu, scratch + %zu);\n", i->at, i->at, i->y);
}

static void call_softmax(const item *i, const char *part)
{
    fprintf(i->to, "    %s(scratch + %zu, %zu, %zu, scratch + %zu);\n", part, x_of(i),
            places_of(i->l->in), i->l->in.c, i->y);
}

static void call_normalize(const item *i, const char *part)
{
    fprintf(i->to, "    %s(scratch + %zu, %zu, %zu, scratch + %zu);\n", part, x_of(i), i->l->n_in,
            i->l->opt.power, i->y);
}

static void call_reshape(const item *i, const char *part)
{
    fprintf(i->to, "    %s(scratch + %zu, %zu, %zu, %zu, %zu, scratch + %zu);\n", part, x_of(i),
            places_of(i->l->in), i->l->in.c, places_of(i->l->out), i->l->out.c, i->y);
}

static void call_turn(const item *i, const char *part)
{
    fprintf(i->to, "    %s(scratch + %zu, %zu, %zu, scratch + %zu);\n", part, x_of(i),
            places_of(i->l->in), i->l->in.c, i->y);
}

static void call_concat(const item *i, const char *part)
{
    size_t first = 0;
    for (unsigned b = 0; b < i->l->n_bottoms; b++) {
        const size_t c = drove__blob_shape(i->p->file->model, i->l->bottom[b]).c;
        fprintf(i->to, "    %s(scratch + %zu, %zu, %zu, %zu, scratch + %zu);\n", part,
                bottom_of(i, b), places_of(i->l->out), c, i->l->out.c, i->y + first);
        first += c;
    }
}

/* A loop over the numbers of the output, up to the value of the next one. */
static void begin_loop(const item *i)
{
    fprintf(i->to, "    for (size_t i = 0; i < %zu; i++)\n        scratch[%zu + i] = ", i->l->n_out,
            i->y);
}

/* The same by places p and channels k. */
static void begin_channels(const item *i)
{
    fprintf(i->to,
            "    for (size_t p = 0, i = 0; p < %zu; p++)\n"
            "        for (size_t k = 0; k < %zu; k++, i++)\n            scratch[%zu + i] = ",
            places_of(i->l->out), i->l->out.c, i->y);
}

static void call_sum(const item *i, const char *part)
{
    (void)part;
    begin_loop(i);
    for (unsigned b = 0; b < i->l->n_bottoms; b++) {
        const float factor = i->l->opt.coefficient[b];
        if (b > 0) fputs(" + ", i->to);
        if (factor != 1.0f) {
            drove__c_float(i->to, factor);
            fputs(" * ", i->to);
        }
        fprintf(i->to, "scratch[%zu + i]", bottom_of(i, b));
    }
    fputs(";\n", i->to);
}

static void call_product(const item *i, const char *part)
{
    const drove_shape factor = drove__blob_shape(i->p->file->model, i->l->bottom[1]);
    const bool is_whole = drove__shape_floats(factor) == i->l->n_in;
    (void)part;
    if (is_whole) begin_loop(i);
    else begin_channels(i);
    fprintf(i->to, "scratch[%zu + i] * scratch[%zu + %c];\n", x_of(i), bottom_of(i, 1),
            is_whole ? 'i' : 'k');
}

static void put_fixed(const item *i, char letter, const drove_floats *list)
{
    if (list->n == 1) drove__c_float(i->to, list->value[0]);
    else fprintf(i->to, "%c%zu[%c]", letter, i->at, list->n == i->l->n_in ? 'i' : 'k');
}

static void call_scale(const item *i, const char *part)
{
    const drove_floats *offset = &i->l->opt.offset, *factor = &i->l->opt.factor;
    (void)part;
    begin_channels(i);
    fprintf(i->to, offset->n > 0 ? "(scratch[%zu + i]" : "scratch[%zu + i]", x_of(i));
    if (offset->n > 0) {
        fputs(" - ", i->to);
        put_fixed(i, 'o', offset);
        fputs(")", i->to);
    }
    if (factor->n > 0) {
        fputs(" * ", i->to);
        put_fixed(i, 'f', factor);
    }
    fputs(";\n", i->to);
}

static void call_gather(const item *i, const char *part)
{
    (void)part;
    begin_loop(i);
    fprintf(i->to, "scratch[%zu + g%zu[i]];\n", x_of(i), i->at);
}

static void call_clip(const item *i, const char *part)
{
    fprintf(i->to,
            "    for (size_t i = 0; i < %zu; i++)\n"
            "        scratch[%zu + i] = %s(scratch[%zu + i], ",
            i->l->n_out, i->y, part, x_of(i));
    drove__c_float(i->to, i->l->opt.bounds.low);
    fputs(", ", i->to);
    drove__c_float(i->to, i->l->opt.bounds.high);
    fputs(");\n", i->to);
}

static void call_prelu(const item *i, const char *part)
{
    const bool by_channel = i->l->n_w == i->l->in.c;
    if (by_channel) begin_channels(i);
    else begin_loop(i);
    fprintf(i->to, "%s(scratch[%zu + i], a%zu[%c]);\n", part, x_of(i), i->at,
            by_channel       ? 'k'
            : i->l->n_w == 1 ? '0'
                             : 'i');
}

/* The activation of any layer, from x to its output. */
static void put_act(const item *i, size_t x)
{
    const drove_activation *a = drove__activation(i->l->act);
    if (a == NULL) return;
    begin_loop(i);
    fprintf(i->to, "act_%s(scratch[%zu + i]", a->name, x);
    const drove_act_number *const has[] = {&a->slope, &a->level};
    const float number[] = {i->l->opt.slope, i->l->opt.level};
    for (size_t k = 0; k < DROVE_COUNT(has); k++) {
        if (has[k]->value == 0.0f) continue;
        fputs(", ", i->to);
        drove__c_float(i->to, number[k]);
    }
    fputs(");\n", i->to);
}

/* ---- the kinds ---- */

typedef struct kind {
    const drove_layer_ops *ops;
    bool (*fits)(const item *i); /* NULL: every layer of the kind */
    drove_c_memory memory;
    const char *part;                              /* of c_parts.h; NULL: none */
    drove_status (*constants)(const item *i);      /* NULL: none */
    void (*call)(const item *i, const char *part); /* NULL: the activation alone */
} kind;

/* The first that fits counts. */
static const kind kinds[] = {
    {&drove__layer_dense, reads_sparse, DROVE_C_NEW, "dense_sparse", weights, call_dense},
    {&drove__layer_dense, has_one_output, DROVE_C_NEW, "dense_one", weights, call_dense},
    {&drove__layer_dense, NULL, DROVE_C_NEW, "dense", weights, call_dense},
    {&drove__layer_convolution, is_depthwise, DROVE_C_NEW, "depthwise", window, call_window},
    {&drove__layer_convolution, NULL, DROVE_C_NEW, "convolution", window, call_window},
    {&drove__layer_max_pool, NULL, DROVE_C_NEW, "max_pool", window, call_window},
    {&drove__layer_average_pool, NULL, DROVE_C_NEW, "average_pool", window, call_window},
    {&drove__layer_lrn, NULL, DROVE_C_NEW, "lrn", NULL, call_lrn},
    {&drove__layer_dropout, NULL, DROVE_C_SAME, NULL, NULL, NULL},
    {&drove__layer_batch_norm, is_folded, DROVE_C_SAME, NULL, NULL, NULL},
    {&drove__layer_batch_norm, NULL, DROVE_C_IN_PLACE, "affine", affine, call_affine},
    {&drove__layer_layer_norm, NULL, DROVE_C_IN_PLACE, "layer_norm", norms, call_layer_norm},
    {&drove__layer_prelu, NULL, DROVE_C_IN_PLACE, "prelu", slopes, call_prelu},
    {&drove__layer_concat, NULL, DROVE_C_NEW, "join", NULL, call_concat},
    {&drove__layer_sum, NULL, DROVE_C_IN_PLACE, NULL, NULL, call_sum},
    {&drove__layer_product, NULL, DROVE_C_IN_PLACE, NULL, NULL, call_product},
    {&drove__layer_flatten, NULL, DROVE_C_SAME, NULL, NULL, NULL},
    {&drove__layer_activation, NULL, DROVE_C_IN_PLACE, NULL, NULL, NULL},
    {&drove__layer_softmax, NULL, DROVE_C_IN_PLACE, "softmax", NULL, call_softmax},
    {&drove__layer_reshape, keeps_order, DROVE_C_SAME, NULL, NULL, NULL},
    {&drove__layer_reshape, is_last, DROVE_C_NEW, "turn", NULL, call_turn},
    {&drove__layer_reshape, NULL, DROVE_C_NEW, "reshape", NULL, call_reshape},
    {&drove__layer_scale, NULL, DROVE_C_IN_PLACE, NULL, fixed, call_scale},
    {&drove__layer_normalize, NULL, DROVE_C_IN_PLACE, "normalize", NULL, call_normalize},
    {&drove__layer_clip, NULL, DROVE_C_IN_PLACE, "clip", NULL, call_clip},
    {&drove__layer_gather, NULL, DROVE_C_NEW, NULL, places, call_gather},
};

static const kind *kind_of(const item *i)
{
    for (size_t k = 0; k < DROVE_COUNT(kinds); k++) {
        if (kinds[k].ops == i->l->ops && (kinds[k].fits == NULL || kinds[k].fits(i)))
            return &kinds[k];
    }
    return NULL;
}

size_t drove__c_array(const drove_c_plan *p, const drove_layer *l, unsigned bottom)
{
    const bool is_plain = l->bottom[bottom] == 0 && l->ops->format == DROVE_FORMAT_PLAIN &&
                          !drove__pytorch_has_one_order(p->file->model->input);
    return is_plain ? p->n_layers + 1 : l->bottom[bottom];
}

drove_status drove__c_layer_memory(const drove_c_plan *p, size_t layer, drove_c_memory *out)
{
    const drove_layer *l = &p->file->model->layer[layer];
    const item i = {NULL, p, l, layer, 0};
    const kind *row = kind_of(&i);
    if (row == NULL)
        return drove__fail(DROVE_E_UNSUPPORTED, "layer %s: C source has no %s layers", l->name,
                           l->ops->name);
    *out = row->memory;
    return DROVE_OK;
}

drove_status drove__c_layer_constants(FILE *to, const drove_c_plan *p, size_t layer)
{
    const item i = item_of(to, p, layer);
    const kind *row = kind_of(&i);
    if (row->constants == NULL) return DROVE_OK;
    fprintf(to, "/* %zu: ", layer);
    drove__c_comment(to, i.l->name);
    fputs(" */\n", to);
    drove_status status = row->constants(&i);
    putc('\n', to);
    return status;
}

void drove__c_layer_call(FILE *to, const drove_c_plan *p, size_t layer)
{
    const item i = item_of(to, p, layer);
    const kind *row = kind_of(&i);
    const drove_shape s = i.l->out;
    if (row->call == NULL && i.l->act == DROVEK_LINEAR) return;
    fprintf(to, "\n    /* %zu: ", layer);
    drove__c_comment(to, i.l->name);
    if (s.h * s.w > 1) fprintf(to, ", [%zu][%zu][%zu]", s.h, s.w, s.c);
    else fprintf(to, ", [%zu]", s.c);
    fputs(" */\n", to);
    if (row->call != NULL) row->call(&i, row->part);
    put_act(&i, row->call != NULL ? i.y : x_of(&i));
}

/* ---- parts ---- */

enum { MOST_PARTS = 64, PART_NAME = 32 };

typedef struct part {
    char name[PART_NAME];
    const char *needs, *text; /* of c_parts_h: up to the line's end; up to the next part */
    size_t n_text;
    bool is_needed;
} part;

static bool names(const char *words, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = words; *at != '\n';) {
        const size_t length = strcspn(at, " \n");
        if (length == n && memcmp(at, name, n) == 0) return true;
        at += length + strspn(at + length, " ");
    }
    return false;
}

static size_t list_parts(part *parts)
{
    size_t n = 0;
    for (const char *at = strstr(c_parts_h, "\n/// "); at != NULL && n < MOST_PARTS; n++) {
        part *next = &parts[n];
        at += strlen("\n/// ");
        const size_t length = strcspn(at, " \n");
        snprintf(next->name, sizeof next->name, "%.*s", (int)length, at);
        next->needs = at + length + strspn(at + length, " ");
        next->text = strchr(at, '\n') + 1;
        at = strstr(next->text, "\n/// ");
        next->n_text = at != NULL ? (size_t)(at - next->text) : strlen(next->text);
        next->is_needed = false;
        assert(n + 1 < MOST_PARTS);
    }
    return n;
}

static void need(part *parts, size_t n, const char *name)
{
    for (size_t i = 0; i < n && name != NULL; i++)
        parts[i].is_needed = parts[i].is_needed || strcmp(parts[i].name, name) == 0;
}

void drove__c_layer_parts(FILE *to, const drove_c_plan *p, const char *const *more)
{
    part parts[MOST_PARTS];
    const size_t n = list_parts(parts);
    for (; *more != NULL; more++) need(parts, n, *more);
    for (size_t l = 0; l < p->n_layers; l++) {
        const item i = item_of(to, p, l);
        const drove_activation *a = drove__activation(i.l->act);
        char name[PART_NAME];
        if (i.l->training.is_only) continue;
        need(parts, n, kind_of(&i)->part);
        snprintf(name, sizeof name, "act_%s", a != NULL ? a->name : "");
        need(parts, n, name);
    }

    /* What these call stands before them. */
    for (size_t i = n; i-- > 0;) {
        for (size_t k = 0; k < i && parts[i].is_needed; k++)
            parts[k].is_needed = parts[k].is_needed || names(parts[i].needs, parts[k].name);
    }
    for (size_t i = 0; i < n; i++) {
        if (!parts[i].is_needed) continue;
        fprintf(to, "%.*s\n", (int)parts[i].n_text, parts[i].text);
    }
}
