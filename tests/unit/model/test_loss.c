/* tests/unit/model/test_loss.c - losses: hand-worked values, extreme logits, counts, predictions.
 * */
#include "unit/model/fixture.h"
#include "support/test.h"

#include "base/mem.h"
#include "model/loss.h"

#include <math.h>
#include <string.h>

static void near(double found, double expected, double bound)
{
    if (!(fabs(found - expected) <= bound * (1 + fabs(expected)))) {
        fail_msg("found %.9g, expected %.9g", found, expected);
    }
}

/* Mean loss of constant outputs z[n_outputs] on 16 rows; class k is that of count[k] of them. */
static double loss_of_outputs(const drove_loss_ops *loss, const float *z, size_t n_outputs,
                              const unsigned *count, size_t n)
{
    enum { ROWS = 16, MOST = 4 };
    float all[ROWS * MOST];
    int32_t y[ROWS];
    size_t row = 0;
    drovek_table k;
    drove_score score = {0};
    for (size_t c = 0; c < n; c++) {
        for (unsigned i = 0; i < count[c]; i++, row++) {
            y[row] = (int32_t)c;
            memcpy(all + row * n_outputs, z, n_outputs * sizeof *z);
        }
    }
    assert_int_equal(row, ROWS);
    assert_true(fixture_tier(0, &k));
    const drove_target target = {.y_class = y};
    loss->eval(&k, all, &target, ROWS, n_outputs, 1.0f, NULL, &score);
    return score.loss / ROWS;
}

/* The best constant outputs have the loss that the row says, and no others have less. */
static void check_constant(const drove_loss_ops *loss, float *z, size_t n_outputs,
                           const unsigned *count, size_t n)
{
    double share[4];
    for (size_t c = 0; c < n; c++) share[c] = count[c] / 16.0;
    double expected = loss->constant(share, n);
    near(loss_of_outputs(loss, z, n_outputs, count, n), expected, 1e-6);
    for (size_t o = 0; o < n_outputs; o++) {
        for (int side = -1; side <= 1; side += 2) {
            z[o] += 0.25f * (float)side;
            assert_true(loss_of_outputs(loss, z, n_outputs, count, n) >= expected - 1e-6);
            z[o] -= 0.25f * (float)side;
        }
    }
}

TEST(constant_outputs)
{
    static const unsigned three[] = {10, 4, 2}, two[] = {12, 4}, four[] = {4, 4, 4, 4};
    float logs[] = {logf(10.0f), logf(4.0f), logf(2.0f)}, odds[] = {logf(4.0f / 12.0f)};
    float sides[] = {1, -1, -1}, none[] = {-1, -1, -1, -1}, side[] = {-1};
    check_constant(&drove__loss_softmax, logs, 3, three, 3);
    check_constant(&drove__loss_logistic, odds, 1, two, 2);
    check_constant(&drove__loss_hinge, sides, 3, three, 3);
    check_constant(&drove__loss_hinge, none, 4, four, 4);
    check_constant(&drove__loss_hinge, side, 1, two, 2);
    const double share[] = {0.0, 1.0, 0.5};
    near(drove__loss_sigmoid.constant(share, 3), log(2.0), 1e-12); /* of the last label alone */
    assert_null(drove__loss_squared.constant);
}

TEST(softmax_of_known_logits)
{
    /* exp: 1, 2, 4 -> probabilities 1/7, 2/7, 4/7 */
    const float z[6] = {0.0f, 0.69314718f, 1.38629436f, 5.0f, 5.0f, 5.0f};
    const int32_t y[2] = {2, 1};
    const drove_target target = {.y_class = y};
    drovek_table k;
    for (size_t tier = 0; fixture_tier(tier, &k); tier++) {
        float dz[6], p[6];
        drove_score score = {0};
        drove__loss_softmax.eval(&k, z, &target, 2, 3, 0.5f, dz, &score);
        near(score.loss, log(7.0 / 4.0) + log(3.0), 1e-6);
        assert_int_equal(score.n_correct, 1); /* of equal logits the first counts */
        const double expected[6] = {0.5 / 7, 1.0 / 7, -1.5 / 7, 1.0 / 6, -1.0 / 3, 1.0 / 6};
        for (size_t i = 0; i < 6; i++) near(dz[i], expected[i], 1e-6);
        drove__loss_softmax.predict(z, 2, 3, p);
        for (size_t i = 0; i < 3; i++) near(p[i], (double)(1 << i) / 7, 1e-6);
    }
}

