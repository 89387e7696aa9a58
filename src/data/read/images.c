/* data/read/images.c - folders of images: each folder in DIR is a class, and holds its images, also
 * in folders of its own.  DIR may have a folder train (or training), beside test (or testing, val,
 * valid, validation), in capitals or not, each of which is such a folder; also seg_train and
 * seg_test, training_set and test_set and the like, where these hold folders alone.  Images to
 * predict (?label=none) lie anywhere in DIR, or are named themselves.
 *
 * Images come in the order of their paths, by bytes; classes too, or by value if all names are
 * whole numbers, unless ?order=text.
 */
#include "data/read/pictures.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/sort.h"
#include "data/read/labels.h"
#include "data/read/picture.h"
#include "data/read/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MOST = 32, CLASSES_MOST = 1 << 20 };

/* Images that other programs read. */
static const char *const unread[] = {".webp", ".bmp",  ".tif",  ".tiff",
                                     ".gif",  ".heic", ".avif", ".jp2"};
enum { UNREAD_KINDS = sizeof unread / sizeof *unread };

typedef struct image {
    size_t path; /* into the arena */
    int32_t class;
} image;

typedef struct listing { /* of a folder */
    char *arena;         /* paths, each with a NUL */
    size_t arena_used, arena_capacity;
    image *images;
    size_t n_images, images_capacity;
    char **class_name; /* those with images first */
    size_t n_classes, classes_capacity;
    size_t n_others;               /* files that are no images */
    size_t n_unread[UNREAD_KINDS]; /* those of kinds that drove does not read */
    bool is_text_order;
} listing;

/* ---- folders ---- */

typedef struct names { /* in a folder, sorted; without hidden ones */
    char **name;
    size_t n, capacity;
} names;

static void names_fini(names *list)
{
    drove__texts_free(list->name, list->n);
}

static drove_status read_folder(const char *folder, names *out)
{
    drove_status status = DROVE_OK;
    *out = (names){0};
    DIR *stream = opendir(folder);
    if (stream == NULL)
        return drove__fail_errno(drove__open_status(errno), errno, "%s: cannot be opened", folder);
    errno = 0;
    for (struct dirent *e; status == DROVE_OK && (e = readdir(stream)) != NULL; errno = 0) {
        if (e->d_name[0] == '.') continue;
        status = drove__reserve(&out->name, &out->capacity, out->n + 1, sizeof *out->name);
        if (status != DROVE_OK) break;
        out->name[out->n] = strdup(e->d_name);
        if (out->name[out->n] == NULL)
            status = drove__fail_nomem("names of files", strlen(e->d_name));
        else out->n++;
    }
    if (status == DROVE_OK && errno != 0)
        status = drove__fail_errno(DROVE_E_IO, errno, "%s: cannot be read", folder);
    closedir(stream);
    if (status != DROVE_OK) names_fini(out);
    else if (out->n > 0) qsort(out->name, out->n, sizeof *out->name, drove__compare_texts);
    return status;
}

static drove_status join(const char *folder, const char *name, char **out)
{
    *out = drove__path_join(folder, name);
    return *out != NULL ? DROVE_OK : drove__fail_nomem(folder, strlen(folder) + strlen(name));
}

/* Whether the word stands in the name by itself, in capitals or not: "seg_train", "Train-set". */
static bool has_word(const char *name, const char *word)
{
    const size_t n = strlen(word);
    for (const char *c = name; *c != '\0'; c++) {
        if (strncasecmp(c, word, n) != 0) continue;
        if ((c == name || !isalpha((unsigned char)c[-1])) && !isalpha((unsigned char)c[n]))
            return true;
    }
    return false;
}

/* Folders and no images, as a part has them; a class has images. */
static bool has_folders_alone(const char *folder)
{
    names list;
    bool has_folder = false, has_image = false;
    if (read_folder(folder, &list) != DROVE_OK) return false;
    for (size_t i = 0; i < list.n && !has_image; i++) {
        char *path = drove__path_join(folder, list.name[i]);
        const bool is_one = path != NULL && drove__is_folder(path);
        has_folder = has_folder || is_one;
        has_image = !is_one && drove__picture_is_named(list.name[i]);
        free(path);
    }
    names_fini(&list);
    return has_folder && !has_image;
}

