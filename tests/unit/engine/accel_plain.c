/* tests/unit/engine/accel_plain.c - see accel_plain.h. */
#include "unit/engine/accel_plain.h"
#include "unit/engine/accel_jobs.h"
#include "support/test.h"

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/bf16.h"
#include "model/loss.h"

#include <stdlib.h>
#include <string.h>

unsigned accel_plain_fails_at, accel_plain_calls, accel_plain_objects;
size_t accel_plain_elements;

struct drove_accel {
    drovek_table kernels; /* plain C */
};
struct drove_accel_buffer {
    size_t n;
    float *at;
};
struct drove_accel_queue {
    drove_accel *accel;
    drovek_table kernels; /* of products */
};
struct drove_accel_event {
    uint64_t ns;
};

static drove_status call(void)
{
    accel_plain_calls++;
    if (accel_plain_fails_at == 0 || accel_plain_calls < accel_plain_fails_at) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM, "plain: lost at call %u", accel_plain_calls);
}

/* n elements at a place, which have to be there. */
static float *at(drove_accel_view v, size_t n)
{
    assert_true(v.offset + n <= v.buffer->n);
    return v.buffer->at + v.offset;
}

static drove_status make(size_t size_bytes, void *out)
{
    void *memory = calloc(1, size_bytes);
    if (memory == NULL) return drove__fail_nomem("plain", size_bytes);
    accel_plain_objects++;
    memcpy(out, &memory, sizeof memory);
    return DROVE_OK;
}

static void gone(void *memory)
{
    if (memory == NULL) return;
    accel_plain_objects--;
    free(memory);
}

/* ---- devices, memory, queues ---- */

static drove_status count(unsigned *out)
{
    *out = 1;
    return DROVE_OK;
}

static drove_status describe(unsigned device, drove_accel_facts *out)
{
    (void)device;
    *out = (drove_accel_facts){
        .name = "plain", .memory_bytes = 128 << 20, .most_buffer_bytes = 64 << 20, .n_units = 1};
    return DROVE_OK;
}

static drove_status open_plain(const drove_accel_choice *choice, drove_accel **out)
{
    (void)choice;
    DROVE_TRY(make(sizeof **out, out));
    return drovek_select(&(*out)->kernels, 0, "ref");
}

static void close_plain(drove_accel *a)
{
    gone(a);
}

static void facts(const drove_accel *a, drove_accel_facts *out)
{
    (void)a;
    describe(0, out);
}

static drove_status alloc(drove_accel *a, size_t n_elements, drove_accel_buffer **out)
{
    (void)a;
    DROVE_TRY(make(sizeof **out, out));
    (*out)->n = n_elements;
    drove_status status = make(n_elements * sizeof(float), &(*out)->at);
    if (status != DROVE_OK) {
        gone(*out);
        *out = NULL;
        return status;
    }
    accel_plain_elements += n_elements;
    for (size_t i = 0; i < n_elements; i++) (*out)->at[i] = 1e30f; /* nothing promised */
    return DROVE_OK;
}

static void free_buffer(drove_accel *a, drove_accel_buffer *buffer)
{
    (void)a;
    if (buffer != NULL) gone(buffer->at);
    gone(buffer);
}

static drove_status host_alloc(drove_accel *a, size_t n_bytes, void **out)
{
    (void)a;
    return make(n_bytes, out);
}

static void host_free(drove_accel *a, void *memory)
{
    (void)a;
    gone(memory);
}

static drove_status queue_create(drove_accel *a, drove_accel_queue **out)
{
    DROVE_TRY(make(sizeof **out, out));
    (*out)->accel = a;
    (*out)->kernels = a->kernels;
    return DROVE_OK;
}

static void queue_destroy(drove_accel_queue *q)
{
    gone(q);
}

static drove_status flush(drove_accel_queue *q)
{
    (void)q;
    return call();
}

static drove_status record(drove_accel_queue *q, drove_accel_event **out)
{
    (void)q;
    drove_status status = call();
    if (status != DROVE_OK) return status;
    DROVE_TRY(make(sizeof **out, out));
    (*out)->ns = drove__now_ns();
    return DROVE_OK;
}

