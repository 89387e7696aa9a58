/* Validation examples: each row is in exactly one part, the seed alone says in which, and both
 * parts are scaled alike. */
#include "data/data.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

enum { N = 400, N_HELD = 37 };

static drove_data *open_some(void)
{
    drove_data *train = NULL;
    if (drove_data_open("synth:logistic?n=400&d=5&scale=standard", NULL, 1, &train, NULL) !=
        DROVE_OK)
        fail_msg("%s", drove_error_text());
    return train;
}

static drove_data *hold_out(drove_data *train, uint64_t seed)
{
    drove_data *held;
    if (drove__data_hold_out(train, N_HELD, seed, &held) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    return held;
}

TEST(every_row_is_in_one_part)
{
    drove_data *train = open_some(), *held = hold_out(train, 7);
    unsigned char seen[N] = {0};
    assert_int_equal(held->n_rows, N_HELD);
    assert_int_equal(train->n_rows, N - N_HELD);
    for (size_t i = 0; i < train->n_rows; i++) seen[train->row[i]]++;
    for (size_t i = 0; i < held->n_rows; i++) seen[held->row[i]]++;
    for (size_t i = 0; i < N; i++) assert_int_equal(seen[i], 1);
    assert_ptr_equal(held->storage, train->storage);
    assert_int_equal(held->scaling, train->scaling);
    size_t n_bytes = train->storage->n_features * sizeof(float);
    assert_memory_equal(held->shift, train->shift, n_bytes);
    assert_memory_equal(held->factor, train->factor, n_bytes);
    drove_data_destroy(train); /* in either order */
    drove_data_destroy(held);
}

TEST(the_seed_says_which)
{
    drove_data *train[3], *held[3];
    for (int i = 0; i < 3; i++) {
        train[i] = open_some();
        held[i] = hold_out(train[i], i == 2 ? 8 : 7);
    }
    const size_t n_bytes = N_HELD * sizeof(uint32_t);
    assert_memory_equal(held[0]->row, held[1]->row, n_bytes);
    assert_memory_not_equal(held[0]->row, held[2]->row, n_bytes);
    for (int i = 0; i < 3; i++) {
        drove_data_destroy(held[i]);
        drove_data_destroy(train[i]);
    }
}

/* A part can be held out of what another split has left. */
TEST(a_view_can_be_split_again)
{
    drove_data *train = open_some(), *first = hold_out(train, 1), *second = hold_out(train, 2);
    for (size_t i = 0; i < N_HELD; i++)
        for (size_t k = 0; k < N_HELD; k++) assert_int_not_equal(first->row[i], second->row[k]);
    drove_data_destroy(train);
    drove_data_destroy(first);
    drove_data_destroy(second);
}
