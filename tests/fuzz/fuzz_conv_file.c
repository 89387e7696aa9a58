/* tests/fuzz/fuzz_conv_file.c - the file of measured convolutions: the input is the file, its first
 * line is also the key that is looked for.  What is found is usable; a record that is added is
 * found, and the other records stay.
 */
#include "kernel/conv/file.h"

#include "fuzz_folder.h"
#include "fuzz_text.h"

#include <math.h>

static void check_record(const drovek_conv_record *r)
{
    if (r->n_choices == 0 || r->n_choices > DROVEK_CONV_CHOICES) abort();
    for (size_t i = 0; i < r->n_choices; i++) {
        const drovek_conv_choice *c = &r->choice[i];
        if (!(c->step_s > 0.0) || !isfinite(c->step_s)) abort();
        if (c->way[0] == '\0' || memchr(c->way, '\0', sizeof c->way) == NULL) abort();
        if (c->in >= DROVEK_N_FORMATS || c->out >= DROVEK_N_FORMATS) abort();
    }
}

static void look(const char *key)
{
    drovek_conv_record r = {0}, added = {.n_choices = 1}, other = {0};
    const bool had = drovek_conv_file_find(key, &r);
    if (had) check_record(&r);
    snprintf(added.key, sizeof added.key, "of the fuzzer");
    snprintf(added.choice[0].way, sizeof added.choice[0].way, "gemm");
    added.choice[0].step_s = 0.5;
    const bool is_other = strcmp(key, added.key) != 0;
    drovek_conv_file_add(&added);
    if (!drovek_conv_file_find(added.key, &other)) abort();
    check_record(&other);
    if (other.n_choices != 1 || strcmp(other.choice[0].way, "gemm") != 0) abort();
    memset(&other, 0, sizeof other);
    if (drovek_conv_file_find(key, &other) != (had || !is_other)) abort();
    if (had && is_other && other.n_choices != r.n_choices) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[FUZZ_PATH_SIZE];
    char *text = fuzz_text(data, size_bytes);
    setenv("XDG_CACHE_HOME", fuzz_folder(), 1);
    snprintf(path, sizeof path, "%s/drove", fuzz_folder());
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/drove/convolutions", fuzz_folder());
    fuzz_write(path, data, size_bytes);
    char *key = strchr(text, '\n');
    key = key != NULL ? key + 1 : text; /* of the line behind the heading */
    key[strcspn(key, "\t\n")] = '\0';
    if (strlen(key) < DROVEK_CONV_KEY) look(key);
    free(text);
    return 0;
}
