/* tests/cuda/cudnn.c - see cudnn.h: convolutions as plain sums, at once, in memory of the host.
 *
 * Of the algorithms that are offered the module may take the last one alone, and for convolutions
 * in TF32 the one of shortened factors; the others leave numbers behind that no test lets pass.  To
 * be turned down there are: derivatives of dilated weights, at the choice of an algorithm; forward
 * for five images, at the workspace's size; derivatives of images of windows that are not square,
 * as late as when they are run.
 */
#include "fault.h"

#include <cudnn.h>

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { FORWARD, DATA, WEIGHTS, PARTS };
enum { RANDOM, SHORTENED, LARGE, REFUSED, GOOD, ALGORITHMS };

struct stand_in_dnn {
    cudaStream_t stream;
};

struct stand_in_tensor {
    int n, c, h, w;
};

struct stand_in_filter {
    int k, c, h, w;
};

struct stand_in_convolution {
    int ph, pw, sh, sw, dh, dw, groups;
    cudnnMathType_t math;
};

/* How many of each part were run; for tests, which find it by this name. */
extern atomic_ulong stand_in_cudnn_runs[PARTS];
atomic_ulong stand_in_cudnn_runs[PARTS];

size_t cudnnGetVersion(void)
{
    return CUDNN_MAJOR * 10000 + 100;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_NOT_SUPPORTED_SHAPE ? "not of this shape" : "an error";
}

static cudnnStatus_t made(const void *object)
{
    return object != NULL ? CUDNN_STATUS_SUCCESS
                          : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    *handle = calloc(1, sizeof **handle);
    return made(*handle);
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return STAND_IN_FAILS() ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- descriptors ---- */

static cudnnStatus_t check(int is_good)
{
    return is_good ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    *tensor = calloc(1, sizeof **tensor);
    return made(*tensor);
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
{
    free(tensor);
    return STAND_IN_FAILS() ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    *tensor = (struct stand_in_tensor){n, c, h, w};
    return check(format == CUDNN_TENSOR_NHWC && type == CUDNN_DATA_FLOAT && n > 0 && c > 0 &&
                 h > 0 && w > 0);
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    *filter = calloc(1, sizeof **filter);
    return made(*filter);
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter)
{
    free(filter);
    return STAND_IN_FAILS() ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    *filter = (struct stand_in_filter){k, c, h, w};
    return check(format == CUDNN_TENSOR_NHWC && type == CUDNN_DATA_FLOAT && k > 0 && c > 0 &&
                 h > 0 && w > 0);
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *how)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    *how = calloc(1, sizeof **how);
    return made(*how);
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t how)
{
    free(how);
    return STAND_IN_FAILS() ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t how, int pad_h,
                                              int pad_w, int step_h, int step_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    *how = (struct stand_in_convolution){pad_h,      pad_w,      step_h, step_w,
                                         dilation_h, dilation_w, 1,      CUDNN_DEFAULT_MATH};
    return check(mode == CUDNN_CROSS_CORRELATION && type == CUDNN_DATA_FLOAT && pad_h >= 0 &&
                 pad_w >= 0 && step_h > 0 && step_w > 0 && dilation_h > 0 && dilation_w > 0);
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t how, int n)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    how->groups = n;
    return check(n > 0);
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t how, cudnnMathType_t math)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    how->math = math;
    return CUDNN_STATUS_SUCCESS;
}

static int places(int n, int window, int step, int margin, int dilation)
{
    return (n + 2 * margin - (window - 1) * dilation - 1) / step + 1;
}

cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t how,
                                                    const cudnnTensorDescriptor_t x,
                                                    const cudnnFilterDescriptor_t filter, int *n,
                                                    int *c, int *h, int *w)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    *n = x->n;
    *c = filter->k;
    *h = places(x->h, filter->h, how->sh, how->ph, how->dh);
    *w = places(x->w, filter->w, how->sw, how->pw, how->dw);
    return check(x->c == filter->c * how->groups && filter->k % how->groups == 0);
}

/* ---- algorithms ---- */

typedef struct offer {
    cudnnStatus_t status;
    size_t n_bytes;
    cudnnDeterminism_t determinism;
    cudnnMathType_t math;
} offer;

static bool is_known(const struct stand_in_convolution *how)
{
    return how->math == CUDNN_FMA_MATH || how->math == CUDNN_TENSOR_OP_MATH;
}

static size_t workspace_of(const struct stand_in_tensor *x)
{
    return (size_t)x->n * 100;
}

static offer offer_of(int algorithm, const struct stand_in_tensor *x)
{
    offer o = {CUDNN_STATUS_SUCCESS, 0, CUDNN_DETERMINISTIC, CUDNN_FMA_MATH};
    if (algorithm == RANDOM) o.determinism = CUDNN_NON_DETERMINISTIC;
    if (algorithm == SHORTENED) o.math = CUDNN_TENSOR_OP_MATH;
    if (algorithm == LARGE) o.n_bytes = (size_t)1 << 40;
    if (algorithm == REFUSED) o.status = CUDNN_STATUS_NOT_SUPPORTED;
    if (algorithm == GOOD) o.n_bytes = workspace_of(x);
    return o;
}

