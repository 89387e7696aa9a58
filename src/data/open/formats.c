/* data/open/formats.c - the table of data formats. */
#include "data/open/formats.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/other_words.h"
#include "data/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A new format is its file and its name here. */
#define FORMATS(X)                                                                                 \
    X(mnist)                                                                                       \
    X(idx)                                                                                         \
    X(libsvm)                                                                                      \
    X(vw)                                                                                          \
    X(csv)                                                                                         \
    X(table)                                                                                       \
    X(npy)                                                                                         \
    X(npz)                                                                                         \
    X(images)                                                                                      \
    X(webdataset)                                                                                  \
    X(cifar10)                                                                                     \
    X(synth_digits)                                                                                \
    X(synth_logistic)                                                                              \
    X(synth_images)                                                                                \
    X(quant)                                                                                       \
    X(rows)                                                                                        \
    X(memory)

#define X(name) extern const drove_format_ops drove__format_##name;
FORMATS(X)
#undef X

const drove_format_ops *const drove__formats[] = {
#define X(name) &drove__format_##name,
    FORMATS(X)
#undef X
        NULL,
};

enum { NAME_SIZE = 64 };

drove_status drove__format_find(const drove_spec *spec, const drove_format_ops **out)
{
    char name[NAME_SIZE];
    bool is_synth = strcmp(spec->name, "synth") == 0;
    snprintf(name, sizeof name, "%.30s%s%.30s", spec->name, is_synth ? ":" : "",
             is_synth && spec->n_args > 0 ? spec->arg[0] : "");
    for (size_t i = 0; drove__formats[i] != NULL; i++) {
        if (strcmp(drove__formats[i]->name, name) != 0) continue;
        *out = drove__formats[i];
        return DROVE_OK;
    }
    const char *names[DROVE_COUNT(drove__formats)];
    size_t n = 0;
    for (; drove__formats[n] != NULL; n++) names[n] = drove__formats[n]->name;
    const char *near = drove__nearest(name, names, n);
    char other[DROVE_OTHER_SIZE];
    if (drove__other_word("format", name, NULL, other, sizeof other))
        return drove__fail(DROVE_E_ARG, "data: unknown format \"%s\"; %s (drove list data)", name,
                           other);
    if (near != NULL) {
        return drove__fail(DROVE_E_ARG,
                           "data: unknown format \"%s\"; did you mean \"%s\"? (drove list data)",
                           name, near);
    }
    if (drove__is_folder(name))
        return drove__fail(DROVE_E_ARG,
                           "data: expected a file, found the folder \"%s\" (mnist:%s would read "
                           "MNIST's files in it)",
                           name, name);
    return drove__fail(DROVE_E_ARG,
                       "data: expected a file that exists or a format of `drove list data`, found "
                       "\"%s\"",
                       name);
}

drove_status drove__format_check(const drove_format_ops *format, const drove_spec *spec)
{
    const drove_spec_key all[] = {
        {"FILE", NULL, .kind = DROVE_SPEC_REST, .is_argument = true},
        DROVE_SPEC_KEYS_TOO(drove__common_keys),
        DROVE_SPEC_KEYS_TOO(format->has_test ? drove__part_keys : NULL),
        DROVE_SPEC_KEYS_TOO(format->keys),
        DROVE_SPEC_END,
    };
    DROVE_TRY(drove__spec_accept(spec, all));
    if (spec->n_args >= format->least_args && spec->n_args <= format->most_args) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "%s: expected %s:%s, found %u argument%s", format->name,
                       spec->name, format->arguments, spec->n_args, spec->n_args == 1 ? "" : "s");
}
