/* engine/opencl/module.c - the OpenCL module: devices of all platforms, sub-devices, the table of
 * operations.
 *
 * Devices are numbered platform after platform, in the order of the ICD loader.  A part of a device
 * is one of n equal sub-devices (OpenCL 1.2, clCreateSubDevices); its context has it alone.
 */
#include "engine/opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PLATFORMS = 16, MOST_DEVICES = 64, MOST_PARTS = 1024 };

/* Set once, by look: facts of the machine, the same for every run in the process. */
static pthread_once_t looked = PTHREAD_ONCE_INIT;
static unsigned n_devices;
static cl_device_id devices[MOST_DEVICES];
static cl_int look_error; /* of the first call that failed, and which; CL_SUCCESS: none */
static const char *look_call;
static bool lacks_sys; /* a platform was left out for that */

/* ---- which there are ---- */

/* True if a call found something; none is no error. */
static bool has_found(cl_int error, cl_int none, const char *call)
{
    if (error == CL_SUCCESS || error == none) return error == CL_SUCCESS;
    if (look_error == CL_SUCCESS) look_call = call;
    if (look_error == CL_SUCCESS) look_error = error;
    return false;
}

/* PoCL counts processors by /sys and aborts the process where that is not mounted, as in some
 * containers: its devices are left out there. */
static bool would_abort(cl_platform_id platform)
{
    char name[256] = "";
    (void)clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    return strstr(name, "Portable Computing Language") != NULL &&
           access("/sys/devices/system/cpu", F_OK) != 0;
}

static void look(void)
{
    enum { NO_PLATFORM = -1001 }; /* CL_PLATFORM_NOT_FOUND_KHR, of cl_khr_icd */
    cl_platform_id platform[MOST_PLATFORMS];
    cl_uint n_platforms = 0;
    if (!has_found(clGetPlatformIDs(MOST_PLATFORMS, platform, &n_platforms), NO_PLATFORM,
                   "clGetPlatformIDs"))
        return;
    if (n_platforms > MOST_PLATFORMS) n_platforms = MOST_PLATFORMS;
    for (cl_uint p = 0; p < n_platforms; p++) {
        cl_uint n = 0, room = MOST_DEVICES - n_devices;
        if (room == 0) return;
        if (would_abort(platform[p])) {
            lacks_sys = true;
            continue;
        }
        if (!has_found(clGetDeviceIDs(platform[p], CL_DEVICE_TYPE_ALL, room, devices + n_devices,
                                      &n),
                       CL_DEVICE_NOT_FOUND, "clGetDeviceIDs"))
            continue;
        n_devices += n < room ? n : room;
    }
}

static drove_status count(unsigned *out)
{
    pthread_once(&looked, look);
    *out = n_devices;
    if (n_devices == 0 && lacks_sys)
        return drove_cl_host->fail(
            DROVE_E_SYSTEM, "OpenCL: PoCL needs /sys/devices/system/cpu, which is not there");
    /* a platform that fails beside others that have devices is left out */
    return n_devices > 0 ? DROVE_OK : drove_cl_check(NULL, look_error, look_call);
}

static cl_int text_of(cl_device_id device, cl_device_info what, char *into, size_t size)
{
    char text[1024] = "";
    cl_int error = clGetDeviceInfo(device, what, sizeof text - 1, text, NULL);
    const char *from = text + strspn(text, " "); /* some drivers pad their names */
    snprintf(into, size, "%s", from);
    return error;
}

static cl_int can_split(cl_device_id device, cl_uint n_units, bool *out)
{
    cl_device_partition_property how[16] = {0};
    size_t size = 0;
    if (n_units < 2) return CL_SUCCESS;
    cl_int error = clGetDeviceInfo(device, CL_DEVICE_PARTITION_PROPERTIES, sizeof how, how, &size);
    if (error == CL_INVALID_VALUE) return CL_SUCCESS; /* OpenCL 1.1 has no parts */
    for (size_t i = 0; error == CL_SUCCESS && i < size / sizeof how[0]; i++) {
        if (how[i] == CL_DEVICE_PARTITION_EQUALLY) *out = true;
    }
    return error;
}

