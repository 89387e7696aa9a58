/* tests/unit/model/test_weighted_loss.c - the loss of weighted examples: its gradient against
 * a float64 reference that computes one example at a time, and against finite differences; weights
 * as copies; weight 0 as absence; counts.
 */
#include "unit/model/fixture.h"
#include "support/test.h"

#include "base/mem.h"
#include "model/loss.h"

#include <math.h>
#include <string.h>

enum { N_ROWS = 23, MOST_PARAMS = 4096 };

/* As in test_gradient.c, for weights up to 3. */
static const double GRADIENT_BOUND = 6e-5, LOSS_BOUND = 1e-5, DIFFERENCE_BOUND = 3e-5;

static const struct {
    const char *spec, *loss;
    drove_model_io io;
} problems[] = {
    {"mlp:9,17", "softmax", {.n_features = 21, .n_classes = 4}},
    {"mlp:16", "sigmoid", {.n_features = 21, .n_classes = 5, .is_multi_label = 1}},
    {"mlp:16", "logistic", {.n_features = 21, .n_classes = 2}},
    {"linear", "squared", {.n_features = 21}},
    {"mlp:16", "squared", {.n_features = 21, .n_values = 3}},
    {"mlp:16", "squared", {.n_features = 21, .n_classes = 3}},
    {"linear", "hinge", {.n_features = 21, .n_classes = 3}},
    {"linear", "hinge", {.n_features = 21, .n_classes = 2}},
};

static void start(fixture *f, size_t which, float *weight)
{
    const fixture_options opt = {.spec = problems[which].spec,
                                 .activation = "tanh",
                                 .loss = problems[which].loss,
                                 .io = problems[which].io,
                                 .n_rows = N_ROWS,
                                 .seed = 7 + which};
    fixture_init(f, &opt);
    for (size_t i = 0; i < N_ROWS; i++) weight[i] = 0.25f * (float)((5 * i) % 13);
    f->target.weight = weight;
}

/* sum of w_i times what the reference makes of example i alone, over n. */
static double reference_weighted(fixture *f, double *theta, const float *weight, double *grad)
{
    const size_t n_in = f->model->n_inputs, n_out = f->model->n_outputs;
    double one[MOST_PARAMS], loss = 0.0;
    for (size_t j = 0; grad != NULL && j < f->model->n_weights; j++) grad[j] = 0.0;
    for (size_t i = 0; i < N_ROWS; i++) {
        double w = (double)weight[i] / N_ROWS;
        loss += w * reference_gradient(&f->reference, theta, f->x64 + i * n_in, f->t64 + i * n_out,
                                       1, grad != NULL ? one : NULL);
        for (size_t j = 0; grad != NULL && j < f->model->n_weights; j++) grad[j] += w * one[j];
    }
    return loss;
}

static void compare(const fixture *f, const double *expected, double bound)
{
    double packed[MOST_PARAMS], largest = 0.0, error = 0.0;
    assert_true(f->model->n_weights <= MOST_PARAMS);
    fixture_pack(f->model, f->grad, packed);
    for (size_t j = 0; j < f->model->n_weights; j++) {
        double e = fabs(packed[j] - expected[j]);
        largest = fmax(largest, fabs(expected[j]));
        error = e <= error ? error : e; /* a NaN becomes the error */
    }
    if (!(error <= bound * (1 + largest)))
        fail_msg("%s %s: error %g of %g", f->model->spec, f->model->loss->name, error, largest);
}

TEST(gradients_are_weighted)
{
    drovek_table k;
    for (size_t tier = 0; fixture_tier(tier, &k); tier++) {
        for (size_t p = 0; p < DROVE_COUNT(problems); p++) {
            fixture f;
            float weight[N_ROWS];
            double expected[MOST_PARAMS];
            start(&f, p, weight);
            double loss = reference_weighted(&f, f.packed, weight, expected);
            for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
                const drove_input *in = is_sparse ? &f.sparse : &f.dense;
                double found = fixture_gradient(&f, &k, in, false); /* over n_rows */
                assert_true(fabs(found - loss) <= LOSS_BOUND * (1 + fabs(loss)));
                compare(&f, expected, GRADIENT_BOUND);
            }
            fixture_fini(&f);
        }
    }
}

