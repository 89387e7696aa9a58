/* tests/fuzz/fuzz_dmgc.c - DMGC signatures and densities as a user may type them.
 *
 * What is accepted is printed as it was written, and every question about it has an answer; what is
 * refused is refused in one line.
 */
#include <drove/dmgc.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_error(void)
{
    const char *error = drove_error_text();
    if (error[0] == '\0' || strpbrk(error, "\r\n") != NULL) abort();
}

static void check_signature(const char *text)
{
    drove_dmgc signature;
    char printed[DROVE_DMGC_TEXT_SIZE], line[DROVE_DMGC_LINE_SIZE];
    if (drove_dmgc_parse(text, &signature) != DROVE_OK) {
        check_error();
        return;
    }
    if (drove_dmgc_print(&signature, printed) != DROVE_OK || strcmp(printed, text) != 0) abort();
    for (int c = 0; c < DROVE_DMGC_CLASSES; c++) {
        if (drove_dmgc_explain(&signature, (drove_dmgc_class)c, line) != DROVE_OK) abort();
        if (strlen(line) + 2 >= DROVE_DMGC_LINE_SIZE) abort(); /* it was cut, or nearly */
    }
    if (drove_dmgc_family(&signature) == NULL) abort();
    drove_dmgc_setting setting = drove_dmgc_setting_default();
    drove_dmgc_prediction p;
    drove_status status = drove_dmgc_predict(&signature, &setting, &p);
    if (status == DROVE_E_UNSUPPORTED) check_error();
    else if (status != DROVE_OK || !isfinite(p.gnps) || p.gnps <= 0.0) abort();
}

static void check_density(const char *text)
{
    drove_dmgc_setting setting = drove_dmgc_setting_default();
    if (drove_dmgc_setting_set(&setting, "sparse", text) != DROVE_OK) return;
    if (!(setting.density > 0.0 && setting.density <= 1.0)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char *text = malloc(size_bytes + 1);
    if (text == NULL) return 0;
    memcpy(text, data, size_bytes);
    text[size_bytes] = '\0';
    check_signature(text);
    check_density(text);
    free(text);
    return 0;
}
