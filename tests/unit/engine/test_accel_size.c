/* How much memory a batch and a model take on a device (engine/accel/size.c): offsets worked by
 * hand, and the most rows that fit against a count of this file, on devices that are a number of
 * bytes. */
#include "base/mem.h"
#include "engine/accel/state.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

enum { FEATURES = 50, CLASSES = 5 };
#define PLENTY ((uint64_t)1 << 60)

static const drove_model_io classes_io = {.n_features = FEATURES, .n_classes = CLASSES};

static drove_model *make_model(const char *spec)
{
    drove_model *model;
    assert_int_equal(drove__model_create(spec, "", "", &classes_io, &model), DROVE_OK);
    return model;
}

static size_t most_rows(const drove_model *model, const drove_data *data, uint64_t memory_bytes,
                        uint64_t most_buffer_bytes, size_t max_rows)
{
    drove_accel_device impl = {
        .facts = {.memory_bytes = memory_bytes, .most_buffer_bytes = most_buffer_bytes}};
    drove_device device = {.impl = &impl};
    const drove_engine_options opt = {
        .model = model, .data = data, .max_rows = max_rows, .device = &device};
    return drove__accel_most_rows(&opt);
}

static size_t padded(size_t n)
{
    while (n % 16 != 0) n++;
    return n;
}

/* ---- a batch ---- */

static drove_storage dense_storage(void)
{
    return (drove_storage){.n_rows = 4,
                           .n_features = FEATURES,
                           .x_kind = DROVE_X_F32,
                           .y_kind = DROVE_Y_CLASS,
                           .n_classes = CLASSES};
}

TEST(each_part_of_a_batch_begins_a_cache_line)
{
    drove_storage s = dense_storage();
    drove_data data = {.storage = &s, .n_rows = 4};
    drove_model *model = make_model("mlp:7");
    drove_accel_layout at = drove__accel_layout(model, &data, false, 3, 99, 99, 99);
    assert_int_equal(at.x, 0);
    assert_int_equal(at.target, 160); /* 3 * 50, up to 16 */
    assert_int_equal(at.n, 176);
    at = drove__accel_layout(model, &data, true, 3, 99, 99, 99);
    assert_int_equal(at.target, 48); /* 3 * 50 bytes are 38 elements */
    s.y_kind = DROVE_Y_VALUE;
    s.n_values = 7;
    at = drove__accel_layout(model, &data, false, 3, 0, 0, 0);
    assert_int_equal(at.target, 160);
    assert_int_equal(at.n, 160 + 32); /* 3 * 7 */
    float weight[4] = {1, 1, 1, 1};
    s.weight = weight;
    at = drove__accel_layout(model, &data, false, 17, 0, 0, 0);
    assert_int_equal(at.target, 864);       /* 17 * 50 = 850 */
    assert_int_equal(at.weight, 864 + 128); /* 17 * 7 = 119 */
    assert_int_equal(at.n, 864 + 128 + 32);
    s.weight = NULL;
    s.x_kind = DROVE_X_CSR;
    s.y_kind = DROVE_Y_LABELS;
    at = drove__accel_layout(model, &data, false, 16, 40, 47, 100);
    assert_int_equal(at.start, 0); /* 17 */
    assert_int_equal(at.index, 32);
    assert_int_equal(at.value, 32 + 48);
    assert_int_equal(at.t_start, 32 + 96); /* 48 */
    assert_int_equal(at.t_index, 32 + 144);
    assert_int_equal(at.t_value, 32 + 192);
    assert_int_equal(at.label_start, 32 + 240); /* 17 */
    assert_int_equal(at.label, 32 + 240 + 32);
    assert_int_equal(at.n, 32 + 240 + 32 + 112);
    drove__model_destroy(model);
}

