/* engine/cuda/convolution.c - convolutions by cuDNN, where it was found when this was compiled and
 * where it is when this runs; else there are none, and the engine makes them of products.
 *
 * The library is opened when a device is first described, so that the module needs no cuDNN to be
 * opened itself.  The types and declarations are those of its header; only its documented functions
 * for convolutions are used.
 *
 * The algorithms of each part (forward, derivative of the images, derivative of the weights) are
 * ordered by the library's own heuristic, no clock, for the largest batch.  The first is taken that
 * is deterministic, multiplies 32-bit floats as they are and needs no more workspace than there may
 * be; smaller batches use it, too.  A device opened with tf32=yes may multiply in TF32.  A part
 * without one is left to the engine.  All convolutions of a queue share a workspace, since they
 * follow one another.
 *
 * bf16: the library's convolutions of bf16 numbers give bf16 numbers, but sums have to be floats.
 * So factors are rounded into floats, and multiplied in TF32, which holds bf16 numbers exactly: its
 * tensor cores are used, and products and sums are those of the definition.
 *
 * Environment: DROVE_CUDA_CONV=im2col: without cuDNN, for measuring.
 *
 * Threads: the library is opened once; the rest as in accel.h.
 */
#include "engine/cuda/cuda.h"

#ifdef DROVE_HAVE_CUDNN

#include "engine/cuda/kernels.h"

#include <cudnn.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#ifndef DROVE_CUDNN_LIBRARY /* tests/cuda/ has its own */
#define DROVE_CUDNN_LIBRARY "libcudnn.so.9"
#endif

enum {
    MOST_ALGORITHMS = 16,
    WORKSPACE_BYTES = 256 << 20, /* at most */
    WORKSPACE_PART = 16          /* and at most this part of the device's memory */
};

/* ---- the library ---- */

/* One line here is a function cudnn... that is looked for when the library is opened. */
/* clang-format off */
#define FUNCTIONS(X)                                                                               \
    X(GetVersion) X(GetErrorString) X(Create) X(Destroy) X(SetStream)                              \
    X(CreateTensorDescriptor) X(DestroyTensorDescriptor) X(SetTensor4dDescriptor)                  \
    X(CreateFilterDescriptor) X(DestroyFilterDescriptor) X(SetFilter4dDescriptor)                  \
    X(CreateConvolutionDescriptor) X(DestroyConvolutionDescriptor)                                 \
    X(SetConvolution2dDescriptor) X(SetConvolutionGroupCount) X(SetConvolutionMathType)            \
    X(GetConvolution2dForwardOutputDim)                                                            \
    X(GetConvolutionForwardAlgorithm_v7) X(GetConvolutionForwardWorkspaceSize)                     \
    X(ConvolutionForward)                                                                          \
    X(GetConvolutionBackwardDataAlgorithm_v7) X(GetConvolutionBackwardDataWorkspaceSize)           \
    X(ConvolutionBackwardData)                                                                     \
    X(GetConvolutionBackwardFilterAlgorithm_v7) X(GetConvolutionBackwardFilterWorkspaceSize)       \
    X(ConvolutionBackwardFilter)
/* clang-format on */

/* The opened library: set once, by open_library, and the same for every run in the process. */
static struct {
#define X(name) __typeof__(cudnn##name) *name;
    FUNCTIONS(X)
#undef X
} dnn;
static bool is_open;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

