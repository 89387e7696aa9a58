/* engine/cuda/cuda.h - what the files of the CUDA module share.
 *
 *   module.c      the table; devices
 *   errors.c      failures of CUDA's calls
 *   memory.c      buffers, pinned memory
 *   queue.c       queues (streams), events, copies, recorded sequences (graphs)
 *   operations.c  matrix products by cuBLAS, and the launches of our kernels
 *   convolution.c convolutions by cuDNN, where it is there
 *   kernels.cu    our kernels
 *
 * Every function that calls CUDA makes its device the calling thread's first: a thread may use
 * several.
 */
#ifndef DROVE_ENGINE_CUDA_CUDA_H
#define DROVE_ENGINE_CUDA_CUDA_H

#include "engine/accel/accel.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <pthread.h>

/* Hidden: no symbol of a module but its entry is seen from outside. */
extern const drove_accel_host *drove_cuda_host;

enum { DROVE_CUDA_SUMS = 1 << 20 };

struct drove_accel {
    int               device;
    drove_accel_facts facts;
    size_t            workspace_bytes; /* of a queue's matrix products */
    size_t            conv_bytes;      /* most for a queue's convolutions; 0: no cuDNN */
    bool              has_tf32;        /* tensor cores that multiply it */
    bool              in_tf32;         /* factors of products and convolutions */
    /* Protects what follows: events are made by all queues of the device. */
    pthread_mutex_t    lock;
    drove_accel_event *spare;   /* list of events that are not in use */
    cudaEvent_t        base;    /* that times are counted from, ... */
    int64_t            base_ns; /* ... and its own time */
};

struct drove_accel_buffer {
    float    *memory; /* of the device, [n] */
    size_t    n;
    uint16_t *narrow; /* [n] the same in bf16, where accel.h says so; NULL: not kept */
};

typedef struct drove_cuda_dnn drove_cuda_dnn;     /* convolution.c */
typedef struct drove_cuda_old drove_cuda_old;     /* operations.c */
void drove_cuda_narrow_end(drove_accel_queue *q); /* frees the copies of factors */

struct drove_accel_queue {
    drove_accel    *a;
    cudaStream_t    stream;
    cublasHandle_t  blas;      /* NULL before the first product */
    void           *workspace; /* of blas, [a->workspace_bytes] */
    float          *sums; /* [DROVE_CUDA_SUMS] of blocks of rows; NULL before they are needed */
    drove_cuda_dnn *dnn;  /* NULL before the first convolution */
    void           *narrow[2]; /* a product's factors in bf16; NULL before they are needed */
    size_t          narrow_bytes[2];
    drove_cuda_old *old;     /* smaller ones of before, which sequences may use; a list */
    bool            in_bf16; /* factors of products; goes before a->in_tf32 */
    /* What the queue is given now goes there; NULL: it is carried out. */
    drove_accel_sequence *recording;
};

struct drove_accel_event {
    drove_accel       *a;
    drove_accel_event *next; /* of the spare ones */
    cudaEvent_t        event;
    bool               has_time;
    int64_t            time_ns; /* with has_time */
    /* Of a sequence: the handles above are its own for as long as it lives. */
    drove_accel_sequence *sequence; /* NULL: of none */
    drove_accel_event    *next_of_sequence;
    cudaEvent_t           within; /* the same point, for queues of the sequence while it is made */
};

enum { DROVE_CUDA_MOST_JOINED = 4 };

struct drove_accel_sequence {
    drove_accel       *a;
    cudaGraphExec_t    graph;
    drove_accel_event *event;                          /* list of the events that it records */
    drove_accel_queue *joined[DROVE_CUDA_MOST_JOINED]; /* while it is made; the first began it */
    size_t             n_joined;
};

/* errors.c */
drove_status drove_cuda_status_of(cudaError_t error); /* of one that is no success */
/* DROVE_OK for cudaSuccess; else the status and text of a call that failed on the device. */
drove_status drove_cuda_check(const drove_accel *a, cudaError_t error, const char *call);
/* Makes a's device that of the calling thread. */
drove_status drove_cuda_enter(const drove_accel *a);

static inline float *drove_cuda_at(drove_accel_view view)
{
    return view.buffer->memory + view.offset;
}

/* The copy in bf16; NULL: none is kept. */
static inline uint16_t *drove_cuda_narrow_at(drove_accel_view view)
{
    return view.buffer->narrow != NULL ? view.buffer->narrow + view.offset : NULL;
}

