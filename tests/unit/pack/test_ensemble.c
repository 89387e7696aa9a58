/* Shares of members, by examples that they had not seen. */
#include "pack/ensemble.h"
#include "pack_rig.h"

#include <string.h>

enum { N = 400 };

static uint32_t rows[N];

static drove_judge judge_of(const drove_data *data, drove_judge_kind kind, size_t n_outputs)
{
    for (uint32_t i = 0; i < N; i++) rows[i] = i;
    return (drove_judge){.kind = kind, .data = data, .n_outputs = n_outputs};
}

/* Errors of +1 and -1 in opposite rows: the mean of the two is right everywhere. */
TEST(members_that_make_each_other_good)
{
    drove_data *data = rig_signs(N, 0);
    drove_judge judge = judge_of(data, DROVE_JUDGE_VALUES, 1);
    float a[N], b[N], c[N];
    for (size_t i = 0; i < N; i++) {
        const float y = data->storage->y_value[i], e = i % 3 == 0 ? 1.0f : -1.0f;
        a[i] = y + e;
        b[i] = y - e;
        c[i] = y + 0.9f;
    }
    const drove_ensemble_input in = {
        .judge = &judge, .row = rows, .n_rows = N, .n_members = 3, .output = {a, b, c}};
    drove_ensemble out;
    assert_ok(drove__ensemble_choose(&in, &out));
    /* The best by itself is c, with half a square of 0.9. */
    assert_int_equal(out.best, 2);
    assert_true(fabs(out.best_loss - 0.405) < 1e-5);
    assert_true(out.share[0] > 0.3 && out.share[1] > 0.3 && out.share[2] < 0.2);
    assert_true(fabs(out.share[0] + out.share[1] + out.share[2] - 1.0) < 1e-12);
    assert_true(out.loss < 0.02 && out.sharpness == 1.0);
    drove_data_destroy(data);
}

/* Outputs that say twice the log odds of what the classes were drawn from. */
TEST(outputs_that_are_too_sure_are_flattened)
{
    enum { MANY = 6000 };
    drove_data *data = rig_data(MANY, 1, 2);
    drove_rng rng;
    float *z = drove__alloc(MANY, sizeof *z);
    uint32_t *row = drove__alloc(MANY, sizeof *row);
    drove_ensemble out;
    drove__rng_seed(&rng, 3, DROVE_RNG_TEST, 0);
    for (uint32_t i = 0; i < MANY; i++) {
        const double odds = 2.0 * drove__rng_normal(&rng);
        data->storage->y_class[i] = drove__rng_uniform(&rng) < 1.0 / (1.0 + exp(-odds));
        z[i] = (float)(2.0 * odds);
        row[i] = i;
    }
    const drove_judge judge = {.kind = DROVE_JUDGE_ODDS, .data = data, .n_outputs = 1};
    const drove_ensemble_input in = {
        .judge = &judge, .row = row, .n_rows = MANY, .n_members = 1, .output = {z}};
    assert_ok(drove__ensemble_choose(&in, &out));
    assert_true(fabs(out.sharpness - 0.5) < 0.04);
    drove__free(z);
    drove__free(row);
    drove_data_destroy(data);
}

/* By one row of 400 alone, which is impossible, b would be better: the rest decides. */
TEST(few_far_rows_decide_nothing)
{
    enum { MANY = 2000 };
    drove_data *data = rig_signs(MANY, 0);
    float *a = drove__alloc(MANY, sizeof *a), *b = drove__alloc(MANY, sizeof *b);
    uint32_t *row = drove__alloc(MANY, sizeof *row);
    drove_ensemble out;
    for (uint32_t i = 0; i < MANY; i++) {
        row[i] = i;
        a[i] = data->storage->y_value[i] + 0.1f;
        b[i] = data->storage->y_value[i] + (i % 2 == 0 ? 0.5f : -0.1f);
    }
    data->storage->y_value[11] = 1e4f;
    b[11] = 2e3f;
    const drove_judge judge = {.kind = DROVE_JUDGE_VALUES, .data = data, .n_outputs = 1};
    const drove_ensemble_input in = {
        .judge = &judge, .row = row, .n_rows = MANY, .n_members = 2, .output = {a, b}};
    assert_ok(drove__ensemble_choose(&in, &out));
    assert_int_equal(out.best, 0);
    drove__free(a);
    drove__free(b);
    drove__free(row);
    drove_data_destroy(data);
}

/* Three classes at the logarithms 0, log 2, log 3: the loss of class 2 is log 2. */
TEST(the_losses_of_rows)
{
    drove_data *data = rig_data(N, 1, 3);
    const float z[] = {0.0f, logf(2.0f), logf(3.0f)}, odds = logf(3.0f), value = 2.5f;
    drove_judge judge = judge_of(data, DROVE_JUDGE_SOFTMAX, 3);
    data->storage->y_class[5] = 2;
    assert_true(fabs(drove__judge_row(&judge, 5, z) - log(2.0)) < 1e-6);
    assert_true(fabs(drove__judge_row(&judge, 6, z) - log(6.0)) < 1e-6);
    judge.kind = DROVE_JUDGE_ODDS;
    judge.n_outputs = 1;
    data->storage->y_class[5] = 1;
    assert_true(fabs(drove__judge_row(&judge, 5, &odds) - log(4.0 / 3.0)) < 1e-6);
    assert_true(fabs(drove__judge_row(&judge, 6, &odds) - log(4.0)) < 1e-6);
    drove_data_destroy(data);
    data = rig_data(N, 1, 0);
    judge = judge_of(data, DROVE_JUDGE_VALUES, 1);
    data->storage->y_value[5] = 1.0f;
    assert_true(drove__judge_row(&judge, 5, &value) == 1.125);
    drove_data_destroy(data);
}

/* Of few rows all count, also the one that is 3 off. */
TEST(few_rows_all_count)
{
    drove_data *data = rig_data(N, 1, 0);
    const drove_judge judge = judge_of(data, DROVE_JUDGE_VALUES, 1);
    double loss[] = {0.5, 0.5, 4.5}, scratch[3];
    const double weight[] = {1.0, 1.0, 1.0};
    assert_true(fabs(drove__judge_mean(&judge, loss, weight, 3, scratch) - 5.5 / 3.0) < 1e-12);
    drove_data_destroy(data);
}

/* Two members whose mean is right: both are taken, unless the time is over with the first. */
TEST(no_member_is_added_after_the_end)
{
    drove_data *data = rig_data(N, 1, 0);
    const drove_judge judge = judge_of(data, DROVE_JUDGE_VALUES, 1);
    float high[N], low[N];
    for (size_t i = 0; i < N; i++) {
        high[i] = 1.0f;
        low[i] = -1.1f;
    }
    for (unsigned over = 0; over < 2; over++) {
        drove_ensemble out;
        const drove_ensemble_input in = {.judge = &judge,
                                         .row = rows,
                                         .n_rows = N,
                                         .n_members = 2,
                                         .end_ns = over ? 1 : UINT64_MAX,
                                         .output = {high, low}};
        assert_ok(drove__ensemble_choose(&in, &out));
        assert_true(over ? out.share[0] == 1.0 : fabs(out.share[0] - 0.5) < 0.1);
    }
    drove_data_destroy(data);
}
