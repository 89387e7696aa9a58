/* engine/opencl/ops.c - the operations of a pass, as kernels put on a queue.
 *
 * How work is cut: on processors an item is a group of its own and runs along rows; elsewhere items
 * are neighbours in memory, 64 in a group, and the lanes of a group share a row of the loss.
 */
#include "engine/opencl/opencl.h"

#include <clblast_c.h>

#include <string.h>

enum {
    CPU_COLS = 256, /* DROVE_COLS of processors */
    LANES = 32,     /* DROVE_LANES of the others, as in program.c */
    GROUP = 64,     /* items of a group of the others */
    MOST_ARGUMENTS = 24
};

/* ---- kernels ---- */

static const char *const kernel_name[] = {
#define X(name) "drove_" #name,
    DROVE_CL_KERNELS(X)
#undef X
#define X(name) "drove_job_" #name,
        DROVE_JOBS(X)
#undef X
};

typedef struct argument {
    size_t size;
    const void *value;
} argument;

/* An argument is a variable. */
#define ARGUMENT(variable)                                                                         \
    (argument)                                                                                     \
    {                                                                                              \
        sizeof(variable), &(variable)                                                              \
    }

typedef struct grid { /* items, groups of them; along columns, rows and products of a batch */
    size_t global[3], local[3];
} grid;

static drove_status launch_grid(drove_accel_queue *q, unsigned which, const grid *g,
                                const argument *arg, unsigned n_args)
{
    cl_int error = CL_SUCCESS;
    if (q->kernel[which] == NULL)
        q->kernel[which] = clCreateKernel(q->accel->program, kernel_name[which], &error);
    if (error != CL_SUCCESS) {
        q->kernel[which] = NULL;
        return drove_cl_check(q->accel, error, kernel_name[which]);
    }
    const cl_kernel kernel = q->kernel[which];
    for (unsigned i = 0; i < n_args; i++) {
        error = clSetKernelArg(kernel, i, arg[i].size, arg[i].value);
        if (error != CL_SUCCESS) return drove_cl_check(q->accel, error, kernel_name[which]);
    }
    error = clEnqueueNDRangeKernel(q->queue, kernel, 3, NULL, g->global, g->local, 0, NULL, NULL);
    return drove_cl_check(q->accel, error, kernel_name[which]);
}