#define OFFER(most, n, found, type, x)                                                             \
    do {                                                                                           \
        for (*(n) = 0; *(n) < (most) && *(n) < ALGORITHMS; ++*(n)) {                               \
            offer o_ = offer_of(*(n), x);                                                          \
            (found)[*(n)].algo = (type) * (n);                                                     \
            (found)[*(n)].status = o_.status;                                                      \
            (found)[*(n)].memory = o_.n_bytes;                                                     \
            (found)[*(n)].determinism = o_.determinism;                                            \
            (found)[*(n)].mathType = o_.math;                                                      \
        }                                                                                          \
    } while (0)

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t y, const int most, int *n,
    cudnnConvolutionFwdAlgoPerf_t *found)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    (void)handle;
    OFFER(most, n, found, cudnnConvolutionFwdAlgo_t, x);
    return check(w->k == y->c && is_known(how));
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t dx, const int most,
    int *n, cudnnConvolutionBwdDataAlgoPerf_t *found)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    (void)handle;
    OFFER(most, n, found, cudnnConvolutionBwdDataAlgo_t, dx);
    return check(w->k == dy->c && is_known(how));
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnFilterDescriptor_t dw, const int most,
    int *n, cudnnConvolutionBwdFilterAlgoPerf_t *found)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    (void)handle;
    *n = 0;
    if (how->dh > 1 || how->dw > 1) return CUDNN_STATUS_NOT_SUPPORTED;
    OFFER(most, n, found, cudnnConvolutionBwdFilterAlgo_t, x);
    return check(dw->k == dy->c && is_known(how));
}

static cudnnStatus_t size_of(int algorithm, const struct stand_in_tensor *x, size_t *n_bytes)
{
    *n_bytes = algorithm == GOOD || algorithm == SHORTENED ? workspace_of(x) : 0;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algorithm, size_t *n_bytes)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    (void)handle;
    (void)w;
    (void)how;
    (void)y;
    return x->n == 5 ? CUDNN_STATUS_NOT_SUPPORTED : size_of((int)algorithm, x, n_bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t *n_bytes)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    (void)handle;
    (void)w;
    (void)dy;
    (void)how;
    return size_of((int)algorithm, dx, n_bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t *n_bytes)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    (void)handle;
    (void)dy;
    (void)how;
    (void)dw;
    return size_of((int)algorithm, x, n_bytes);
}

/* ---- the sums ---- */

typedef struct sum {
    int part;
    struct stand_in_tensor x, y;
    struct stand_in_filter w;
    struct stand_in_convolution how;
    float alpha, *x_at, *w_at, *y_at; /* one of them, by the part, is written */
    float beta;
    int algorithm;
    void *workspace;
} sum;

static void begin(const sum *s, float beta)
{
    const struct stand_in_tensor *t = s->part == DATA ? &s->x : &s->y;
    size_t n = (size_t)t->n * (size_t)t->c * (size_t)t->h * (size_t)t->w;
    float *to = s->part == DATA ? s->x_at : s->y_at;
    if (s->part == WEIGHTS) {
        n = (size_t)s->w.k * (size_t)s->w.c * (size_t)s->w.h * (size_t)s->w.w;
        to = s->w_at;
    }
    for (size_t i = 0; i < n; i++) to[i] = beta == 0.0f ? 0.0f : beta * to[i];
}

/* In TF32 10 bits behind the point, to nearest, ties to even. */
static float factor(float v)
{
    int exponent;
    if (v == 0.0f || !isfinite(v)) return v;
    float significand = frexpf(v, &exponent);
    return ldexpf(nearbyintf(ldexpf(significand, 11)), exponent - 11);
}

/* The input channels at one place of a window, for one number of the output. */
static void add_channels_in_tf32(const sum *s, float *x, float *w, float *y)
{
    for (int c = 0; c < s->w.c; c++) {
        if (s->part == FORWARD) *y += s->alpha * factor(x[c]) * factor(w[c]);
        else if (s->part == DATA) x[c] += s->alpha * factor(*y) * factor(w[c]);
        else w[c] += s->alpha * factor(x[c]) * factor(*y);
    }
}

/* The same in singles, by loops that the compiler vectorises: most of the tests' time is here. */
static void add_channels(const sum *s, float *restrict x, float *restrict w, float *restrict y)
{
    const int n = s->w.c;
    const float by = s->alpha * *y, alpha = s->alpha;
    if (s->part == FORWARD) {
        float total = *y;
        for (int c = 0; c < n; c++) total += alpha * x[c] * w[c];
        *y = total;
    } else if (s->part == DATA) {
        for (int c = 0; c < n; c++) x[c] += by * w[c];
    } else {
        for (int c = 0; c < n; c++) w[c] += by * x[c];
    }
}

