/* model/propagate.c - forward and backward passes through a model's layers. */
#include "model/custom.h"
#include "model/integers.h"
#include "model/loss.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void drove__score_add(drove_score *to, const drove_score *from)
{
    to->loss += from->loss;
    to->n_rows += from->n_rows;
    to->weight += from->weight;
    to->n_correct += from->n_correct;
    to->true_positive += from->true_positive;
    to->false_positive += from->false_positive;
    to->false_negative += from->false_negative;
}

double drove__score_mean_loss(const drove_score *score)
{
    if (score->n_rows == 0) return NAN;
    return score->weight > 0.0 ? score->loss / score->weight : 0.0;
}

bool drove__layer_reads_words(const drove_layer *l)
{
    return l->ops->reads_words && l->n_out % DROVEK_WORDS_COLUMNS == 0;
}

static const drove_part alone = {.part = 0, .n_parts = 1};

static void meet(const drove_part *part)
{
    if (part->n_parts > 1) part->meet(part->context, part->part);
}

/* One pass of layer l.  bottom[]: storage for the layer's bottoms. */
static drove_call make_call(const drove_model *model, const drovek_table *k, const float *theta,
                            const drove_input *in, drove_pass *pass, size_t l,
                            const drove_part *part, drove_bottom *bottom)
{
    const drove_layer *layer = &model->layer[l];
    const drove_bottom *planned = pass->bottom + l * DROVE_LAYER_MOST_BOTTOMS;
    for (unsigned i = 0; i < layer->n_bottoms; i++) {
        bottom[i] = planned[i];
        if (bottom[i].x == NULL) bottom[i].x = in->dense;
    }
    const drove_integers *p = pass->integers;
    return (drove_call){
        .integers = p != NULL && p->layer[l].is_used ? &p->layer[l] : NULL,
        .words = pass->words != NULL ? pass->words[l] : NULL,
        .layer = layer,
        .index = l,
        .k = k,
        .theta = layer->training.is_frozen ? model->frozen : theta,
        .input = in,
        .pass = pass,
        .own = pass->own[l],
        .n_rows = in->n_rows,
        .part = part->part,
        .n_parts = part->n_parts,
        .first_row = in->n_rows * part->part / part->n_parts,
        .last_row = in->n_rows * (part->part + 1) / part->n_parts,
        .bottom = bottom,
        .format = pass->format[l + 1],
        .y = pass->out[l],
        .dy = pass->delta[l],
    };
}

/* Converts back, into the derivatives of the blobs. */
static bool convert_deltas(const drove_call *c)
{
    bool any = false;
    for (unsigned i = 0; i < c->layer->n_bottoms; i++) {
        uint32_t blob = c->layer->bottom[i];
        if (c->bottom[i].copy_delta == NULL) continue;
        drove_shape s = drove__blob_shape(c->pass->model, blob);
        size_t first = c->first_row * drove__shape_floats(s);
        drovek_reformat(c->bottom[i].copy_delta + first, c->bottom[i].format,
                        c->pass->delta[blob - 1] + first, c->pass->format[blob],
                        c->last_row - c->first_row, s.c, s.h, s.w, c->layer->adds[i]);
        any = true;
    }
    return any;
}

void drove__model_forward_part(const drove_model *model, const drovek_table *k, const float *theta,
                               const drove_input *in, drove_pass *pass, const drove_part *part)
{
    drove_bottom bottom[DROVE_LAYER_MOST_BOTTOMS];
    assert(in->n_rows <= pass->max_rows && part->n_parts == pass->n_parts);
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        if (layer->training.is_only && !pass->is_training) continue;
        drove_call call = make_call(model, k, theta, in, pass, l, part, bottom);
        /* This part's rows of the bottoms, in the layer's working format. */
        bool converts = false;
        for (unsigned i = 0; i < layer->n_bottoms; i++) {
            const uint32_t blob = layer->bottom[i];
            if (call.bottom[i].copy == NULL) continue;
            const drove_shape s = drove__blob_shape(model, blob);
            const size_t first = call.first_row * drove__shape_floats(s);
            const float *from = blob == 0 ? in->dense : pass->out[blob - 1];
            drovek_reformat(from + first, pass->format[blob], call.bottom[i].copy + first,
                            call.bottom[i].format, call.last_row - call.first_row, s.c, s.h, s.w,
                            false);
            converts = true;
        }
        if (converts) meet(part);
        layer->ops->forward(&call);
        meet(part);
        if (layer->ops->forward_finish != NULL) {
            layer->ops->forward_finish(&call);
            meet(part);
        }
        if (pass->integers != NULL) drove__integers_round(&call, true);
    }
}