/* DIR/NAME if that is a folder, in capitals or not, in *out from malloc; else one whose name has
 * the word beside others, if it holds folders alone; else NULL. */
static drove_status find_folder(const char *folder, const names *list,
                                const char *const *candidates, size_t n, char **out)
{
    *out = NULL;
    for (size_t i = 0; i < 2 * n; i++) {
        const char *word = candidates[i % n];
        for (size_t k = 0; k < list->n; k++) {
            const bool is_same = i < n && strcasecmp(list->name[k], word) == 0;
            if (!is_same && (i < n || !has_word(list->name[k], word))) continue;
            DROVE_TRY(join(folder, list->name[k], out));
            if (is_same ? drove__is_folder(*out) : has_folders_alone(*out)) return DROVE_OK;
            free(*out);
            *out = NULL;
        }
    }
    return DROVE_OK;
}

static const char *const test_folders[] = {"test", "testing", "val", "valid", "validation"};

/* DIR/train and DIR/test; both NULL: DIR has no parts. */
static drove_status find_parts(const char *folder, char **train, char **test)
{
    static const char *const train_folders[] = {"train", "training"};
    names list;
    *test = *train = NULL;
    DROVE_TRY(read_folder(folder, &list));
    drove_status status =
        find_folder(folder, &list, train_folders, DROVE_COUNT(train_folders), train);
    if (status == DROVE_OK && *train != NULL)
        status = find_folder(folder, &list, test_folders, DROVE_COUNT(test_folders), test);
    names_fini(&list);
    if (status != DROVE_OK || *test == NULL) {
        free(*train);
        *train = NULL;
    }
    return status;
}

/* ---- what is in them ---- */

static drove_status add_image(listing *l, const char *path, int32_t class)
{
    size_t n = strlen(path) + 1;
    DROVE_TRY(drove__reserve(&l->arena, &l->arena_capacity, l->arena_used + n, 1));
    DROVE_TRY(drove__reserve(&l->images, &l->images_capacity, l->n_images + 1, sizeof *l->images));
    memcpy(l->arena + l->arena_used, path, n);
    l->images[l->n_images++] = (image){l->arena_used, class};
    l->arena_used += n;
    return DROVE_OK;
}

/* "6 .webp files, 1 .bmp file"; the number of all. */
static size_t list_unread(const listing *l, char *into, size_t size)
{
    size_t n = 0, used = 0;
    into[0] = '\0';
    for (size_t i = 0; i < UNREAD_KINDS; i++) {
        if (l->n_unread[i] == 0) continue;
        used += (size_t)snprintf(into + used, size - used, "%s%zu %s file%s", n > 0 ? ", " : "",
                                 l->n_unread[i], unread[i], l->n_unread[i] == 1 ? "" : "s");
        n += l->n_unread[i];
    }
    return n;
}

/* Adds the images of a folder and of all below it; only_files: not of those below. */
static drove_status add_folder(listing *l, const char *folder, int32_t class, bool only_files,
                               unsigned depth)
{
    names list;
    if (depth > DEPTH_MOST)
        return drove__fail(DROVE_E_DATA, "%s: expected folders at most %d deep", folder,
                           DEPTH_MOST);
    DROVE_TRY(read_folder(folder, &list));
    drove_status status = DROVE_OK;
    for (size_t i = 0; i < list.n && status == DROVE_OK; i++) {
        char *path;
        struct stat about;
        status = join(folder, list.name[i], &path);
        if (status != DROVE_OK) break;
        const bool is_there = stat(path, &about) == 0;
        if (is_there && S_ISDIR(about.st_mode)) {
            if (!only_files) status = add_folder(l, path, class, false, depth + 1);
        } else if (drove__picture_is_named(path) && (!is_there || S_ISREG(about.st_mode))) {
            /* a pipe or a device would have no end; reading says of a file that it is missing */
            status = add_image(l, path, class);
        } else {
            const char *ending = strrchr(path, '.');
            size_t k = 0;
            while (k < UNREAD_KINDS && (ending == NULL || strcasecmp(ending, unread[k]) != 0)) k++;
            if (k < UNREAD_KINDS) l->n_unread[k]++;
            else l->n_others++;
        }
        free(path);
    }
    names_fini(&list);
    return status;
}

