/* tests/unit/model/test_soft_targets.c - label smoothing and mixed targets: the numbers of
 * PyTorch's cross_entropy(label_smoothing=), the definition in double for labels and for two
 * classes, weights, and evaluation, which knows of neither.
 */
#include "base/cpu.h"
#include "base/mem.h"
#include "model/model.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

enum { N_ROWS = 3, MOST_OUTPUTS = 4 };

static const double BOUND = 3e-7; /* float roundings of numbers up to 3 */

static const float logits[N_ROWS][MOST_OUTPUTS] = {{0.5f, -1.0f, 2.0f, 0.25f},
                                                   {1.5f, 0.0f, -0.5f, 3.0f},
                                                   {-2.0f, 0.75f, 1.0f, 0.0f}};
static const int32_t own[N_ROWS] = {2, 0, 1}, other[N_ROWS] = {1, 0, 2};

typedef struct scene {
    drove_model *model;
    drovek_table kernels;
    drove_pass pass;
    size_t n_outputs;
} scene;

/* A model whose outputs are set by hand, to the first of each row of logits. */
static void start(scene *s, const char *loss, size_t n_classes, bool is_multi_label)
{
    const drove_model_io io = {.n_features = 2,
                               .n_classes = n_classes,
                               .is_multi_label = is_multi_label};
    assert_int_equal(drovek_select(&s->kernels, drove__cpu_features(), NULL), DROVE_OK);
    assert_int_equal(drove__model_create("linear", "", loss, &io, &s->model), DROVE_OK);
    assert_int_equal(drove__pass_init(&s->pass, s->model, &s->kernels, N_ROWS), DROVE_OK);
    s->n_outputs = s->model->n_outputs;
    s->pass.is_training = true;
    for (size_t i = 0; i < N_ROWS; i++)
        memcpy(s->pass.out[0] + i * s->n_outputs, logits[i], s->n_outputs * sizeof(float));
}

static void end(scene *s)
{
    drove__pass_fini(&s->pass);
    drove__model_destroy(s->model);
}

static double loss_of(scene *s, const drove_target *target, float scale)
{
    drove_score score = {0};
    drove__model_loss(s->model, &s->kernels, target, N_ROWS, scale, &s->pass, &score);
    return score.loss;
}

static void expect(const scene *s, double loss, double wanted, const double *slope)
{
    if (!(fabs(loss - wanted) <= N_ROWS * BOUND * 10.0))
        fail_msg("%s: loss %.9g, expected %.9g", "soft targets", loss, wanted);
    for (size_t i = 0; i < N_ROWS * s->n_outputs; i++)
        if (!(fabs((double)s->pass.delta[0][i] - slope[i]) <= BOUND))
            fail_msg("output %zu: slope %.9g, expected %.9g", i, (double)s->pass.delta[0][i],
                     slope[i]);
}

/* Printed by PyTorch 2 in double, of mean losses: cross_entropy(z, own, label_smoothing=E), and the
 * sum of 0.7 times that and 0.3 times cross_entropy(z, other, label_smoothing=0.1). */
TEST(softmax_is_that_of_pytorch)
{
    static const struct {
        float smoothing;
        bool is_mixed;
        double loss, slope[N_ROWS * MOST_OUTPUTS];
    } cases[] = {
        {0.1f,
         false,
         1.152795515469,
         {0.043078275095, 0.003138147089, -0.077922489753, 0.031706067569, -0.251257217873,
          0.004402069450, -0.000608921081, 0.247464069504, -0.000777705480, -0.190143428163,
          0.143425508902, 0.047495624741}},
        {0.3f,
         false,
         1.344462182135,
         {0.026411608428, -0.013528519578, -0.027922489753, 0.015039400903, -0.201257217873,
          -0.012264597217, -0.017275587748, 0.230797402837, -0.017444372146, -0.140143428163,
          0.126758842235, 0.030828958074}},
        {0.1f,
         true,
         1.400295515469,
         {0.043078275095, -0.086861852911, 0.012077510247, 0.031706067569, -0.251257217873,
          0.004402069450, -0.000608921081, 0.247464069504, -0.000777705480, -0.100143428163,
          0.053425508902, 0.047495624741}},
    };
    scene s;
    start(&s, "softmax", 4, false);
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        const drove_target target = {.y_class = own,
                                     .y_other = cases[c].is_mixed ? other : NULL,
                                     .own_share = 0.7f};
        s.model->label_smoothing = cases[c].smoothing;
        const double loss = loss_of(&s, &target, 1.0f / N_ROWS);
        expect(&s, loss, N_ROWS * cases[c].loss, cases[c].slope);
    }
    end(&s);
}