/* Inside functions that return a drove_status. */
#define DROVE_CUDA_TRY(a, call)                                                                    \
    do {                                                                                           \
        cudaError_t drove_cuda_error_ = (call);                                                    \
        if (drove_cuda_error_ != cudaSuccess)                                                      \
            return drove_cuda_check(a, drove_cuda_error_, #call);                                  \
    } while (0)

/* ---- functions of the table, by file ---- */

/* memory.c */
drove_status drove_cuda_alloc(drove_accel *a, size_t n_elements, drove_accel_buffer **out);
void         drove_cuda_free(drove_accel *a, drove_accel_buffer *buffer);
drove_status drove_cuda_keep_in_bf16(drove_accel *a, drove_accel_buffer *buffer, bool keeps);
drove_status drove_cuda_host_alloc(drove_accel *a, size_t n_bytes, void **out);
void         drove_cuda_host_free(drove_accel *a, void *memory);

/* queue.c */
drove_status drove_cuda_queue_create(drove_accel *a, drove_accel_queue **out);
void         drove_cuda_queue_destroy(drove_accel_queue *q);
drove_status drove_cuda_flush(drove_accel_queue *q);
drove_status drove_cuda_record(drove_accel_queue *q, drove_accel_event **out);
drove_status drove_cuda_follow(drove_accel_queue *q, drove_accel_event *event);
drove_status drove_cuda_wait(drove_accel_event *event, uint64_t timeout_ns);
drove_status drove_cuda_happened(drove_accel_event *event, bool *out);
drove_status drove_cuda_time(drove_accel_event *event, uint64_t *out_ns);
void         drove_cuda_event_destroy(drove_accel_event *event);
void         drove_cuda_events_fini(drove_accel *a); /* the spare ones and the base */
drove_status drove_cuda_write(drove_accel_queue *q, drove_accel_view to, const void *from,
                              size_t n);
drove_status drove_cuda_read(drove_accel_queue *q, void *to, drove_accel_view from, size_t n);
drove_status drove_cuda_zero(drove_accel_queue *q, drove_accel_view to, size_t n);
drove_status drove_cuda_sequence_begin(drove_accel_queue *q);
drove_status drove_cuda_sequence_end(drove_accel_queue *q, drove_accel_sequence **out);
drove_status drove_cuda_sequence_run(drove_accel_queue *q, drove_accel_sequence *sequence);
void         drove_cuda_sequence_destroy(drove_accel_sequence *sequence);

/* operations.c */
void         drove_cuda_multiply_in_bf16(drove_accel_queue *q);
drove_status drove_cuda_narrow(drove_accel_queue *q, drove_accel_view view, size_t n);
drove_status drove_cuda_gemm(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m, size_t n,
                             size_t k, float alpha, drove_accel_view a, size_t lda,
                             drove_accel_view b, size_t ldb, float beta, drove_accel_view c,
                             size_t ldc);
drove_status drove_cuda_gemm_batch(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m,
                                   size_t n, size_t k, float alpha, drove_accel_view a, size_t lda,
                                   size_t stride_a, drove_accel_view b, size_t ldb, size_t stride_b,
                                   float beta, drove_accel_view c, size_t ldc, size_t stride_c,
                                   size_t n_batch);
drove_status drove_cuda_job(drove_accel_queue *q, const drove_accel_job *job);
drove_status drove_cuda_bias_act(drove_accel_queue *q, drove_accel_view y, drove_accel_view b,
                                 size_t n_rows, size_t n, drove_accel_act act);
drove_status drove_cuda_act_grad(drove_accel_queue *q, drove_accel_view dy, drove_accel_view db,
                                 drove_accel_view y, size_t n_rows, size_t n, drove_accel_act act);
drove_status drove_cuda_loss(drove_accel_queue *q, drove_accel_loss loss, drove_accel_view z,
                             drove_accel_view target, const drove_accel_sparse *labels,
                             size_t n_rows, size_t n, float scale, drove_accel_view dz,
                             drove_accel_view loss_of_row, drove_accel_view count);
drove_status drove_cuda_sparse_forward(drove_accel_queue *q, const drove_accel_sparse *x,
                                       drove_accel_view w, size_t n_rows, size_t n,
                                       drove_accel_view y);
drove_status drove_cuda_sparse_backward(drove_accel_queue *q, const drove_accel_sparse *xt,
                                        drove_accel_view d, size_t n_features, size_t n,
                                        drove_accel_view dw);

/* convolution.c */
/* Its version; false: there is none. */
bool   drove_cuda_conv_library(unsigned *major, unsigned *minor);
size_t drove_cuda_conv_bytes(size_t memory_bytes); /* drove_accel.conv_bytes */
void   drove_cuda_conv_end(drove_accel_queue *q);  /* frees what the queue has of it */
#ifdef DROVE_HAVE_CUDNN
drove_status drove_cuda_conv_create(drove_accel_queue *q, const drove_numbers *k, size_t max_rows,
                                    drove_accel_conv **out);
void         drove_cuda_conv_destroy(drove_accel_conv *v);
bool         drove_cuda_conv_can(drove_accel_conv *v, drove_accel_conv_part part, size_t n_rows);
drove_status drove_cuda_conv_run(drove_accel_conv *v, drove_accel_conv_part part, size_t n_rows,
                                 drove_accel_view x, drove_accel_view w, drove_accel_view y,
                                 bool adds);
#endif

#endif
