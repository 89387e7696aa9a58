/* data/read/labels.c - collects distinct label texts in a hash table and the labels of each row,
 * and decides their meaning at the end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* qsort_r */
#endif
#include "data/read/labels.h"

#include "base/digits.h"
#include "table/cell.h"
#include "base/mem.h"
#include "base/sort.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASSES_SURE = 20,       /* up to so many distinct whole numbers are always classes    */
    TABLE_CLASSES_SURE = 10, /* the same of a table, which rather has counts and years     */
    CLASS_LEAST_ROWS = 3,    /* more are classes only if each has at least so many rows    */
    CLASS_MOST_RATIO = 2,    /* largest to smallest of many classes in a table             */
    EXACT_DIGITS = 15        /* whole numbers of so many digits are exact in a double      */
};

typedef struct entry { /* a label text */
    size_t text;       /* into labels->arena, NUL-terminated          */
    size_t length;
    uint64_t n_rows;
    uint64_t line;     /* where it occurred first; 0 = a binary file  */
    uint64_t last_row; /* 1 + the last row that has it                */
    double number;     /* if is_number                                */
    uint32_t class;    /* set by order_classes                        */
    bool is_number, is_whole;
} entry;

struct drove_labels {
    char *arena; /* texts, each with a NUL */
    size_t arena_used, arena_capacity;
    entry *entries;
    size_t n_entries, entries_capacity;
    uint32_t *slot; /* hash table: 1 + entry, 0 = free; n_slots is a power of two */
    size_t n_slots;
    uint32_t *id; /* entries of all rows, one after the other */
    size_t n_ids, ids_capacity;
    uint64_t *row_start; /* [n_rows + 1]                             */
    size_t n_rows, rows_capacity;
    bool are_names;      /* of classes, whatever they look like */
    bool has_several;    /* a row has two labels or more        */
    bool has_unlabelled; /* a row has none; its line:           */
    uint64_t unlabelled_line;
};

static const char *const target_words[] = {"auto", "class", "value", "labels", NULL};

const drove_spec_key drove__label_keys[] = {
    {"target", NULL, DROVE_AS_WORD(drove_label_options, target, target_words),
     .help = "what the labels are; auto, also without it: by themselves"},
    {"classes", NULL, DROVE_AS_COUNT(drove_label_options, n_classes, 2, 1u << 24),
     .help = "their number; the labels are the numbers from 0 on"},
    DROVE_SPEC_END,
};

drove_status drove__labels_create(drove_labels **out)
{
    *out = NULL;
    drove_labels *labels = calloc(1, sizeof *labels);
    if (labels == NULL) return drove__fail_nomem("labels", sizeof *labels);
    labels->n_slots = 256;
    labels->slot = calloc(labels->n_slots, sizeof *labels->slot);
    drove_status status =
        drove__reserve(&labels->row_start, &labels->rows_capacity, 1, sizeof *labels->row_start);
    if (labels->slot == NULL)
        status = drove__fail_nomem("labels", labels->n_slots * sizeof *labels->slot);
    if (status != DROVE_OK) {
        drove__labels_destroy(labels);
        return status;
    }
    labels->row_start[0] = 0;
    *out = labels;
    return DROVE_OK;
}

void drove__labels_destroy(drove_labels *labels)
{
    if (labels == NULL) return;
    free(labels->arena);
    free(labels->entries);
    free(labels->slot);
    free(labels->id);
    free(labels->row_start);
    free(labels);
}

/* ---- numbers ---- */

bool drove__label_number(const char *text, size_t length, double *out)
{
    const char *end = text + length, *digits = text, *next;
    if (digits < end && (*digits == '+' || *digits == '-')) digits++;
    uint64_t whole;
    if ((size_t)(end - digits) <= EXACT_DIGITS && drove__scan_u64(digits, end, &next, &whole) &&
        next == end) {
        *out = *text == '-' ? -(double)whole : (double)whole;
        return true;
    }
    return drove__scan_double(text, end, &next, out) && next == end;
}