void drove__model_forward(const drove_model *model, const drovek_table *k, const float *theta,
                          const drove_input *in, drove_pass *pass)
{
    drove__model_forward_part(model, k, theta, in, pass, &alone);
}

/* The loss of each example by itself, so that losses need know nothing of weights. */
static void weighted_loss(const drove_model *model, const drovek_table *k,
                          const drove_target *target, size_t n_rows, const float *z, float scale,
                          float *dz, drove_score *score)
{
    const size_t n = model->n_outputs;
    for (size_t i = 0; i < n_rows; i++) {
        const drove_target own = drove__target_from(target, i, n);
        const float weight = target->weight[i];
        drove_score one = {0};
        model->loss->eval(k, z + i * n, &own, 1, n, scale * weight, dz != NULL ? dz + i * n : NULL,
                          &one);

        const double counts = (double)weight;
        score->loss += counts * one.loss;
        score->n_correct += counts * one.n_correct;
        score->true_positive += counts * one.true_positive;
        score->false_positive += counts * one.false_positive;
        score->false_negative += counts * one.false_negative;
    }
}

/* The target of one output moves by `by`: a cross-entropy is L(z) - t z.  Returns its gain. */
static double move_target(const float *z, float *dz, size_t output, float by, float scale)
{
    dz[output] -= scale * by;
    return -(double)by * (double)z[output];
}

/* Targets between 0 and 1, for training: with E the label smoothing, s the own share and K classes
 *
 *   t' = (1 - E) (s t + (1 - s) t_other) + E / K        K = 2 for labels, and for two classes
 *
 * Source: Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, CVPR 2016, section 7; Zhang, Cisse, Dauphin,
 * Lopez-Paz, ICLR 2018, equation (1). */
static void soften(const drove_model *model, const drove_target *target, size_t n_rows,
                   const float *z, float scale, float *dz, drove_score *score)
{
    const size_t n = model->n_outputs;
    const bool is_lone = n == 1 && target->y_class != NULL; /* of class 1 */
    const float smooth = model->label_smoothing;
    const float even = smooth / (is_lone || target->y_class == NULL ? 2.0f : (float)n);
    const float share = target->y_other != NULL ? target->own_share : 1.0f;
    for (size_t i = 0; i < n_rows; i++, z += n, dz += n) {
        const float weight = target->weight != NULL ? target->weight[i] : 1.0f;
        const float each = scale * weight;
        double gain = 0.0;
        for (size_t o = 0; smooth > 0.0f && o < n; o++) gain += move_target(z, dz, o, even, each);
        if (target->y_class == NULL) {
            for (uint64_t at = target->label_first[i]; at < target->label_last[i]; at++)
                gain += move_target(z, dz, target->label[at], -smooth, each);
        } else {
            const size_t own = (size_t)target->y_class[i];
            const size_t other = target->y_other != NULL ? (size_t)target->y_other[i] : own;
            if (!is_lone || own == 1)
                gain += move_target(z, dz, is_lone ? 0 : own, (1.0f - smooth) * share - 1.0f, each);
            if (!is_lone || other == 1)
                gain +=
                    move_target(z, dz, is_lone ? 0 : other, (1.0f - smooth) * (1.0f - share), each);
        }
        score->loss += (double)weight * gain;
    }
}

void drove__model_loss(const drove_model *model, const drovek_table *k, const drove_target *target,
                       size_t n_rows, float scale, drove_pass *pass, drove_score *score)
{
    const bool is_soft = model->label_smoothing > 0.0f || target->y_other != NULL;
    assert(!is_soft || !pass->is_training || model->loss->is_cross_entropy);
    for (unsigned h = 0; h < model->n_heads; h++) {
        bool is_main = h + 1 == model->n_heads;
        drove_score aside = {0};
        size_t l = model->head[h].layer;
        float *dz = scale > 0.0f ? pass->delta[l] : NULL;
        if (!is_main && dz == NULL) continue;
        float of_head = scale * model->head[h].weight;
        drove_score *to = is_main ? score : &aside;
        if (model->loss->custom != NULL)
            drove__custom_loss_eval(model, target, n_rows, pass->out[l], of_head, dz, pass, to);
        else if (target->weight != NULL)
            weighted_loss(model, k, target, n_rows, pass->out[l], of_head, dz, to);
        else model->loss->eval(k, pass->out[l], target, n_rows, model->n_outputs, of_head, dz, to);
        if (pass->is_training && dz != NULL && is_soft)
            soften(model, target, n_rows, pass->out[l], of_head, dz, to);
    }
    score->n_rows += n_rows;
    double weight = target->weight == NULL ? (double)n_rows : 0.0;
    for (size_t i = 0; target->weight != NULL && i < n_rows; i++)
        weight += (double)target->weight[i];
    score->weight += weight;
}

