/* engine/accel/accel.h - what a kind of accelerator provides: devices, buffers, queues with events,
 * and the handful of operations that a pass through a network is made of.
 *
 * Everything above this table (scratch, order of operations, splitting of batches, double
 * buffering, losses as sums) is written once, in engine/accel/engine.c, for all kinds.  A kind is
 * one module that is opened at run time (engine/module.c): the main program is linked with no
 * accelerator's library and trains without any.  A module sees this header and what it
 * includes, and no function of drove but those of drove_accel_host.
 *
 * All numbers are floats unless said; matrices are row-major; a place in a buffer is an offset in
 * elements of 4 bytes.  Operations are put on a queue and return at once; operations of one
 * queue are carried out in the order in which they were put there, different queues meet through
 * events alone.  An error may show late: at a wait or at a later call.
 *
 * Threads: a device may be used by many threads; a queue, its events and what is put on it by one
 * thread at a time.
 *
 * Errors of all: DROVE_E_NOMEM (the device's memory or ours), DROVE_E_SYSTEM (the device is lost,
 * or refuses), DROVE_E_UNSUPPORTED; the text names the device and the call that failed.
 */
#ifndef DROVE_ENGINE_ACCEL_ACCEL_H
#define DROVE_ENGINE_ACCEL_ACCEL_H

#include "engine/accel/kernels/job.h"

#include <drove/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows with each change of the tables below: a module of another drove is refused. */
enum { DROVE_ACCEL_VERSION = 10, DROVE_ACCEL_TEXT_SIZE = 128 };

typedef struct drove_accel          drove_accel;          /* an opened device */
typedef struct drove_accel_buffer   drove_accel_buffer;   /* memory of a device */
typedef struct drove_accel_queue    drove_accel_queue;    /* in order */
typedef struct drove_accel_event    drove_accel_event;    /* a point in a queue */
typedef struct drove_accel_sequence drove_accel_sequence; /* operations that can be repeated */
typedef struct drove_accel_conv     drove_accel_conv;     /* a prepared convolution */

