/* about/combinations.c - the table of strategy/combine.h over all rows of the registry. */
#include "about/combinations.h"

#include "about/info.h"
#include "config/registry.h"
#include "strategy/combine.h"

#include <stdlib.h>
#include <string.h>

static drove_status print_json(FILE *stream)
{
    json_t *array = json_array();
    for (size_t i = 0; drove__strategies[i] != NULL; i++) {
        const drove_sync_ops *ops = drove__strategies[i];
        json_t *row = json_pack("{s:s}", "name", ops->name);
        for (const drove_combination_column *c = drove__combinations; c->name != NULL; c++) {
            const char *why = drove__combine(ops, &c->at);
            json_t *cell = why == NULL ? json_true() : json_string(why);
            drove__json_set(&row, c->name, cell);
        }
        drove__json_add(&array, row);
    }
    return drove__about_print_json(array, "list", stream);
}

/* One line for each strategy; a cell that does not run has the number of its reason. */
static drove_status print_text(FILE *stream)
{
    const char *reason[64];
    unsigned n_reasons = 0, count[2] = {0, 0};
    int width = (int)strlen("strategy");
    for (size_t i = 0; drove__strategies[i] != NULL; i++) {
        int n = (int)strlen(drove__strategies[i]->name);
        if (n > width) width = n;
    }
    fprintf(stream, "%-*s", width, "strategy");
    for (const drove_combination_column *c = drove__combinations; c->name != NULL; c++)
        fprintf(stream, "  %s", c->name);
    fputc('\n', stream);
    for (size_t i = 0; drove__strategies[i] != NULL; i++) {
        const drove_sync_ops *ops = drove__strategies[i];
        fprintf(stream, "%-*s", width, ops->name);
        for (const drove_combination_column *c = drove__combinations; c->name != NULL; c++) {
            char cell[16] = "runs";
            const char *why = drove__combine(ops, &c->at);
            if (why != NULL) {
                unsigned k = 0;
                while (k < n_reasons && strcmp(reason[k], why) != 0) k++;
                if (k == n_reasons && k < DROVE_COUNT(reason)) reason[n_reasons++] = why;
                snprintf(cell, sizeof cell, "(%u)", k + 1);
            }
            count[0] += why == NULL;
            count[1]++;
            fprintf(stream, "  %-*s", (int)strlen(c->name), cell);
        }
        fputc('\n', stream);
    }
    fprintf(stream, "\n%u of %u combinations run; the others do not, because\n", count[0],
            count[1]);
    for (unsigned i = 0; i < n_reasons; i++) fprintf(stream, "  (%u) %s\n", i + 1, reason[i]);
    return ferror(stream) ? drove__fail(DROVE_E_IO, "list: cannot be written") : DROVE_OK;
}

drove_status drove__combinations_print(int as_json, FILE *stream)
{
    return as_json ? print_json(stream) : print_text(stream);
}
