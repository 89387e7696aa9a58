/* engine/cuda/module.c - the table of the CUDA module, and its devices. */
#include "engine/cuda/cuda.h"

#include "engine/cuda/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUES = 2 }; /* for whose scratch memory is left */

/* ---- devices ---- */

/* No driver is no error; one that is older than this module's CUDA is. */
static drove_status count(unsigned *out)
{
    int n = 0, has = 0, needs = 0;
    cudaError_t error = cudaGetDeviceCount(&n);
    if (error == cudaSuccess) {
        *out = (unsigned)n;
        return DROVE_OK;
    }
    cudaGetLastError();
    *out = 0;
    const bool has_driver = cudaDriverGetVersion(&has) != cudaSuccess || has > 0;
    if (cudaRuntimeGetVersion(&needs) != cudaSuccess) needs = 0;
    cudaGetLastError();
    if (error == cudaErrorNoDevice || !has_driver) return DROVE_OK;
    if (error == cudaErrorInsufficientDriver) {
        return drove_cuda_host->fail(DROVE_E_UNSUPPORTED,
                                     "expected a driver for CUDA %d.%d or later, found one for "
                                     "CUDA %d.%d",
                                     needs / 1000, needs % 1000 / 10, has / 1000, has % 1000 / 10);
    }
    return drove_cuda_host->fail(drove_cuda_status_of(error), "cudaGetDeviceCount: %s",
                                 cudaGetErrorString(error));
}

static drove_status describe(unsigned device, drove_accel_facts *out)
{
    struct cudaDeviceProp properties;
    int driver = 0, used;
    unsigned major, minor;
    drove_accel nameless = {.device = (int)device, .facts = {.name = "a GPU"}};
    DROVE_CUDA_TRY(&nameless, cudaGetDeviceProperties(&properties, (int)device));
    DROVE_CUDA_TRY(&nameless, cudaDriverGetVersion(&driver));
    *out = (drove_accel_facts){.memory_bytes = properties.totalGlobalMem,
                               .most_buffer_bytes = properties.totalGlobalMem,
                               .n_units = (unsigned)properties.multiProcessorCount};
    snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, properties.name);
    used = snprintf(out->driver, sizeof out->driver, "CUDA %d.%d, sm_%d%d", driver / 1000,
                    driver % 1000 / 10, properties.major, properties.minor);
    if (used > 0 && (size_t)used < sizeof out->driver && drove_cuda_conv_library(&major, &minor))
        snprintf(out->driver + used, sizeof out->driver - (size_t)used, ", cuDNN %u.%u", major,
                 minor);
    return DROVE_OK;
}

static void close_device(drove_accel *a)
{
    if (a == NULL) return;
    (void)drove_cuda_enter(a); /* what follows does without, too */
    drove_cuda_events_fini(a);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static drove_status prepare(drove_accel *a)
{
    size_t free_bytes, total_bytes;
    drove_status status = drove_cuda_enter(a);
    if (status != DROVE_OK) return status;
    DROVE_CUDA_TRY(a, drove_cuda_probe());
    DROVE_CUDA_TRY(a, cudaMemGetInfo(&free_bytes, &total_bytes));

    /* cuBLAS advises 32 MiB since sm_90, 4 MiB before. */
    int major = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, a->device) != cudaSuccess)
        cudaGetLastError(); /* less is slower, no failure */
    a->workspace_bytes = (size_t)(major >= 9 ? 32 : 4) << 20;
    a->conv_bytes = drove_cuda_conv_bytes(total_bytes);
    size_t kept_bytes = QUEUES * (a->workspace_bytes + DROVE_CUDA_SUMS * sizeof(float));
    kept_bytes += a->conv_bytes; /* one queue has convolutions */
    if (kept_bytes > free_bytes / 2) kept_bytes = free_bytes / 2;
    a->facts.memory_bytes = free_bytes - kept_bytes; /* others may be on this device, too */
    a->facts.most_buffer_bytes = a->facts.memory_bytes;
    DROVE_CUDA_TRY(a, cudaEventCreate(&a->base));
    DROVE_CUDA_TRY(a, cudaEventRecord(a->base, 0));
    DROVE_CUDA_TRY(a, cudaEventSynchronize(a->base));
    return DROVE_OK;
}