TEST(the_most_labels_are_those_of_a_row_of_the_view)
{
    uint64_t start[] = {0, 2, 2, 7, 10};
    uint32_t rows[] = {3, 0};
    drove_storage s = {.n_rows = 4, .y_kind = DROVE_Y_LABELS, .label_start = start};
    drove_data data = {.storage = &s, .n_rows = 4};
    assert_int_equal(drove__accel_longest_labels(&data), 5);
    data.n_rows = 2;
    data.row = rows;
    assert_int_equal(drove__accel_longest_labels(&data), 3);
    s.y_kind = DROVE_Y_CLASS;
    assert_int_equal(drove__accel_longest_labels(&data), 0);
}

TEST(rows_touch_at_most_all_features)
{
    static const struct {
        size_t longest, rows, touched;
    } cases[] = {{7, 1, 7},
                 {7, 6, 42},
                 {7, 7, 49},
                 {7, 8, 50},
                 {7, SIZE_MAX / 2, 50},
                 {50, 1, 50},
                 {1, SIZE_MAX / 2, 50},
                 {1, 49, 49},
                 {1, 50, 50}};
    drove_model *model = make_model("mlp:7");
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        drove_storage s = {.n_rows = 1, .x_kind = DROVE_X_CSR, .longest_row = cases[i].longest};
        const drove_data data = {.storage = &s, .n_rows = 1};
        assert_int_equal(drove__accel_most_touched(model, &data, cases[i].rows), cases[i].touched);
    }
    const drove_storage dense = dense_storage();
    const drove_data data = {.storage = (drove_storage *)&dense, .n_rows = 4};
    assert_int_equal(drove__accel_most_touched(model, &data, 1000), 0);
    drove__model_destroy(model);
}

/* ---- what fits ---- */

/* Elements of all buffers for a network of 33, 20 and CLASSES outputs, and of the largest. */
static size_t needed(const drove_model *model, const drove_data *data, size_t rows, size_t *largest)
{
    static const size_t longest = 7;
    bool is_sparse = data->storage->x_kind == DROVE_X_CSR;
    size_t touched = rows * longest < FEATURES ? rows * longest : FEATURES, n[16], n_buffers = 0;
    size_t params = model->n_params, batch;
    if (is_sparse) {
        params += touched * 33 - model->layer[0].b_offset;
        batch = padded(rows + 1) + 4 * padded(rows * longest) + padded(touched + 1) + padded(rows);
    } else {
        batch = padded(rows * FEATURES) + padded(rows);
    }
    for (int i = 0; i < 2; i++) n[n_buffers++] = params; /* and the gradient */
    for (int i = 0; i < 2; i++) n[n_buffers++] = batch;  /* one is copied, one is used */
    n[n_buffers++] = 33 * rows;                          /* outputs */
    n[n_buffers++] = 20 * rows;
    n[n_buffers++] = CLASSES * rows;
    n[n_buffers++] = 33 * rows; /* derivatives, in turns: of the last layer and the first one */
    n[n_buffers++] = 20 * rows;
    n[n_buffers++] = 4 * rows; /* losses and counts */
    size_t sum = 0;
    *largest = 0;
    for (size_t i = 0; i < n_buffers; i++) {
        sum += n[i];
        if (n[i] > *largest) *largest = n[i];
    }
    return sum;
}

/* Nine tenths of the memory, and no buffer above its own limit. */
static size_t expected_rows(const drove_model *model, const drove_data *data, uint64_t memory_bytes,
                            uint64_t most_buffer_bytes)
{
    size_t rows = 0, largest;
    while (4.0 * (double)needed(model, data, rows + 1, &largest) <= 0.9 * (double)memory_bytes &&
           4 * largest <= most_buffer_bytes)
        rows++;
    return rows;
}

