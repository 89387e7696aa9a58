/* tests/fuzz/fuzz_state.c - the state that a run goes on from: the input is state.safetensors, and
 * the run is the kind whose strategy and rule it names.  A run goes on and leaves a state that can
 * be read, or refuses and leaves the file as it was.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "fuzz_run.h"

static bool has(const uint8_t *data, size_t size_bytes, const char *word)
{
    return memmem(data, size_bytes, word, strlen(word)) != NULL;
}

static unsigned kind_of(const uint8_t *data, size_t size_bytes)
{
    if (has(data, size_bytes, "measgd")) return 4;
    if (has(data, size_bytes, "easgd")) return 1;
    if (has(data, size_bytes, "D8M8")) return 2;
    return has(data, size_bytes, "mlp:2") ? 3 : 0;
}

static void check_unchanged(const char *path, const uint8_t *data, size_t size_bytes)
{
    size_t n;
    char *now = fuzz_read(path, &n);
    if (now == NULL || n != size_bytes || memcmp(now, data, n) != 0) abort();
    free(now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[FUZZ_PATH_SIZE];
    int exit_status;
    const fuzz_run *run = fuzz_run_of(kind_of(data, size_bytes));
    fuzz_restore_run(run);
    snprintf(path, sizeof path, "%s/state.previous.safetensors", run->folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/state.safetensors", run->folder);
    fuzz_write(path, data, size_bytes);
    if (fuzz_go_on(run, &run->options, &exit_status) != DROVE_OK)
        check_unchanged(path, data, size_bytes);
    return 0;
}
