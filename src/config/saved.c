/* config/saved.c - the options of an earlier run: from its run.json, or the record of its steps. */
#include "base/alive.h"
#include "base/file.h"
#include "base/given.h"
#include "base/json.h"
#include "base/locale.h"
#include "base/mem.h"
#include "config/options.h"
#include "config/saved.h"
#include "use/modelfile.h"
#include "use/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

drove_status drove__options_unpack(const json_t *saved, drove_origin origin, drove_options *options)
{
    drove_status status = DROVE_OK;
    const char *key;
    json_t *value;
    if (!json_is_object(saved))
        return drove__fail(DROVE_E_DATA, "expected an object with \"options\", found none");
    json_object_foreach((json_t *)(uintptr_t)saved, key, value)
    {
        char number[64] = "";
        const char *word = json_string_value(value);
        if (json_is_integer(value))
            snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        if (json_is_real(value)) snprintf(number, sizeof number, "%.17g", json_real_value(value));
        if (status == DROVE_OK)
            status = drove__options_set(options, key, word != NULL ? word : number, origin);
    }
    return status;
}

drove_status drove_options_resume(drove_options *options, const char *folder)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(folder);
    DROVE_IN_C_LOCALE;
    char *path = drove__path_join(folder, "run.json"), *text;
    size_t size;
    if (path == NULL) return drove__fail_nomem("a path", strlen(folder));
    drove_status status = drove__file_load(path, (size_t)1 << 20, &text, &size);
    if (status != DROVE_OK) {
        free(path);
        return drove__fail_in(status, "--resume");
    }
    json_error_t error;
    json_t *object;
    const drove_status parsed = drove__json_parse(text, size, 0, &error, &object);
    json_t *saved = json_object_get(object, "options");
    drove_options result = *options;
    if (parsed == DROVE_E_NOMEM) {
        status = drove__fail_nomem(path, size);
    } else if (!json_is_object(saved)) {
        status =
            drove__fail(DROVE_E_DATA, "--resume: %s: expected an object with \"options\", found %s",
                        path, object == NULL ? error.text : "none");
    }
    if (status == DROVE_OK) status = drove__options_unpack(saved, DROVE_FROM_RUN, &result);
    /* The end of a pack was that of its members: its network is trained on only if asked for. */
    if (status == DROVE_OK && json_is_object(json_object_get(object, "pack")))
        status = drove__options_set(&result, "until", "epochs=0", DROVE_FROM_RUN);
    json_decref(object);
    free(text);
    free(path);
    if (status != DROVE_OK) return status;
    snprintf(result.resume, sizeof result.resume, "%s", folder);
    snprintf(result.out, sizeof result.out, "%s", folder);
    /* A folder is data: files outside it are written if this call asks for them. */
    static const char *const none[] = {"log", "timeline", "record", "replay", "replay_steps"};
    for (size_t i = 0; i < DROVE_COUNT(none); i++)
        (void)drove_options_set(&result, none[i], "none");
    drove_options_set(&result, "data_changed", "no"); /* of that resumption alone */
    /* The model that the run began with is in its own folder, too. */
    drove_tuning tuning;
    DROVE_TRY(drove__tuning_take(result.model, &tuning));
    if (drove__modelpath_is_run(folder) && drove__model_is_gone(tuning.model, result.activation)) {
        const char *freeze = tuning.freeze[0] != '\0' ? "?freeze=" : "";
        const int n =
            snprintf(result.model, sizeof result.model, "%s%s%s", folder, freeze, tuning.freeze);
        if (n < 0 || (size_t)n >= sizeof result.model)
            return drove__fail(DROVE_E_ARG, "%s: expected a shorter name of the folder", folder);
    }
    *options = result;
    return DROVE_OK;
}

drove_status drove__recorded_json(const drove_recorded_run *record, json_t **out)
{
    size_t size;
    json_error_t error;
    const char *text = drove__recorded_header(record, &size);
    drove_status status = drove__json_parse(text, size, 0, &error, out);
    if (status == DROVE_E_DATA)
        return drove__fail(DROVE_E_DATA, "%s: expected a header of JSON, found: %s",
                           drove__recorded_path(record), error.text);
    return status;
}

drove_status drove_options_replay(drove_options *options, const char *path)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(path);
    DROVE_IN_C_LOCALE;
    drove_recorded_run *record;
    json_t *object = NULL;
    drove_options result = *options;
    drove_status status = drove__recorded_open(path, &record);
    if (status == DROVE_OK) status = drove__recorded_json(record, &object);
    if (status == DROVE_OK) {
        const json_t *saved = json_object_get(object, "options");
        status = drove__options_unpack(saved, DROVE_FROM_RECORD, &result);
        if (status != DROVE_OK) status = drove__fail_in(status, "%s", path);
    }
    json_decref(object);
    drove__recorded_close(record);
    if (status != DROVE_OK) return drove__fail_in(status, "--replay");
    static const char *const none[] = {"out",      "resume", "log",
                                       "timeline", "record", "replay_steps"};
    for (size_t i = 0; i < DROVE_COUNT(none); i++)
        (void)drove_options_set(&result, none[i], "none"); /* a word of each */
    DROVE_TRY(drove_options_set(&result, "replay", path));
    *options = result;
    return DROVE_OK;
}