static drove_status follow(drove_accel_queue *q, drove_accel_event *event)
{
    (void)q;
    assert_true(event->ns > 0);
    return call();
}

static drove_status wait_plain(drove_accel_event *event, uint64_t timeout_ns)
{
    (void)event;
    (void)timeout_ns;
    return call();
}

static drove_status happened(drove_accel_event *event, bool *out)
{
    *out = event->ns > 0;
    return call();
}

static drove_status time_of(drove_accel_event *event, uint64_t *out_ns)
{
    *out_ns = event->ns;
    return DROVE_OK;
}

static void event_destroy(drove_accel_event *event)
{
    gone(event);
}

static drove_status write_plain(drove_accel_queue *q, drove_accel_view to, const void *from,
                                size_t n)
{
    (void)q;
    memcpy(at(to, n), from, n * sizeof(float));
    return call();
}

static drove_status read_plain(drove_accel_queue *q, void *to, drove_accel_view from, size_t n)
{
    (void)q;
    memcpy(to, at(from, n), n * sizeof(float));
    return call();
}

static drove_status zero(drove_accel_queue *q, drove_accel_view to, size_t n)
{
    (void)q;
    memset(at(to, n), 0, n * sizeof(float));
    return call();
}

/* ---- operations ---- */

static void multiply_in_bf16(drove_accel_queue *q)
{
    q->kernels = drovek_narrow(&q->accel->kernels, DROVEK_FACTORS_BF16);
}

static drove_status gemm(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m, size_t n,
                         size_t k, float alpha, drove_accel_view a, size_t lda, drove_accel_view b,
                         size_t ldb, float beta, drove_accel_view c, size_t ldc)
{
    q->kernels.gemm_f32(trans_a, trans_b, m, n, k, alpha, at(a, 1), lda, at(b, 1), ldb, beta,
                        at(c, 1), ldc);
    return call();
}

static drove_status gemm_batch(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m, size_t n,
                               size_t k, float alpha, drove_accel_view a, size_t lda,
                               size_t stride_a, drove_accel_view b, size_t ldb, size_t stride_b,
                               float beta, drove_accel_view c, size_t ldc, size_t stride_c,
                               size_t n_batch)
{
    for (size_t i = 0; i < n_batch; i++) {
        drove_accel_view ai = {a.buffer, a.offset + i * stride_a};
        drove_accel_view bi = {b.buffer, b.offset + i * stride_b};
        drove_accel_view ci = {c.buffer, c.offset + i * stride_c};
        DROVE_TRY(gemm(q, trans_a, trans_b, m, n, k, alpha, ai, lda, bi, ldb, beta, ci, ldc));
    }
    return DROVE_OK;
}

static drove_status job(drove_accel_queue *q, const drove_accel_job *what)
{
    float *place[DROVE_JOB_PLACES] = {NULL};
    (void)q;
    for (size_t i = 0; i < DROVE_JOB_PLACES; i++)
        if (what->at[i].buffer != NULL) place[i] = at(what->at[i], 1);
    accel_job_run(what->which, place, &what->k);
    return call();
}

static drove_status bias_act(drove_accel_queue *q, drove_accel_view y, drove_accel_view b,
                             size_t n_rows, size_t n, drove_accel_act act)
{
    q->accel->kernels.bias_act_f32(at(y, n_rows * n), at(b, n), n_rows, n, (drovek_act)act);
    return call();
}

static drove_status act_grad(drove_accel_queue *q, drove_accel_view dy, drove_accel_view db,
                             drove_accel_view y, size_t n_rows, size_t n, drove_accel_act act)
{
    q->accel->kernels.act_grad_f32(at(dy, n_rows * n), at(db, n), at(y, n_rows * n), n_rows, n,
                                   (drovek_act)act);
    return call();
}