/* What output channel k at (oy, ox) of image n has to do with number (p, q) of its window. */
static void add(const sum *s, int n, int oy, int ox, int k, int p, int q, bool in_tf32)
{
    int iy = oy * s->how.sh + p * s->how.dh - s->how.ph;
    int ix = ox * s->how.sw + q * s->how.dw - s->how.pw;
    if (iy < 0 || ix < 0 || iy >= s->x.h || ix >= s->x.w) return;
    int group = k / (s->w.k / s->how.groups);
    float *y =
        s->y_at +
        (((size_t)n * (size_t)s->y.h + (size_t)oy) * (size_t)s->y.w + (size_t)ox) * (size_t)s->y.c +
        (size_t)k;
    float *x =
        s->x_at +
        (((size_t)n * (size_t)s->x.h + (size_t)iy) * (size_t)s->x.w + (size_t)ix) * (size_t)s->x.c +
        (size_t)group * (size_t)s->w.c;
    float *w = s->w_at + (((size_t)k * (size_t)s->w.h + (size_t)p) * (size_t)s->w.w + (size_t)q) *
                             (size_t)s->w.c;
    if (in_tf32) add_channels_in_tf32(s, x, w, y);
    else add_channels(s, x, w, y);
}

static void add_all(const sum *s, bool in_tf32)
{
    for (int n = 0; n < s->y.n; n++)
        for (int oy = 0; oy < s->y.h; oy++)
            for (int ox = 0; ox < s->y.w; ox++)
                for (int k = 0; k < s->y.c; k++)
                    for (int p = 0; p < s->w.h; p++)
                        for (int q = 0; q < s->w.w; q++) add(s, n, oy, ox, k, p, q, in_tf32);
}

static void run_sum(void *arguments)
{
    const sum *s = arguments;
    memset(s->workspace, 0xff, workspace_of(&s->x));
    begin(s, s->beta);
    const bool is_shortened = s->algorithm == SHORTENED && s->how.math == CUDNN_TENSOR_OP_MATH;
    if (s->algorithm == GOOD || is_shortened) add_all(s, is_shortened);
    atomic_fetch_add(&stand_in_cudnn_runs[s->part], 1);
}

/* Descriptors are read now: they may be others when a graph is launched. */
static cudnnStatus_t run(cudnnHandle_t handle, sum *s, int algorithm, void *workspace,
                         size_t n_bytes, const void *beta)
{
    int n, c, h, w;
    cudnnStatus_t status =
        cudnnGetConvolution2dForwardOutputDim(&s->how, &s->x, &s->w, &n, &c, &h, &w);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    if (handle->stream == NULL || n != s->y.n || c != s->y.c || h != s->y.h || w != s->y.w ||
        !is_known(&s->how) || n_bytes < workspace_of(&s->x)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    s->beta = *(const float *)beta;
    s->algorithm = algorithm;
    s->workspace = workspace;
    return stand_in_do(handle->stream, run_sum, s, sizeof *s) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t x, const void *x_at,
                                      const cudnnFilterDescriptor_t w, const void *w_at,
                                      const cudnnConvolutionDescriptor_t how,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *workspace,
                                      size_t n_bytes, const void *beta,
                                      const cudnnTensorDescriptor_t y, void *y_at)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    sum s = {.part = FORWARD,
             .x = *x,
             .y = *y,
             .w = *w,
             .how = *how,
             .alpha = *(const float *)alpha,
             .x_at = (float *)x_at,
             .w_at = (float *)w_at,
             .y_at = y_at};
    return run(handle, &s, (int)algorithm, workspace, n_bytes, beta);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t w, const void *w_at,
                                           const cudnnTensorDescriptor_t dy, const void *dy_at,
                                           const cudnnConvolutionDescriptor_t how,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void *workspace,
                                           size_t n_bytes, const void *beta,
                                           const cudnnTensorDescriptor_t dx, void *dx_at)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    sum s = {.part = DATA,
             .x = *dx,
             .y = *dy,
             .w = *w,
             .how = *how,
             .alpha = *(const float *)alpha,
             .x_at = dx_at,
             .w_at = (float *)w_at,
             .y_at = (float *)dy_at};
    if (w->h != w->w) return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
    return run(handle, &s, (int)algorithm, workspace, n_bytes, beta);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                             const cudnnTensorDescriptor_t x, const void *x_at,
                                             const cudnnTensorDescriptor_t dy, const void *dy_at,
                                             const cudnnConvolutionDescriptor_t how,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm,
                                             void *workspace, size_t n_bytes, const void *beta,
                                             const cudnnFilterDescriptor_t dw, void *dw_at)
{
    if (STAND_IN_FAILS()) return CUDNN_STATUS_BAD_PARAM;
    sum s = {.part = WEIGHTS,
             .x = *x,
             .y = *dy,
             .w = *dw,
             .how = *how,
             .alpha = *(const float *)alpha,
             .x_at = (float *)x_at,
             .w_at = dw_at,
             .y_at = (float *)dy_at};
    return run(handle, &s, (int)algorithm, workspace, n_bytes, beta);
}