/* Without all functions, or with another major version, the module does without the library. */
static void open_library(void)
{
    const char *wish = getenv("DROVE_CUDA_CONV");
    if (wish != NULL && strcmp(wish, "im2col") == 0) return;
    void *library = dlopen(DROVE_CUDNN_LIBRARY, RTLD_NOW | RTLD_LOCAL), *function;
    if (library == NULL) return;
    bool has_all = true;
#define X(name)                                                                                    \
    function = dlsym(library, "cudnn" #name);                                                      \
    has_all = has_all && function != NULL;                                                         \
    memcpy(&dnn.name, &function, sizeof function);
    FUNCTIONS(X)
#undef X
    is_open = has_all && dnn.GetVersion() / 10000 == CUDNN_MAJOR;
}

bool drove_cuda_conv_library(unsigned *major, unsigned *minor)
{
    pthread_once(&opened, open_library);
    if (!is_open) return false;
    size_t version = dnn.GetVersion();
    *major = (unsigned)(version / 10000);
    *minor = (unsigned)(version / 100 % 100);
    return true;
}

size_t drove_cuda_conv_bytes(size_t memory_bytes)
{
    pthread_once(&opened, open_library);
    size_t part = memory_bytes / WORKSPACE_PART;
    return !is_open ? 0 : part < WORKSPACE_BYTES ? part : WORKSPACE_BYTES;
}

/* ---- what a queue has of it ---- */

struct drove_cuda_dnn {
    cudnnHandle_t handle;
    void *workspace; /* NULL: none yet */
    size_t n_bytes;
    float *rounded; /* two factors of a convolution in bf16; NULL: none yet */
    size_t n_rounded;
};

struct drove_accel_conv {
    drove_accel_queue *q;
    drove_numbers k;
    size_t n_rows; /* that x and y are of */
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t how;
    bool has[DROVE_ACCEL_CONV_PARTS];    /* an algorithm */
    size_t need[DROVE_ACCEL_CONV_PARTS]; /* bytes; SIZE_MAX: cannot */

    cudnnConvolutionFwdAlgo_t forward;
    cudnnConvolutionBwdDataAlgo_t data;
    cudnnConvolutionBwdFilterAlgo_t weights;
};

/* A handle that cannot be had is none: the engine does without. */
static bool begin(drove_accel_queue *q)
{
    if (q->dnn != NULL) return true;
    drove_cuda_dnn *d = calloc(1, sizeof *d);
    if (d == NULL) return false;
    if (dnn.Create(&d->handle) != CUDNN_STATUS_SUCCESS) {
        free(d);
        return false;
    }
    if (dnn.SetStream(d->handle, q->stream) != CUDNN_STATUS_SUCCESS) {
        dnn.Destroy(d->handle);
        free(d);
        return false;
    }
    q->dnn = d;
    return true;
}

void drove_cuda_conv_end(drove_accel_queue *q)
{
    if (q->dnn == NULL) return;
    dnn.Destroy(q->dnn->handle);
    cudaFree(q->dnn->workspace);
    cudaFree(q->dnn->rounded);
    free(q->dnn);
    q->dnn = NULL;
}

/* At most; where there is no memory, what needs it is left to the engine. */
static void reserve(drove_cuda_dnn *d, size_t n_bytes)
{
    if (n_bytes <= d->n_bytes) return;
    cudaFree(d->workspace); /* waits for what uses it */
    d->workspace = NULL;
    d->n_bytes = 0;
    if (cudaMalloc(&d->workspace, n_bytes) == cudaSuccess) d->n_bytes = n_bytes;
    else d->workspace = NULL;
}

/* Floats of images, outputs and weights. */
static size_t n_images(const drove_accel_conv *v, size_t n_rows)
{
    return n_rows * v->k.c * v->k.h * v->k.w;
}

static size_t n_outputs(const drove_accel_conv *v, size_t n_rows)
{
    return n_rows * v->k.o * v->k.oh * v->k.ow;
}

static size_t n_weights(const drove_accel_conv *v)
{
    return (size_t)v->k.o * (v->k.c / v->k.groups) * v->k.kh * v->k.kw;
}

static size_t n_rounded(const drove_accel_conv *v, size_t n_rows)
{
    return v->q->in_bf16 ? n_images(v, n_rows) + n_outputs(v, n_rows) + n_weights(v) : 0;
}

/* Likewise. */
static void reserve_rounded(drove_cuda_dnn *d, size_t n)
{
    if (n <= d->n_rounded) return;
    cudaFree(d->rounded); /* waits for what uses it */
    d->rounded = NULL;
    d->n_rounded = 0;
    if (cudaMalloc((void **)&d->rounded, n * sizeof(float)) == cudaSuccess) d->n_rounded = n;
    else d->rounded = NULL;
}

/* ---- algorithms ---- */

/* May the library use the tensor cores? */
static bool in_tf32(const drove_accel_queue *q)
{
    return q->in_bf16 ? q->a->has_tf32 : q->a->in_tf32;
}

static bool suits(const drove_accel_conv *v, cudnnStatus_t status, cudnnDeterminism_t determinism,
                  cudnnMathType_t math, size_t n_bytes)
{
    bool suits_math = math == CUDNN_FMA_MATH || math == CUDNN_DEFAULT_MATH || /* as v->how says */
                      (math == CUDNN_TENSOR_OP_MATH && in_tf32(v->q));
    return status == CUDNN_STATUS_SUCCESS && determinism == CUDNN_DETERMINISTIC && suits_math &&
           n_bytes <= v->q->a->conv_bytes;
}

static void choose_forward(drove_accel_conv *v)
{
    cudnnConvolutionFwdAlgoPerf_t p[MOST_ALGORITHMS];
    int n = 0;
    cudnnStatus_t status =
        dnn.GetConvolutionForwardAlgorithm_v7(v->q->dnn->handle, v->x, v->w, v->how, v->y,
                                              MOST_ALGORITHMS, &n, p);
    for (int i = 0; status == CUDNN_STATUS_SUCCESS && i < n; i++) {
        if (!suits(v, p[i].status, p[i].determinism, p[i].mathType, p[i].memory)) continue;
        v->has[DROVE_ACCEL_CONV_FORWARD] = true;
        v->forward = p[i].algo;
        return;
    }
}

static void choose_data(drove_accel_conv *v)
{
    cudnnConvolutionBwdDataAlgoPerf_t p[MOST_ALGORITHMS];
    int n = 0;
    cudnnStatus_t status =
        dnn.GetConvolutionBackwardDataAlgorithm_v7(v->q->dnn->handle, v->w, v->y, v->how, v->x,
                                                   MOST_ALGORITHMS, &n, p);
    for (int i = 0; status == CUDNN_STATUS_SUCCESS && i < n; i++) {
        if (!suits(v, p[i].status, p[i].determinism, p[i].mathType, p[i].memory)) continue;
        v->has[DROVE_ACCEL_CONV_DATA] = true;
        v->data = p[i].algo;
        return;
    }
}

static void choose_weights(drove_accel_conv *v)
{
    cudnnConvolutionBwdFilterAlgoPerf_t p[MOST_ALGORITHMS];
    int n = 0;
    cudnnStatus_t status =
        dnn.GetConvolutionBackwardFilterAlgorithm_v7(v->q->dnn->handle, v->x, v->y, v->how, v->w,
                                                     MOST_ALGORITHMS, &n, p);
    for (int i = 0; status == CUDNN_STATUS_SUCCESS && i < n; i++) {
        if (!suits(v, p[i].status, p[i].determinism, p[i].mathType, p[i].memory)) continue;
        v->has[DROVE_ACCEL_CONV_WEIGHTS] = true;
        v->weights = p[i].algo;
        return;
    }
}

/* Bytes of workspace for batches of v->n_rows; SIZE_MAX: the algorithm does not have them. */
static size_t need_of(const drove_accel_conv *v, drove_accel_conv_part part)
{
    cudnnHandle_t handle = v->q->dnn->handle;
    cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
    size_t n = 0;
    if (!v->has[part]) return SIZE_MAX;
    if (part == DROVE_ACCEL_CONV_FORWARD)
        status = dnn.GetConvolutionForwardWorkspaceSize(handle, v->x, v->w, v->how, v->y,
                                                        v->forward, &n);
    else if (part == DROVE_ACCEL_CONV_DATA)
        status = dnn.GetConvolutionBackwardDataWorkspaceSize(handle, v->w, v->y, v->how, v->x,
                                                             v->data, &n);
    else
        status = dnn.GetConvolutionBackwardFilterWorkspaceSize(handle, v->x, v->y, v->how, v->w,
                                                               v->weights, &n);
    return status == CUDNN_STATUS_SUCCESS ? n : SIZE_MAX;
}

/* ---- descriptors ---- */

static bool set_images(cudnnTensorDescriptor_t of, size_t n, unsigned c, unsigned h, unsigned w)
{
    size_t each = (size_t)c * h * w; /* the library counts in int */
    if (each == 0 || n == 0 || n > INT_MAX / each) return false;
    return dnn.SetTensor4dDescriptor(of, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, (int)n, (int)c,
                                     (int)h, (int)w) == CUDNN_STATUS_SUCCESS;
}

static bool set_rows(drove_accel_conv *v, size_t n_rows)
{
    const drove_numbers *k = &v->k;
    v->n_rows = 0;
    if (!set_images(v->x, n_rows, k->c, k->h, k->w)) return false;
    if (!set_images(v->y, n_rows, k->o, k->oh, k->ow)) return false;
    v->n_rows = n_rows;
    return true;
}

static void measure(drove_accel_conv *v)
{
    for (unsigned part = 0; part < DROVE_ACCEL_CONV_PARTS; part++)
        v->need[part] = need_of(v, (drove_accel_conv_part)part);
}

/* False: the library does not have it, or sees another size of the output. */
static bool describe(drove_accel_conv *v, size_t max_rows)
{
    const drove_numbers *k = &v->k;
    const cudnnMathType_t math = in_tf32(v->q) ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
    int n, c, h, w;
    if (dnn.CreateTensorDescriptor(&v->x) != CUDNN_STATUS_SUCCESS ||
        dnn.CreateTensorDescriptor(&v->y) != CUDNN_STATUS_SUCCESS ||
        dnn.CreateFilterDescriptor(&v->w) != CUDNN_STATUS_SUCCESS ||
        dnn.CreateConvolutionDescriptor(&v->how) != CUDNN_STATUS_SUCCESS || !set_rows(v, max_rows))
        return false;
    return dnn.SetFilter4dDescriptor(v->w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, (int)k->o,
                                     (int)(k->c / k->groups), (int)k->kh,
                                     (int)k->kw) == CUDNN_STATUS_SUCCESS &&
           dnn.SetConvolution2dDescriptor(v->how, (int)k->ph, (int)k->pw, (int)k->sh, (int)k->sw,
                                          (int)k->dh, (int)k->dw, CUDNN_CROSS_CORRELATION,
                                          CUDNN_DATA_FLOAT) == CUDNN_STATUS_SUCCESS &&
           dnn.SetConvolutionGroupCount(v->how, (int)k->groups) == CUDNN_STATUS_SUCCESS &&
           dnn.SetConvolutionMathType(v->how, math) == CUDNN_STATUS_SUCCESS &&
           dnn.GetConvolution2dForwardOutputDim(v->how, v->x, v->w, &n, &c, &h, &w) ==
               CUDNN_STATUS_SUCCESS &&
           (size_t)n == max_rows && (unsigned)c == k->o && (unsigned)h == k->oh &&
           (unsigned)w == k->ow;
}

/* ---- functions of the table ---- */

void drove_cuda_conv_destroy(drove_accel_conv *v)
{
    if (v == NULL) return;
    (void)drove_cuda_enter(v->q->a); /* what follows does without, too */
    if (v->x != NULL) dnn.DestroyTensorDescriptor(v->x);
    if (v->y != NULL) dnn.DestroyTensorDescriptor(v->y);
    if (v->w != NULL) dnn.DestroyFilterDescriptor(v->w);
    if (v->how != NULL) dnn.DestroyConvolutionDescriptor(v->how);
    cudaGetLastError(); /* it shall not show at a later call */
    free(v);
}

drove_status drove_cuda_conv_create(drove_accel_queue *q, const drove_numbers *k, size_t max_rows,
                                    drove_accel_conv **out)
{
    size_t most = 0;
    *out = NULL;
    drove_status status = drove_cuda_enter(q->a);
    if (status != DROVE_OK || q->a->conv_bytes == 0) return status;
    drove_accel_conv *v = calloc(1, sizeof *v);
    if (v == NULL) return drove_cuda_host->fail(DROVE_E_NOMEM, "a convolution: no memory");
    v->q = q;
    v->k = *k;
    if (!begin(q) || !describe(v, max_rows)) {
        drove_cuda_conv_destroy(v);
        cudaGetLastError(); /* it is answered; it shall not show at a later call */
        return DROVE_OK;
    }
    choose_forward(v);
    choose_data(v);
    choose_weights(v);
    measure(v);
    for (unsigned part = 0; part < DROVE_ACCEL_CONV_PARTS; part++) {
        if (v->need[part] <= q->a->conv_bytes && v->need[part] > most) most = v->need[part];
    }
    reserve(q->dnn, most);
    reserve_rounded(q->dnn, n_rounded(v, max_rows));
    cudaGetLastError();
    *out = v;
    return DROVE_OK;
}

bool drove_cuda_conv_can(drove_accel_conv *v, drove_accel_conv_part part, size_t n_rows)
{
    if (v->n_rows != n_rows) {
        if (drove_cuda_enter(v->q->a) != DROVE_OK || !set_rows(v, n_rows)) return false;
        measure(v);
    }
    return v->need[part] <= v->q->dnn->n_bytes && n_rounded(v, n_rows) <= v->q->dnn->n_rounded;
}

static cudnnStatus_t run(const drove_accel_conv *v, drove_accel_conv_part part, float *x, float *w,
                         float *y, float old)
{
    const drove_cuda_dnn *d = v->q->dnn;
    const float one = 1.0f;
    if (part == DROVE_ACCEL_CONV_FORWARD)
        return dnn.ConvolutionForward(d->handle, &one, v->x, x, v->w, w, v->how, v->forward,
                                      d->workspace, d->n_bytes, &old, v->y, y);
    if (part == DROVE_ACCEL_CONV_DATA)
        return dnn.ConvolutionBackwardData(d->handle, &one, v->w, w, v->y, y, v->how, v->data,
                                           d->workspace, d->n_bytes, &old, v->x, x);
    return dnn.ConvolutionBackwardFilter(d->handle, &one, v->x, x, v->y, y, v->how, v->weights,
                                         d->workspace, d->n_bytes, &old, v->w, w);
}

/* The two factors of a part, replaced by copies that are rounded. */
static drove_status round_factors(const drove_accel_conv *v, drove_accel_conv_part part, float **x,
                                  float **w, float **y)
{
    const drove_accel_queue *q = v->q;
    float **from[2] = {part == DROVE_ACCEL_CONV_DATA ? y : x,
                       part == DROVE_ACCEL_CONV_WEIGHTS ? y : w};
    float *to = q->dnn->rounded;
    for (size_t i = 0; i < 2; i++) {
        size_t n = from[i] == x   ? n_images(v, v->n_rows)
                   : from[i] == y ? n_outputs(v, v->n_rows)
                                  : n_weights(v);
        drove_status status =
            drove_cuda_check(q->a, drove_cuda_launch_round(q->stream, *from[i], to, n), "round");
        if (status != DROVE_OK) return status;
        *from[i] = to;
        to += n;
    }
    return DROVE_OK;
}

drove_status drove_cuda_conv_run(drove_accel_conv *v, drove_accel_conv_part part, size_t n_rows,
                                 drove_accel_view x, drove_accel_view w, drove_accel_view y,
                                 bool adds)
{
    static const char *const names[] = {"cudnnConvolutionForward", "cudnnConvolutionBackwardData",
                                        "cudnnConvolutionBackwardFilter"};
    const drove_accel *a = v->q->a;
    drove_status status = drove_cuda_enter(a);
    if (status != DROVE_OK) return status;
    cudnnStatus_t error = CUDNN_STATUS_NOT_SUPPORTED;
    float *at[3] = {drove_cuda_at(x), drove_cuda_at(w), drove_cuda_at(y)};
    if (v->n_rows == n_rows && v->q->in_bf16)
        status = round_factors(v, part, &at[0], &at[1], &at[2]);
    if (status != DROVE_OK) return status;
    if (v->n_rows == n_rows) error = run(v, part, at[0], at[1], at[2], adds ? 1.0f : 0.0f);
    if (error == CUDNN_STATUS_SUCCESS) return DROVE_OK;
    cudaGetLastError();
    status = error / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000 ? DROVE_E_UNSUPPORTED
             : error == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED ||
                     error == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED
                 ? DROVE_E_NOMEM
                 : DROVE_E_SYSTEM;
    if (status == DROVE_E_UNSUPPORTED) {
        v->has[part] = false;
        v->need[part] = SIZE_MAX;
    }
    return drove_cuda_host->fail(status, "cuda:%d (%s): %s: %s", a->device, a->facts.name,
                                 names[part], dnn.GetErrorString(error));
}

#else /* no cuDNN when this was compiled */

bool drove_cuda_conv_library(unsigned *major, unsigned *minor)
{
    (void)major;
    (void)minor;
    return false;
}

size_t drove_cuda_conv_bytes(size_t memory_bytes)
{
    (void)memory_bytes;
    return 0;
}

void drove_cuda_conv_end(drove_accel_queue *q)
{
    (void)q;
}

#endif