/* A folder without images is no class. */
static drove_status add_class(listing *l, const char *folder, const char *name)
{
    char *path;
    size_t n_before = l->n_images;
    DROVE_TRY(join(folder, name, &path));
    drove_status status =
        drove__is_folder(path) ? add_folder(l, path, (int32_t)l->n_classes, false, 1) : DROVE_OK;
    free(path);
    if (status != DROVE_OK || l->n_images == n_before) return status;
    if (l->n_classes == CLASSES_MOST)
        return drove__fail(DROVE_E_DATA, "%s: expected at most %d classes", folder, CLASSES_MOST);
    DROVE_TRY(drove__reserve(&l->class_name, &l->classes_capacity, l->n_classes + 1,
                             sizeof *l->class_name));
    l->class_name[l->n_classes] = strdup(name);
    if (l->class_name[l->n_classes] == NULL) return drove__fail_nomem("class names", strlen(name));
    l->n_classes++;
    return DROVE_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = 0, y = 0;
    const char *first = *(char *const *)a, *second = *(char *const *)b;
    drove__label_number(first, strlen(first), &x);
    drove__label_number(second, strlen(second), &y);
    return x != y ? (x < y ? -1 : 1) : strcmp(first, second);
}

static drove_status list_classes(listing *l, const char *folder)
{
    names list;
    DROVE_TRY(read_folder(folder, &list));
    drove_status status = DROVE_OK;
    for (size_t i = 0; i < list.n && status == DROVE_OK; i++)
        status = add_class(l, folder, list.name[i]);
    names_fini(&list);
    DROVE_TRY(status);
    size_t n_images = l->n_images;
    DROVE_TRY(add_folder(l, folder, 0, true, 0)); /* counts the files beside them */
    size_t n_beside = l->n_images - n_images;
    l->n_images = n_images;
    if (n_images == 0) {
        char others[256];
        const size_t n_unread = list_unread(l, others, sizeof others);
        return drove__fail(DROVE_E_DATA,
                           "%s: expected a folder of PNG or JPEG images for each class, found %s",
                           folder,
                           n_beside > 0   ? "images alone (?label=none: without classes)"
                           : n_unread > 0 ? others
                                          : "no image");
    }
    l->n_others += n_beside;
    /* Classes called 2 and 10 stand in this order. */
    bool are_numbers = !l->is_text_order;
    for (size_t i = 0; i < l->n_classes && are_numbers; i++)
        are_numbers = l->class_name[i][strspn(l->class_name[i], "0123456789")] == '\0';
    if (!are_numbers) return DROVE_OK;
    char **sorted = drove__grow(NULL, l->n_classes, sizeof *sorted);
    int32_t *place = drove__grow(NULL, l->n_classes, sizeof *place);
    bool has_memory = sorted != NULL && place != NULL;
    if (has_memory) {
        memcpy(sorted, l->class_name, l->n_classes * sizeof *sorted);
        qsort(sorted, l->n_classes, sizeof *sorted, compare_numbers);
        for (size_t i = 0; i < l->n_classes; i++) {
            char **at =
                bsearch(&l->class_name[i], sorted, l->n_classes, sizeof *sorted, compare_numbers);
            place[i] = (int32_t)(at - sorted);
        }
        for (size_t i = 0; i < l->n_images; i++) l->images[i].class = place[l->images[i].class];
        memcpy(l->class_name, sorted, l->n_classes * sizeof *sorted);
    }
    free(sorted);
    free(place);
    return has_memory ? DROVE_OK : drove__fail_nomem("class names", l->n_classes * sizeof *sorted);
}

