/* metrics/threshold.c - see threshold.h. */
#include "metrics/threshold.h"

#include "base/number.h"
#include "base/print.h"

#include <float.h>
#include <string.h>

#define NUMBER_NAME "--threshold"

/* "fp=1,fn=5", in any order. */
static drove_status parse_cost(const char *text, drove_threshold *out)
{
    bool has_positive = false, has_negative = false;
    for (const char *at = text; at != NULL;) {
        const char *comma = strchr(at, ',');
        const size_t n = comma != NULL ? (size_t)(comma - at) : strlen(at);
        char part[64];
        if (n >= sizeof part || n < 3) goto fail;
        memcpy(part, at, n);
        part[n] = '\0';
        const bool is_positive = strncmp(part, "fp=", 3) == 0;
        if (!is_positive && strncmp(part, "fn=", 3) != 0) goto fail;
        if (is_positive ? has_positive : has_negative) goto fail;
        DROVE_TRY(drove__parse_real(
            is_positive ? "--threshold: cost of fp" : "--threshold: cost of fn", part + 3, 0.0,
            1e30, is_positive ? &out->cost_false_positive : &out->cost_false_negative));
        if (is_positive) has_positive = true;
        else has_negative = true;
        at = comma != NULL ? comma + 1 : NULL;
    }
    if (!has_positive || !has_negative) goto fail;
    if (out->cost_false_positive + out->cost_false_negative > 0.0) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, NUMBER_NAME ": expected a cost above 0, found cost:%s", text);
fail:;
    char plain[256];
    return drove__fail(DROVE_E_ARG,
                       NUMBER_NAME ": expected costs such as cost:fp=1,fn=5, found \"cost:%s\"",
                       drove__print_plain(text, plain, sizeof plain));
}

drove_status drove__threshold_parse_number(const char *text, drove_threshold *out)
{
    double number = 0.0;
    *out = (drove_threshold){0};
    if (text == NULL || text[0] == '\0') return DROVE_OK;
    if (strcmp(text, "f1") == 0 || strncmp(text, "cost", 4) == 0)
        return drove__fail(DROVE_E_ARG,
                           NUMBER_NAME ": expected a number from 0 to 1, found \"%s\"; drove eval "
                                       "--threshold %s prints the number",
                           text, text);
    DROVE_TRY(drove__parse_real(NUMBER_NAME, text, 0.0, 1.0, &number));
    *out = (drove_threshold){.by = DROVE_THRESHOLD_NUMBER, .number = number};
    return DROVE_OK;
}

drove_status drove__threshold_parse(const char *text, drove_threshold *out)
{
    double number = 0.0;
    *out = (drove_threshold){0};
    if (text == NULL || text[0] == '\0') return DROVE_OK;
    if (strcmp(text, "f1") == 0) {
        out->by = DROVE_THRESHOLD_F1;
        return DROVE_OK;
    }
    if (strncmp(text, "cost", 4) == 0 && (text[4] == ':' || text[4] == '\0')) {
        drove_threshold cost = {.by = DROVE_THRESHOLD_COST};
        DROVE_TRY(parse_cost(text[4] == ':' ? text + 5 : "", &cost));
        *out = cost;
        return DROVE_OK;
    }
    DROVE_TRY(drove__parse_real_or(NUMBER_NAME, text, "f1, cost:fp=1,fn=5 or ", 0.0, 1.0, &number));
    *out = (drove_threshold){.by = DROVE_THRESHOLD_NUMBER, .number = number};
    return DROVE_OK;
}

drove_status drove__threshold_check(const drove_threshold *t, size_t n_classes, bool is_multi_label,
                                    bool is_probability, const char *loss)
{
    if (t->by == DROVE_THRESHOLD_USUAL) return DROVE_OK;
    if (n_classes == 0)
        return drove__fail(DROVE_E_ARG,
                           NUMBER_NAME ": expected a model of two classes, found one of values");
    if (is_multi_label)
        return drove__fail(DROVE_E_ARG, NUMBER_NAME
                           ": expected a model of two classes, found one of label sets");
    if (n_classes != 2)
        return drove__fail(DROVE_E_ARG,
                           NUMBER_NAME ": expected a model of two classes, found %zu classes",
                           n_classes);
    if (!is_probability)
        return drove__fail(DROVE_E_ARG,
                           NUMBER_NAME
                           ": expected a loss that gives probabilities, such as logistic, found %s",
                           loss);
    return DROVE_OK;
}