/* Adding a constant changes nothing; logits of +-1e4 neither overflow nor lose the loss. */
TEST(softmax_of_extreme_logits)
{
    const int32_t y[1] = {0};
    const drove_target target = {.y_class = y};
    const float shift[] = {0.0f, 1e4f, -1e4f};
    drovek_table k;
    for (size_t tier = 0; fixture_tier(tier, &k); tier++) {
        for (size_t i = 0; i < DROVE_COUNT(shift); i++) {
            float z[3] = {shift[i] + 0.25f, shift[i] + 0.5f, shift[i] - 0.75f}, dz[3], p[3];
            double sum = exp(0.25) + exp(0.5) + exp(-0.75);
            drove_score score = {0};
            drove__loss_softmax.eval(&k, z, &target, 1, 3, 1.0f, dz, &score);
            near(score.loss, log(sum) - 0.25, 2e-6);
            near(dz[0], exp(0.25) / sum - 1, 1e-6);
            near(dz[1], exp(0.5) / sum, 1e-6);
            drove__loss_softmax.predict(z, 1, 3, p);
            near(p[2], exp(-0.75) / sum, 1e-6);
        }
        float z[3] = {-1e4f, 1e4f, 0.0f}, dz[3];
        drove_score score = {0};
        drove__loss_softmax.eval(&k, z, &target, 1, 3, 1.0f, dz, &score);
        near(score.loss, 2e4, 1e-7);
        near(dz[0], -1, 1e-6);
        near(dz[1], 1, 1e-6);
    }
}

TEST(sigmoid_of_known_logits)
{
    /* two examples of three labels; labels {0, 2} and none */
    const float z[6] = {1.0f, 2.0f, -3.0f, 0.0f, 1e4f, -1e4f};
    const uint64_t first[2] = {0, 2}, last[2] = {2, 2};
    const uint32_t label[2] = {0, 2};
    const drove_target target = {.label_first = first, .label_last = last, .label = label};
    const double t[6] = {1, 0, 1, 0, 0, 0};
    double expected = 0;
    for (size_t i = 0; i < 6; i++) {
        expected += fmax(z[i], 0) + log1p(exp(-fabs((double)z[i]))) - t[i] * z[i];
    }
    drovek_table k;
    for (size_t tier = 0; fixture_tier(tier, &k); tier++) {
        float dz[6];
        drove_score score = {0}, quiet = {0};
        drove__loss_sigmoid.eval(&k, z, &target, 2, 3, 0.25f, dz, &score);
        near(score.loss, expected, 1e-6);
        for (size_t i = 0; i < 6; i++) {
            near(dz[i], 0.25 * (1 / (1 + exp(-(double)z[i])) - t[i]), 1e-6);
        }
        /* above 0: labels 0 and 1 of the first, label 1 of the second */
        assert_int_equal(score.true_positive, 1);
        assert_int_equal(score.false_positive, 2);
        assert_int_equal(score.false_negative, 1);
        drove__loss_sigmoid.eval(&k, z, &target, 2, 3, 0.25f, NULL, &quiet);
        assert_true(quiet.loss == score.loss && quiet.true_positive == 1);
    }
}

/* More outputs than one block of the product of probabilities, most of them at their least. */
TEST(sigmoid_of_many_outputs)
{
    enum { N = 5000 };
    static float z[N], dz[N];
    const uint64_t first[1] = {0}, last[1] = {1};
    const uint32_t label[1] = {4321};
    const drove_target target = {.label_first = first, .label_last = last, .label = label};
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    for (unsigned spread = 0; spread < 3; spread++) {
        double expected = 0;
        drovek_table k;
        for (size_t i = 0; i < N; i++) {
            z[i] = (float)(10.0 * spread * drove__rng_normal(&rng));
            expected += fmax(z[i], 0) + log1p(exp(-fabs((double)z[i])));
        }
        expected -= z[4321];
        for (size_t tier = 0; fixture_tier(tier, &k); tier++) {
            drove_score score = {0};
            drove__loss_sigmoid.eval(&k, z, &target, 1, N, 1.0f, dz, &score);
            near(score.loss, expected, 1e-6);
        }
    }
}