static drove_status loss(drove_accel_queue *q, drove_accel_loss which, drove_accel_view z,
                         drove_accel_view target, const drove_accel_sparse *labels, size_t n_rows,
                         size_t n, float scale, drove_accel_view dz, drove_accel_view loss_of_row,
                         drove_accel_view count_of_row)
{
    static const drove_loss_ops *const ops[] = {&drove__loss_softmax,  &drove__loss_sigmoid,
                                                &drove__loss_logistic, &drove__loss_hinge,
                                                &drove__loss_squared,  &drove__loss_squared};
    const uint32_t *start =
        which == DROVE_ACCEL_SIGMOID ? (const uint32_t *)at(labels->start, n_rows + 1) : NULL;
    for (size_t r = 0; r < n_rows; r++) {
        drove_target t = {0};
        drove_score score = {0};
        uint64_t ends[2] = {0};
        uint32_t *counts = (uint32_t *)at(count_of_row, 3 * n_rows) + 3 * r;
        if (start != NULL) {
            ends[0] = start[r];
            ends[1] = start[r + 1];
            t = (drove_target){.label_first = &ends[0],
                               .label_last = &ends[1],
                               .label = (const uint32_t *)at(labels->index, start[n_rows])};
        } else if (which == DROVE_ACCEL_SQUARED) {
            t.y_value = at(target, n_rows * n) + r * n;
        } else {
            t.y_class = (const int32_t *)at(target, n_rows) + r;
        }
        ops[which]->eval(&q->accel->kernels, at(z, n_rows * n) + r * n, &t, 1, n, scale,
                         scale > 0.0f ? at(dz, n_rows * n) + r * n : NULL, &score);
        at(loss_of_row, n_rows)[r] = (float)score.loss;
        counts[0] = (uint32_t)(start != NULL ? score.true_positive : score.n_correct);
        counts[1] = (uint32_t)score.false_positive;
        counts[2] = (uint32_t)score.false_negative;
    }
    return call();
}

static float factor(const drove_accel_queue *q, float v)
{
    return q->kernels.factors == DROVEK_FACTORS_BF16 ? drovek_bf16(v) : v;
}

static drove_status sparse(drove_accel_queue *q, const drove_accel_sparse *x, drove_accel_view m,
                           size_t n_rows, size_t n, drove_accel_view y)
{
    const uint32_t *start = (const uint32_t *)at(x->start, n_rows + 1);
    const uint32_t *index = (const uint32_t *)at(x->index, start[n_rows]);
    const float *value = x->value.buffer != NULL ? at(x->value, start[n_rows]) : NULL;
    float *out = at(y, n_rows * n);
    assert_int_equal(start[0], 0);
    memset(out, 0, n_rows * n * sizeof *out);
    for (size_t r = 0; r < n_rows; r++) {
        assert_true(start[r] <= start[r + 1]);
        for (uint32_t p = start[r]; p < start[r + 1]; p++) {
            drove_accel_view row = {.buffer = m.buffer, .offset = m.offset + index[p] * n};
            float v = value != NULL ? value[p] : 1.0f;
            for (size_t c = 0; c < n; c++)
                out[r * n + c] += factor(q, v) * factor(q, at(row, n)[c]);
        }
    }
    return call();
}

static const drove_accel_ops ops = {
    .version = DROVE_ACCEL_VERSION,
    .name = "plain",
    .help = "plain C",
    .source = "drove",
    .count = count,
    .describe = describe,
    .open = open_plain,
    .close = close_plain,
    .facts = facts,
    .alloc = alloc,
    .free = free_buffer,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .flush = flush,
    .record = record,
    .follow = follow,
    .wait = wait_plain,
    .happened = happened,
    .time = time_of,
    .event_destroy = event_destroy,
    .write = write_plain,
    .read = read_plain,
    .zero = zero,
    .multiply_in_bf16 = multiply_in_bf16,
    .gemm = gemm,
    .gemm_batch = gemm_batch,
    .job = job,
    .bias_act = bias_act,
    .act_grad = act_grad,
    .loss = loss,
    .sparse_forward = sparse,
    .sparse_backward = sparse,
};

drove_device *accel_plain_open(void)
{
    drove_device *device;
    drove_spec spec;
    accel_plain_fails_at = accel_plain_calls = 0;
    assert_int_equal(drove__spec_parse("plain:0", &spec), DROVE_OK);
    assert_int_equal(drove__accel_open(&drove__device_kind_opencl, &ops, &spec, &device), DROVE_OK);
    drove__spec_fini(&spec);
    return device;
}