static drove_status list_all(listing *l, const char *folder)
{
    DROVE_TRY(add_folder(l, folder, 0, false, 0));
    if (l->n_images > 0) return DROVE_OK;
    char others[256];
    const size_t n_unread = list_unread(l, others, sizeof others);
    return drove__fail(DROVE_E_DATA, "%s: expected PNG or JPEG images, found %s", folder,
                       n_unread > 0 ? others : "none");
}

/* ---- the data set ---- */

static drove_status load(void *context, size_t i, uint8_t **bytes, size_t *n_bytes)
{
    const char *const *where = context;
    char *content;
    DROVE_TRY(drove__file_load(where[i], DROVE_PICTURE_FILE_MOST, &content, n_bytes));
    *bytes = (uint8_t *)content;
    return DROVE_OK;
}

static drove_status read_images(const drove_spec *spec, const drove_pictures_options *opt,
                                listing *l, bool is_unlabelled, drove_storage *s)
{
    char others[256];
    if (list_unread(l, others, sizeof others) > 0)
        drove__storage_note(s, "%s left out: drove reads PNG and JPEG images", others);
    if (l->n_others > 0)
        drove__storage_note(s, "%zu file%s left out: not %s of a class", l->n_others,
                            l->n_others == 1 ? "" : "s", l->n_others == 1 ? "an image" : "images");
    /* Gives the storage the listing's classes, targets and names of rows. */
    s->n_rows = l->n_images;
    if (is_unlabelled) DROVE_TRY(drove__storage_set_unlabelled(s));
    else s->y_class = drove__grow(NULL, l->n_images, sizeof *s->y_class);
    s->row_name_at = drove__grow(NULL, l->n_images, sizeof *s->row_name_at);
    if (s->y_class == NULL || s->row_name_at == NULL)
        return drove__fail_nomem("images", l->n_images * sizeof *s->row_name_at);
    for (size_t i = 0; i < l->n_images; i++) {
        s->row_name_at[i] = l->images[i].path;
        if (!is_unlabelled) s->y_class[i] = l->images[i].class;
    }
    s->row_names = l->arena;
    l->arena = NULL;
    if (!is_unlabelled) {
        s->y_kind = DROVE_Y_CLASS;
        s->n_classes = l->n_classes;
        s->class_name = l->class_name;
        l->class_name = NULL;
    }
    const char **where = drove__grow(NULL, s->n_rows, sizeof *where);
    if (where == NULL) return drove__fail_nomem("images", s->n_rows * sizeof *where);
    for (size_t i = 0; i < s->n_rows; i++) where[i] = s->row_names + s->row_name_at[i];
    const drove_pictures_source source = {
        .n = s->n_rows, .where = where, .load = load, .context = where};
    drove_status status = drove__pictures_read(opt, &source, s);
    free(where);
    return status == DROVE_OK ? drove__storage_check(s, spec->arg[0]) : status;
}

/* The folder of a part, from malloc. */
static drove_status choose_folder(const char *folder, int part, char **out)
{
    char *train, *test;
    DROVE_TRY(find_parts(folder, &train, &test));
    *out = train == NULL ? strdup(folder) : part == 0 ? train : test;
    bool has_parts = train != NULL;
    if (has_parts) free(part == 0 ? test : train);
    if (*out == NULL) return drove__fail_nomem(folder, strlen(folder));
    if (part == 0 || has_parts) return DROVE_OK;
    free(*out);
    *out = NULL;
    return drove__fail(DROVE_E_FILE, "%s: expected the folders train and test (or val) in it",
                       folder);
}