TEST(logistic_of_known_logits)
{
    const float z[5] = {2.0f, 2.0f, -1.0f, 0.0f, 1e4f};
    const int32_t y[5] = {1, 0, 0, 0, 0};
    const drove_target target = {.y_class = y};
    drovek_table k;
    for (size_t tier = 0; fixture_tier(tier, &k); tier++) {
        float dz[5];
        double expected = 0;
        drove_score score = {0};
        drove__loss_logistic.eval(&k, z, &target, 5, 1, 0.2f, dz, &score);
        for (size_t i = 0; i < 5; i++) {
            double sign = y[i] == 1 ? 1 : -1, margin = sign * z[i];
            expected += fmax(-margin, 0) + log1p(exp(-fabs(margin)));
            near(dz[i], -0.2 * sign / (1 + exp(margin)), 1e-6);
        }
        near(score.loss, expected, 1e-6);
        assert_int_equal(score.n_correct, 3); /* z = 0 says class 0 */
    }
    float p[5];
    drove__loss_logistic.predict(z, 5, 1, p);
    near(p[0], 1 / (1 + exp(-2.0)), 1e-6);
    near(p[4], 1, 1e-6);
}

TEST(hinge_of_known_logits)
{
    const float z[4] = {0.5f, 1.0f, -2.0f, 3.0f};
    const int32_t two[4] = {1, 1, 0, 0};
    const drove_target binary = {.y_class = two};
    drovek_table k;
    drove_score score = {0};
    float dz[4];
    assert_true(fixture_tier(0, &k));
    drove__loss_hinge.eval(&k, z, &binary, 4, 1, 0.5f, dz, &score);
    near(score.loss, 0.5 + 0 + 0 + 4, 1e-7);
    assert_int_equal(score.n_correct, 3);
    const float expected[4] = {-0.5f, 0.0f, 0.0f, 0.5f}; /* 0 at the kink */
    assert_memory_equal(dz, expected, sizeof dz);

    const int32_t four[1] = {3};
    const drove_target many = {.y_class = four};
    score = (drove_score){0};
    drove__loss_hinge.eval(&k, z, &many, 1, 4, 1.0f, dz, &score);
    near(score.loss, 1.5 + 2 + 0 + 0, 1e-7);
    assert_int_equal(score.n_correct, 1);
    const float against_all[4] = {1.0f, 1.0f, 0.0f, 0.0f};
    assert_memory_equal(dz, against_all, sizeof dz);
}

TEST(squared_of_known_outputs)
{
    const float z[4] = {0.5f, -1.0f, 2.0f, 0.0f}, y[4] = {1.5f, -1.0f, 0.0f, 3.0f};
    const drove_target values = {.y_value = y};
    drovek_table k;
    drove_score score = {0};
    float dz[4];
    assert_true(fixture_tier(0, &k));
    drove__loss_squared.eval(&k, z, &values, 4, 1, 0.25f, dz, &score);
    near(score.loss, 0.5 * (1 + 0 + 4 + 9), 1e-7);
    near(dz[3], -0.75, 1e-7);

    const int32_t label[2] = {0, 0};
    const drove_target classes = {.y_class = label};
    score = (drove_score){0};
    drove__loss_squared.eval(&k, z, &classes, 2, 2, 1.0f, dz, &score);
    near(score.loss, 0.5 * (0.25 + 1 + 1 + 0), 1e-7);
    assert_int_equal(score.n_correct, 2);
    near(dz[0], -0.5, 1e-7);
}

TEST(probabilities_sum_to_one)
{
    enum { ROWS = 50, N = 37 };
    static float z[ROWS * N], p[ROWS * N];
    drove_rng rng;
    drove__rng_seed(&rng, 2, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < ROWS * N; i++) {
        z[i] = (float)(pow(10.0, (double)(i / N % 5)) * drove__rng_normal(&rng));
    }
    drove__loss_softmax.predict(z, ROWS, N, p);
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0;
        for (size_t o = 0; o < N; o++) {
            assert_true(p[i * N + o] >= 0.0f);
            sum += p[i * N + o];
        }
        near(sum, 1, 1e-6);
    }
}

TEST(scores_add)
{
    drove_score a = {1.5, 1, 6, 2, 3, 4, 5}, b = {0.25, 10, 60, 20, 30, 40, 50};
    drove__score_add(&a, &b);
    assert_true(a.loss == 1.75);
    assert_int_equal(a.n_rows, 11);
    assert_true(a.weight == 66.0);
    assert_int_equal(a.n_correct, 22);
    assert_int_equal(a.true_positive, 33);
    assert_int_equal(a.false_positive, 44);
    assert_int_equal(a.false_negative, 55);
}