/* What a module may call of the program that has opened it. */
typedef struct drove_accel_host {
    /* Keeps the text for the calling thread and returns status (drove__fail). */
    drove_status (*fail)(drove_status status, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
    /* A folder for compiled kernels, which exists; NULL: there is none, nothing is kept. */
    const char *cache_folder;
} drove_accel_host;

typedef struct drove_accel_facts {
    char     name[DROVE_ACCEL_TEXT_SIZE];   /* "NVIDIA H200", "cpu-skylake-avx512" */
    char     driver[DROVE_ACCEL_TEXT_SIZE]; /* "PoCL 3.1", "CUDA 13.0, sm_90" */
    uint64_t memory_bytes;                  /* of all buffers */
    uint64_t most_buffer_bytes;             /* of one */
    unsigned n_units;                       /* compute units, streaming multiprocessors */
    bool     can_split;                     /* into sub-devices */
} drove_accel_facts;

typedef struct drove_accel_choice {
    unsigned device;        /* 0 .. count - 1 */
    unsigned n_sub_devices; /* 0: the whole device; else it is cut into so many equal parts ... */
    unsigned sub_device;    /* ... of which this one is opened */
    /* Dense products and a library's convolutions round their factors to TF32, 10 bits of
     * significand behind the point, unless multiply_in_bf16 was called; sums stay floats.
     * open: DROVE_E_UNSUPPORTED where the device cannot. */
    bool in_tf32;
} drove_accel_choice;

typedef enum drove_accel_loss {
    DROVE_ACCEL_SOFTMAX,      /* classes                     y_class */
    DROVE_ACCEL_SIGMOID,      /* any number of labels        label_first, label */
    DROVE_ACCEL_LOGISTIC,     /* one output, two classes     y_class: 0 or 1 */
    DROVE_ACCEL_HINGE,        /* one output for two classes, else one for each class   y_class */
    DROVE_ACCEL_SQUARED,      /* values, one for each output   y_value */
    DROVE_ACCEL_SQUARED_CLASS /* one output for each class, wanted 1 or 0   y_class */
} drove_accel_loss;

/* As drovek_act, whose order it has. */
typedef enum drove_accel_act {
    DROVE_ACCEL_LINEAR,
    DROVE_ACCEL_RELU,
    DROVE_ACCEL_ACT_SIGMOID,
    DROVE_ACCEL_TANH
} drove_accel_act;

/* A matrix or vector in device memory. */
typedef struct drove_accel_view {
    drove_accel_buffer *buffer;
    size_t              offset; /* in elements of 4 bytes */
} drove_accel_view;

/* Sparse rows, as a compressed matrix: of row r, the pairs start[r] .. start[r + 1] - 1 of index
 * and value; start and index are uint32_t. */
typedef struct drove_accel_sparse {
    drove_accel_view start, index;
    drove_accel_view value; /* buffer NULL: ones */
} drove_accel_sparse;

/* A kernel of layers or updates; which one: an enumerator of DROVE_JOBS (kernels/job.h). */
enum {
#define X(name) DROVE_JOB_##name,
    DROVE_JOBS(X)
#undef X
        DROVE_N_JOBS
};
enum { DROVE_JOB_PLACES = 6, DROVE_JOB_COLS = 256 };

typedef struct drove_accel_job {
    unsigned         which;
    drove_accel_view at[DROVE_JOB_PLACES]; /* a to f; buffer NULL: not used */
    drove_numbers    k; /* rows_each 0: as suits the device (else sums depend on it) */
} drove_accel_job;

/* What a prepared convolution computes of its images x, weights w and outputs y. */
typedef enum drove_accel_conv_part {
    DROVE_ACCEL_CONV_FORWARD, /* y = w over x */
    DROVE_ACCEL_CONV_DATA,    /* x (+)= the derivative there, by w and that at y */
    DROVE_ACCEL_CONV_WEIGHTS, /* w = the derivative there, by x and that at y */
    DROVE_ACCEL_CONV_PARTS
} drove_accel_conv_part;

/* Copies of buffers in bf16, so that a number is rounded once and not for each product. */
typedef struct drove_accel_bf16_ops {
    /* From now on (keeps false: no longer) the buffer has a copy, which products that round to bf16
     * read in place of making one.  write, bias_act and act_grad keep the copy of what they put
     * there; after all else that writes the buffer narrow is due, of n numbers, before a product
     * reads them. */
    drove_status (*keep)(drove_accel *a, drove_accel_buffer *buffer, bool keeps);
    drove_status (*narrow)(drove_accel_queue *q, drove_accel_view view, size_t n);
} drove_accel_bf16_ops;

/* Many small operations begun as one. */
typedef struct drove_accel_sequence_ops {
    /* What is put on q from now on is kept and not carried out, until end gives it as *out: copies,
     * operations, and events.  Another queue of the device joins when it follows an event that was
     * recorded meanwhile; before end q has to follow an event behind all that each of them was
     * given.  Events from before must not be followed meanwhile, and nothing is waited for.  The
     * same operations must have been carried out on q before, so that nothing has to be allocated.
     * The events happen anew at each run, and belong to the sequence: they may be waited for, asked
     * for and followed behind a run, and are given back after destroy.
     * Errors: also DROVE_E_UNSUPPORTED, after which everything is as if it had not been begun; end
     * is due where begin went well, also after an error in between. */
    drove_status (*begin)(drove_accel_queue *q);
    drove_status (*end)(drove_accel_queue *q, drove_accel_sequence **out);
    /* Puts all of it on q, with the buffers, host memory and numbers that it was made with. */
    drove_status (*run)(drove_accel_queue *q, drove_accel_sequence *sequence);
    void (*destroy)(drove_accel_sequence *sequence); /* NULL accepted; not before q is idle */
} drove_accel_sequence_ops;

/* Convolutions of a library. */
typedef struct drove_accel_conv_ops {
    /* Prepares the convolution of k (c, h, w, o, oh, ow, window, groups) for batches of up to
     * max_rows images on q, with all memory that it needs.  Images are NHWC, weights
     * [o][kh][kw][c / groups].  *out NULL is not an error: the library does not have it. */
    drove_status (*create)(drove_accel_queue *q, const drove_numbers *k, size_t max_rows,
                           drove_accel_conv **out);
    void (*destroy)(drove_accel_conv *conv); /* NULL accepted; before its queue */
    /* Does the library have this part for n_rows images?  Nothing is put on the queue. */
    bool (*can)(drove_accel_conv *conv, drove_accel_conv_part part, size_t n_rows);
    /* Where can; adds: of DROVE_ACCEL_CONV_DATA alone.  The same batch has the same bits.  Also
     * DROVE_E_UNSUPPORTED: it cannot after all, and nothing was put on the queue; can says so from
     * now on. */
    drove_status (*run)(drove_accel_conv *conv, drove_accel_conv_part part, size_t n_rows,
                        drove_accel_view x, drove_accel_view w, drove_accel_view y, bool adds);
} drove_accel_conv_ops;

typedef struct drove_accel_ops {
    unsigned    version; /* DROVE_ACCEL_VERSION */
    const char *name, *help, *source;

    /* ---- devices ---- */
    /* Devices there are; 0 is not an error (no driver, no platform). */
    drove_status (*count)(unsigned *out);
    drove_status (*describe)(unsigned device, drove_accel_facts *out);
    drove_status (*open)(const drove_accel_choice *choice, drove_accel **out);
    void (*close)(drove_accel *a); /* NULL accepted; its buffers and queues are gone before */
    /* Of the opened (sub-)device. */
    void (*facts)(const drove_accel *a, drove_accel_facts *out);

    /* ---- memory ---- */
    drove_status (*alloc)(drove_accel *a, size_t n_elements, drove_accel_buffer **out);
    void (*free)(drove_accel *a, drove_accel_buffer *buffer); /* NULL accepted */
    /* Host memory that copies are fast from and to (pinned), 64-byte aligned. */
    drove_status (*host_alloc)(drove_accel *a, size_t n_bytes, void **out);
    void (*host_free)(drove_accel *a, void *memory); /* NULL accepted */

    /* ---- queues and events ---- */
    drove_status (*queue_create)(drove_accel *a, drove_accel_queue **out);
    void (*queue_destroy)(drove_accel_queue *q); /* NULL accepted; waits for what is on it */
    /* Begins what is on the queue, where a driver collects operations first. */
    drove_status (*flush)(drove_accel_queue *q);
    /* An event that happens when all that is on q now is done. */
    drove_status (*record)(drove_accel_queue *q, drove_accel_event **out);
    /* What is put on q from now on waits for the event (of any queue of the device). */
    drove_status (*follow)(drove_accel_queue *q, drove_accel_event *event);
    /* The calling thread waits, asleep, until the event has happened; DROVE_E_SYSTEM after
     * timeout_ns (UINT64_MAX: never) or if what came before it failed. */
    drove_status (*wait)(drove_accel_event *event, uint64_t timeout_ns);
    /* Has it?  Returns at once.  Errors: DROVE_E_SYSTEM: what came before it failed. */
    drove_status (*happened)(drove_accel_event *event, bool *out);
    /* Time at which a recorded event that has happened did so, on a clock of the device, in ns. */
    drove_status (*time)(drove_accel_event *event, uint64_t *out_ns);
    void (*event_destroy)(drove_accel_event *event); /* NULL accepted */

    /* ---- copies; host memory is the caller's until an event behind them has happened ---- */
    drove_status (*write)(drove_accel_queue *q, drove_accel_view to, const void *from, size_t n);
    drove_status (*read)(drove_accel_queue *q, void *to, drove_accel_view from, size_t n);
    drove_status (*zero)(drove_accel_queue *q, drove_accel_view to, size_t n);

    /* ---- operations ---- */
    /* From now on the products of q, dense and sparse, and a library's convolutions that are
     * prepared behind this, round both their factors to bf16 (kernel/bf16.h). */
    void (*multiply_in_bf16)(drove_accel_queue *q);
    /* C[m][n] = alpha op(A) op(B) + beta C; op(A) is m x k, op(B) is k x n; C is not read for
     * beta 0 */
    drove_status (*gemm)(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m, size_t n,
                         size_t k, float alpha, drove_accel_view a, size_t lda, drove_accel_view b,
                         size_t ldb, float beta, drove_accel_view c, size_t ldc);
    /* n_batch such products, whose matrices lie stride_a, stride_b, stride_c elements apart; those
     * of C do not overlap */
    drove_status (*gemm_batch)(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m, size_t n,
                               size_t k, float alpha, drove_accel_view a, size_t lda,
                               size_t stride_a, drove_accel_view b, size_t ldb, size_t stride_b,
                               float beta, drove_accel_view c, size_t ldc, size_t stride_c,
                               size_t n_batch);
    /* One of the kernels in engine/accel/kernels/, over job->k.rows x cols items. */
    drove_status (*job)(drove_accel_queue *q, const drove_accel_job *job);
    /* y[rows][n] = act(y + b[n]) */
    drove_status (*bias_act)(drove_accel_queue *q, drove_accel_view y, drove_accel_view b,
                             size_t n_rows, size_t n, drove_accel_act act);
    /* dy[rows][n] *= act'(.), by the output y; then db[n] = sum over rows of dy, in an order that
     * depends on n_rows and n alone */
    drove_status (*act_grad)(drove_accel_queue *q, drove_accel_view dy, drove_accel_view db,
                             drove_accel_view y, size_t n_rows, size_t n, drove_accel_act act);
    /* Of z[rows][n]: loss[rows] of each row, count[rows][3] (uint32_t: 1, 0, 0 where the class is
     * right; true positives, false positives, false negatives of labels; else zeros) and, with
     * scale > 0, dz[rows][n] = scale * dloss/dz.  target: y_class (int32_t) or y_value[n] by row;
     * labels: sparse start and index.  The same definitions as src/kernel/ref. */
    drove_status (*loss)(drove_accel_queue *q, drove_accel_loss loss, drove_accel_view z,
                         drove_accel_view target, const drove_accel_sparse *labels, size_t n_rows,
                         size_t n, float scale, drove_accel_view dz, drove_accel_view loss_of_row,
                         drove_accel_view count);
    /* y[rows][n] = X W for sparse X: y[r] = sum over its pairs of value W[index]; W[.][n] */
    drove_status (*sparse_forward)(drove_accel_queue *q, const drove_accel_sparse *x,
                                   drove_accel_view w, size_t n_rows, size_t n, drove_accel_view y);
    /* dw[f] = sum over its pairs of value d[index], for features f = 0 .. n_features - 1, where xt
     * is the transpose: its rows are features, its indices are rows of d[.][n] */
    drove_status (*sparse_backward)(drove_accel_queue *q, const drove_accel_sparse *xt,
                                    drove_accel_view d, size_t n_features, size_t n,
                                    drove_accel_view dw);

    /* ---- optional ---- */
    const drove_accel_bf16_ops     *bf16;      /* NULL: products make copies in bf16 themselves */
    const drove_accel_sequence_ops *sequences; /* NULL: operations are begun one by one */
    const drove_accel_conv_ops     *conv;      /* NULL: im2col and products */
} drove_accel_ops;

/* The one function that a module exports; host is the program's, for as long as the module is open.
 * NULL: host->fail says why. */
#define DROVE_ACCEL_ENTRY "drove_accel_module"
typedef const drove_accel_ops *drove_accel_entry_fn(const drove_accel_host *host);

#endif
