/* engine/accel/kernels/job.h - what all kernels of layers and updates are told, read by C, OpenCL C
 * and CUDA C alike.
 *
 * Such a kernel, a job, works on a table of rows x cols items: rows are mostly the places of all
 * images of a batch (image, y, x), columns their channels.  Of a vector of n numbers, rows and
 * columns are just a cut of it (drove_numbers.n > 0).  Each job has the same arguments: six places
 * in memory, a to f, and these numbers; one that it has no use for may be anything.
 */
#ifndef DROVE_ENGINE_ACCEL_KERNELS_JOB_H
#define DROVE_ENGINE_ACCEL_KERNELS_JOB_H

typedef struct drove_numbers {
    unsigned rows, cols, rows_each;  /* items; rows of one item of the device */
    unsigned n;                      /* > 0: of a vector, else 0 */
    unsigned c, h, w;                /* input image */
    unsigned o, oh, ow;              /* output image */
    unsigned kh, kw, sh, sw, ph, pw; /* window: size, step, margin above and left */
    unsigned counted[4]; /* averages: first and last row, first and last column of an area */
    unsigned dh, dw, groups;
    unsigned from_row, to_row; /* distance of rows, where they are parts of longer ones */
    unsigned act;              /* drove_accel_act */
    unsigned adds;             /* 1: the result is added to what is there */
    unsigned each;             /* numbers of an example */
    unsigned seed[5];          /* low and high words of two numbers of 64 bits; a layer's number */
    float    scale, alpha, beta, kappa, epsilon;
    float    p[6];
} drove_numbers;

/* One line here is an identifier DROVE_JOB_name and a kernel drove_job_name. */
/* clang-format off */
#define DROVE_JOBS(X)                                                                              \
    X(to_rows) X(widen) X(im2col) X(col2im) X(move) X(weigh) X(activate) X(derive)                 \
    X(curve) X(curve_grad) X(product) X(product_sum)                                               \
    X(max_pool) X(max_pool_grad) X(average_pool) X(average_pool_grad)                              \
    X(lrn) X(lrn_grad) X(dropout) X(softmax) X(softmax_grad)                                       \
    X(prelu) X(prelu_grad) X(prelu_products)                                                       \
    X(group_moments) X(layer_norm) X(group_means) X(group_products) X(layer_norm_grad)             \
    X(sum_values) X(sum_squares) X(sum_products) X(fold) X(batch_norm) X(batch_norm_grad)          \
    X(decay) X(norm) X(clip) X(sgd) X(momentum) X(adagrad) X(rmsprop) X(adam) X(look_ahead)
/* clang-format on */

/* What stands before the body of a kernel (DROVE_KERNEL and others: prelude_opencl.h). */
#define DROVE_MAYBE __attribute__((unused))
#define DROVE_JOB_ARGUMENT(name)                                                                   \
    DROVE_MAYBE DROVE_GLOBAL float *name, DROVE_MAYBE drove_place name##_at
#define DROVE_JOB(name)                                                                            \
    DROVE_KERNEL void drove_job_##name(DROVE_JOB_ARGUMENT(a), DROVE_JOB_ARGUMENT(b),               \
                                       DROVE_JOB_ARGUMENT(c), DROVE_JOB_ARGUMENT(d),               \
                                       DROVE_JOB_ARGUMENT(e), DROVE_JOB_ARGUMENT(f),               \
                                       drove_numbers k)

#endif
