/* data/read/webdataset.c - WebDataset's shards: tar archives of which neighbouring files with the
 * same name up to the first '.' are one example: KEY.jpg, KEY.jpeg or KEY.png beside KEY.cls, a
 * text, or KEY.json with a number or text called label, cls or class.  Files with other endings are
 * left out.
 *
 * FILE may hold a range of numbers, {000..009}, for as many archives.  They are read twice: first
 * names and labels, so that memory is asked for once, then images.
 */
#include "data/read/pictures.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/tar.h"
#include "data/read/labels.h"
#include "data/read/picture.h"
#include "data/read/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { ARCHIVES_MOST = 100000, CLS_MOST = 4096, JSON_MOST = 1 << 24, RANGE_DIGITS = 9 };

/* ---- names of archives ---- */

typedef struct archives {
    char **path;
    size_t n, capacity;
} archives;

typedef struct range {       /* "{000..009}" */
    const char *begin, *end; /* of its text */
    uint64_t first, last;
    int n_digits; /* at least so many, with zeros before */
} range;

static bool find_range(const char *text, range *out)
{
    for (const char *at = text; (at = strchr(at, '{')) != NULL; at++) {
        size_t n_first = strspn(at + 1, "0123456789");
        const char *dots = at + 1 + n_first;
        if (n_first == 0 || n_first > RANGE_DIGITS || strncmp(dots, "..", 2) != 0) continue;
        size_t n_last = strspn(dots + 2, "0123456789");
        if (n_last == 0 || n_last > RANGE_DIGITS || dots[2 + n_last] != '}') continue;
        bool is_padded = at[1] == '0' && n_first > 1;
        *out = (range){.begin = at,
                       .end = dots + 2 + n_last + 1,
                       .first = strtoull(at + 1, NULL, 10),
                       .last = strtoull(dots + 2, NULL, 10),
                       .n_digits = is_padded ? (int)n_first : 1};
        return true;
    }
    return false;
}

/* The archives that a path stands for: a range in it counts up. */
static drove_status expand(archives *list, const char *path)
{
    range r;
    if (strcmp(path, "-") == 0)
        return drove__fail(DROVE_E_ARG, "webdataset: expected a file, which is read twice, found "
                                        "standard input (-)");
    if (access(path, F_OK) == 0 || !find_range(path, &r)) {
        if (list->n == ARCHIVES_MOST)
            return drove__fail(DROVE_E_ARG, "webdataset: expected at most %d archives",
                               ARCHIVES_MOST);
        DROVE_TRY(drove__reserve(&list->path, &list->capacity, list->n + 1, sizeof *list->path));
        list->path[list->n] = strdup(path);
        if (list->path[list->n] == NULL) return drove__fail_nomem("names of files", strlen(path));
        list->n++;
        return DROVE_OK;
    }
    if (r.first > r.last || r.last - r.first >= ARCHIVES_MOST) {
        return drove__fail(DROVE_E_ARG, "%s: expected a range that ascends, of at most %d numbers",
                           path, ARCHIVES_MOST);
    }
    size_t size = strlen(path) + RANGE_DIGITS + 1;
    char *one = malloc(size);
    if (one == NULL) return drove__fail_nomem("names of files", size);
    drove_status status = DROVE_OK;
    for (uint64_t i = r.first; i <= r.last && status == DROVE_OK; i++) {
        snprintf(one, size, "%.*s%0*llu%s", (int)(r.begin - path), path, r.n_digits,
                 (unsigned long long)i, r.end);
        status = expand(list, one);
    }
    free(one);
    return status;
}

/* ---- the index ---- */

typedef struct sample { /* an image in an archive */
    size_t archive;
    uint64_t offset;
    size_t name; /* "ARCHIVE:MEMBER" in the arena */
} sample;

typedef struct example { /* the files of the key that is being read */
    char *key;           /* from malloc; NULL: none */
    char *label;
    bool has_cls; /* label comes from KEY.cls, which counts more than KEY.json */
    bool has_image;
    sample image;
} example;

typedef struct settings {
    drove_pictures_options pictures;
    bool is_unlabelled;
    uint64_t n_classes; /* 0: not given */
} settings;

static const char *const none[] = {"none", NULL};
static const drove_spec_key keys[] = {
    DROVE_SPEC_KEYS_OF(settings, pictures, drove_pictures_options, drove__pictures_keys),
    {"label", NULL, DROVE_AS_EITHER(settings, is_unlabelled, none),
     .help = "none: images to predict, without classes"},
    {"classes", NULL, DROVE_AS_COUNT(settings, n_classes, 2, 1u << 24),
     .help = "their number; the labels are the numbers from 0 on"},
    DROVE_SPEC_END,
};

