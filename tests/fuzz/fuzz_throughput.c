/* tests/fuzz/fuzz_throughput.c - files of a machine's constants: what is accepted predicts numbers
 * that are finite, and is written as a file that is accepted and written alike.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "engine/linear/throughput.h"

#include "fuzz_folder.h"
#include "fuzz_text.h"
#include "memory_file.h"

#include <math.h>

static void predict(const drove_throughput *c)
{
    static const char *const signatures[] = {"D8M8", "D32fi32M32f", "D16M16", "D8i8M8"};
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        drove_dmgc signature;
        drove_dmgc_setting setting = drove_dmgc_setting_default();
        drove_dmgc_prediction p;
        setting.constants = c;
        setting.n_threads = 4;
        if (strchr(signatures[i], 'i') != NULL) setting.density = 0.03;
        if (drove_dmgc_parse(signatures[i], &signature) != DROVE_OK) abort();
        if (!fuzz_is_ok(drove_dmgc_predict(&signature, &setting, &p))) continue;
        if (!isfinite(p.gnps) || p.gnps <= 0.0 || !isfinite(p.parallel_fraction)) abort();
    }
}

static void check_saved(const drove_throughput *c)
{
    char path[2][FUZZ_PATH_SIZE];
    char *text[2];
    size_t n[2];
    drove_throughput *again;
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/constants%d.json", fuzz_folder(), i);
    if (drove__throughput_save(c, path[0]) != DROVE_OK) abort();
    if (drove_throughput_open(path[0], &again) != DROVE_OK) abort();
    if (drove__throughput_save(again, path[1]) != DROVE_OK) abort();
    drove_throughput_close(again);
    for (int i = 0; i < 2; i++) text[i] = fuzz_read(path[i], &n[i]);
    if (n[0] != n[1] || memcmp(text[0], text[1], n[0]) != 0) abort();
    free(text[0]);
    free(text[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    memory_file file;
    drove_throughput *c;
    memory_file_init(&file, data, size_bytes);
    if (fuzz_is_ok(drove_throughput_open(file.path, &c))) {
        predict(c);
        check_saved(c);
        drove_throughput_close(c);
    } else if (c != NULL) {
        abort();
    }
    memory_file_fini(&file);
    return 0;
}
