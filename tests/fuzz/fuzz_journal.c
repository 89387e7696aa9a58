/* tests/fuzz/fuzz_journal.c - the journal of a study as `drove tune` finds it: what is accepted is
 * read the same a second time, and a half line at its end is gone.
 */
#include "study/runner.h"
#include "study/trial.h"
#include "trace/trace.h"
#include "values/progress.h"

#include "fuzz_folder.h"
#include "fuzz_text.h"

#include <math.h>

static void check(const drove_trials_options *opt, const char *journal, const uint8_t *data,
                  size_t size_bytes)
{
    drove_trials_bench *b, *again;
    size_t n;
    if (!fuzz_is_ok(drove__trials_open(opt, &b))) {
        drove__trials_close(b);
        return;
    }
    const uint64_t n_trials = drove__trials_count(b);
    const double seconds = drove__trials_seconds(b);
    drove__trials_close(b);
    char *left = fuzz_read(journal, &n); /* the whole lines of the input */
    if (n > size_bytes || memcmp(left, data, n) != 0 || (n > 0 && left[n - 1] != '\n')) abort();
    if (memchr(data + n, '\n', size_bytes - n) != NULL) abort();
    free(left);
    if (drove__trials_open(opt, &again) != DROVE_OK) abort();
    if (drove__trials_count(again) != n_trials) abort();
    const double seconds_again = drove__trials_seconds(again);
    if (seconds_again != seconds && !(isnan(seconds) && isnan(seconds_again))) abort();
    drove__trials_close(again);
}

static void check_message(const char *path)
{
    char message[64] = "x";
    drove__child_message(path, message, sizeof message);
    if (strlen(message) >= sizeof message || strchr(message, '\n') != NULL) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static drove_tune_options tune;
    char journal[FUZZ_PATH_SIZE], identity[FUZZ_PATH_SIZE];
    json_t *study = json_pack("{s:s}", "data", "x.csv");
    const drove_trials_options opt = {.tune = &tune,
                                      .data = "x.csv",
                                      .folder = fuzz_folder(),
                                      .study = study,
                                      .base = "base.yaml",
                                      .metric = &drove__study_metrics[0],
                                      .interrupts = drove__run_interrupts()};
    snprintf(journal, sizeof journal, "%s/trials.jsonl", fuzz_folder());
    snprintf(identity, sizeof identity, "%s/study.json", fuzz_folder());
    unlink(identity);
    fuzz_write(journal, data, size_bytes);
    check_message(journal);
    check(&opt, journal, data, size_bytes);
    fuzz_write(identity, data, size_bytes); /* of another study */
    drove_trials_bench *b;
    (void)fuzz_is_ok(drove__trials_open(&opt, &b));
    drove__trials_close(b);
    json_decref(study);
    drove_jsonl *log;
    if (drove__jsonl_open(fuzz_folder(), &log) == DROVE_OK || log != NULL) abort(); /* no file */
    return 0;
}