static void check_sizes(drove_storage *s)
{
    const drove_data data = {.storage = s, .n_rows = 4};
    drove_model *model = make_model("mlp:33,20");
    size_t none, some, largest;
    none = needed(model, &data, 1, &largest);
    some = needed(model, &data, 40, &largest);
    /* about each number of rows up to 40, on either side of the limit; the first of too little */
    for (uint64_t bytes = 4 * none; bytes < 5 * some; bytes += 131)
        assert_int_equal(most_rows(model, &data, bytes, PLENTY, 1000),
                         expected_rows(model, &data, bytes, PLENTY));
    for (uint64_t bytes = 0; bytes < 4 * largest; bytes += 131)
        assert_int_equal(most_rows(model, &data, 5 * some, bytes, 1000),
                         expected_rows(model, &data, 5 * some, bytes));
    for (size_t rows = 1; rows < 40; rows++) { /* to the byte */
        needed(model, &data, rows, &largest);
        assert_int_equal(most_rows(model, &data, PLENTY, 4 * largest, 1000),
                         expected_rows(model, &data, PLENTY, 4 * largest));
        assert_int_equal(most_rows(model, &data, PLENTY, PLENTY, rows), rows);
    }
    assert_int_equal(most_rows(model, &data, 4 * none, PLENTY, 1000), 0);
    drove__model_destroy(model);
}

TEST(dense_examples_fit_by_count)
{
    drove_storage s = dense_storage();
    check_sizes(&s);
}

TEST(sparse_examples_fit_by_count)
{
    drove_storage s = dense_storage();
    s.x_kind = DROVE_X_CSR;
    s.longest_row = 7;
    check_sizes(&s);
}

/* Two heads have losses and counts of their own: eight numbers a row in the place of four. */
TEST(other_heads_have_results_too)
{
    drove_storage s = dense_storage();
    const drove_data data = {.storage = &s, .n_rows = 4};
    drove_model *model = make_model("mlp:33,20"), two = *model;
    size_t largest, n = needed(model, &data, 100, &largest) + 4 * 100;
    two.n_heads = 2;
    drove_head head[2] = {model->head[0], model->head[0]};
    memcpy(two.head, head, sizeof head);
    uint64_t bytes = (uint64_t)((double)n * 4.0 / 0.9) + 1;
    assert_int_equal(most_rows(&two, &data, bytes, PLENTY, 1000), 100);
    assert_int_equal(most_rows(&two, &data, bytes - 16, PLENTY, 1000), 99);
    drove__model_destroy(model);
}

/* Jobs count the places of a batch's widest layer in 32 bits, but for chains, whose products are
 * made otherwise.  A layer behind the last is none of the network's. */
TEST(places_are_counted_in_32_bits)
{
    static const struct {
        const char *spec;
        size_t widest;
    } cases[] = {
        {"mlp:33,20", FEATURES}, {"mlp:90,20", 90}, {"mlp:20,90", 90}, {"mlp:3", FEATURES}};
    drove_storage s = dense_storage();
    const drove_data data = {.storage = &s, .n_rows = 4};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        drove_model *model = make_model(cases[c].spec), graph = *model;
        drove_layer *layer = calloc(model->n_layers + 1, sizeof *layer);
        assert_non_null(layer);
        memcpy(layer, model->layer, model->n_layers * sizeof *layer);
        layer[model->n_layers].n_out = 1000000;
        graph.layer = layer;
        graph.is_chain = false;
        assert_int_equal(most_rows(&graph, &data, PLENTY, PLENTY, SIZE_MAX),
                         UINT32_MAX / cases[c].widest);
        graph.is_chain = true;
        assert_true(most_rows(&graph, &data, PLENTY, PLENTY, SIZE_MAX) == (size_t)1 << 31);
        free(layer);
        drove__model_destroy(model);
    }
    drove_model *model = make_model("mlp:3"), graph = *model; /* the last layer is the widest */
    graph.is_chain = false;
    graph.n_inputs = 2;
    assert_int_equal(most_rows(&graph, &data, PLENTY, PLENTY, SIZE_MAX), UINT32_MAX / CLASSES);
    drove__model_destroy(model);
}
