/* data/disk/quant_file.c - functions shared by the reader and the writer of quant:FILE. */
#include "data/disk/quant_file.h"

#include "base/mem.h"
#include "data/fingerprint.h"

#include <stdio.h>
#include <string.h>

static void add_sized(drove_checksum *sum, const void *bytes, size_t n)
{
    const uint64_t size_bytes = n;
    drove__checksum_add(sum, &size_bytes, sizeof size_bytes);
    drove__checksum_add(sum, bytes, n);
}

drove_status drove__quant_fingerprint(const drove_data *data, char into[DROVE_CHECKSUM_TEXT_SIZE])
{
    const drove_storage *s = data->storage;
    const char *kind = drove__storage_name(s);
    drove_checksum *sum;
    DROVE_TRY(drove__checksum_begin(&sum));
    add_sized(sum, kind, strlen(kind));
    for (size_t i = 0; i < data->n_rows; i++) {
        drove_row_part part[DROVE_MOST_ROW_PARTS];
        unsigned n = drove__row_parts(s, drove__data_row(data, i), part);
        for (unsigned k = 0; k < n; k++) add_sized(sum, part[k].bytes, part[k].n);
    }
    for (size_t i = 0; s->class_name != NULL && i < s->n_classes; i++)
        add_sized(sum, s->class_name[i], strlen(s->class_name[i]));
    drove__checksum_print(drove__checksum_value(sum), into);
    drove__checksum_end(sum);
    return DROVE_OK;
}

/* ---- keys ---- */

static bool find_word(const char *text, const char *const *words, size_t n, size_t *out)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, words[i]) != 0) continue;
        *out = i;
        return true;
    }
    return false;
}

drove_status drove__quant_precision(const drove_spec *spec, bool is_sparse, drove_number *number,
                                    unsigned *index_bits)
{
    static const char *const numbers[DROVE_NUMBERS] = {"D4", "D8", "D16", "D32f"};
    static const char *const indices[] = {"", "i8", "i16", "i32", "[i8]", "[i16]", "[i32]"};
    static const unsigned bits[] = {0, 8, 16, 32, 8, 16, 32};
    const char *text = drove__spec_get(spec, "precision", NULL);
    size_t n = 0, index = DROVE_COUNT(indices);
    if (text == NULL) return DROVE_OK;
    for (; n < DROVE_NUMBERS; n++) {
        size_t length = strlen(numbers[n]);
        if (strncmp(text, numbers[n], length) == 0 &&
            find_word(text + length, indices, DROVE_COUNT(indices), &index))
            break;
    }
    if (n == DROVE_NUMBERS) {
        return drove__fail(DROVE_E_ARG,
                           "%s?precision: expected D4, D8, D16 or D32f, of sparse data D8, D16 or "
                           "D32f with i8, i16 or i32 (D8i16), found \"%.40s\"",
                           spec->name, text);
    }
    if (is_sparse && n == DROVE_I4) {
        return drove__fail(DROVE_E_ARG,
                           "%s?precision: the data are sparse: expected D8, D16 or D32f with i8, "
                           "i16 or i32, as 4 bits are for dense data, found \"%s\"",
                           spec->name, text);
    }
    bool has_brackets = index > 3;
    if (is_sparse != (index > 0) && !has_brackets) {
        return drove__fail(DROVE_E_ARG,
                           "%s?precision: the data are %s: expected %s%s, found \"%s\"", spec->name,
                           is_sparse ? "sparse" : "dense", numbers[n],
                           is_sparse ? " with i8, i16 or i32" : "", text);
    }
    *number = (drove_number)n;
    *index_bits = is_sparse ? bits[index] : 0;
    return DROVE_OK;
}

drove_status drove__quant_refuse_keys(const drove_spec *spec, bool is_written)
{
    static const char *const others[2][2] = {{"range", "block"}, {"from", "from"}};
    if (drove__spec_get(spec, "scale", NULL) != NULL) {
        return drove__fail(DROVE_E_ARG,
                           "%s?scale: values are scaled before they are quantised; expected scale "
                           "with the data to be converted",
                           spec->name);
    }
    for (unsigned i = 0; i < 2; i++) {
        const char *other = others[is_written][i];
        if (drove__spec_get(spec, other, NULL) != NULL)
            return drove__fail(DROVE_E_ARG, "%s?%s: does not apply to a file that is %s",
                               spec->name, other, is_written ? "written" : "read");
    }
    return DROVE_OK;
}
