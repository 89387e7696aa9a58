/* kernel/conv/file.c - reads and rewrites the file of measured convolutions. */
#include "kernel/conv/file.h"

#include "base/file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)1 << 20) /* of the file: a larger one is started again */

enum { MOST_LINE = 1024 };
static const char HEADING[] = "drove: convolutions measured on this machine, 2";
static const char *const format_names[DROVEK_N_FORMATS] = {[DROVEK_NCHW] = "nchw",
                                                           [DROVEK_NHWC] = "nhwc",
                                                           [DROVEK_NCHW8] = "nchw8",
                                                           [DROVEK_NCHW16] = "nchw16"};

static bool find_path(char into[PATH_MAX])
{
    char folder[PATH_MAX];
    if (!drove__cache_folder(folder, sizeof folder)) return false;
    int n = snprintf(into, PATH_MAX, "%s/convolutions", folder);
    return n > 0 && n < PATH_MAX;
}

/* The lines behind the file's heading, each with its "\n"; their text is in *all (free()).  NULL:
 * there are none.  A last line without "\n" was cut off and is dropped: of "9.1e-05" it could
 * leave "9.1". */
static const char *load(const char *path, char **all)
{
    size_t n_bytes, n = sizeof HEADING - 1;
    *all = NULL;
    if (drove__file_load(path, MOST_BYTES, all, &n_bytes) != DROVE_OK) return NULL;
    /* a NUL byte inside would hide the rest */
    if (strlen(*all) != n_bytes || strncmp(*all, HEADING, n) != 0 || (*all)[n] != '\n') return NULL;
    strrchr(*all, '\n')[1] = '\0';
    return *all + n + 1;
}

static bool parse_format(const char *word, size_t n, drovek_format *out)
{
    for (size_t i = 0; i < DROVEK_N_FORMATS; i++) {
        if (strlen(format_names[i]) != n || strncmp(format_names[i], word, n) != 0) continue;
        *out = (drovek_format)i;
        return true;
    }
    return false;
}

/* "way in out seconds" */
static bool parse_choice(const char *text, drovek_conv_choice *out)
{
    const char *word[4];
    size_t n[4];
    for (size_t i = 0; i < 4; i++) {
        word[i] = text;
        n[i] = strcspn(text, " ");
        text += n[i];
        if (n[i] == 0 || (i < 3 && *text++ != ' ')) return false;
    }
    char *end;
    out->step_s = strtod(word[3], &end);
    if (*end != '\0' || !isfinite(out->step_s) || out->step_s <= 0.0) return false;
    if (n[0] >= sizeof out->way) return false;
    memcpy(out->way, word[0], n[0]);
    out->way[n[0]] = '\0';
    return parse_format(word[1], n[1], &out->in) && parse_format(word[2], n[2], &out->out);
}

/* The choices of a line after its key. */
static bool parse_line(const char *text, size_t n, drovek_conv_record *r)
{
    char copy[MOST_LINE], *rest = copy;
    if (n >= sizeof copy) return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    r->n_choices = 0;
    while (rest != NULL) {
        char *choice = strsep(&rest, "\t");
        if (r->n_choices == DROVEK_CONV_CHOICES) return false;
        if (!parse_choice(choice, &r->choice[r->n_choices++])) return false;
    }
    return true;
}

static bool has_key(const char *line, size_t n, const char *key)
{
    size_t n_key = strlen(key);
    return n > n_key && strncmp(line, key, n_key) == 0 && line[n_key] == '\t';
}

bool drovek_conv_file_find(const char *key, drovek_conv_record *r)
{
    char path[PATH_MAX], *all;
    bool is_found = false;
    if (!find_path(path)) return false;
    const char *line = load(path, &all);
    for (size_t n; line != NULL && *line != '\0' && !is_found; line += n + 1) {
        size_t n_key = strlen(key) + 1;
        n = strcspn(line, "\n");
        is_found = has_key(line, n, key) && parse_line(line + n_key, n - n_key, r);
    }
    free(all);
    return is_found;
}

/* Whether to keep a line: it has another key. */
static bool is_other(const char *line, size_t n, const char *key)
{
    drovek_conv_record unused;
    size_t n_key = strcspn(line, "\t\n");
    return n_key < n && parse_line(line + n_key + 1, n - n_key - 1, &unused) &&
           !has_key(line, n, key);
}

static void write_record(FILE *stream, const drovek_conv_record *r)
{
    fputs(r->key, stream);
    for (size_t i = 0; i < r->n_choices; i++) {
        const drovek_conv_choice *c = &r->choice[i];
        fprintf(stream, "\t%s %s %s %.4g", c->way, format_names[c->in], format_names[c->out],
                c->step_s);
    }
    fputc('\n', stream);
}

void drovek_conv_file_add(const drovek_conv_record *r)
{
    char path[PATH_MAX], *all;
    drove_writer *w;
    if (!find_path(path)) return;
    const char *line = load(path, &all);
    if (drove__writer_create(path, &w) == DROVE_OK) {
        FILE *stream = drove__writer_stream(w);
        fprintf(stream, "%s\n", HEADING);
        for (size_t n; line != NULL && *line != '\0'; line += n + 1) {
            n = strcspn(line, "\n");
            if (is_other(line, n, r->key)) fprintf(stream, "%.*s\n", (int)n, line);
        }
        write_record(stream, r);
        drove__writer_commit(w); /* a failure only costs another measurement */
    }
    free(all);
}