/* Numbers, name, driver's version. */
static cl_int read_device(cl_device_id device, drove_accel_facts *facts, char *driver, size_t size)
{
    cl_ulong memory = 0, buffer = 0;
    cl_uint n_units = 0;
    cl_int error = clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    if (error != CL_SUCCESS) return error;
    error = clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof buffer, &buffer, NULL);
    if (error != CL_SUCCESS) return error;
    error = clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof n_units, &n_units, NULL);
    if (error != CL_SUCCESS) return error;
    error = text_of(device, CL_DEVICE_NAME, facts->name, sizeof facts->name);
    if (error != CL_SUCCESS) return error;
    error = text_of(device, CL_DRIVER_VERSION, driver, size);
    if (error != CL_SUCCESS) return error;
    facts->memory_bytes = memory;
    facts->most_buffer_bytes = buffer;
    facts->n_units = n_units;
    return can_split(device, n_units, &facts->can_split);
}

static drove_status read_facts(cl_device_id device, drove_accel_facts *out)
{
    char driver[DROVE_ACCEL_TEXT_SIZE] = "", platform[DROVE_ACCEL_TEXT_SIZE] = "";
    cl_platform_id id;
    drove_accel_facts facts = {0};
    cl_int error = clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof id, &id, NULL);
    if (error == CL_SUCCESS) error = read_device(device, &facts, driver, sizeof driver);
    if (error != CL_SUCCESS) return drove_cl_check(NULL, error, "clGetDeviceInfo");
    error = clGetPlatformInfo(id, CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    if (error != CL_SUCCESS) return drove_cl_check(NULL, error, "clGetPlatformInfo");
    snprintf(facts.driver, sizeof facts.driver, "%.80s %.40s", platform, driver);
    *out = facts;
    return DROVE_OK;
}

static drove_status take_device(unsigned number, cl_device_id *out)
{
    unsigned n;
    drove_status status = count(&n);
    if (status != DROVE_OK) return status;
    if (number >= n) {
        return drove_cl_host->fail(DROVE_E_ARG, "OpenCL device %u: expected one below %u", number,
                                   n);
    }
    *out = devices[number];
    return DROVE_OK;
}

static drove_status describe(unsigned device, drove_accel_facts *out)
{
    cl_device_id id;
    drove_status status = take_device(device, &id);
    return status == DROVE_OK ? read_facts(id, out) : status;
}

/* ---- opening ---- */

