/* The step size of --lr auto over ranks: all take that of rank 0, and how it came to it. */
#include "auto/choose.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "kernel/kernel.h"
#include "model/model.h"
#include "support/test.h"
#include "sync/sync.h"

#include <string.h>

enum { RANKS = 2, ROWS = 8, MOST_SAID = 8, MOST_BYTES = 4096 };

/* What rank 0 said in its gatherings, for the one that comes after it. */
typedef struct table {
    char said[MOST_SAID][MOST_BYTES];
    size_t n_said, n_heard;
    bool is_first;
} table;

static drove_status gather(drove_transport *t, const void *mine, size_t each_bytes, void *all)
{
    table *at = t->impl;
    char *of_rank = all;
    const size_t n = at->is_first ? at->n_said++ : at->n_heard++;
    assert_true(n < MOST_SAID && each_bytes <= MOST_BYTES);
    if (at->is_first) memcpy(at->said[n], mine, each_bytes);
    memcpy(of_rank, at->said[n], each_bytes);
    memcpy(of_rank + each_bytes, mine, each_bytes);
    return DROVE_OK;
}

/* Three classes of sparse rows; n_each stored numbers a row. */
static void choose(table *at, unsigned n_each, drove_choice *out)
{
    static const drove_transport_ops ops = {.name = "told", .gather = gather};
    uint64_t row_start[ROWS + 1];
    uint32_t index[ROWS];
    float value[ROWS];
    int32_t y[ROWS];
    for (unsigned i = 0; i <= ROWS; i++) row_start[i] = (uint64_t)i * n_each;
    for (unsigned i = 0; i < ROWS; i++) {
        index[i] = i % 4;
        value[i] = 2.0f;
        y[i] = (int32_t)(i % 3);
    }
    drove_storage storage = {.n_rows = ROWS,
                             .n_features = 4,
                             .n_classes = 3,
                             .x_kind = DROVE_X_CSR,
                             .y_kind = DROVE_Y_CLASS,
                             .row_start = row_start,
                             .index = index,
                             .value = value,
                             .y_class = y};
    drove_data data = {.storage = &storage, .n_rows = ROWS};
    const drove_model_io io = {.n_features = 4, .n_classes = 3};
    drove_problem problem = {.train = &data, .n_train_whole = ROWS};
    assert_int_equal(drove__model_create("svm", "relu", "", &io, &problem.model), DROVE_OK);
    drove_config config = {.is_tuned = true,
                           .method = {.rule = "sgd", .batch = 4},
                           .length = {.until = {.epochs = 2.0}}};
    drove_loop loop = {.core_ops = &drove__engine_host, .clock = &drove__clock_real};
    drove_transport transport = {.ops = &ops, .impl = at};
    drove_workers workers = {.loop = &loop,
                             .transport = &transport,
                             .plan = {.ops = &drove__sync_hogwild, .n_workers = RANKS},
                             .ranks = {.n = RANKS, .rank = at->is_first ? 0 : 1}};
    assert_int_equal(drovek_select(&workers.kernels, 0, "ref"), DROVE_OK);
    float theta[64] = {0.0f};
    problem.first = theta;
    drove_trials trials;
    *out = (drove_choice){0};
    assert_int_equal(drove__choose_lr(&config, &problem, &workers, &trials, out), DROVE_OK);
    drove__model_destroy(problem.model);
}

static void agree(unsigned n_first, unsigned n_other, drove_origin expected)
{
    table at = {.is_first = true};
    drove_choice first, other;
    choose(&at, n_first, &first);
    at.is_first = false;
    choose(&at, n_other, &other);
    assert_int_equal(at.n_heard, at.n_said);
    assert_string_equal(first.setting[0].name, "lr");
    assert_string_equal(first.setting[0].value, other.setting[0].value);
    assert_int_equal(first.setting[0].origin, expected);
    assert_int_equal(other.setting[0].origin, expected);
}

/* --shard own: the rows of one rank may be empty, so that they say nothing of margins. */
TEST(how_rank_0_came_to_the_step_size)
{
    agree(1, 1, DROVE_BY_MARGIN);
    agree(0, 1, DROVE_BY_TRIALS);
    agree(1, 0, DROVE_BY_MARGIN);
}
