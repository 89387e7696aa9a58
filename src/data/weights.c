/* data/weights.c - see weights.h. */
#include "data/weights.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

drove_status drove__weights_normalise(drove_data *data)
{
    double sum = 0.0;
    data->mean_weight = 0.0;
    if (!drove__data_is_weighted(data)) return DROVE_OK;
    for (size_t i = 0; i < data->n_rows; i++)
        sum += (double)drove__data_loss_weight(data, drove__data_row(data, i));
    if (!(sum > 0.0))
        return drove__fail(DROVE_E_DATA, "weights: expected a training example whose weight is "
                                         "above 0, found none");
    data->mean_weight = sum / (double)data->n_rows;
    return DROVE_OK;
}

drove_status drove__weights_copy(const drove_data *from, drove_data *to)
{
    const size_t n = from->storage->n_classes;
    to->mean_weight = from->mean_weight;
    if (from->class_weight == NULL) return DROVE_OK;
    to->class_weight = drove__grow(NULL, n, sizeof *to->class_weight);
    if (to->class_weight == NULL)
        return drove__fail_nomem("weights of classes", n * sizeof *to->class_weight);
    memcpy(to->class_weight, from->class_weight, n * sizeof *to->class_weight);
    return DROVE_OK;
}

/* ---- classes ---- */

/* As scikit-learn's class_weight="balanced": classes count the same in all, rows in the mean 1. */
static drove_status balance(const drove_data *data, float *weight)
{
    const drove_storage *s = data->storage;
    const size_t n_classes = s->n_classes;
    char number[DROVE_CLASS_TEXT_SIZE];
    uint64_t *n_rows = calloc(n_classes, sizeof *n_rows);
    drove_status status = DROVE_OK;
    if (n_rows == NULL) return drove__fail_nomem("counts of classes", n_classes * sizeof *n_rows);
    for (size_t i = 0; i < data->n_rows; i++) n_rows[s->y_class[drove__data_row(data, i)]]++;
    for (size_t c = 0; c < n_classes && status == DROVE_OK; c++) {
        if (n_rows[c] == 0)
            status = drove__fail(DROVE_E_DATA,
                                 "--class-weight balanced: expected training examples of every "
                                 "class, found none of class \"%.60s\"",
                                 drove__class_text(s, c, number));
        else weight[c] = (float)((double)data->n_rows / ((double)n_classes * (double)n_rows[c]));
    }
    free(n_rows);
    return status;
}

/* The class whose name and '=' text begins with; of several the longest name, which may itself hold
 * '=' and ','.  n_classes: there is none. */
static size_t class_at(const drove_storage *s, const char *text, size_t *n_name)
{
    char number[DROVE_CLASS_TEXT_SIZE];
    size_t found = s->n_classes;
    *n_name = 0;
    for (size_t c = 0; c < s->n_classes; c++) {
        const char *name = drove__class_text(s, c, number);
        size_t n = strlen(name);
        if (strncmp(text, name, n) != 0 || text[n] != '=') continue;
        if (found < s->n_classes && n <= *n_name) continue;
        found = c;
        *n_name = n;
    }
    return found;
}

/* is_given[n_classes]: of calloc. */
static drove_status read_list(const drove_storage *s, const char *text, bool *is_given,
                              float *weight)
{
    for (size_t c = 0; c < s->n_classes; c++) weight[c] = 1.0f;
    while (true) {
        size_t n_name, c = class_at(s, text, &n_name);
        if (c == s->n_classes) {
            char number[2][DROVE_CLASS_TEXT_SIZE];
            return drove__fail(
                DROVE_E_ARG,
                "--class-weight: expected balanced, or CLASS=NUMBER joined by commas, with a "
                "class of the data (%.40s .. %.40s), found \"%.60s\"",
                drove__class_text(s, 0, number[0]),
                drove__class_text(s, s->n_classes - 1, number[1]), text);
        }
        if (is_given[c])
            return drove__fail(DROVE_E_ARG,
                               "--class-weight: expected each class once, found "
                               "\"%.*s\" twice",
                               (int)(n_name < 60 ? n_name : 60), text);
        is_given[c] = true;
        text += n_name + 1;
        size_t n = strcspn(text, ",");
        char number[64];
        double value = 0.0;
        snprintf(number, sizeof number, "%.*s", (int)(n < sizeof number ? n : sizeof number - 1),
                 text);
        DROVE_TRY(drove__parse_real("--class-weight", number, 0.0, 1e30, &value));
        weight[c] = (float)value;
        text += n;
        if (*text == '\0') return DROVE_OK;
        text++;
    }
}

drove_status drove__weights_of_classes(drove_data *data, const char *text)
{
    const drove_storage *s = data->storage;
    if (*text == '\0') return DROVE_OK;
    if (s->y_kind != DROVE_Y_CLASS)
        return drove__fail(DROVE_E_ARG,
                           "--class-weight: expected data with one class for each example, found "
                           "%s",
                           s->y_kind == DROVE_Y_VALUE ? "values" : "several labels");
    float *weight = drove__grow(NULL, s->n_classes, sizeof *weight);
    if (weight == NULL)
        return drove__fail_nomem("weights of classes", s->n_classes * sizeof *weight);
    drove_status status;
    if (strcmp(text, "balanced") == 0) status = balance(data, weight);
    else {
        bool *is_given = calloc(s->n_classes, sizeof *is_given);
        status = is_given != NULL ? read_list(s, text, is_given, weight)
                                  : drove__fail_nomem("weights of classes", s->n_classes);
        free(is_given);
    }
    if (status != DROVE_OK) {
        free(weight);
        return status;
    }
    free(data->class_weight);
    data->class_weight = weight;
    return drove__weights_normalise(data);
}
