/* tests/fuzz/fuzz_spec.c - specs and numbers as a user may type them.
 *
 * Whatever is accepted has a name and no empty part, and a number that is accepted is finite and in
 * its range.
 */
#include "base/spec_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    uint64_t whole, bytes;
    double real;
    unsigned word;
    bool flag, bit;
    const char *text;
    drove_sides size;
    drove_counts counts;
} settings;

static const char *const words[] = {"none", "unit", NULL};
static const drove_spec_key keys[] = {
    {"N", NULL, DROVE_AS_COUNT(settings, whole, 1, 9), .is_argument = true, .word = "inf"},
    {"REST", NULL, DROVE_AS_COUNTS(settings, counts, 1, 99), .is_argument = true},
    {"scale", NULL, DROVE_AS_WORD(settings, word, words)},
    {"split", NULL, DROVE_AS_REAL(settings, real, 0.0, 7.0)},
    {"block", NULL, DROVE_AS_BYTES(settings, bytes)},
    {"skip", NULL, DROVE_AS_FLAG(settings, flag)},
    {"mirror", NULL, DROVE_AS_BIT(settings, bit)},
    {"label", NULL, DROVE_AS_TEXT(settings, text)},
    {"size", NULL, DROVE_AS_SIDES(settings, size, 1, 99)},
    DROVE_SPEC_END,
};

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
    settings set = {.whole = 7, .real = 7.0};
    (void)drove__spec_accept(&spec, NULL);
    if (drove__spec_read(&spec, keys, &set) == DROVE_OK &&
        (set.whole < 1 || set.whole > 9 || !(set.real >= 0.0 && set.real <= 7.0) || set.word > 1 ||
         set.size.height > 99 || set.counts.n > DROVE_SPEC_MAX_ARGS))
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
