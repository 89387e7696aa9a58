/* Parts of the examples that judge what was trained on the others. */
#include "pack/division.h"

#include "data/parting.h"
#include "pack_rig.h"

TEST(every_example_is_held_back_once)
{
    enum { N = 103, PARTS = 5 };
    drove_data *data = rig_signs(N, 0);
    drove_divisions d;
    uint32_t trained[N];
    unsigned held[N] = {0};
    assert_ok(drove__divisions_make(data, PARTS, 1, &d));
    for (unsigned p = 0; p < PARTS; p++) {
        const size_t n_held = drove__division_held(&d, p), n_trained = N - n_held;
        bool is_trained[N] = {false};
        assert_in_range(n_held, N / PARTS, N / PARTS + 1);
        drove__division_trained(&d, p, trained);
        for (size_t i = 0; i < n_trained; i++) is_trained[trained[i]] = true;
        for (size_t i = d.from[p]; i < d.from[p + 1]; i++) {
            assert_false(is_trained[d.row[i]]);
            held[d.row[i]]++;
        }
        for (size_t i = 0, n = 0; i < N; i++) assert_in_range(n += is_trained[i], 0, n_trained);
    }
    for (size_t i = 0; i < N; i++) assert_int_equal(held[i], 1);
    drove__divisions_fini(&d);
    drove_data_destroy(data);
}

/* Ten of 200 rows: each of five parts has two of them. */
TEST(a_rare_class_is_in_every_part)
{
    enum { N = 200, PARTS = 5 };
    drove_data *data = rig_data(N, 1, 2);
    drove_divisions d;
    for (size_t i = 0; i < 10; i++) data->storage->y_class[7 * i] = 1;
    assert_ok(drove__divisions_make(data, PARTS, 3, &d));
    for (unsigned p = 0; p < PARTS; p++) {
        unsigned n = 0;
        for (size_t i = d.from[p]; i < d.from[p + 1]; i++)
            n += data->storage->y_class[d.row[i]] == 1;
        assert_int_equal(n, 2);
    }
    drove__divisions_fini(&d);
    drove_data_destroy(data);
}

TEST(another_seed_divides_otherwise)
{
    drove_data *data = rig_signs(64, 0);
    drove_divisions a, b;
    bool differs = false;
    assert_ok(drove__divisions_make(data, 2, 1, &a));
    assert_ok(drove__divisions_make(data, 2, 2, &b));
    for (size_t i = 0; i < 64; i++) differs = differs || a.row[i] != b.row[i];
    assert_true(differs);
    drove__divisions_fini(&a);
    drove__divisions_fini(&b);
    drove_data_destroy(data);
}

/* Rows of 40 groups of 1 to 9: no group lies on both sides of a division. */
TEST(groups_stay_together)
{
    enum { N = 200, PARTS = 5, GROUPS = 40 };
    drove_data *data = rig_signs(N, 0);
    drove_divisions d;
    uint32_t key[N], trained[N];
    for (uint32_t i = 0, g = 1, left = 1; i < N; i++, left--) {
        if (left == 0) left = 1 + g++ % 9;
        key[i] = g;
    }
    assert_ok(drove__parting_of(key, N, &data->storage->parting));
    assert_ok(drove__divisions_make(data, PARTS, 1, &d));
    for (unsigned p = 0; p < PARTS; p++) {
        const size_t n_trained = drove__division_trained(&d, p, trained);
        assert_int_equal(n_trained, N - drove__division_held(&d, p));
        assert_in_range(drove__division_held(&d, p), N / PARTS - 9, N / PARTS + 9);
        for (size_t i = 0; i < n_trained; i++)
            for (size_t k = d.from[p]; k < d.from[p + 1]; k++)
                assert_true(key[trained[i]] != key[d.row[k]]);
    }
    drove__divisions_fini(&d);
    drove_data_destroy(data);
}

/* In the order of time all that judges a part was there after all that is trained on; the first
 * part has the latest rows. */
TEST(rows_in_time_are_judged_by_those_before)
{
    enum { N = 103, PARTS = 5 };
    drove_data *data = rig_signs(N, 0);
    drove_divisions d;
    uint32_t trained[N];
    data->storage->parting.is_timed = true;
    assert_ok(drove__divisions_make(data, PARTS, 1, &d));
    assert_true(d.is_in_time);
    for (unsigned p = 0; p < PARTS; p++) {
        const size_t n_trained = drove__division_trained(&d, p, trained);
        uint32_t first = N;
        for (size_t k = d.from[p]; k < d.from[p + 1]; k++)
            if (d.row[k] < first) first = d.row[k];
        assert_int_equal(n_trained, first); /* all rows before it */
        for (size_t i = 0; i < n_trained; i++) assert_true(trained[i] < first);
    }
    assert_int_equal(d.row[d.from[1] - 1], N - 1);
    drove__divisions_fini(&d);
    drove_data_destroy(data);
}
