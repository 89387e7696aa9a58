/* engine/opencl/opencl.h - what the files of the OpenCL module share.
 *
 * Threads: as engine/accel/accel.h says; what a device shares between threads is protected by its
 * lock.
 */
#ifndef DROVE_ENGINE_OPENCL_OPENCL_H
#define DROVE_ENGINE_OPENCL_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include "engine/accel/accel.h"

#include <CL/cl.h>
#include <pthread.h>

/* Kernels by name: one line here is an identifier and the function drove_NAME of the sources. */
/* clang-format off */
#define DROVE_CL_KERNELS(X)                                                                        \
    X(bias_act) X(act_grad) X(sum_blocks) X(sparse) X(loss_softmax) X(loss_sigmoid)                \
    X(loss_logistic) X(loss_hinge) X(loss_squared) X(gemm) X(gemm_bf16)
/* clang-format on */
enum {
#define X(name) DROVE_CL_##name,
    DROVE_CL_KERNELS(X)
#undef X
        DROVE_CL_FIRST_JOB, /* + DROVE_JOB_name */
    DROVE_CL_N_KERNELS = DROVE_CL_FIRST_JOB + DROVE_N_JOBS
};

typedef struct drove_cl_pinned { /* host memory of a buffer that stays mapped */
    struct drove_cl_pinned *next;
    void                   *memory;
    cl_mem                  buffer;
} drove_cl_pinned;

struct drove_accel {
    cl_device_id      device;
    cl_context        context;
    cl_program        program;
    cl_command_queue  queue; /* of mappings */
    drove_accel_facts facts;
    bool              is_cpu;      /* wide items, no local memory; ours is the matrix product */
    bool              has_clblast; /* matrix products by CLBlast */
    bool              is_sub;      /* device is to be released */
    pthread_mutex_t   lock;        /* protects what follows */
    drove_cl_pinned  *pinned;
    bool              is_unfinished; /* a queue that is gone may still use pinned memory */
};

struct drove_accel_buffer {
    cl_mem memory;
};

struct drove_accel_queue {
    drove_accel     *accel;
    cl_command_queue queue;
    cl_kernel        kernel[DROVE_CL_N_KERNELS]; /* NULL: not used yet */
    cl_mem           blocks;                     /* sums of blocks of rows (act_grad); grows */
    size_t           n_blocks_room;              /* floats in it */
    bool             in_bf16;                    /* factors of products */
};

/* The program's functions; set by the entry. */
extern const drove_accel_host *drove_cl_host;

/* errors.c: DROVE_OK, or the failure of a call on this device, in words; a NULL: on none. */
drove_status drove_cl_check(const drove_accel *a, cl_int error, const char *call);

/* program.c: the compiled sources, from the cache or compiled now (and then kept there).
 * Errors: DROVE_E_SYSTEM, DROVE_E_NOMEM. */
drove_status drove_cl_program(drove_accel *a);

/* ops.c */
void         drove_cl_multiply_in_bf16(drove_accel_queue *q);
drove_status drove_cl_gemm(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m, size_t n,
                           size_t k, float alpha, drove_accel_view a, size_t lda,
                           drove_accel_view b, size_t ldb, float beta, drove_accel_view c,
                           size_t ldc);
drove_status drove_cl_gemm_batch(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m,
                                 size_t n, size_t k, float alpha, drove_accel_view a, size_t lda,
                                 size_t stride_a, drove_accel_view b, size_t ldb, size_t stride_b,
                                 float beta, drove_accel_view c, size_t ldc, size_t stride_c,
                                 size_t n_batch);
drove_status drove_cl_job(drove_accel_queue *q, const drove_accel_job *job);
drove_status drove_cl_bias_act(drove_accel_queue *q, drove_accel_view y, drove_accel_view b,
                               size_t n_rows, size_t n, drove_accel_act act);
drove_status drove_cl_act_grad(drove_accel_queue *q, drove_accel_view dy, drove_accel_view db,
                               drove_accel_view y, size_t n_rows, size_t n, drove_accel_act act);
drove_status drove_cl_loss(drove_accel_queue *q, drove_accel_loss loss, drove_accel_view z,
                           drove_accel_view target, const drove_accel_sparse *labels, size_t n_rows,
                           size_t n, float scale, drove_accel_view dz, drove_accel_view loss_of_row,
                           drove_accel_view count);
drove_status drove_cl_sparse_forward(drove_accel_queue *q, const drove_accel_sparse *x,
                                     drove_accel_view w, size_t n_rows, size_t n,
                                     drove_accel_view y);
drove_status drove_cl_sparse_backward(drove_accel_queue *q, const drove_accel_sparse *xt,
                                      drove_accel_view d, size_t n_features, size_t n,
                                      drove_accel_view dw);

/* queue.c */
drove_status drove_cl_alloc(drove_accel *a, size_t n_elements, drove_accel_buffer **out);
void         drove_cl_free(drove_accel *a, drove_accel_buffer *buffer);
drove_status drove_cl_host_alloc(drove_accel *a, size_t n_bytes, void **out);
void         drove_cl_host_free(drove_accel *a, void *memory);
drove_status drove_cl_queue_create(drove_accel *a, drove_accel_queue **out);
void         drove_cl_queue_destroy(drove_accel_queue *q);
drove_status drove_cl_flush(drove_accel_queue *q);
drove_status drove_cl_record(drove_accel_queue *q, drove_accel_event **out);
drove_status drove_cl_follow(drove_accel_queue *q, drove_accel_event *event);
drove_status drove_cl_wait(drove_accel_event *event, uint64_t timeout_ns);
drove_status drove_cl_happened(drove_accel_event *event, bool *out);
drove_status drove_cl_time(drove_accel_event *event, uint64_t *out_ns);
void         drove_cl_event_destroy(drove_accel_event *event);
drove_status drove_cl_write(drove_accel_queue *q, drove_accel_view to, const void *from, size_t n);
drove_status drove_cl_read(drove_accel_queue *q, void *to, drove_accel_view from, size_t n);
drove_status drove_cl_zero(drove_accel_queue *q, drove_accel_view to, size_t n);

#endif
