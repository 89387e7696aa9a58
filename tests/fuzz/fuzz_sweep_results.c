/* tests/fuzz/fuzz_sweep_results.c - results of a sweep as the next call finds them: each record
 * stands at its run, and what follows the last line end is no record.
 */
#include "study/sweep_results.h"

#include "fuzz_folder.h"
#include "fuzz_text.h"

#include <math.h>

enum { N_RUNS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[FUZZ_PATH_SIZE];
    json_t *all, *record;
    drove_jsonl *journal = NULL;
    bool had_half = true;
    size_t i;
    snprintf(path, sizeof path, "%s/results.jsonl", fuzz_folder());
    fuzz_write(path, data, size_bytes);
    const drove_status status = drove__sweep_results_read(path, N_RUNS, &all, &journal, &had_half);
    drove__jsonl_close(journal);
    if (!fuzz_is_ok(status)) {
        if (all != NULL) abort();
        return 0;
    }
    if (had_half != (size_bytes > 0 && data[size_bytes - 1] != '\n')) abort();
    if (json_array_size(all) != N_RUNS) abort();
    json_array_foreach(all, i, record)
    {
        if (json_is_null(record)) continue;
        if (json_integer_value(json_object_get(record, "run")) != (json_int_t)i + 1) abort();
        (void)drove__sweep_has_crashed(record);
        const double value = drove__sweep_figure(record, "train_s");
        if (isinf(value)) abort();
    }
    json_decref(all);
    return 0;
}
