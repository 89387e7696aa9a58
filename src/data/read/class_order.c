/* data/read/class_order.c - see class_order.h. */
#include "data/read/class_order.h"

#include "base/mem.h"
#include "data/read/labels.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct class_name {
    const char *text;
    double number;
    bool is_number;
    uint32_t met;
} class_name;

static int compare_classes(const void *a, const void *b)
{
    const class_name *x = a, *y = b;
    if (x->is_number && y->is_number) return x->number < y->number ? -1 : x->number > y->number;
    return strcmp(x->text, y->text);
}

static bool are_counts(const class_name *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char number[DROVE_CLASS_TEXT_SIZE];
        snprintf(number, sizeof number, "%zu", i);
        if (strcmp(number, all[i].text) != 0) return false;
    }
    return true;
}

drove_status drove__classes_settle(drove_storage *s, const char *const *text, size_t n,
                                   uint32_t *map)
{
    class_name *all = drove__grow(NULL, n, sizeof *all);
    if (all == NULL) return drove__fail_nomem("classes", n * sizeof *all);
    /* all[n], sorted unless the order of the columns counts. */
    bool all_numbers = true;
    for (size_t i = 0; i < n; i++) {
        all[i] = (class_name){.text = text[i], .met = (uint32_t)i};
        all[i].is_number = drove__label_number(text[i], strlen(text[i]), &all[i].number);
        all_numbers = all_numbers && all[i].is_number;
    }
    for (size_t i = 0; i < n; i++) all[i].is_number = all_numbers;
    const bool are_columns = s->y_kind == DROVE_Y_LABELS && s->schema != NULL;
    if (!are_columns) qsort(all, n, sizeof *all, compare_classes);
    for (size_t i = 0; i < n; i++) map[all[i].met] = (uint32_t)i;
    drove_status status = DROVE_OK;
    drove__texts_free(s->class_name, s->n_classes);
    s->class_name = NULL;
    s->n_classes = n;
    if (are_counts(all, n)) goto end;
    s->class_name = calloc(n, sizeof *s->class_name);
    if (s->class_name == NULL) {
        status = drove__fail_nomem("classes", n * sizeof *s->class_name);
        goto end;
    }
    for (size_t i = 0; i < n; i++) {
        s->class_name[i] = strdup(all[i].text);
        if (s->class_name[i] == NULL) {
            status = drove__fail_nomem("classes", strlen(all[i].text));
            goto end;
        }
    }
end:
    free(all);
    return status;
}

void drove__classes_note_many(drove_storage *s, uint64_t n_rows)
{
    enum { MANY = 1000, FEW_ROWS = 10 /* of a class */ };
    if (s->y_kind != DROVE_Y_CLASS || s->n_classes <= MANY || s->n_classes <= n_rows / FEW_ROWS)
        return;
    drove__storage_note(s,
                        "label: %zu classes in %zu rows, so that few can be learnt: is it the "
                        "column that is meant (--label)?",
                        s->n_classes, (size_t)n_rows);
}
