/* use/modelpath.c - where a saved model lies: a file, in memory, or in the folder of a run; and how
 * its data are read. */
#include "use/modelfile.h"

#include "base/file.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/other_words.h"

#include <drove/data.h>
#include <drove/train.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first that is there; the summary of a run is about it. */
static const char *name_in(const char *folder)
{
    static const char *const names[] = {"model.safetensors", "best.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0) return names[i];
    }
    return NULL;
}

bool drove__modelpath_is_run(const char *path)
{
    return drove__is_folder(path) && name_in(path) != NULL;
}

static bool has_ending_of_model(const char *model)
{
    static const char ending[] = ".safetensors";
    size_t n = strlen(model), n_ending = sizeof ending - 1;
    return n > n_ending && strcmp(model + n - n_ending, ending) == 0;
}

bool drove__names_model_file(const char *model)
{
    if (has_ending_of_model(model)) return true;
    for (size_t i = 0; drove__models[i] != NULL; i++)
        if (strcmp(drove__models[i]->name, model) == 0) return false;
    return drove__modelpath_is_run(model);
}

bool drove__model_is_gone(const char *name, const char *activation)
{
    const drove_model_io io = {.n_features = 1, .n_classes = 2};
    drove_reader *reader;
    drove_model *model;
    if (strcmp(name, "auto") == 0) return false;
    if (has_ending_of_model(name)) {
        if (drove__reader_open(name, &reader) != DROVE_OK) return true;
        drove__reader_close(reader);
        return false;
    }
    if (drove__names_model_file(name)) return false;
    const drove_status status = drove__model_create(name, activation, "", &io, &model);
    if (status == DROVE_OK) drove__model_destroy(model);
    return status != DROVE_OK && status != DROVE_E_SHAPE && status != DROVE_E_NOMEM;
}

drove_status drove_model_find(const char *path, char *into, size_t size)
{
    DROVE_GIVEN(path);
    DROVE_GIVEN(into);
    DROVE_IN_C_LOCALE;
    const char *name = drove__is_folder(path) ? name_in(path) : "";

    /* The folder of a search has that of its best run. */
    char *best = name == NULL ? drove__path_join(path, "best") : NULL;
    const bool is_search = best != NULL && drove__modelpath_is_run(best);
    free(best);
    if (is_search)
        return drove__fail(DROVE_E_FILE,
                           "%s: expected a saved model or the folder of a run, found the folder of "
                           "a search: its model is %s/best",
                           path, path);
    if (name == NULL)
        return drove__fail(DROVE_E_FILE,
                           "%s: expected a saved model or the folder of a run, found a folder "
                           "without model.safetensors",
                           path);
    const char *base = strrchr(path, '/'), *ending = strrchr(base != NULL ? base : path, '.');
    char other[DROVE_OTHER_SIZE];
    if (*name == '\0' && ending != NULL &&
        drove__other_word("model", ending, NULL, other, sizeof other))
        return drove__fail(
            DROVE_E_FILE,
            "%s: expected a saved model (.safetensors) or the folder of a run, found "
            "%s",
            path, other);
    if (*name == '\0' && access(path, F_OK) == 0 && drove_data_is_named(path))
        return drove__fail(
            DROVE_E_FILE,
            "%s: expected a saved model (.safetensors) or the folder of a run, found "
            "a data set",
            path);
    size_t n = strlen(path);
    const char *slash = *name == '\0' || (n > 0 && path[n - 1] == '/') ? "" : "/";
    int used = snprintf(into, size, "%s%s%s", path, slash, name);
    if (used >= 0 && (size_t)used < size) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "model: expected a path below %zu bytes, found %d", size, used);
}

void drove__modelfile_describe(const drove_modelfile *file, drove_storage *storage,
                               drove_data *like)
{
    *storage = (drove_storage){
        .n_features = file->n_inputs,
        .x_kind = file->x_kind,
        .y_kind = file->io.is_multi_label  ? DROVE_Y_LABELS
                  : file->io.n_classes > 0 ? DROVE_Y_CLASS
                                           : DROVE_Y_VALUE,
        .n_classes = file->io.n_classes,
        .n_values = file->io.n_values,
        .class_name = file->class_name,
        .index_base = file->index_base,
        .schema = file->schema,
        .x_origin = file->x_origin,
        .y_origin = file->y_origin,
        .n_views = 1,
    };
    *like = (drove_data){.storage = storage,
                         .scaling = file->scaling,
                         .shift = file->shift,
                         .factor = file->factor,
                         .augment = file->augment};
    storage->channels = file->augment.channels;
    storage->height = file->augment.height;
    storage->width = file->augment.width;
}

void drove__model_name(const drove_memfile *file, char into[DROVE_MODEL_NAME_SIZE])
{
    char name[DROVE_NAMED_SIZE];
    drove__named_print(&file->named, name);
    snprintf(into, DROVE_MODEL_NAME_SIZE, "%s.safetensors", name);
}

drove_status drove__modelfile_map(const drove_modelfile *file, const drovek_table *kernels,
                                  unsigned n_threads, const drove_data *data, drove_data **out)
{
    drove_features *map;
    *out = NULL;
    if (file->features.ops == NULL) return DROVE_OK;
    DROVE_TRY(drove__features_create(&file->features, file->n_inputs, kernels, n_threads, &map));
    drove_status status = drove__features_apply(map, data, n_threads, out);
    drove__features_destroy(map);
    return status;
}