/* The images themselves, in the order in which they are named. */
static drove_status list_files(listing *l, const drove_spec *spec)
{
    for (unsigned i = 0; i < spec->n_args; i++) {
        if (drove__is_folder(spec->arg[i]))
            return drove__fail(DROVE_E_ARG, "images: expected one folder or images alone, found %s",
                               spec->arg[i]);
        if (!drove__picture_is_named(spec->arg[i]))
            return drove__fail(DROVE_E_DATA,
                               "%s: expected a PNG or JPEG image, or a folder of them",
                               spec->arg[i]);
        DROVE_TRY(add_image(l, spec->arg[i], 0));
    }
    return DROVE_OK;
}

typedef struct settings {
    drove_pictures_options pictures;
    const char *label; /* NULL: not given */
    bool is_text_order;
} settings;

static const char *const orders[] = {"auto", "text", NULL};
static const drove_spec_key keys[] = {
    DROVE_SPEC_KEYS_OF(settings, pictures, drove_pictures_options, drove__pictures_keys),
    {"label", NULL, DROVE_AS_TEXT(settings, label),
     .help = "none: images to predict, without classes"},
    {"order", "auto", DROVE_AS_EITHER(settings, is_text_order, orders),
     .help = "of classes: text, by their names, or auto, where numbers are numbers"},
    DROVE_SPEC_END,
};

static drove_status read_folders(const drove_spec *spec, int part, const drove_shard *shard,
                                 drove_storage **out)
{
    listing l = {0};
    drove_storage *s = NULL;
    char *folder = NULL;
    settings set = {.pictures = {.channels = DROVE_PICTURES_AS_FIRST}};
    (void)shard;
    DROVE_TRY(drove__spec_take(spec, keys, &set));
    const bool is_unlabelled = set.label != NULL;
    if (is_unlabelled && strcmp(set.label, "none") != 0)
        return drove__fail(DROVE_E_ARG,
                           "%s: expected no column as label, since the class of an image is the "
                           "name of its folder, found \"%.80s\"",
                           spec->arg[0], set.label);
    const bool are_files =
        spec->n_args > 1 ||
        (!drove__is_folder(spec->arg[0]) &&
         (drove__picture_is_named(spec->arg[0]) || access(spec->arg[0], F_OK) == 0));
    l.is_text_order = set.is_text_order;
    if (are_files && !is_unlabelled)
        return drove__fail(DROVE_E_ARG,
                           "%s: expected a folder with a folder for each class, found an image, "
                           "which has no class (?label=none)",
                           spec->arg[0]);
    drove_status status = drove__storage_create(&s);
    if (status != DROVE_OK) goto end;
    if (!are_files && (status = choose_folder(spec->arg[0], part, &folder)) != DROVE_OK) goto end;
    if (are_files) status = list_files(&l, spec);
    else if (is_unlabelled) status = list_all(&l, part == 1 ? folder : spec->arg[0]);
    else status = list_classes(&l, folder);
    if (status != DROVE_OK) goto end;
    status = read_images(spec, &set.pictures, &l, is_unlabelled, s);
end:
    drove__texts_free(l.class_name, l.n_classes);
    free(l.images);
    free(l.arena);
    free(folder);
    if (status != DROVE_OK) drove__storage_release(s);
    else *out = s;
    return status;
}

static bool finds_test(const drove_spec *spec)
{
    char *train, *test;
    if (!drove__is_folder(spec->arg[0])) return false;
    if (find_parts(spec->arg[0], &train, &test) != DROVE_OK || train == NULL) return false;
    free(train);
    free(test);
    return true;
}

const drove_format_ops drove__format_images = {
    .name = "images",
    .help = "a folder of PNG and JPEG images, a folder for each class",
    .source = "ISO/IEC 15948, ITU-T T.81",
    .arguments = "DIR",
    .least_args = 1,
    .most_args = DROVE_SPEC_MAX_ARGS,
    .keys = keys,
    .read = read_folders,
    .has_test = true,
    .finds_test = finds_test,
    .reads_unlabelled = true,
    .resizes = true,
    .default_scaling = DROVE_SCALE_UNIT,
};
