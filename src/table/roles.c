/* table/roles.c - what the columns of a table are, by its options: labels, weights, columns that
 * are used or left out, forced types. */
#include "table/infer.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static drove_status give_role(void *context, size_t column)
{
    learner *l = context;
    if (l->role[column] == ROLE_LABEL || l->role[column] == ROLE_WEIGHT) return DROVE_OK;
    l->role[column] = l->next_role;
    l->forced[column] = l->next_type;
    return DROVE_OK;
}

static drove_status give_label(void *context, size_t column)
{
    learner *l = context;
    drove_known_table *known = l->known;
    if (l->role[column] == ROLE_LABEL)
        return drove__fail(DROVE_E_ARG,
                           "label: expected each column of %s once, found \"%.80s\" twice",
                           l->table->path, l->table->name[column]);
    if (l->opt->label != NULL && strcmp(l->opt->label, l->table->name[column]) == 0)
        DROVE_TRY(drove__label_check_name(l->table, column));
    l->role[column] = ROLE_LABEL;
    known->label[known->n_labels++] = column;
    return DROVE_OK;
}

static drove_status give_both(void *context, size_t column)
{
    learner *l = context;
    l->is_both[column] = true;
    return DROVE_OK;
}

/* "age:number+zip:category"; a name may itself hold a plus or a colon. */
static drove_status read_types(learner *l)
{
    static const char *const words[] = {"number", "boolean",  "date", "dmy",
                                        "mdy",    "category", "text", "id"};
    static const drove_column_type types[] = {DROVE_COLUMN_NUMBER, DROVE_COLUMN_BOOLEAN,
                                              DROVE_COLUMN_DATE,   DROVE_COLUMN_DATE,
                                              DROVE_COLUMN_DATE,   DROVE_COLUMN_CATEGORY,
                                              DROVE_COLUMN_TEXT,   DROVE_COLUMN_ID};
    for (const char *item = l->opt->types;; item++) {
        size_t n_name = drove__table_word(l->table, item, ":"), length, column;
        char word[16] = "";
        unsigned choice = DROVE_COUNT(words);
        length = n_name + strcspn(item + n_name, "+");
        n_name = item[n_name] == ':' ? n_name + 1 : 0;
        snprintf(word, sizeof word, "%.*s", (int)(length - n_name), item + n_name);
        for (unsigned i = 0; i < DROVE_COUNT(words) && n_name > 0; i++) {
            if (strcmp(words[i], word) == 0) choice = i;
        }
        if (choice == DROVE_COUNT(words))
            return drove__fail(DROVE_E_ARG,
                               "types: expected COLUMN:number, boolean, date, dmy, mdy, category, "
                               "text or id, joined by +, found \"%.*s\"",
                               (int)(length < 80 ? length : 80), item);
        DROVE_TRY(drove__table_find(l->table, "types", item, n_name - 1, &column));
        l->next_role = types[choice] == DROVE_COLUMN_ID ? ROLE_UNUSED : ROLE_FORCED;
        l->next_type = types[choice];
        DROVE_TRY(give_role(l, column));
        (void)drove__date_order_find(words[choice], &l->order[column]);
        item += length;
        if (*item == '\0') return DROVE_OK;
    }
}

/* The column of groups is no feature unless columns= or types= names it. */
static drove_status give_group(learner *l)
{
    const char *name = l->opt->group;
    size_t column;
    if (name == NULL) return DROVE_OK;
    DROVE_TRY(drove__table_find(l->table, "split=group", name, strlen(name), &column));
    if (l->role[column] == ROLE_LABEL || l->forced[column] == DROVE_COLUMN_TEXT)
        return drove__fail(DROVE_E_ARG,
                           "split=group: expected another column of %s than %s, found \"%.80s\"",
                           l->table->path,
                           l->role[column] == ROLE_LABEL ? "the label" : "one of texts", name);
    if (l->role[column] == ROLE_UNUSED || (l->role[column] == ROLE_AUTO && l->opt->columns == NULL))
        l->role[column] = ROLE_GROUP;
    l->known->group = column;
    return DROVE_OK;
}

drove_status drove__learner_give_roles(learner *l)
{
    const drove_table_options *opt = l->opt;
    for (size_t i = 0; i < l->table->n_columns && opt->columns != NULL; i++) {
        l->role[i] = ROLE_UNUSED;
        l->forced[i] = DROVE_COLUMN_IGNORED;
    }

    const char *label = opt->label, *weights = opt->weights;
    const size_t n = l->table->n_columns;
    l->known->label = drove__grow(NULL, n, sizeof *l->known->label);
    if (l->known->label == NULL) return drove__fail_nomem("labels", n);
    if (label == NULL && n > 1)
        drove__known_note(l->known,
                          "the label is the last column, \"%.60s\" (--label names another)",
                          l->table->name[n - 1]);
    if (label == NULL || strcmp(label, "last") == 0) DROVE_TRY(give_label(l, n - 1));
    else if (strcmp(label, "first") == 0) DROVE_TRY(give_label(l, 0));
    else if (strcmp(label, "none") != 0)
        DROVE_TRY(drove__table_list(l->table, "label", label, give_label, l));

    if (weights != NULL && strcmp(weights, "none") != 0) {
        size_t column;
        DROVE_TRY(drove__table_find(l->table, "weights", weights, strlen(weights), &column));
        if (l->role[column] == ROLE_LABEL)
            return drove__fail(
                DROVE_E_ARG,
                "weights: expected another column than the label of %s, found \"%.80s\"",
                l->table->path, weights);
        l->role[column] = ROLE_WEIGHT;
        l->known->weight = column;
    }
    l->next_role = ROLE_AUTO;
    if (opt->columns != NULL)
        DROVE_TRY(drove__table_list(l->table, "columns", opt->columns, give_role, l));

    /* The file itself may have types for its columns. */
    const drove_content *content = &l->table->content;
    for (size_t i = 0; i < content->n_types && i < l->table->n_columns; i++) {
        if (content->type[i] == 'd') l->order[i] = DROVE_DATE_DMY;
        if (content->type[i] == 'm') l->order[i] = DROVE_DATE_MDY;
        if (content->type[i] != 'c' || l->role[i] != ROLE_AUTO) continue;
        l->role[i] = ROLE_FORCED;
        l->forced[i] = DROVE_COLUMN_CATEGORY;
    }

    if (opt->types != NULL) DROVE_TRY(read_types(l));
    l->next_role = ROLE_FORCED;
    l->next_type = DROVE_COLUMN_TEXT;
    if (opt->text != NULL) DROVE_TRY(drove__table_list(l->table, "text", opt->text, give_role, l));
    l->next_role = ROLE_UNUSED;
    l->next_type = DROVE_COLUMN_IGNORED;
    if (opt->ignore != NULL)
        DROVE_TRY(drove__table_list(l->table, "ignore", opt->ignore, give_role, l));
    if (opt->also != NULL) DROVE_TRY(drove__table_list(l->table, "also", opt->also, give_both, l));
    return give_group(l);
}