typedef struct contents { /* of all archives */
    const archives *archives;
    settings set;
    char *arena;
    size_t arena_used, arena_capacity;
    sample *samples;
    size_t n, capacity;
    drove_labels *labels;
    example now;
    size_t n_dotted; /* images whose names have a '.' before their ending's */
    char dotted[80]; /* the first of them */
} contents;

static const char *archive_of(const contents *c, size_t i)
{
    return c->archives->path[i];
}

static void example_fini(example *e)
{
    free(e->key);
    free(e->label);
    *e = (example){0};
}

typedef enum member_kind { NONE, IMAGE, CLS, JSON } member_kind;

/* What a member is, by its ending; its key has *n_key bytes.  The name of an example ends at the
 * first '.' behind the last '/'. */
static member_kind member_part(const char *name, size_t *n_key)
{
    static const struct {
        const char *ending;
        member_kind kind;
    } endings[] = {{"jpg", IMAGE}, {"jpeg", IMAGE}, {"png", IMAGE}, {"cls", CLS}, {"json", JSON}};
    const char *slash = strrchr(name, '/'), *base = slash != NULL ? slash + 1 : name;
    const char *dot = strchr(base, '.');
    *n_key = dot != NULL ? (size_t)(dot - name) : 0;
    if (dot == NULL || dot == base) return NONE; /* no ending, or hidden */
    for (size_t i = 0; i < DROVE_COUNT(endings); i++) {
        if (strcasecmp(dot + 1, endings[i].ending) == 0) return endings[i].kind;
    }
    return NONE;
}

/* Whether the archive holds what the current example lacks. */
static drove_status find_elsewhere(const contents *c, size_t archive, bool *out)
{
    drove_tar *tar;
    drove_tar_member member;
    bool found = true;
    *out = false;
    DROVE_TRY(drove__tar_open(archive_of(c, archive), &tar));
    drove_status status = DROVE_OK;
    while (status == DROVE_OK && found && !*out) {
        size_t n_key;
        status = drove__tar_next(tar, &member, &found);
        if (status != DROVE_OK || !found) break;
        const member_kind p = member_part(member.name, &n_key);
        const bool is_lacking = c->now.has_image ? p == CLS || p == JSON : p == IMAGE;
        *out = is_lacking && strlen(c->now.key) == n_key &&
               memcmp(c->now.key, member.name, n_key) == 0;
    }
    drove__tar_close(tar);
    return status;
}

/* Ends the current example. */
static drove_status end_example(contents *c, size_t archive)
{
    example *e = &c->now;
    if (e->key == NULL) return DROVE_OK;
    bool is_labelled = e->label != NULL || c->set.is_unlabelled;
    if (!e->has_image || !is_labelled) {
        bool is_elsewhere;
        DROVE_TRY(find_elsewhere(c, archive, &is_elsewhere));
        if (is_elsewhere)
            return drove__fail(
                DROVE_E_DATA,
                "%s: expected the files called \"%.80s.*\" next to each other, found "
                "others between them: sort the archive (tar --sort=name)",
                archive_of(c, archive), e->key);
        return drove__fail(DROVE_E_DATA, "%s: expected %s beside the files called \"%.80s.*\"",
                           archive_of(c, archive),
                           e->has_image ? "a .cls or .json file" : "a .jpg or .png file", e->key);
    }
    DROVE_TRY(drove__reserve(&c->samples, &c->capacity, c->n + 1, sizeof *c->samples));
    if (!c->set.is_unlabelled) {
        DROVE_TRY(drove__labels_add(c->labels, NULL, e->label, strlen(e->label), true));
        DROVE_TRY(drove__labels_end_row(c->labels, NULL));
    }
    c->samples[c->n++] = e->image;
    example_fini(e);
    return DROVE_OK;
}

static void set_label(contents *c, char *label)
{
    free(c->now.label);
    c->now.label = label;
}

static drove_status fail_label(const contents *c, size_t archive, const drove_tar_member *m,
                               const char *expected)
{
    return drove__fail(DROVE_E_DATA, "%s:%.200s: expected %s", archive_of(c, archive), m->name,
                       expected);
}

/* KEY.cls: a text; blanks and line ends around it do not count. */
static drove_status read_cls(contents *c, size_t archive, drove_tar *tar, const drove_tar_member *m)
{
    char *text;
    size_t n, first = 0;
    DROVE_TRY(drove__tar_load(tar, CLS_MOST, &text, &n));
    while (n > 0 && isspace((unsigned char)text[n - 1])) n--;
    while (first < n && isspace((unsigned char)text[first])) first++;
    bool is_text = n > first && memchr(text + first, '\0', n - first) == NULL;
    char *label = is_text ? strndup(text + first, n - first) : NULL;
    free(text);
    if (!is_text) return fail_label(c, archive, m, "a label");
    if (label == NULL) return drove__fail_nomem("a label", n);
    set_label(c, label);
    c->now.has_cls = true;
    return DROVE_OK;
}