void drove__model_backward_part(const drove_model *model, const drovek_table *k, const float *theta,
                                const drove_input *in, drove_pass *pass, const drove_backward *to,
                                const drove_part *part)
{
    drove_bottom bottom[DROVE_LAYER_MOST_BOTTOMS];
    float *grad = to->grad;
    if (part->part == 0 && model->n_statistics > 0)
        memset(grad + model->n_params - model->n_statistics, 0, model->n_statistics * sizeof *grad);
    for (size_t l = model->n_layers; l-- > 0;) {
        const drove_layer *layer = &model->layer[l];
        const bool is_trained = !layer->training.is_frozen;
        if (layer->training.is_constant) { /* nor does any of its inputs have a derivative */
            if (to->after_layer != NULL && part->part == 0) to->after_layer(to->context, l);
            continue;
        }
        drove_call call = make_call(model, k, theta, in, pass, l, part, bottom);
        call.grad = layer->training.is_frozen ? pass->unwanted : grad;
        call.spans_wanted = to->spans_wanted;
        call.adds = to->adds;
        if (pass->integers != NULL) drove__integers_round(&call, false);
        layer->ops->backward(&call);
        meet(part);
        if (layer->ops->backward_finish != NULL) {
            layer->ops->backward_finish(&call);
            meet(part);
        }
        if (part->part == 0 && is_trained) { /* factors of the step size that a model file gives */
            const float w_lr = layer->opt.w_lr, b_lr = layer->opt.b_lr;
            if (w_lr != 0.0f && w_lr != 1.0f)
                k->scale_f32(grad + layer->w_offset, layer->n_w, w_lr);
            if (b_lr != 0.0f && b_lr != 1.0f)
                k->scale_f32(grad + layer->b_offset, layer->n_b, b_lr);
        }
        if (to->after_layer != NULL && part->part == 0) to->after_layer(to->context, l);
        if (layer->ops->backward_input != NULL) {
            layer->ops->backward_input(&call);
            meet(part);
        }
        if (convert_deltas(&call)) meet(part);
    }
}

void drove__model_backward(const drove_model *model, const drovek_table *k, const float *theta,
                           const drove_input *in, drove_pass *pass, const drove_backward *to)
{
    drove__model_backward_part(model, k, theta, in, pass, to, &alone);
}

bool drove__model_is_linear(const drove_model *model)
{
    const drove_layer *l = &model->layer[0];
    return model->n_layers == 1 && model->is_chain && l->n_b > 0 && l->act == DROVEK_LINEAR;
}

bool drove__model_fuses(const drove_model *model)
{
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        if (layer->ops->backward_fused == NULL || layer->training.is_frozen ||
            layer->opt.w_lr > 0.0f || layer->opt.b_lr > 0.0f)
            return false;
    }
    return true;
}

bool drove__model_fuses_exactly(const drove_model *model, size_t n_rows)
{
    if (model->factors != DROVEK_FACTORS_F32 || !drove__model_fuses(model)) return false;
    for (size_t l = 0; l < model->n_layers; l++)
        if (!model->layer[l].ops->fuses_exactly(&model->layer[l], n_rows)) return false;
    return true;
}

void drove__model_backward_fused(const drove_model *model, const drovek_table *k, float *theta,
                                 const drove_input *in, drove_pass *pass, float eta)
{
    drove_bottom bottom[DROVE_LAYER_MOST_BOTTOMS];
    for (size_t l = model->n_layers; l-- > 0;) {
        drove_call call = make_call(model, k, theta, in, pass, l, &alone, bottom);
        model->layer[l].ops->backward_fused(&call, theta, pass->db, eta);
        convert_deltas(&call);
    }
}

void drove__model_add_statistics(const drove_model *model, const drove_pass *pass, float share,
                                 float *theta)
{
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        if (layer->n_statistics == 0 || layer->training.is_frozen) continue;
        const float *from = layer->ops->statistics(pass->own[l]);
        for (size_t i = 0; i < layer->n_statistics; i++)
            theta[layer->s_offset + i] += share * from[i];
    }
}

void drove__model_predict(const drove_model *model, size_t n_rows, const drove_pass *pass,
                          float *prob)
{
    size_t main_head = model->head[model->n_heads - 1].layer;
    model->loss->predict(pass->out[main_head], n_rows, model->n_outputs, prob);
}