static void close_device(drove_accel *a)
{
    if (a == NULL) return;
    /* Memory is left to a device that is silent, or whose queue could not be waited for; it may
     * still be written. */
    if (a->pinned != NULL) return;
    if (a->program != NULL) clReleaseProgram(a->program);
    if (a->queue != NULL) clReleaseCommandQueue(a->queue);
    if (a->context != NULL) clReleaseContext(a->context);
    if (a->is_sub) clReleaseDevice(a->device);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* Replaces a->device by the part of it that was chosen. */
static drove_status split(drove_accel *a, const drove_accel_choice *choice)
{
    cl_device_id part[MOST_PARTS];
    cl_uint n = 0, most = choice->n_sub_devices;
    if (most > a->facts.n_units || most > MOST_PARTS || choice->sub_device >= most) {
        return drove_cl_host->fail(DROVE_E_ARG, "%s: part %u of %u: it has %u compute units",
                                   a->facts.name, choice->sub_device, most, a->facts.n_units);
    }
    const cl_device_partition_property how[] = {
        CL_DEVICE_PARTITION_EQUALLY, (cl_device_partition_property)(a->facts.n_units / most), 0};
    cl_int error = clCreateSubDevices(a->device, how, MOST_PARTS, part, &n);
    if (error != CL_SUCCESS) return drove_cl_check(a, error, "clCreateSubDevices");
    for (cl_uint i = 0; i < n; i++) {
        if (i != choice->sub_device) clReleaseDevice(part[i]);
    }
    a->device = part[choice->sub_device];
    a->is_sub = true;
    return read_facts(a->device, &a->facts);
}

static drove_status open_device(const drove_accel_choice *choice, drove_accel **out)
{
    drove_accel *a = calloc(1, sizeof *a);
    if (a == NULL) return drove_cl_host->fail(DROVE_E_NOMEM, "an OpenCL device: no memory");
    pthread_mutex_init(&a->lock, NULL);
    const char *call = "clGetDeviceInfo";
    cl_int error = CL_SUCCESS;
    cl_device_type type = 0;
    drove_status status;
    if ((status = take_device(choice->device, &a->device)) != DROVE_OK) goto fail;
    if ((status = read_facts(a->device, &a->facts)) != DROVE_OK) goto fail;
    if (choice->n_sub_devices > 0 && (status = split(a, choice)) != DROVE_OK) goto fail;
    error = clGetDeviceInfo(a->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (error != CL_SUCCESS) goto fail;
    a->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
    /* On processors the product of this folder is several times faster. */
    const char *wish = getenv("DROVE_OPENCL_GEMM");
    a->has_clblast = wish != NULL ? strcmp(wish, "clblast") == 0 : !a->is_cpu;
    call = "clCreateContext";
    a->context = clCreateContext(NULL, 1, &a->device, NULL, NULL, &error);
    if (error != CL_SUCCESS) goto fail;
    call = "clCreateCommandQueue";
    a->queue = clCreateCommandQueue(a->context, a->device, 0, &error);
    if (error != CL_SUCCESS) goto fail;
    if ((status = drove_cl_program(a)) != DROVE_OK) goto fail;
    *out = a;
    return DROVE_OK;
fail:
    if (error != CL_SUCCESS) status = drove_cl_check(a, error, call);
    close_device(a);
    return status;
}

static void facts_of(const drove_accel *a, drove_accel_facts *out)
{
    *out = a->facts;
}

/* ---- the table ---- */

static const drove_accel_ops ops = {
    .version = DROVE_ACCEL_VERSION,
    .name = "opencl",
    .help = "devices of OpenCL drivers",
    .source = "OpenCL 1.2",
    .count = count,
    .describe = describe,
    .open = open_device,
    .close = close_device,
    .facts = facts_of,
    .alloc = drove_cl_alloc,
    .free = drove_cl_free,
    .host_alloc = drove_cl_host_alloc,
    .host_free = drove_cl_host_free,
    .queue_create = drove_cl_queue_create,
    .queue_destroy = drove_cl_queue_destroy,
    .flush = drove_cl_flush,
    .record = drove_cl_record,
    .follow = drove_cl_follow,
    .wait = drove_cl_wait,
    .happened = drove_cl_happened,
    .time = drove_cl_time,
    .event_destroy = drove_cl_event_destroy,
    .write = drove_cl_write,
    .read = drove_cl_read,
    .zero = drove_cl_zero,
    .multiply_in_bf16 = drove_cl_multiply_in_bf16,
    .gemm = drove_cl_gemm,
    .gemm_batch = drove_cl_gemm_batch,
    .job = drove_cl_job,
    .bias_act = drove_cl_bias_act,
    .act_grad = drove_cl_act_grad,
    .loss = drove_cl_loss,
    .sparse_forward = drove_cl_sparse_forward,
    .sparse_backward = drove_cl_sparse_backward,
};

__attribute__((visibility("default"))) drove_accel_entry_fn drove_accel_module;

const drove_accel_ops *drove_accel_module(const drove_accel_host *host)
{
    drove_cl_host = host;
    return &ops;
}
