/* config/until.c - see until.h. */
#include "config/until.h"

#include "base/mem.h"
#include "base/other_words.h"
#include "base/spec.h"
#include "plan/plan.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const conditions[] = {"loss",   "accuracy", "validation", "patience",
                                         "epochs", "seconds",  "updates"};

static drove_status set_one(drove_until *u, const char *key, char *value)
{
    if (strcmp(key, "loss") == 0) {
        size_t n = strlen(value);
        u->loss_is_relative = n > 0 && value[n - 1] == '%';
        if (u->loss_is_relative) value[n - 1] = '\0';
        DROVE_TRY(drove__parse_real("--until loss", value, 0.0, 1e30, &u->loss));
        if (u->loss_is_relative) u->loss /= 100.0;
        return DROVE_OK;
    }
    if (strcmp(key, "accuracy") == 0) {
        size_t n = strlen(value);
        bool is_percent = n > 0 && value[n - 1] == '%';
        if (is_percent) value[n - 1] = '\0';
        DROVE_TRY(drove__parse_real("--until accuracy", value, 0.0, is_percent ? 100.0 : 1.0,
                                    &u->accuracy));
        if (is_percent) u->accuracy /= 100.0;
        return DROVE_OK;
    }
    if (strcmp(key, "validation") == 0) {
        /* A number of examples, or a part of them as a percentage. */
        size_t n = strlen(value);
        uint64_t rows = 0;
        u->validation_is_part = n > 0 && value[n - 1] == '%';
        if (!u->validation_is_part) {
            DROVE_TRY(drove__parse_u64("--until validation", value, 1, UINT32_MAX, &rows));
            u->validation = (double)rows;
            return DROVE_OK;
        }
        value[n - 1] = '\0';
        DROVE_TRY(drove__parse_real("--until validation", value, DBL_MIN, 90.0, &u->validation));
        u->validation /= 100.0;
        return DROVE_OK;
    }
    if (strcmp(key, "patience") == 0)
        return drove__parse_u64("--until patience", value, 1, 1u << 30, &u->patience);
    if (strcmp(key, "epochs") == 0)
        return drove__parse_real("--until epochs", value, 0.0, 1e12, &u->epochs);
    if (strcmp(key, "seconds") == 0)
        return drove__parse_real("--until seconds", value, 0.0, 1e12, &u->seconds);
    if (strcmp(key, "updates") == 0)
        return drove__parse_u64("--until updates", value, 0, UINT64_MAX / 4, &u->updates);
    const char *near = drove__nearest(key, conditions, DROVE_COUNT(conditions));
    char other[DROVE_OTHER_SIZE];
    if (drove__other_word("condition", key, NULL, other, sizeof other))
        return drove__fail(DROVE_E_ARG, "--until: unknown condition \"%s\"; %s", key, other);
    return drove__fail(
        DROVE_E_ARG,
        "--until: expected loss, accuracy, validation, patience, epochs, seconds or updates, "
        "found \"%s\"%s%s%s",
        key, near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

drove_status drove__until_parse(const char *text, drove_until *out)
{
    drove_until u = {.loss = NAN,
                     .accuracy = NAN,
                     .epochs = INFINITY,
                     .seconds = INFINITY,
                     .updates = UINT64_MAX};
    char *copy = strdup(strcmp(text, "auto") == 0 ? DROVE_UNTIL_CLASSIC : text);
    if (copy == NULL) return drove__fail_nomem("--until", strlen(text) + 1);
    drove_status status = DROVE_OK;
    bool given[DROVE_COUNT(conditions)] = {false};
    for (char *part = copy, *next; part != NULL && status == DROVE_OK; part = next) {
        next = strchr(part, ',');
        if (next != NULL) *next++ = '\0';
        char *equals = strchr(part, '=');
        if (equals == NULL) {
            status =
                drove__fail(DROVE_E_ARG,
                            "--until: expected name=value (loss=5%%, epochs=10 ...), found \"%s\"",
                            part);
            break;
        }
        *equals = '\0';
        for (size_t i = 0; i < DROVE_COUNT(conditions) && status == DROVE_OK; i++) {
            if (strcmp(part, conditions[i]) != 0) continue;
            if (given[i])
                status =
                    drove__fail(DROVE_E_ARG,
                                "--until: expected each condition once, found \"%s\" twice", part);
            given[i] = true;
        }
        if (status == DROVE_OK) status = set_one(&u, part, equals + 1);
    }
    free(copy);
    DROVE_TRY(status);
    if (isinf(u.epochs) && isinf(u.seconds) && u.updates == UINT64_MAX && u.patience == 0 &&
        !drove__until_has_target(&u)) {
        return drove__fail(DROVE_E_ARG, "--until: expected at least one condition, found \"%s\"",
                           text);
    }
    *out = u;
    return DROVE_OK;
}

/* ---- --save-every ---- */

drove_status drove__save_every_parse(const char *text, drove_save_every *out)
{
    static const char *const words[] = {/* in the order of drove_save_unit */
                                        [DROVE_SAVE_EVAL] = "eval",
                                        [DROVE_SAVE_EPOCHS] = "epochs",
                                        [DROVE_SAVE_UPDATES] = "updates",
                                        [DROVE_SAVE_SECONDS] = "seconds",
                                        [DROVE_SAVE_NEVER] = "never"};
    static const char *const shown[] = {"eval", "epochs=N", "updates=N", "seconds=N", "never"};
    for (unsigned i = 0; i < DROVE_COUNT(words); i++) {
        size_t n = strlen(words[i]);
        bool is_plain = i == DROVE_SAVE_EVAL || i == DROVE_SAVE_NEVER;
        if (is_plain && strcmp(text, words[i]) == 0) {
            *out = (drove_save_every){.unit = (drove_save_unit)i};
            return DROVE_OK;
        }
        if (!is_plain && strncmp(text, words[i], n) == 0 && text[n] == '=') {
            const char *value = text + n + 1;
            char what[40];
            drove_save_every every = {.unit = (drove_save_unit)i};
            snprintf(what, sizeof what, "--save-every %s", words[i]);
            if (i == DROVE_SAVE_UPDATES)
                DROVE_TRY(drove__parse_u64(what, value, 1, UINT64_MAX, &every.updates));
            else DROVE_TRY(drove__parse_real(what, value, DBL_MIN, DBL_MAX, &every.amount));
            *out = every;
            return DROVE_OK;
        }
    }
    unsigned unused;
    return drove__one_of("--save-every", text, shown, DROVE_COUNT(shown), &unused);
}