/* The label in a JSON object, from malloc; NULL: none.  Errors: DROVE_E_NOMEM. */
static drove_status json_label(const json_t *object, char **out)
{
    static const char *const members[] = {"label", "cls", "class"};
    char number[32];
    for (size_t i = 0; i < DROVE_COUNT(members); i++) {
        const json_t *value = json_object_get(object, members[i]);
        const char *text = number;
        if (json_is_string(value) && json_string_length(value) > 0) text = json_string_value(value);
        else if (!json_is_integer(value)) continue;
        else snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        *out = strdup(text);
        return *out != NULL ? DROVE_OK : drove__fail_nomem("a label", strlen(text));
    }
    return DROVE_OK;
}

static drove_status read_json(contents *c, size_t archive, drove_tar *tar,
                              const drove_tar_member *m)
{
    char *text;
    size_t n;
    json_error_t error;
    DROVE_TRY(drove__tar_load(tar, JSON_MOST, &text, &n));
    json_t *root;
    drove_status status = drove__json_parse(text, n, 0, &error, &root);
    char *label = NULL;
    if (status == DROVE_OK) status = json_label(root, &label);
    free(text);
    json_decref(root);
    if (status == DROVE_E_NOMEM) return drove__fail_in(status, "%s", archive_of(c, archive));
    if (status != DROVE_OK) {
        return drove__fail(DROVE_E_DATA, "%s:%.200s: line %d, column %d: %s",
                           archive_of(c, archive), m->name, error.line, error.column, error.text);
    }
    if (label == NULL && !c->now.has_cls && !c->set.is_unlabelled)
        return fail_label(c, archive, m, "a number or text called label, cls or class");
    if (c->now.has_cls) free(label);
    else set_label(c, label);
    return DROVE_OK;
}

/* A file belongs to the example of its name up to the first '.' behind the last '/'. */
static drove_status read_member(contents *c, size_t archive, drove_tar *tar,
                                const drove_tar_member *m)
{
    size_t n_key;
    const member_kind p = member_part(m->name, &n_key);
    if (p == NONE) {
        if (!drove__picture_is_named(m->name) || n_key == 0) return DROVE_OK;
        if (c->n_dotted++ == 0) snprintf(c->dotted, sizeof c->dotted, "%s", m->name);
        return DROVE_OK;
    }
    if (c->now.key == NULL || strlen(c->now.key) != n_key ||
        memcmp(c->now.key, m->name, n_key) != 0) {
        DROVE_TRY(end_example(c, archive));
        c->now.key = strndup(m->name, n_key);
        if (c->now.key == NULL) return drove__fail_nomem("a name", n_key);
    }
    if (p == IMAGE) {
        const char *path = archive_of(c, archive);
        size_t n = strlen(path) + strlen(m->name) + 2;
        if (c->now.has_image) {
            return drove__fail(DROVE_E_DATA, "%s: expected one image called \"%.80s.*\", found two",
                               path, c->now.key);
        }
        DROVE_TRY(drove__reserve(&c->arena, &c->arena_capacity, c->arena_used + n, 1));
        snprintf(c->arena + c->arena_used, n, "%s:%s", path, m->name);
        c->now.image = (sample){archive, m->offset, c->arena_used};
        c->now.has_image = true;
        c->arena_used += n;
        return DROVE_OK;
    }
    if (c->set.is_unlabelled) return DROVE_OK;
    return p == CLS ? read_cls(c, archive, tar, m) : read_json(c, archive, tar, m);
}

static drove_status read_archive(contents *c, size_t archive)
{
    drove_tar *tar;
    drove_tar_member member;
    bool found = true;
    size_t n_before = c->n;
    DROVE_TRY(drove__tar_open(archive_of(c, archive), &tar));
    drove_status status = DROVE_OK;
    while (status == DROVE_OK && found) {
        status = drove__tar_next(tar, &member, &found);
        if (status == DROVE_OK && found) status = read_member(c, archive, tar, &member);
    }
    drove__tar_close(tar);
    if (status == DROVE_OK) status = end_example(c, archive);
    if (status != DROVE_OK || c->n > n_before) return status;
    if (c->n_dotted > 0)
        return drove__fail(
            DROVE_E_DATA,
            "%s: expected names with one '.', which ends the name of an example, found "
            "\"%s\"",
            archive_of(c, archive), c->dotted);
    return drove__fail(DROVE_E_DATA, "%s: expected KEY.jpg or KEY.png beside KEY.cls, found none",
                       archive_of(c, archive));
}