TEST(gradients_equal_finite_differences)
{
    const double h = 1e-5;
    drovek_table k;
    assert_true(fixture_tier(0, &k));
    for (size_t p = 0; p < 6; p++) { /* hinge has kinks */
        fixture f;
        float weight[N_ROWS];
        double expected[MOST_PARAMS];
        start(&f, p, weight);
        for (size_t j = 0; j < f.model->n_weights; j++) {
            double at = f.packed[j];
            f.packed[j] = at + h;
            double above = reference_weighted(&f, f.packed, weight, NULL);
            f.packed[j] = at - h;
            expected[j] = (above - reference_weighted(&f, f.packed, weight, NULL)) / (2 * h);
            f.packed[j] = at;
        }
        fixture_gradient(&f, &k, &f.dense, false);
        compare(&f, expected, DIFFERENCE_BOUND + GRADIENT_BOUND);
        fixture_fini(&f);
    }
}

static drove_score score_of(fixture *f, const drovek_table *k, const drove_target *target,
                            const float *x, size_t n_rows)
{
    const drove_input in = {.n_rows = n_rows, .dense = x};
    drove_score score = {0};
    drove__model_forward(f->model, k, f->theta, &in, &f->pass);
    drove__model_loss(f->model, k, target, n_rows, 0.0f, &f->pass, &score);
    return score;
}

/* Weight 2 is the example twice, weight 0 its absence: loss, weight and every count. */
TEST(whole_weights_are_copies)
{
    enum { EACH = 7 };
    static const float weight[EACH] = {2, 0, 1, 3, 0, 1, 4};
    drovek_table k;
    assert_true(fixture_tier(0, &k));
    for (size_t p = 0; p < DROVE_COUNT(problems); p++) {
        fixture f;
        float unused[N_ROWS];
        start(&f, p, unused);
        const size_t n_in = f.model->n_inputs, n_out = f.model->n_outputs;
        float x[N_ROWS * 21];
        int32_t y_class[N_ROWS];
        float y_value[N_ROWS * 3];
        uint64_t first[N_ROWS], last[N_ROWS];
        size_t n = 0;
        for (size_t i = 0; i < EACH; i++) {
            for (size_t c = 0; c < (size_t)weight[i]; c++, n++) {
                memcpy(x + n * n_in, f.x + i * n_in, n_in * sizeof *x);
                if (f.target.y_class != NULL) y_class[n] = f.target.y_class[i];
                for (size_t o = 0; f.target.y_value != NULL && o < n_out; o++)
                    y_value[n * n_out + o] = f.target.y_value[i * n_out + o];
                if (f.target.label != NULL) first[n] = f.target.label_first[i];
                if (f.target.label != NULL) last[n] = f.target.label_last[i];
            }
        }
        drove_target copies = {.y_class = f.target.y_class != NULL ? y_class : NULL,
                               .y_value = f.target.y_value != NULL ? y_value : NULL,
                               .label_first = f.target.label != NULL ? first : NULL,
                               .label_last = f.target.label != NULL ? last : NULL,
                               .label = f.target.label};
        drove_target weighted = f.target;
        weighted.weight = weight;
        drove_score a = score_of(&f, &k, &weighted, f.x, EACH);
        drove_score b = score_of(&f, &k, &copies, x, n);
        assert_true(fabs(a.loss - b.loss) <= 1e-5 * (1 + fabs(b.loss)));
        assert_true(a.n_rows == EACH && b.n_rows == n && a.weight == b.weight);
        assert_true(a.weight == 11.0 && a.n_correct == b.n_correct);
        assert_true(a.true_positive == b.true_positive && a.false_positive == b.false_positive);
        assert_true(a.false_negative == b.false_negative);
        fixture_fini(&f);
    }
}

TEST(means_are_weighted)
{
    assert_true(isnan(drove__score_mean_loss(&(drove_score){0})));
    assert_true(drove__score_mean_loss(&(drove_score){.n_rows = 3}) == 0.0);
    const drove_score score = {.loss = 6.0, .n_rows = 9, .weight = 1.5};
    assert_true(drove__score_mean_loss(&score) == 4.0);
}