static size_t divide_up(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

/* Over across x down items, groups of local_across x 1; across is rounded up. */
static drove_status launch(drove_accel_queue *q, unsigned which, size_t across, size_t down,
                           size_t local_across, const argument *arg, unsigned n_args)
{
    const grid g = {.global = {divide_up(across, local_across) * local_across, down, 1},
                    .local = {local_across, 1, 1}};
    return launch_grid(q, which, &g, arg, n_args);
}

/* Items along n columns, and how many of them are a group. */
static size_t column_items(const drove_accel *a, size_t n, size_t *local)
{
    *local = a->is_cpu ? 1 : GROUP;
    return a->is_cpu ? divide_up(n, CPU_COLS) : n;
}

/* Rows of an item: by the number of rows alone, as the order of sums depends on it. */
static cl_uint rows_of_item(size_t n_rows)
{
    size_t each = divide_up(n_rows, 16);
    return (cl_uint)(each < 8 ? 8 : each > 64 ? 64 : each);
}

/* ---- layers ---- */

drove_status drove_cl_bias_act(drove_accel_queue *q, drove_accel_view y, drove_accel_view b,
                               size_t n_rows, size_t n, drove_accel_act act)
{
    size_t local, across = column_items(q->accel, n, &local);
    cl_ulong y_at = y.offset, b_at = b.offset;
    cl_uint rows = (cl_uint)n_rows, cols = (cl_uint)n, each = rows_of_item(n_rows);
    cl_int kind = (cl_int)act;
    const argument arg[] = {ARGUMENT(y.buffer->memory),
                            ARGUMENT(y_at),
                            ARGUMENT(b.buffer->memory),
                            ARGUMENT(b_at),
                            ARGUMENT(rows),
                            ARGUMENT(cols),
                            ARGUMENT(kind),
                            ARGUMENT(each)};
    return launch(q, DROVE_CL_bias_act, across, divide_up(n_rows, each), local, arg, 8);
}

static drove_status reserve_blocks(drove_accel_queue *q, size_t n_floats)
{
    cl_int error;
    if (n_floats <= q->n_blocks_room) return DROVE_OK;
    if (q->blocks != NULL) clReleaseMemObject(q->blocks); /* lives on until it is not used */
    q->n_blocks_room = 0;
    q->blocks = clCreateBuffer(q->accel->context, CL_MEM_READ_WRITE, n_floats * sizeof(float), NULL,
                               &error);
    if (error != CL_SUCCESS) {
        q->blocks = NULL;
        return drove_cl_check(q->accel, error, "clCreateBuffer");
    }
    q->n_blocks_room = n_floats;
    return DROVE_OK;
}

drove_status drove_cl_act_grad(drove_accel_queue *q, drove_accel_view dy, drove_accel_view db,
                               drove_accel_view y, size_t n_rows, size_t n, drove_accel_act act)
{
    size_t local, across = column_items(q->accel, n, &local);
    cl_uint rows = (cl_uint)n_rows, cols = (cl_uint)n, each = rows_of_item(n_rows);
    cl_uint n_blocks = (cl_uint)divide_up(n_rows, each);
    cl_int kind = (cl_int)act;
    cl_ulong dy_at = dy.offset, y_at = y.offset, db_at = db.offset, sum_at = 0;
    drove_status status = reserve_blocks(q, n_blocks * n);
    if (status != DROVE_OK) return status;
    cl_mem sum = q->blocks;
    if (n_blocks == 1) {
        sum = db.buffer->memory;
        sum_at = db_at;
    }
    const argument arg[] = {ARGUMENT(dy.buffer->memory),
                            ARGUMENT(dy_at),
                            ARGUMENT(y.buffer->memory),
                            ARGUMENT(y_at),
                            ARGUMENT(sum),
                            ARGUMENT(sum_at),
                            ARGUMENT(rows),
                            ARGUMENT(cols),
                            ARGUMENT(kind),
                            ARGUMENT(each)};
    status = launch(q, DROVE_CL_act_grad, across, n_blocks, local, arg, 10);
    if (status != DROVE_OK || n_blocks == 1) return status;
    const argument then[] = {ARGUMENT(sum), ARGUMENT(db.buffer->memory), ARGUMENT(db_at),
                             ARGUMENT(n_blocks), ARGUMENT(cols)};
    return launch(q, DROVE_CL_sum_blocks, across, 1, local, then, 5);
}

static drove_status sparse(drove_accel_queue *q, const drove_accel_sparse *x, drove_accel_view m,
                           size_t n_rows, size_t n, drove_accel_view y)
{
    size_t local, across = column_items(q->accel, n, &local);
    cl_ulong start_at = x->start.offset, index_at = x->index.offset, value_at = x->value.offset;
    cl_ulong m_at = m.offset, y_at = y.offset;
    cl_int has_value = x->value.buffer != NULL;
    cl_uint rows = (cl_uint)n_rows, cols = (cl_uint)n;
    cl_int in_bf16 = q->in_bf16;
    const argument arg[] = {ARGUMENT(x->start.buffer->memory),
                            ARGUMENT(start_at),
                            ARGUMENT(index_at),
                            ARGUMENT(value_at),
                            ARGUMENT(has_value),
                            ARGUMENT(m.buffer->memory),
                            ARGUMENT(m_at),
                            ARGUMENT(y.buffer->memory),
                            ARGUMENT(y_at),
                            ARGUMENT(rows),
                            ARGUMENT(cols),
                            ARGUMENT(in_bf16)};
    return n_rows == 0 ? DROVE_OK : launch(q, DROVE_CL_sparse, across, n_rows, local, arg, 12);
}

drove_status drove_cl_sparse_forward(drove_accel_queue *q, const drove_accel_sparse *x,
                                     drove_accel_view w, size_t n_rows, size_t n,
                                     drove_accel_view y)
{
    return sparse(q, x, w, n_rows, n, y);
}

drove_status drove_cl_sparse_backward(drove_accel_queue *q, const drove_accel_sparse *xt,
                                      drove_accel_view d, size_t n_features, size_t n,
                                      drove_accel_view dw)
{
    return sparse(q, xt, d, n_features, n, dw);
}

/* ---- losses ---- */

drove_status drove_cl_loss(drove_accel_queue *q, drove_accel_loss loss, drove_accel_view z,
                           drove_accel_view target, const drove_accel_sparse *labels, size_t n_rows,
                           size_t n, float scale, drove_accel_view dz, drove_accel_view loss_of_row,
                           drove_accel_view count)
{
    static const unsigned kernel[] = {[DROVE_ACCEL_SOFTMAX] = DROVE_CL_loss_softmax,
                                      [DROVE_ACCEL_SIGMOID] = DROVE_CL_loss_sigmoid,
                                      [DROVE_ACCEL_LOGISTIC] = DROVE_CL_loss_logistic,
                                      [DROVE_ACCEL_HINGE] = DROVE_CL_loss_hinge,
                                      [DROVE_ACCEL_SQUARED] = DROVE_CL_loss_squared,
                                      [DROVE_ACCEL_SQUARED_CLASS] = DROVE_CL_loss_squared};
    bool is_cpu = q->accel->is_cpu, is_logistic = loss == DROVE_ACCEL_LOGISTIC;
    bool has_labels = loss == DROVE_ACCEL_SIGMOID;
    cl_ulong z_at = z.offset, dz_at = dz.offset, loss_at = loss_of_row.offset;
    cl_ulong count_at = count.offset, target_at = target.offset, label_at = 0;
    cl_uint rows = (cl_uint)n_rows, cols = (cl_uint)n;
    cl_uint each = is_cpu ? rows_of_item(n_rows) : 1;
    cl_mem from = has_labels ? labels->start.buffer->memory : target.buffer->memory;
    cl_int has_class = loss == DROVE_ACCEL_SQUARED_CLASS;
    argument arg[MOST_ARGUMENTS];
    unsigned i = 0;
    if (has_labels) {
        target_at = labels->start.offset;
        label_at = labels->index.offset;
    }
    arg[i++] = ARGUMENT(z.buffer->memory);
    arg[i++] = ARGUMENT(z_at);
    arg[i++] = ARGUMENT(from);
    arg[i++] = ARGUMENT(target_at);
    if (has_labels) arg[i++] = ARGUMENT(label_at);
    if (loss == DROVE_ACCEL_SQUARED || has_class) arg[i++] = ARGUMENT(has_class);
    arg[i++] = ARGUMENT(rows);
    if (!is_logistic) arg[i++] = ARGUMENT(cols);
    arg[i++] = ARGUMENT(scale);
    arg[i++] = ARGUMENT(dz.buffer->memory);
    arg[i++] = ARGUMENT(dz_at);
    arg[i++] = ARGUMENT(loss_of_row.buffer->memory);
    arg[i++] = ARGUMENT(loss_at);
    arg[i++] = ARGUMENT(count.buffer->memory);
    arg[i++] = ARGUMENT(count_at);
    if (!is_logistic) arg[i++] = ARGUMENT(each);
    size_t local = is_cpu ? 1 : is_logistic ? GROUP : LANES;
    size_t across = is_logistic ? n_rows : divide_up(n_rows, each) * (is_cpu ? 1 : LANES);
    return launch(q, kernel[loss], across, 1, local, arg, i);
}

/* ---- the matrix product ---- */

/* Items of about this many rows and columns, fewer where that would leave units idle. */
static void cut(const drove_accel *a, size_t m, size_t n, size_t n_batch, cl_uint *rows,
                cl_uint *cols)
{
    enum { MOST_ROWS = 512, LEAST_ROWS = 32, WIDTH = 32, MOST_COLS = 128, PER_UNIT = 4 };
    size_t wanted = PER_UNIT * (size_t)a->facts.n_units;
    size_t r = m < MOST_ROWS ? (m + 7) / 8 * 8 : MOST_ROWS, c = n < MOST_COLS ? n : MOST_COLS;
    while (divide_up(m, r) * divide_up(n, c) * n_batch < wanted) {
        /* NOLINTNEXTLINE(bugprone-branch-clone): tall ones first, then columns, then any rows */
        if (r > LEAST_ROWS && r > 2 * c) r = (r / 2 + 7) / 8 * 8;
        else if (c > WIDTH) c = c / 2 > WIDTH ? divide_up(c / 2, WIDTH) * WIDTH : WIDTH;
        else if (r > LEAST_ROWS) r = (r / 2 + 7) / 8 * 8;
        else break;
    }
    *rows = (cl_uint)r;
    *cols = (cl_uint)c;
}

static drove_status own_gemm(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m, size_t n,
                             size_t k, float alpha, drove_accel_view a, size_t lda, size_t stride_a,
                             drove_accel_view b, size_t ldb, size_t stride_b, float beta,
                             drove_accel_view c, size_t ldc, size_t stride_c, size_t n_batch)
{
    cl_uint rows = (cl_uint)m, cols = (cl_uint)n, inner = (cl_uint)k, rows_each, cols_each;
    cl_ulong a_at = a.offset, b_at = b.offset, c_at = c.offset, c_row = ldc;
    cl_ulong a_row = trans_a ? 1 : lda, a_col = trans_a ? lda : 1;
    cl_ulong b_row = trans_b ? 1 : ldb, b_col = trans_b ? ldb : 1;
    cl_ulong a_next = stride_a, b_next = stride_b, c_next = stride_c;
    cut(q->accel, m, n, n_batch, &rows_each, &cols_each);
    const argument arg[] = {ARGUMENT(rows),
                            ARGUMENT(cols),
                            ARGUMENT(inner),
                            ARGUMENT(alpha),
                            ARGUMENT(a.buffer->memory),
                            ARGUMENT(a_at),
                            ARGUMENT(a_row),
                            ARGUMENT(a_col),
                            ARGUMENT(b.buffer->memory),
                            ARGUMENT(b_at),
                            ARGUMENT(b_row),
                            ARGUMENT(b_col),
                            ARGUMENT(beta),
                            ARGUMENT(c.buffer->memory),
                            ARGUMENT(c_at),
                            ARGUMENT(c_row),
                            ARGUMENT(rows_each),
                            ARGUMENT(cols_each),
                            ARGUMENT(a_next),
                            ARGUMENT(b_next),
                            ARGUMENT(c_next)};
    const grid g = {.global = {divide_up(n, cols_each), divide_up(m, rows_each), n_batch},
                    .local = {1, 1, 1}};
    return launch_grid(q, q->in_bf16 ? DROVE_CL_gemm_bf16 : DROVE_CL_gemm, &g, arg, 21);
}

void drove_cl_multiply_in_bf16(drove_accel_queue *q)
{
    q->in_bf16 = true;
}

drove_status drove_cl_gemm(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m, size_t n,
                           size_t k, float alpha, drove_accel_view a, size_t lda,
                           drove_accel_view b, size_t ldb, float beta, drove_accel_view c,
                           size_t ldc)
{
    if (q->accel->has_clblast && !q->in_bf16) {
        CLBlastStatusCode code =
            CLBlastSgemm(CLBlastLayoutRowMajor, trans_a ? CLBlastTransposeYes : CLBlastTransposeNo,
                         trans_b ? CLBlastTransposeYes : CLBlastTransposeNo, m, n, k, alpha,
                         a.buffer->memory, a.offset, lda, b.buffer->memory, b.offset, ldb, beta,
                         c.buffer->memory, c.offset, ldc, &q->queue, NULL);
        return drove_cl_check(q->accel, (cl_int)code, "CLBlastSgemm");
    }
    return own_gemm(q, trans_a, trans_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}

drove_status drove_cl_gemm_batch(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m,
                                 size_t n, size_t k, float alpha, drove_accel_view a, size_t lda,
                                 size_t stride_a, drove_accel_view b, size_t ldb, size_t stride_b,
                                 float beta, drove_accel_view c, size_t ldc, size_t stride_c,
                                 size_t n_batch)
{
    if (q->accel->has_clblast && !q->in_bf16) {
        CLBlastStatusCode code = CLBlastSgemmStridedBatched(
            CLBlastLayoutRowMajor, trans_a ? CLBlastTransposeYes : CLBlastTransposeNo,
            trans_b ? CLBlastTransposeYes : CLBlastTransposeNo, m, n, k, alpha, a.buffer->memory,
            a.offset, lda, stride_a, b.buffer->memory, b.offset, ldb, stride_b, beta,
            c.buffer->memory, c.offset, ldc, stride_c, n_batch, &q->queue, NULL);
        return drove_cl_check(q->accel, (cl_int)code, "CLBlastSgemmStridedBatched");
    }
    return own_gemm(q, trans_a, trans_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta,
                    c, ldc, stride_c, n_batch);
}

/* ---- jobs ---- */

/* On processors an item takes so many rows that there are some items for each unit, and each is
 * worth its start. */
static cl_uint rows_of_job(const drove_accel *a, const drove_numbers *k)
{
    enum { PER_UNIT = 8, LEAST = 4096 };
    if (k->rows_each > 0) return k->rows_each;
    if (!a->is_cpu) return 1;
    size_t across = k->cols < CPU_COLS ? k->cols : CPU_COLS;
    size_t least = divide_up(LEAST, across), each = divide_up(k->rows, PER_UNIT * a->facts.n_units);
    return (cl_uint)(each < least ? least : each);
}

static grid grid_of_job(const drove_accel *a, const drove_numbers *k)
{
    size_t down = divide_up(k->rows, k->rows_each), width = 1;
    if (a->is_cpu) return (grid){{divide_up(k->cols, CPU_COLS), down, 1}, {1, 1, 1}};
    while (width < k->cols && width < GROUP) width *= 2;
    size_t high = GROUP / width;
    return (grid){{divide_up(k->cols, width) * width, divide_up(down, high) * high, 1},
                  {width, high, 1}};
}

drove_status drove_cl_job(drove_accel_queue *q, const drove_accel_job *job)
{
    argument arg[2 * DROVE_JOB_PLACES + 1];
    cl_ulong at[DROVE_JOB_PLACES];
    drove_numbers k = job->k;
    if (k.rows == 0 || k.cols == 0) return DROVE_OK;
    k.rows_each = rows_of_job(q->accel, &k);
    for (size_t i = 0; i < DROVE_JOB_PLACES; i++) { /* what is not used is a, which is */
        const drove_accel_view *view = &job->at[job->at[i].buffer != NULL ? i : 0];
        at[i] = view->offset;
        arg[2 * i] = ARGUMENT(view->buffer->memory);
        arg[2 * i + 1] = ARGUMENT(at[i]);
    }
    arg[2 * DROVE_JOB_PLACES] = ARGUMENT(k);
    const grid g = grid_of_job(q->accel, &k);
    return launch_grid(q, DROVE_CL_FIRST_JOB + job->which, &g, arg, 2 * DROVE_JOB_PLACES + 1);
}