/* ---- images ---- */

typedef struct walk { /* over the archives, in order */
    const contents *contents;
    drove_tar *tar;
    size_t archive; /* that tar is */
} walk;

static drove_status load(void *context, size_t i, uint8_t **bytes, size_t *n_bytes)
{
    walk *w = context;
    const sample *s = &w->contents->samples[i];
    drove_tar_member member = {0};
    char *content;
    bool found = true;
    if (w->tar == NULL || w->archive != s->archive) {
        drove__tar_close(w->tar);
        w->tar = NULL;
        DROVE_TRY(drove__tar_open(archive_of(w->contents, s->archive), &w->tar));
        w->archive = s->archive;
    }
    do {
        DROVE_TRY(drove__tar_next(w->tar, &member, &found));
    } while (found && member.offset < s->offset);
    if (!found || member.offset != s->offset) {
        return drove__fail(DROVE_E_IO, "%s: has changed while it was read",
                           archive_of(w->contents, s->archive));
    }
    DROVE_TRY(drove__tar_load(w->tar, DROVE_PICTURE_FILE_MOST, &content, n_bytes));
    *bytes = (uint8_t *)content;
    return DROVE_OK;
}

static drove_status read_archives(const drove_spec *spec, contents *c, drove_storage *s)
{
    DROVE_TRY(drove__labels_create(&c->labels));
    for (size_t i = 0; i < c->archives->n; i++) DROVE_TRY(read_archive(c, i));
    s->n_rows = c->n;
    if (c->n_dotted > 0)
        drove__storage_note(s,
                            "%zu image%s such as \"%s\" left out: the name of an example ends at "
                            "its first '.'",
                            c->n_dotted, c->n_dotted == 1 ? "" : "s", c->dotted);
    /* Labels are classes, however many there are. */
    const drove_label_options of_classes = {.target = DROVE_TARGET_CLASS,
                                            .n_classes = c->set.n_classes};
    DROVE_TRY(c->set.is_unlabelled ? drove__storage_set_unlabelled(s)
                                   : drove__labels_finish(c->labels, &of_classes, spec->arg[0], s));
    s->row_name_at = drove__grow(NULL, c->n, sizeof *s->row_name_at);
    if (s->row_name_at == NULL) return drove__fail_nomem("images", c->n * sizeof *s->row_name_at);
    for (size_t i = 0; i < c->n; i++) s->row_name_at[i] = c->samples[i].name;
    s->row_names = c->arena;
    c->arena = NULL;
    walk w = {.contents = c};
    const char **where = drove__grow(NULL, c->n, sizeof *where);
    if (where == NULL) return drove__fail_nomem("images", c->n * sizeof *where);
    for (size_t i = 0; i < c->n; i++) where[i] = s->row_names + s->row_name_at[i];
    const drove_pictures_source source = {
        .n = c->n, .where = where, .load = load, .context = &w, .is_ordered = true};
    drove_status status = drove__pictures_read(&c->set.pictures, &source, s);
    drove__tar_close(w.tar);
    free(where);
    DROVE_TRY(status);
    return drove__storage_check(s, spec->arg[0]);
}

static drove_status read_webdataset(const drove_spec *spec, int part, const drove_shard *shard,
                                    drove_storage **out)
{
    archives list = {0};
    drove_storage *s = NULL;
    contents c = {.archives = &list, .set = {.pictures = {.channels = DROVE_PICTURES_AS_FIRST}}};
    (void)part, (void)shard;
    DROVE_TRY(drove__spec_take(spec, keys, &c.set));
    drove_status status = drove__storage_create(&s);
    for (unsigned i = 0; i < spec->n_args && status == DROVE_OK; i++)
        status = expand(&list, spec->arg[i]);
    if (status == DROVE_OK) status = read_archives(spec, &c, s);
    example_fini(&c.now);
    drove__labels_destroy(c.labels);
    free(c.samples);
    free(c.arena);
    drove__texts_free(list.path, list.n);
    if (status != DROVE_OK) drove__storage_release(s);
    else *out = s;
    return status;
}

const drove_format_ops drove__format_webdataset = {
    .name = "webdataset",
    .help = "tar archives of images and labels, KEY.jpg beside KEY.cls; FILE may hold {000..009}",
    .source = "Aizman, Maltby, Breuel, IEEE Big Data 2019",
    .arguments = "FILE,...",
    .least_args = 1,
    .most_args = DROVE_SPEC_MAX_ARGS,
    .keys = keys,
    .read = read_webdataset,
    .reads_unlabelled = true,
    .resizes = true,
    .default_scaling = DROVE_SCALE_UNIT,
};