/* ---- collecting ---- */

static uint64_t hash_text(const char *text, size_t length)
{
    uint64_t hash =
        0xcbf29ce484222325u; /* FNV-1a, then a multiplication that mixes in the high bits */
    for (size_t i = 0; i < length; i++) hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    return (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u >> 20;
}

/* The slot of the text, or the free slot for it. */
static size_t find_slot(const drove_labels *labels, const char *text, size_t length)
{
    size_t mask = labels->n_slots - 1;
    size_t at = (size_t)hash_text(text, length) & mask;
    for (; labels->slot[at] != 0; at = (at + 1) & mask) {
        const entry *e = &labels->entries[labels->slot[at] - 1];
        if (e->length == length && memcmp(labels->arena + e->text, text, length) == 0) break;
    }
    return at;
}

/* Doubles the table once it is half full. */
static drove_status grow_table(drove_labels *labels)
{
    if (2 * (labels->n_entries + 1) < labels->n_slots) return DROVE_OK;
    size_t n_slots = 2 * labels->n_slots;
    uint32_t *slot = calloc(n_slots, sizeof *slot);
    if (slot == NULL) return drove__fail_nomem("labels", n_slots * sizeof *slot);
    free(labels->slot);
    labels->slot = slot;
    labels->n_slots = n_slots;
    for (size_t i = 0; i < labels->n_entries; i++) {
        const entry *e = &labels->entries[i];
        slot[find_slot(labels, labels->arena + e->text, e->length)] = (uint32_t)i + 1;
    }
    return DROVE_OK;
}

static drove_status add_entry(drove_labels *labels, const drove_line *line, const char *text,
                              size_t length, bool words_allowed)
{
    entry e = {.text = labels->arena_used, .length = length};
    e.is_number = drove__label_number(text, length, &e.number);
    if (line != NULL) {
        e.line = drove__reader_line_number(line->reader);
        if (!e.is_number && !words_allowed)
            return drove__line_fail(line, text, "a number as label");
        if (e.is_number && !isfinite(e.number))
            return drove__line_fail(line, text, "a finite number as label");
    } else if (!isfinite(e.number)) {
        return drove__fail(DROVE_E_DATA, "row %zu: expected a finite number as label",
                           labels->n_rows + 1);
    }
    e.is_whole = e.is_number && floor(e.number) == e.number && fabs(e.number) < 1e15;
    DROVE_TRY(drove__reserve(&labels->arena, &labels->arena_capacity,
                             labels->arena_used + length + 1, 1));
    DROVE_TRY(drove__reserve(&labels->entries, &labels->entries_capacity, labels->n_entries + 1,
                             sizeof e));
    memcpy(labels->arena + e.text, text, length);
    labels->arena[e.text + length] = '\0';
    labels->arena_used += length + 1;
    labels->entries[labels->n_entries++] = e;
    return DROVE_OK;
}

drove_status drove__labels_add(drove_labels *labels, const drove_line *line, const char *text,
                               size_t length, bool words_allowed)
{
    DROVE_TRY(grow_table(labels));
    size_t at = find_slot(labels, text, length);
    if (labels->slot[at] == 0) {
        DROVE_TRY(add_entry(labels, line, text, length, words_allowed));
        labels->slot[at] = (uint32_t)labels->n_entries;
    }
    entry *e = &labels->entries[labels->slot[at] - 1];
    if (line != NULL && e->last_row == labels->n_rows + 1) {
        return drove__line_fail(line, text, "each label once in a row");
    }
    e->last_row = labels->n_rows + 1;
    e->n_rows++;
    DROVE_TRY(
        drove__reserve(&labels->id, &labels->ids_capacity, labels->n_ids + 1, sizeof *labels->id));
    labels->id[labels->n_ids++] = labels->slot[at] - 1;
    return DROVE_OK;
}

drove_status drove__labels_add_number(drove_labels *labels, double number)
{
    char text[40];
    bool whole = fabs(number) < 1e15 && floor(number) == number;
    int n = whole ? snprintf(text, sizeof text, "%" PRId64, (int64_t)number)
                  : snprintf(text, sizeof text, "%.17g", number);
    for (char *c = text; !whole && *c != '\0'; c++) {
        if (*c == ',') *c = '.'; /* a locale's decimal point */
    }
    return drove__labels_add(labels, NULL, text, (size_t)n, false);
}

void drove__labels_are_names(drove_labels *labels)
{
    labels->are_names = true;
}

drove_status drove__labels_end_row(drove_labels *labels, const drove_line *line)
{
    DROVE_TRY(drove__reserve(&labels->row_start, &labels->rows_capacity, labels->n_rows + 2,
                             sizeof *labels->row_start));
    uint64_t n = labels->n_ids - labels->row_start[labels->n_rows];
    labels->has_several |= n > 1;
    if (n == 0 && !labels->has_unlabelled) {
        labels->has_unlabelled = true;
        labels->unlabelled_line = line != NULL ? drove__reader_line_number(line->reader) : 0;
    }
    labels->row_start[++labels->n_rows] = labels->n_ids;
    return DROVE_OK;
}

/* ---- meaning ---- */

static int compare_numbers(const void *a, const void *b, void *unused)
{
    const entry *x = *(entry *const *)a, *y = *(entry *const *)b;
    (void)unused;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return x->text < y->text ? -1 : x->text > y->text; /* the one written first gives the name */
}

static int compare_texts(const void *a, const void *b, void *arena)
{
    const entry *x = *(entry *const *)a, *y = *(entry *const *)b;
    return strcmp((const char *)arena + x->text, (const char *)arena + y->text);
}

typedef struct summary { /* of all labels */
    entry *odd; /* the first that is not a number, else the first that is not whole, else NULL */
    size_t n_classes;                /* if they were classes */
    uint64_t fewest_rows, most_rows; /* of a class */
    bool all_numbers, all_whole;
    bool counts_up; /* the numbers are 0, 1, 2 ... or 1, 2, 3 ... */
} summary;

static void count_class(summary *sum, uint64_t n_rows)
{
    if (n_rows < sum->fewest_rows) sum->fewest_rows = n_rows;
    if (n_rows > sum->most_rows) sum->most_rows = n_rows;
}

/* Sorts the entries into order[n_entries] and gives each its class; equal numbers share one. */
static void order_classes(drove_labels *labels, entry **order, summary *sum)
{
    *sum = (summary){.all_numbers = true, .all_whole = true, .fewest_rows = UINT64_MAX};
    for (size_t i = 0; i < labels->n_entries; i++) {
        entry *e = &labels->entries[i];
        order[i] = e;
        if (sum->odd == NULL && !e->is_whole) sum->odd = e;
        if (sum->all_numbers && !e->is_number) sum->odd = e;
        sum->all_numbers &= e->is_number;
        sum->all_whole &= e->is_whole;
    }
    if (labels->n_entries == 0) return;
    qsort_r(order, labels->n_entries, sizeof(entry *),
            sum->all_numbers ? compare_numbers : compare_texts, labels->arena);
    uint64_t rows = 0;
    sum->counts_up = order[0]->number == 0.0 || order[0]->number == 1.0;
    for (size_t i = 0; i < labels->n_entries; i++) {
        bool same = i > 0 && sum->all_numbers && order[i]->number == order[i - 1]->number;
        if (i > 0 && !same) {
            count_class(sum, rows);
            rows = 0;
            sum->n_classes++;
            sum->counts_up &= order[i]->number == order[i - 1]->number + 1.0;
        }
        rows += order[i]->n_rows;
        order[i]->class = (uint32_t)sum->n_classes;
    }
    count_class(sum, rows);
    sum->n_classes++;
}

/* Whether whole numbers of a table are the names of classes.  Many names count up, and about as
 * many rows have each; an age, a year or a count does not look like that. */
static bool are_names(const summary *sum)
{
    if (sum->n_classes <= TABLE_CLASSES_SURE) return true;
    if (sum->fewest_rows < CLASS_LEAST_ROWS) return false;
    return sum->n_classes <= CLASSES_SURE ||
           (sum->counts_up && sum->most_rows <= CLASS_MOST_RATIO * sum->fewest_rows);
}

static drove_label_target choose_target(const drove_labels *labels, const summary *sum,
                                        bool is_table)
{
    if (labels->has_several) return DROVE_TARGET_LABELS;
    if (!sum->all_numbers || labels->are_names) return DROVE_TARGET_CLASS;
    if (!sum->all_whole) return DROVE_TARGET_VALUE;
    bool is_class = sum->n_classes <= CLASSES_SURE || sum->fewest_rows >= CLASS_LEAST_ROWS;
    if (is_table) is_class = are_names(sum);
    return is_class ? DROVE_TARGET_CLASS : DROVE_TARGET_VALUE;
}

static drove_status fail_label(const drove_labels *labels, const char *where, const entry *e,
                               const char *expected)
{
    const char *text = labels->arena + e->text;
    if (e->line == 0)
        return drove__fail(DROVE_E_DATA, "%s: expected %s, found %s", where, expected, text);
    return drove__fail(DROVE_E_DATA, "%s:%llu: expected %s, found \"%.60s\"", where,
                       (unsigned long long)e->line, expected, text);
}

/* Sets n_classes, and class_name unless the names are the numbers from 0 on. */
static drove_status name_classes(const drove_labels *labels, entry *const *order,
                                 const summary *sum, drove_storage *s)
{
    bool plain = true;
    for (size_t i = 0; i < labels->n_entries; i++) {
        const char *text = labels->arena + order[i]->text;
        if (!order[i]->is_whole || order[i]->number != (double)order[i]->class || *text == '-' ||
            *text == '+') {
            plain = false;
        }
    }
    s->n_classes = sum->n_classes;
    if (plain || sum->n_classes == 0) return DROVE_OK;
    s->class_name = calloc(sum->n_classes, sizeof *s->class_name);
    if (s->class_name == NULL)
        return drove__fail_nomem("class names", sum->n_classes * sizeof *s->class_name);
    for (size_t i = 0; i < labels->n_entries; i++) {
        char **name = &s->class_name[order[i]->class];
        if (*name != NULL) continue;
        /* "2" for 2, "2.0" and so on; "-1" and "+1" as written. */
        const char *text = labels->arena + order[i]->text;
        const char *digits = *text == '+' || *text == '-' ? text + 1 : text;
        char number[32];
        if (order[i]->is_whole && digits[strspn(digits, "0123456789")] != '\0') {
            snprintf(number, sizeof number, "%" PRId64, (int64_t)order[i]->number);
            text = number;
        }
        *name = strdup(text);
        if (*name == NULL) return drove__fail_nomem("class names", order[i]->length);
    }
    return DROVE_OK;
}

static drove_status finish_values(const drove_labels *labels, const char *where, drove_storage *s)
{
    s->y_kind = DROVE_Y_VALUE;
    s->y_value = drove__grow(NULL, labels->n_rows, sizeof *s->y_value);
    if (s->y_value == NULL)
        return drove__fail_nomem("targets", labels->n_rows * sizeof *s->y_value);
    drove_digits digits = {0};
    for (size_t row = 0; row < labels->n_rows; row++) {
        const entry *e = &labels->entries[labels->id[labels->row_start[row]]];
        if (e->is_number) drove__digits_add(&digits, e->number);
    }
    const double origin = drove__digits_origin(&digits);
    if (origin != 0) {
        s->y_origin = malloc(sizeof *s->y_origin);
        if (s->y_origin == NULL) return drove__fail_nomem("targets", sizeof *s->y_origin);
        *s->y_origin = origin;
    }
    for (size_t row = 0; row < labels->n_rows; row++) {
        const entry *e = &labels->entries[labels->id[labels->row_start[row]]];
        if (!e->is_number) return fail_label(labels, where, e, "a number as label");
        s->y_value[row] = (float)(e->number - origin);
    }
    return DROVE_OK;
}

static drove_status finish_labels(drove_labels *labels, const char *where, drove_storage *s)
{
    s->y_kind = DROVE_Y_LABELS;
    s->label = drove__grow(NULL, labels->n_ids, sizeof *s->label);
    if (s->label == NULL) return drove__fail_nomem("labels", labels->n_ids * sizeof *s->label);
    for (size_t i = 0; i < labels->n_ids; i++) s->label[i] = labels->entries[labels->id[i]].class;
    s->label_start = labels->row_start;
    labels->row_start = NULL;
    for (size_t row = 0; row < labels->n_rows; row++) {
        size_t first = s->label_start[row], n = s->label_start[row + 1] - first;
        if (n > 1) qsort(s->label + first, n, sizeof *s->label, drove__compare_u32);
        for (size_t i = 1; i < n; i++) {
            if (s->label[first + i] != s->label[first + i - 1]) continue;
            return drove__fail(DROVE_E_DATA, "%s: row %zu: a label is repeated", where, row + 1);
        }
    }
    return DROVE_OK;
}

/* TRUE, True and true are one label where all are truth values, and so are FALSE and false: their
 * texts become those that most rows have. */
static void merge_truth_values(drove_labels *labels, drove_storage *s)
{
    uint32_t best[2] = {0, 0};
    bool is_there[2] = {false, false};
    size_t letters = 0;
    if (labels->n_entries <= 2) return;
    for (uint32_t i = 0; i < labels->n_entries; i++) {
        const entry *e = &labels->entries[i];
        const char *text = labels->arena + e->text;
        float value;
        if (e->is_number || !drove__cell_boolean(text, e->length, &value)) return;
        /* true and false, yes and no, t and f, y and n: 9, 5 and 2 letters, no mixture of them */
        const size_t pair = e->length == 1
                                ? ((*text | 0x20) == 't' || (*text | 0x20) == 'f' ? 1 : 2)
                            : e->length >= 4 ? 9
                                             : 5;
        if (letters != 0 && pair != letters) return;
        letters = pair;
        const unsigned k = value != 0;
        if (!is_there[k] || e->n_rows > labels->entries[best[k]].n_rows) best[k] = i;
        is_there[k] = true;
    }
    uint32_t *to = drove__grow(NULL, labels->n_entries, sizeof *to);
    if (to == NULL) return; /* they stay apart, which is said */
    for (uint32_t i = 0; i < labels->n_entries; i++) {
        float value = 0;
        const entry *e = &labels->entries[i];
        (void)drove__cell_boolean(labels->arena + e->text, e->length, &value);
        to[i] = best[value != 0];
        if (to[i] != i) labels->entries[to[i]].n_rows += e->n_rows;
    }
    const bool is_swapped = best[1] < best[0];
    const entry kept[2] = {labels->entries[best[is_swapped]], labels->entries[best[!is_swapped]]};
    for (size_t k = 0; k < labels->n_ids; k++)
        labels->id[k] = to[labels->id[k]] == best[is_swapped] ? 0 : 1;
    labels->entries[0] = kept[0];
    labels->entries[1] = kept[1];
    labels->n_entries = is_there[0] && is_there[1] ? 2 : 1;
    drove__storage_note(s, "truth values in upper and lower case are one class: \"%s\", \"%s\"",
                        labels->arena + kept[0].text,
                        labels->arena + kept[labels->n_entries - 1].text);
    free(to);
}

static drove_status finish_ordered(drove_labels *labels, entry **order, drove_label_target target,
                                   uint64_t n_declared, bool is_table, const char *where,
                                   drove_storage *s)
{
    summary sum;
    order_classes(labels, order, &sum);
    if (target == DROVE_TARGET_AUTO) {
        target = choose_target(labels, &sum, is_table);
        if (n_declared > 0 && target == DROVE_TARGET_VALUE) target = DROVE_TARGET_CLASS;
        else {
            if (target == DROVE_TARGET_VALUE && sum.all_whole) {
                drove__storage_note(
                    s,
                    "%zu different whole-number labels read as values (?target=class: as classes)",
                    sum.n_classes);
            }
            if (target == DROVE_TARGET_CLASS && sum.all_numbers && sum.n_classes > 2 &&
                !labels->are_names) {
                drove__storage_note(
                    s,
                    "%zu different whole-number labels read as classes (?target=value: as values)",
                    sum.n_classes);
            }
        }
    }
    if (target != DROVE_TARGET_LABELS) {
        /* A single-label target needs exactly one label in each row. */
        if (labels->has_several) {
            return drove__fail(
                DROVE_E_DATA,
                "%s: has rows with several labels, so ?target=%s does not fit; expected "
                "?target=labels",
                where, target_words[target]);
        }
        if (labels->has_unlabelled)
            return drove__fail(
                DROVE_E_DATA,
                "%s:%llu: expected a label at the start of the line, found none (rows without "
                "label are for multi-label data: ?target=labels)",
                where, (unsigned long long)labels->unlabelled_line);
    }
    if (target == DROVE_TARGET_VALUE) return finish_values(labels, where, s);
    if (target == DROVE_TARGET_LABELS && !sum.all_whole) {
        return fail_label(labels, where, sum.odd, "whole numbers as labels of multi-label data");
    }
    if (n_declared > 0) {
        /* ?classes=N: labels are the numbers 0 .. N-1, even if some do not occur. */
        char expected[80];
        snprintf(expected, sizeof expected, "a label from 0 to %llu (?classes=%llu)",
                 (unsigned long long)n_declared - 1, (unsigned long long)n_declared);
        for (size_t i = 0; i < labels->n_entries; i++) {
            entry *e = &labels->entries[i];
            if (!e->is_whole || e->number < 0 || e->number >= (double)n_declared) {
                return fail_label(labels, where, e, expected);
            }
            e->class = (uint32_t)e->number;
        }
        s->n_classes = (size_t)n_declared;
    } else DROVE_TRY(name_classes(labels, order, &sum, s));
    if (target == DROVE_TARGET_LABELS) return finish_labels(labels, where, s);
    s->y_kind = DROVE_Y_CLASS;
    s->y_class = drove__grow(NULL, labels->n_rows, sizeof *s->y_class);
    if (s->y_class == NULL)
        return drove__fail_nomem("classes", labels->n_rows * sizeof *s->y_class);
    for (size_t row = 0; row < labels->n_rows; row++) {
        s->y_class[row] = (int32_t)labels->entries[labels->id[labels->row_start[row]]].class;
    }
    return DROVE_OK;
}

drove_status drove__labels_finish(drove_labels *labels, const drove_label_options *opt,
                                  const char *where, drove_storage *storage)
{
    const drove_label_target target =
        opt->target == DROVE_TARGET_UNSAID ? DROVE_TARGET_AUTO : opt->target;
    if (!labels->are_names) merge_truth_values(labels, storage);
    entry **order = drove__grow(NULL, labels->n_entries, sizeof *order);
    if (order == NULL) return drove__fail_nomem("labels", labels->n_entries * sizeof *order);
    drove_status status =
        finish_ordered(labels, order, target, opt->n_classes, opt->of_table, where, storage);
    free(order);
    return status;
}