/* Tensor cores multiply TF32 since compute capability 8.0. */
static drove_status check_tf32(drove_accel *a)
{
    int major = 0, minor = 0;
    DROVE_CUDA_TRY(a, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, a->device));
    DROVE_CUDA_TRY(a, cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, a->device));
    a->has_tf32 = major >= 8;
    if (a->has_tf32 || !a->in_tf32) return DROVE_OK;
    return drove_cuda_host->fail(
        DROVE_E_UNSUPPORTED,
        "cuda:%d (%s): tf32=yes: expected compute capability 8.0 or later, "
        "found %d.%d",
        a->device, a->facts.name, major, minor);
}

static drove_status open_device(const drove_accel_choice *choice, drove_accel **out)
{
    if (choice->n_sub_devices > 0) {
        return drove_cuda_host->fail(DROVE_E_UNSUPPORTED, "cuda:%u: cannot be split into parts",
                                     choice->device);
    }
    drove_accel *a = calloc(1, sizeof *a);
    if (a == NULL) return drove_cuda_host->fail(DROVE_E_NOMEM, "a device: no memory");
    a->device = (int)choice->device;
    a->in_tf32 = choice->in_tf32;
    a->base_ns = 1; /* 0 would be a time that no event has */
    pthread_mutex_init(&a->lock, NULL);
    drove_status status = describe(choice->device, &a->facts);
    if (status == DROVE_OK) status = check_tf32(a);
    if (status == DROVE_OK) status = prepare(a);
    if (status != DROVE_OK) {
        close_device(a);
        return status;
    }
    *out = a;
    return DROVE_OK;
}

static void facts(const drove_accel *a, drove_accel_facts *out)
{
    *out = a->facts;
}

/* ---- the table ---- */

static const drove_accel_bf16_ops bf16_ops = {
    .keep = drove_cuda_keep_in_bf16,
    .narrow = drove_cuda_narrow,
};

static const drove_accel_sequence_ops sequence_ops = {
    .begin = drove_cuda_sequence_begin,
    .end = drove_cuda_sequence_end,
    .run = drove_cuda_sequence_run,
    .destroy = drove_cuda_sequence_destroy,
};

#ifdef DROVE_HAVE_CUDNN
static const drove_accel_conv_ops conv_ops = {
    .create = drove_cuda_conv_create,
    .destroy = drove_cuda_conv_destroy,
    .can = drove_cuda_conv_can,
    .run = drove_cuda_conv_run,
};
#endif

static const drove_accel_ops ops = {
    .version = DROVE_ACCEL_VERSION,
    .name = "cuda",
    .help = "GPUs of NVIDIA, by CUDA and cuBLAS",
    .source = "CUDA; cuBLAS; cuDNN",
    .count = count,
    .describe = describe,
    .open = open_device,
    .close = close_device,
    .facts = facts,
    .alloc = drove_cuda_alloc,
    .free = drove_cuda_free,
    .host_alloc = drove_cuda_host_alloc,
    .host_free = drove_cuda_host_free,
    .queue_create = drove_cuda_queue_create,
    .queue_destroy = drove_cuda_queue_destroy,
    .flush = drove_cuda_flush,
    .record = drove_cuda_record,
    .follow = drove_cuda_follow,
    .wait = drove_cuda_wait,
    .happened = drove_cuda_happened,
    .time = drove_cuda_time,
    .event_destroy = drove_cuda_event_destroy,
    .write = drove_cuda_write,
    .read = drove_cuda_read,
    .zero = drove_cuda_zero,
    .multiply_in_bf16 = drove_cuda_multiply_in_bf16,
    .gemm = drove_cuda_gemm,
    .gemm_batch = drove_cuda_gemm_batch,
    .job = drove_cuda_job,
    .bias_act = drove_cuda_bias_act,
    .act_grad = drove_cuda_act_grad,
    .loss = drove_cuda_loss,
    .sparse_forward = drove_cuda_sparse_forward,
    .sparse_backward = drove_cuda_sparse_backward,
    .bf16 = &bf16_ops,
    .sequences = &sequence_ops,
#ifdef DROVE_HAVE_CUDNN
    .conv = &conv_ops,
#endif
};

__attribute__((visibility("default"))) const drove_accel_ops *drove_accel_module(
    const drove_accel_host *host);

const drove_accel_ops *drove_accel_module(const drove_accel_host *host)
{
    drove_cuda_host = host;
    return &ops;
}
