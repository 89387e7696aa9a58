/* tests/fuzz/fuzz_spec.c - specs and numbers as a user may type them.
 *
 * Whatever is accepted has a name and no empty part, and a number that is accepted is finite and in
 * its range.
 */
#include "base/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_spec(const char *text)
{
    drove_spec spec;
    if (drove__spec_parse(text, &spec) != DROVE_OK) {
        if (drove_error_text()[0] == '\0') abort();
        return;
    }
    if (spec.name[0] == '\0' || spec.n_args > DROVE_SPEC_MAX_ARGS) abort();
    for (unsigned i = 0; i < spec.n_args; i++) {
        if (spec.arg[i][0] == '\0') abort();
    }
    for (unsigned i = 0; i < spec.n_keys; i++) {
        const char *value = drove__spec_get(&spec, spec.key[i], NULL);
        if (value == NULL || strcmp(value, spec.value[i]) != 0) abort();
    }
    static const char *const known[] = {"scale", "split", NULL};
    static const char *const words[] = {"none", "unit"};
    uint64_t whole = 7;
    double real = 7.0;
    unsigned index = 0;
    (void)drove__spec_check(&spec, 2, known);
    (void)drove__spec_check(&spec, 2, NULL);
    if (drove__spec_u64(&spec, "scale", 1, 9, &whole) == DROVE_OK && (whole < 1 || whole > 9))
        abort();
    if (drove__spec_real(&spec, "split", 0.0, 7.0, &real) == DROVE_OK &&
        !(real >= 0.0 && real <= 7.0))
        abort();
    if (drove__spec_word(&spec, "scale", words, 2, &index) == DROVE_OK && index > 1) abort();
    if (drove__spec_arg_u64(&spec, 0, 1, 9, &whole) == DROVE_OK && (whole < 1 || whole > 9))
        abort();
    if (drove__spec_arg_real(&spec, 1, 0.0, 7.0, &real) == DROVE_OK &&
        !(real >= 0.0 && real <= 7.0))
        abort();
    (void)drove__fail_unknown("word", spec.name, words, 2);
    drove__spec_fini(&spec);
}

static void check_numbers(const char *text)
{
    uint64_t whole = 0;
    double real = 0.0;
    if (drove__parse_u64("--batch", text, 1, 1000, &whole) == DROVE_OK) {
        if (whole < 1 || whole > 1000 || strtoull(text, NULL, 10) != whole) abort();
    }
    if (drove__parse_real("--lr", text, -1e300, 1e300, &real) == DROVE_OK) {
        if (!isfinite(real) || real != strtod(text, NULL)) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char *text = malloc(size_bytes + 1);
    if (text == NULL) return 0;
    memcpy(text, data, size_bytes);
    text[size_bytes] = '\0';
    check_spec(text);
    check_numbers(text);
    free(text);
    return 0;
}