/* log(1 + exp(z)) - t z and p - t, with targets t written out. */
static double binary(double z, double t, double *slope)
{
    *slope = 1.0 / (1.0 + exp(-z)) - t;
    return log1p(exp(z)) - t * z;
}

TEST(two_classes_and_labels_follow_their_definition)
{
    static const int32_t class_of[N_ROWS] = {1, 0, 1}, class_other[N_ROWS] = {0, 0, 1};
    static const uint64_t first[N_ROWS] = {0, 2, 2}, last[N_ROWS] = {2, 2, 3};
    static const uint32_t label[] = {0, 2, 1};
    static const float weight[N_ROWS] = {0.5f, 2.0f, 0.0f};
    const double smoothing = (double)0.2f, share = (double)0.7f;
    for (int is_weighted = 0; is_weighted < 2; is_weighted++) {
        scene s;
        double loss = 0.0, slope[N_ROWS * MOST_OUTPUTS];
        drove_target target = {.y_class = class_of,
                               .y_other = class_other,
                               .own_share = 0.7f,
                               .weight = is_weighted ? weight : NULL};
        start(&s, "logistic", 2, false);
        s.model->label_smoothing = 0.2f;
        for (size_t i = 0; i < N_ROWS; i++) {
            const double w = is_weighted ? (double)weight[i] : 1.0;
            const double t = share * class_of[i] + (1.0 - share) * class_other[i];
            loss += w * binary((double)logits[i][0], (1.0 - smoothing) * t + smoothing / 2.0,
                               &slope[i]);
            slope[i] *= w;
        }
        expect(&s, loss_of(&s, &target, 1.0f), loss, slope);
        end(&s);

        start(&s, "sigmoid", 4, true);
        s.model->label_smoothing = 0.2f;
        target = (drove_target){.label_first = first,
                                .label_last = last,
                                .label = label,
                                .weight = is_weighted ? weight : NULL};
        loss = 0.0;
        for (size_t i = 0; i < N_ROWS; i++) {
            for (size_t o = 0; o < 4; o++) {
                const double w = is_weighted ? (double)weight[i] : 1.0;
                double t = 0.0;
                for (uint64_t at = first[i]; at < last[i]; at++)
                    if (label[at] == o) t = 1.0;
                loss += w * binary((double)logits[i][o], (1.0 - smoothing) * t + smoothing / 2.0,
                                   &slope[i * 4 + o]);
                slope[i * 4 + o] *= w;
            }
        }
        expect(&s, loss_of(&s, &target, 1.0f), loss, slope);
        end(&s);
    }
}

/* The loss that evaluations report is that of the targets as they are. */
TEST(evaluation_is_plain)
{
    const drove_target target = {.y_class = own, .y_other = other, .own_share = 0.7f};
    const drove_target plain = {.y_class = own};
    scene s;
    start(&s, "softmax", 4, false);
    const double wanted = loss_of(&s, &plain, 1.0f);
    s.model->label_smoothing = 0.3f;
    assert_true(fabs(loss_of(&s, &target, 1.0f) - wanted) > 0.1);
    s.pass.is_training = false;
    assert_true(loss_of(&s, &target, 0.0f) == wanted);
    end(&s);
}
