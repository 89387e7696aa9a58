/* model/support.c - the table of losses (`--loss`, `drove list losses`), and helpers shared by the
 * files of this folder. */
#include "model/support.h"

#include "base/mem.h"
#include "model/layer.h"
#include "model/loss.h"

#include <math.h>
#include <stdio.h>

const drove_loss_ops *const drove__losses[] = {
    &drove__loss_softmax, &drove__loss_sigmoid, &drove__loss_logistic,
    &drove__loss_hinge,   &drove__loss_squared, NULL,
};

void drove__act_apply(const drovek_table *k, float *y, size_t n, drovek_act act)
{
    /* The kernel adds a bias first; here it is zero, and long blocks are processed as rows of this
     * length. */
    enum { WIDTH = 256 };
    static const DROVE_ALIGNED_CACHE_LINE float zero[WIDTH];
    if (act == DROVEK_LINEAR) return;
    size_t rows = n / WIDTH;
    if (rows > 0) k->bias_act_f32(y, zero, rows, WIDTH, act);
    if (n % WIDTH > 0) k->bias_act_f32(y + rows * WIDTH, zero, 1, n % WIDTH, act);
}

drove_target drove__target_from(const drove_target *whole, size_t first, size_t n_outputs)
{
    drove_target t = *whole;
    if (t.y_class != NULL) t.y_class += first;
    if (t.y_value != NULL) t.y_value += first * n_outputs;
    if (t.label_first != NULL) t.label_first += first;
    if (t.label_last != NULL) t.label_last += first;
    if (t.weight != NULL) t.weight += first;
    if (t.y_other != NULL) t.y_other += first;
    return t;
}

double drove__entropy(const double *share, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (share[i] > 0.0) sum -= share[i] * log(share[i]);
    }
    return sum;
}

size_t drove__largest(const float *z, size_t n)
{
    size_t best = 0;
    for (size_t o = 1; o < n; o++) {
        if (z[o] > z[best]) best = o;
    }
    return best;
}

drove_status drove__layer_shape_same(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                                     size_t n_outputs)
{
    (void)n_bottoms, (void)n_outputs;
    l->in = l->out = bottom[0];
    l->n_in = l->n_out = drove__shape_floats(l->in);
    return DROVE_OK;
}

drove_status drove__layer_formats_last(const drove_pass_options *opt, const drove_layer *l,
                                       const drovek_format *in, drovek_format *want,
                                       drovek_format *out)
{
    (void)opt, (void)l, (void)in;
    want[0] = *out = DROVEK_NHWC;
    return DROVE_OK;
}
