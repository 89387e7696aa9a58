/* engine/accel/size.c - how much memory a batch and a model take on a device; see state.h. */
#include "base/mem.h"
#include "engine/accel/state.h"

size_t drove__accel_longest_labels(const drove_data *data)
{
    const drove_storage *s = data->storage;
    uint64_t longest = 0;
    if (s->y_kind != DROVE_Y_LABELS) return 0;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        uint64_t length = s->label_start[row + 1] - s->label_start[row];
        longest = length > longest ? length : longest;
    }
    return (size_t)longest;
}

static size_t part(drove_accel_layout *at, size_t n)
{
    size_t begin = at->n;
    at->n += drove__pad_floats(n);
    return begin;
}

drove_accel_layout drove__accel_layout(const drove_model *model, const drove_data *data,
                                       bool in_bytes, size_t n_rows, size_t n_pairs,
                                       size_t n_touched, size_t n_labels)
{
    drove_accel_layout at = {0};
    if (drove__storage_is_sparse(data->storage)) {
        at.start = part(&at, n_rows + 1);
        at.index = part(&at, n_pairs);
        at.value = part(&at, n_pairs);
        at.t_start = part(&at, n_touched + 1);
        at.t_index = part(&at, n_pairs);
        at.t_value = part(&at, n_pairs);
    } else {
        size_t n = n_rows * model->n_inputs;
        at.x = part(&at, in_bytes ? (n + sizeof(float) - 1) / sizeof(float) : n);
    }
    if (data->storage->y_kind == DROVE_Y_LABELS) {
        at.label_start = part(&at, n_rows + 1);
        at.label = part(&at, n_labels);
    } else {
        at.target = part(&at, n_rows * drove__storage_n_values(data->storage));
    }
    if (drove__data_is_weighted(data)) at.weight = part(&at, n_rows);
    return at;
}

size_t drove__accel_most_touched(const drove_model *model, const drove_data *data, size_t max_rows)
{
    size_t longest = drove__gather_longest(data);
    return longest == 0 || max_rows <= model->n_inputs / longest ? max_rows * longest
                                                                 : model->n_inputs;
}

/* ---- what fits ---- */

typedef struct shape { /* of what has to fit */
    const drove_model *model;
    const drove_data *data;
    const drove_accel_facts *facts;
    const drove_accel_plan *plan;
    bool keeps_copies; /* in bf16, beside many of the buffers */
    size_t longest, longest_labels;
} shape;

/* Counts a buffer. */
static void add(size_t n, size_t *all, size_t *largest)
{
    *all += n;
    if (n > *largest) *largest = n;
}

/* A part of the memory is left to the driver and to the sums of the device code. */
static bool fits(const shape *s, size_t rows)
{
    bool is_sparse = drove__storage_is_sparse(s->data->storage);
    size_t touched = drove__accel_most_touched(s->model, s->data, rows), all = 0;
    size_t params = is_sparse ? s->model->n_params - s->model->layer[0].b_offset +
                                    touched * s->model->layer[0].n_out
                              : s->model->n_params;
    size_t batch = drove__accel_layout(s->model, s->data, false, rows, rows * s->longest, touched,
                                       rows * s->longest_labels)
                       .n;           /* floats: other threads may load the examples */
    size_t largest = 0;              /* elements of the largest buffer */
    for (size_t i = 0; i < 2; i++) { /* and their gradient */
        add(params, &all, &largest);
        add(s->model->n_frozen, &all, &largest);
    }
    for (size_t i = 0; i < DROVE_ACCEL_N_STAGINGS; i++) add(batch, &all, &largest);

    /* Outputs, derivatives, what is kept, scratch. */
    const drove_model *m = s->model;
    for (size_t l = 0; l < m->n_layers; l++) {
        add(rows * m->layer[l].n_out, &all, &largest);
        add(drove__accel_kept(&m->layer[l], rows), &all, &largest);
    }
    for (size_t i = 0; i < s->plan->n_deltas; i++)
        add(rows * s->plan->delta_floats[i], &all, &largest);
    if (s->plan->converts_input) add(rows * m->n_inputs, &all, &largest);
    if (drove__gather_has_bytes(s->data) && s->plan->reads_plain)
        add(rows * m->n_inputs, &all, &largest);
    add(drove__accel_scratch(m, rows), &all, &largest);
    add((m->n_heads > 1 ? 8 : 4) * rows, &all, &largest);

    double n = (double)all * sizeof(float) * (s->keeps_copies ? 1.5 : 1.0);
    return n <= 0.9 * (double)s->facts->memory_bytes &&
           (double)largest * sizeof(float) <= (double)s->facts->most_buffer_bytes;
}

size_t drove__accel_most_rows(const drove_engine_options *opt)
{
    const drove_accel_device *device = opt->device->impl;
    drove_accel_plan plan;
    shape s = {.model = opt->model, .data = opt->data, .facts = &device->facts};
    s.keeps_copies = opt->model->factors == DROVEK_FACTORS_BF16 && device->ops->bf16 != NULL;
    s.longest = drove__gather_longest(opt->data);
    s.longest_labels = drove__accel_longest_labels(opt->data);
    if (drove__accel_plan_make(opt->model, &plan) != DROVE_OK) return 0;
    s.plan = &plan;
    /* no product above overflows below this, and jobs count places in 32 bits */
    size_t widest = opt->model->n_inputs;
    for (size_t l = 0; l < opt->model->n_layers; l++) {
        if (opt->model->layer[l].n_out > widest) widest = opt->model->layer[l].n_out;
    }
    size_t most = opt->model->is_chain ? (size_t)1 << 31 : UINT32_MAX / widest, low = 0;
    size_t high = opt->max_rows < most ? opt->max_rows : most;
    while (low < high) { /* low fits, or is 0; nothing above high does */
        size_t middle = low + (high - low + 1) / 2;
        if (fits(&s, middle)) low = middle;
        else high = middle - 1;
    }
    drove__accel_plan_fini(&plan);
    return low;
}
