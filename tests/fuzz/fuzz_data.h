/* tests/fuzz/fuzz_data.h - what the fuzz targets of the data formats share: an input becomes a
 * file in memory, and what opens is looked at, scaled, split, matched with itself and written.
 */
#ifndef DROVE_FUZZ_DATA_H
#define DROVE_FUZZ_DATA_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "data/data.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    FUZZ_SCALED_FEATURES_MOST = 100000
}; /* more are not scaled: that would only measure memory */

/* The path of a file in memory with this content; close(*fd) makes it vanish. */
static inline void fuzz_file(const void *bytes, size_t size_bytes, int *fd, char path[64])
{
    *fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (*fd < 0 || write(*fd, bytes, size_bytes) != (ssize_t)size_bytes) abort();
    snprintf(path, 64, "/proc/self/fd/%d", *fd);
}

static inline bool fuzz_is_one_line(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20) return false;
    }
    return true;
}

/* Opens; false: refused, with a text of one line and no object. */
static inline bool fuzz_try(const char *spec, const char *test, drove_data **train,
                            drove_data **held_out)
{
    if (drove_data_open(spec, test, 1, train, held_out) == DROVE_OK) return true;
    if (*train != NULL || *held_out != NULL || drove_error_text()[0] == '\0' ||
        !fuzz_is_one_line(drove_error_text())) {
        abort();
    }
    return false;
}

static inline void fuzz_look(const drove_data *data)
{
    drove_data_facts facts;
    char             text[4096];
    if (drove__storage_check(data->storage, "fuzz") != DROVE_OK) abort();
    drove_data_describe(data, &facts);
    if (facts.n_rows == 0 || facts.n_features == 0) abort();
    FILE *stream = fmemopen(text, sizeof text, "w");
    if (stream == NULL) abort();
    (void)drove_data_print_info(data, stream);
    fclose(stream);
}

/* Everything that can be done with a spec (which has no key yet, or ends in "?key=value"). */
static inline void fuzz_open(const char *spec)
{
    drove_data *train, *held_out;
    char        scaled[1024];
    if (!fuzz_try(spec, NULL, &train, &held_out)) return;
    fuzz_look(train);
    bool small = train->storage->n_features < FUZZ_SCALED_FEATURES_MOST;
    if (small) (void)drove_data_convert(train, "libsvm:/dev/null");
    drove_data_destroy(train);
    if (!small) return;
    snprintf(scaled, sizeof scaled, "%s%cscale=standard", spec,
             strchr(spec, '?') != NULL ? '&' : '?');
    if (!fuzz_try(scaled, spec, &train, &held_out)) abort(); /* data fit themselves */
    fuzz_look(held_out);
    drove_data_destroy(held_out);
    drove_data_destroy(train);
    snprintf(scaled, sizeof scaled, "%s%cscale=unit&split=0.1", spec,
             strchr(spec, '?') != NULL ? '&' : '?');
    if (!fuzz_try(scaled, "split", &train, &held_out)) return; /* a single row */
    if (train->storage != held_out->storage) abort();
    drove_data_destroy(train);
    drove_data_destroy(held_out);
}

enum { FUZZ_KEYS_SIZE = 160 };

/* Takes a line "?key=value&..." from [*at, end); false: none stands there. */
static inline bool fuzz_take_keys(const uint8_t **at, const uint8_t *end, char keys[FUZZ_KEYS_SIZE])
{
    const uint8_t *line_end = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
    if (line_end == NULL || **at != '?' || line_end - *at >= FUZZ_KEYS_SIZE) return false;
    memcpy(keys, *at, (size_t)(line_end - *at));
    keys[line_end - *at] = '\0';
    if (strlen(keys) != (size_t)(line_end - *at)) return false;
    *at = line_end + 1;
    return true;
}

/* An input that begins with a line "?key=value&..." is a file with these keys; a line "----" ends
 * it, and a second file follows, with keys of its own or the same, which is read as test data of
 * the first: its columns and classes are matched.  Returns false for any other input. */
static inline bool fuzz_open_keyed(const char *format, const uint8_t *data, size_t size_bytes)
{
    static const char separator[] = "----\n";
    char              path[2][64], keys[2][FUZZ_KEYS_SIZE], spec[2][448];
    int               fd[2];
    drove_data       *train, *held_out;
    const uint8_t    *first = data, *end = data + size_bytes;
    if (!fuzz_take_keys(&first, end, keys[0])) return false;
    const uint8_t *cut = memmem(first, (size_t)(end - first), separator, sizeof separator - 1);
    const uint8_t *second = cut != NULL ? cut + sizeof separator - 1 : end;
    if (cut == NULL) cut = end;
    if (!fuzz_take_keys(&second, end, keys[1])) strcpy(keys[1], keys[0]);
    fuzz_file(first, (size_t)(cut - first), &fd[0], path[0]);
    fuzz_file(second, (size_t)(end - second), &fd[1], path[1]);
    for (int i = 0; i < 2; i++)
        snprintf(spec[i], sizeof spec[i], "%s:%s%s", format, path[i], keys[i]);
    if (fuzz_try(spec[0], NULL, &train, &held_out)) {
        fuzz_look(train);
        drove_data_destroy(train);
    }
    if (second < end && fuzz_try(spec[0], spec[1], &train, &held_out)) {
        fuzz_look(held_out);
        drove_data_destroy(train);
        drove_data_destroy(held_out);
    }
    close(fd[0]);
    close(fd[1]);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

#endif
