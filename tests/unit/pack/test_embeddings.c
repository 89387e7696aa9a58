/* What members see of the examples. */
#include "pack/embed.h"
#include "pack_rig.h"

enum { N = 101 };

/* 0, 1 ... 100 in another order, and a feature of two values. */
static drove_data *numbers(void)
{
    drove_data *data = rig_data(N, 2, 0);
    for (size_t i = 0; i < N; i++) {
        data->storage->x_f32[2 * i] = (float)(i * 37 % N);
        data->storage->x_f32[2 * i + 1] = (float)(i % 2);
    }
    return data;
}

TEST(far_numbers_are_clipped)
{
    drove_data *data = numbers();
    const drove_embed_options none = {0};
    drove_embedding e;
    data->storage->x_f32[0] = 1e30f;
    assert_ok(drove__embedding_make(data, &none, 1, INFINITY, &e));
    assert_int_equal(drove__embedding_width(&e), 2);
    for (size_t i = 1; i < 2 * N; i++) {
        const double x = (double)data->storage->x_f32[i];
        const double wanted = x / sqrt(1.0 + x * x / 9.0);
        assert_true(fabs((double)e.data->storage->x_f32[i] - wanted) < 1e-6);
    }
    assert_true(fabsf(e.data->storage->x_f32[0] - 3.0f) < 1e-6f);
    drove__embedding_fini(&e);
    drove_data_destroy(data);
}

/* Four bins of 25 each: 60 is above two of them and at 0.4 of the third.  The feature of two values
 * has none. */
TEST(bins_between_quantiles)
{
    drove_data *data = numbers();
    const drove_embed_options four = {.bins = 4};
    drove_embedding e;
    assert_ok(drove__embedding_make(data, &four, 1, INFINITY, &e));
    assert_int_equal(e.n_more, 4);
    for (size_t i = 0; i < N; i++) {
        const float x = data->storage->x_f32[2 * i], *y = e.data->storage->x_f32 + 6 * i;
        for (size_t k = 0; k < 4; k++) {
            const float at = (x - 25.0f * (float)k) / 25.0f;
            assert_true(fabsf(y[2 + k] - fminf(fmaxf(at, 0.0f), 1.0f)) < 1e-6f);
        }
    }
    drove__embedding_fini(&e);
    drove_data_destroy(data);
}

TEST(waves_by_the_seed)
{
    drove_data *data = numbers();
    const drove_embed_options three = {.waves = 3};
    drove_embedding a, b;
    assert_ok(drove__embedding_make(data, &three, 1, INFINITY, &a));
    assert_ok(drove__embedding_make(data, &three, 2, INFINITY, &b));
    assert_int_equal(a.n_more, 3);
    assert_true(a.factor[0] != b.factor[0]);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < 3; k++) {
            const double z =
                ((double)data->storage->x_f32[2 * i] - (double)a.offset[k]) * (double)a.factor[k];
            assert_true(fabs((double)a.data->storage->x_f32[5 * i + 2 + k] - sin(z)) < 1e-4);
        }
    drove__embedding_fini(&a);
    drove__embedding_fini(&b);
    drove_data_destroy(data);
}

/* Scaled data: bins are those of the numbers that an engine loads. */
TEST(numbers_are_scaled_first)
{
    drove_data *data = numbers();
    const drove_embed_options two = {.bins = 2};
    drove_embedding e;
    data->shift = drove__alloc(2, sizeof *data->shift);
    data->factor = drove__alloc(2, sizeof *data->factor);
    data->shift[0] = 50.0f;
    data->factor[0] = data->factor[1] = 0.1f;
    assert_ok(drove__embedding_make(data, &two, 1, INFINITY, &e));
    assert_true(fabsf(e.offset[0] + 5.0f) < 1e-6f && fabsf(e.offset[1]) < 1e-6f);
    assert_true(fabsf(e.factor[0] - 0.2f) < 1e-6f);
    drove__embedding_fini(&e);
    drove_data_destroy(data);
}

/* Of 0, 1e-40, 3e-40 and 0.9 the first three are one level: their differences have no inverse. */
TEST(numbers_too_close_for_a_factor)
{
    static const float values[] = {0.0f, 1e-40f, 3e-40f, 0.9f};
    drove_data *data = numbers();
    const drove_embed_options levels = {.bins = 4, .levels = true};
    drove_embedding e;
    for (size_t i = 0; i < N; i++) data->storage->x_f32[2 * i] = values[i % 4];
    assert_ok(drove__embedding_make(data, &levels, 1, INFINITY, &e));
    assert_int_equal(e.n_more, 1);
    assert_true(isfinite(e.factor[0]));
    drove__embedding_fini(&e);
    drove_data_destroy(data);
}
