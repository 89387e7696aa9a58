/* engine/opencl/program.c - the device code: its sources, compiled once per device and driver and
 * kept on disk.
 *
 * A file of the cache is named after a hash of all that its contents depend on: device, driver,
 * sources, options.  It holds a header with the size and the hash of the program behind it; a file
 * that is damaged, cut or of another driver is ignored and written anew.  It appears whole or not
 * at all (a name of its own, then rename), so that many processes may share the folder.
 */
#include "engine/opencl/opencl.h"

#include "engine/accel/kernels.h" /* made by the build: the texts of the sources */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, OPTIONS_SIZE = 256, LOG_SIZE = 2048, MOST_BYTES = 1 << 28 };

static const char *const sources[] = {prelude_opencl_h, job_h,    curves_h, activation_h,
                                      bf16_h,           sparse_h, loss_h,   images_h,
                                      pool_h,           norm_h,   update_h, gemm_opencl_h};
enum { N_SOURCES = sizeof sources / sizeof sources[0] };

static const char MAGIC[8] = "drovecl1";

typedef struct header {
    char magic[sizeof MAGIC];
    uint64_t n_bytes, hash; /* of the program behind it */
} header;

/* FNV-1a, 64 bits */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

static bool cache_path(const drove_accel *a, const char *options, char into[PATH_SIZE])
{
    if (drove_cl_host->cache_folder == NULL) return false;
    uint64_t hash = 0xcbf29ce484222325u;
    hash = hash_text(hash, a->facts.name);
    hash = hash_text(hash, a->facts.driver);
    hash = hash_text(hash, options);
    hash = hash_bytes(hash, &a->facts.n_units, sizeof a->facts.n_units);
    for (size_t i = 0; i < N_SOURCES; i++) hash = hash_text(hash, sources[i]);
    int n = snprintf(into, PATH_SIZE, "%s/opencl-%016llx.bin", drove_cl_host->cache_folder,
                     (unsigned long long)hash);
    return n > 0 && n < PATH_SIZE;
}

/* The program of a file; NULL: there is none, or it is damaged.  free(). */
static unsigned char *load_file(const char *path, size_t *n_bytes)
{
    header h;
    unsigned char *bytes = NULL;
    FILE *f = fopen(path, "rb");
    if (f == NULL) return NULL;
    if (fread(&h, sizeof h, 1, f) == 1 && memcmp(h.magic, MAGIC, sizeof MAGIC) == 0 &&
        h.n_bytes > 0 && h.n_bytes <= MOST_BYTES) {
        bytes = malloc(h.n_bytes);
        if (bytes != NULL && (fread(bytes, 1, h.n_bytes, f) != h.n_bytes || fgetc(f) != EOF ||
                              hash_bytes(0, bytes, h.n_bytes) != h.hash)) {
            free(bytes);
            bytes = NULL;
        }
        *n_bytes = h.n_bytes;
    }
    fclose(f);
    return bytes;
}

/* A cache that cannot be written is no failure. */
static void save_file(const char *path, const unsigned char *bytes, size_t n_bytes)
{
    char own[PATH_SIZE + 32];
    header h = {.n_bytes = n_bytes, .hash = hash_bytes(0, bytes, n_bytes)};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    snprintf(own, sizeof own, "%s.XXXXXX", path);
    int fd = mkstemp(own);
    if (fd < 0) return;
    FILE *f = fdopen(fd, "wb");
    if (f == NULL) {
        close(fd);
        unlink(own);
        return;
    }
    bool is_whole = fwrite(&h, sizeof h, 1, f) == 1 && fwrite(bytes, 1, n_bytes, f) == n_bytes;
    is_whole = fclose(f) == 0 && is_whole;
    if (!is_whole || rename(own, path) != 0) unlink(own);
}

static void save_program(const drove_accel *a, const char *path)
{
    size_t n_bytes = 0;
    if (clGetProgramInfo(a->program, CL_PROGRAM_BINARY_SIZES, sizeof n_bytes, &n_bytes, NULL) !=
            CL_SUCCESS ||
        n_bytes == 0) {
        return;
    }
    unsigned char *bytes = malloc(n_bytes);
    if (bytes != NULL && clGetProgramInfo(a->program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes,
                                          NULL) == CL_SUCCESS) {
        save_file(path, bytes, n_bytes);
    }
    free(bytes);
}

static bool load_program(drove_accel *a, const char *path, const char *options)
{
    size_t n_bytes = 0;
    cl_int error, of_binary = CL_SUCCESS;
    unsigned char *bytes = load_file(path, &n_bytes);
    if (bytes == NULL) return false;
    const unsigned char *binary = bytes;
    a->program =
        clCreateProgramWithBinary(a->context, 1, &a->device, &n_bytes, &binary, &of_binary, &error);
    free(bytes);
    if (error == CL_SUCCESS && of_binary == CL_SUCCESS &&
        clBuildProgram(a->program, 1, &a->device, options, NULL, NULL) == CL_SUCCESS) {
        return true;
    }
    if (error == CL_SUCCESS) clReleaseProgram(a->program);
    a->program = NULL;
    return false;
}

drove_status drove_cl_program(drove_accel *a)
{
    char path[PATH_SIZE], options[OPTIONS_SIZE];
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DDROVE_COLS=%d -DDROVE_LANES=%d",
             a->is_cpu ? 256 : 1, a->is_cpu ? 1 : 32);
    bool is_kept = cache_path(a, options, path);
    if (is_kept && load_program(a, path, options)) return DROVE_OK;

    cl_int error;
    const char *source[N_SOURCES]; /* the call wants pointers that are not constant */
    memcpy(source, sources, sizeof source);
    a->program = clCreateProgramWithSource(a->context, N_SOURCES, source, NULL, &error);
    if (error != CL_SUCCESS) return drove_cl_check(a, error, "clCreateProgramWithSource");
    error = clBuildProgram(a->program, 1, &a->device, options, NULL, NULL);
    if (error != CL_SUCCESS) {
        char log[LOG_SIZE] = "";
        clGetProgramBuildInfo(a->program, a->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log,
                              NULL);
        log[strcspn(log, "\n")] = '\0'; /* the first line says what is wrong */
        return drove_cl_host->fail(DROVE_E_SYSTEM, "%s: the kernels do not compile (%d): %.200s",
                                   a->facts.name, (int)error, log);
    }
    if (is_kept) save_program(a, path);
    return DROVE_OK;
}
