/* export/c_table.c - the columns of a table as numbers of a C function, and the features of
 * table/schema.h made of them as table/encode.c makes them. */
#include "export/c_source.h"

#include "base/mem.h"

#include <math.h>

static bool is_two_cells(const drove_column *c)
{
    return c->type == DROVE_COLUMN_DATE && c->has_time;
}

drove_status drove__c_check_columns(const drove_schema *schema)
{
    for (size_t i = 0; schema != NULL && i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        if (c->type != DROVE_COLUMN_HASHED && c->type != DROVE_COLUMN_TEXT) continue;
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "column \"%.80s\": C source has no columns of texts that are hashed, "
                           "found %s",
                           c->name, drove__column_type_name(c->type));
    }
    return DROVE_OK;
}

size_t drove__c_n_cells(const drove_schema *schema)
{
    size_t n = 0;
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        if (drove__column_is_used(c)) n += is_two_cells(c) ? 2 : 1;
    }
    return n;
}

/* ---- the comment ---- */

void drove__c_describe_columns(FILE *to, const drove_schema *schema)
{
    size_t at = 0;
    char number[32];
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        if (!drove__column_is_used(c)) continue;
        fprintf(to, " *   %zu  ", at);
        drove__c_comment(to, drove__export_column_name(schema, i, number));
        fputs(": ", to);
        switch (c->type) {
        case DROVE_COLUMN_NUMBER:
            fputs("number", to);
            if (drove__unit_is_clock(&c->unit)) fputs(" of seconds", to);
            else if (drove__unit_text(&c->unit) != NULL)
                fprintf(to, " without its unit, %s", drove__unit_text(&c->unit));
            fputs("; NaN: missing\n", to);
            break;
        case DROVE_COLUMN_BOOLEAN: fputs("0 or 1; NaN: missing\n", to); break;
        case DROVE_COLUMN_DATE:
            fprintf(to, "days since 1970-01-01%s; NaN: missing\n",
                    c->has_time ? ", then minutes since midnight, seconds as a fraction" : "");
            break;
        default:
            fputs("category, a number of these; others: missing\n", to);
            for (size_t k = 0; k < c->n_values; k++) {
                fprintf(to, " *          %zu  ", k);
                drove__c_comment(to, c->value[k]);
                putc('\n', to);
            }
        }
        at += is_two_cells(c) ? 2 : 1;
    }
}

/* ---- the functions ---- */

/* The functions of the written file, one for each kind of column; each says whether the cell is
 * missing. */
static const char number_text[] =
    "/* f[0] = the number less its centre, f[1 ..] = the part of each bin that lies below it. */\n"
    "static int put_number(double v, double fill, double centre, const double *edge,\n"
    "                      size_t n_bins, float *f)\n"
    "{\n"
    "    const int missing = !(v - v == 0.0);\n"
    "    if (missing) v = fill;\n"
    "    f[0] = (float)(v - centre);\n"
    "    for (size_t i = 0; i < n_bins; i++) {\n"
    "        const double x = (double)v, low = (double)edge[i], high = (double)edge[i + 1];\n"
    "        f[1 + i] = x <= low ? 0.0f : x < high ? (float)((x - low) / (high - low)) : 1.0f;\n"
    "    }\n"
    "    return missing;\n"
    "}\n\n";
static const char levels_text[] =
    "/* 1 at the level that the number is. */\n"
    "static void put_levels(double v, const double *level, size_t n, float *f)\n"
    "{\n"
    "    for (size_t i = 0; i < n; i++) f[i] = v == level[i] ? 1.0f : 0.0f;\n"
    "}\n\n";
static const char category_text[] =
    "static int put_category(float v, size_t n, float *f)\n"
    "{\n"
    "    const int known = v >= 0.0f && v < (float)n && v == floorf(v);\n"
    "    for (size_t i = 0; i < n; i++) f[i] = 0.0f;\n"
    "    if (known) f[(size_t)v] = 1.0f;\n"
    "    return !known;\n"
    "}\n\n";
static const char date_text[] =
    "static void put_cycle(long at, double period, float *f)\n"
    "{\n"
    "    const double angle = 2 * 3.14159265358979323846 * (double)at / period;\n"
    "    f[0] = (float)sin(angle);\n"
    "    f[1] = (float)cos(angle);\n"
    "}\n\n"
    "/* The calendar by eras of 400 years that begin in March. */\n"
    "static int put_date(float day, float minute, double fill, int has_time, double centre,\n"
    "                    double year_centre, float *f)\n"
    "{\n"
    "    const int known = fabsf(day) <= 4398148.0f && minute >= 0.0f && minute < 1440.0f;\n"
    "    const double second =\n"
    "        known ? floor((double)day) * 86400 + floor((double)minute * 60 + 0.5) : fill;\n"
    "    const long days = (long)floor(second / 86400);\n"
    "    const long z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;\n"
    "    const long e = z - era * 146097, y = (e - e / 1460 + e / 36524 - e / 146096) / 365;\n"
    "    const long of_year = e - (365 * y + y / 4 - y / 100), month = (5 * of_year + 2) / 153;\n"
    "    const long calendar = month < 10 ? month + 2 : month - 10; /* 0: January */\n"
    "    f[0] = (float)(second / 86400 - centre);\n"
    "    f[1] = (float)((double)(y + era * 400 + (calendar <= 1)) - year_centre);\n"
    "    put_cycle(calendar, 12, f + 2);\n"
    "    put_cycle(of_year - (153 * month + 2) / 5, 31, f + 4);\n"
    "    put_cycle(((days + 3) % 7 + 7) % 7, 7, f + 6);\n"
    "    if (has_time) put_cycle((long)((second - (double)days * 86400) / 3600), 24, f + 8);\n"
    "    return !known;\n"
    "}\n\n";

static bool has_type(const drove_schema *schema, drove_column_type type)
{
    for (size_t i = 0; i < schema->n_columns; i++) {
        if (schema->column[i].type == type) return true;
    }
    return false;
}

static bool has_levels(const drove_schema *schema)
{
    for (size_t i = 0; i < schema->n_columns; i++) {
        if (schema->column[i].levels.n > 0) return true;
    }
    return false;
}

bool drove__c_has_doubles(const drove_schema *schema)
{
    for (size_t i = 0; i < schema->n_columns; i++) {
        if (schema->column[i].is_wide) return true;
    }
    return false;
}

void drove__c_columns(FILE *to, const drove_schema *schema)
{
    size_t cell = 0;
    if (has_type(schema, DROVE_COLUMN_NUMBER) || has_type(schema, DROVE_COLUMN_BOOLEAN))
        fputs(number_text, to);
    if (has_levels(schema)) fputs(levels_text, to);
    if (has_type(schema, DROVE_COLUMN_CATEGORY)) fputs(category_text, to);
    if (has_type(schema, DROVE_COLUMN_DATE)) fputs(date_text, to);
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        char name[32];
        snprintf(name, sizeof name, "edges%zu", i);
        if (drove__column_is_used(c) && c->bins.n > 0)
            drove__c_doubles(to, name, c->bins.edge, c->bins.n + 1);
        snprintf(name, sizeof name, "levels%zu", i);
        if (drove__column_is_used(c) && c->levels.n > 0)
            drove__c_doubles(to, name, c->levels.value, c->levels.n);
    }
    const bool is_double = drove__c_has_doubles(schema);
    fprintf(to, "static void features(const %s *x, float *f)\n{\n", is_double ? "double" : "float");
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        if (!drove__column_is_used(c)) continue;
        const char *as = is_double && !c->is_wide ? "(float)" : "";
        if (c->levels.n > 0)
            fprintf(to, "    put_levels(%sx[%zu], levels%zu, %zu, f + %zu);\n", as, cell, i,
                    c->levels.n, c->first_feature + 1 + c->bins.n);
        fputs("    ", to);
        if (c->has_missing) fprintf(to, "f[%zu] = (float)", c->first_feature + c->n_features - 1);
        else fputs("(void)", to);
        /* A call that fills the column's features and says whether the cell is missing. */
        const size_t f = c->first_feature;
        switch (c->type) {
        case DROVE_COLUMN_NUMBER:
            fprintf(to, "put_number(%sx[%zu], %a, %a, ", as, cell, c->fill, c->centre);
            if (c->bins.n > 0) fprintf(to, "edges%zu", i);
            else fputs("NULL", to);
            fprintf(to, ", %zu, f + %zu)", c->bins.n, f);
            break;
        case DROVE_COLUMN_BOOLEAN:
            fprintf(to, "put_number(%sx[%zu], %s, 0.0, NULL, 0, f + %zu)", as, cell,
                    c->fill != 0 ? "1.0" : "0.0", f);
            break;
        case DROVE_COLUMN_DATE:
            fprintf(to, "put_date(%sx[%zu], ", as, cell);
            if (c->has_time) fprintf(to, "%sx[%zu]", as, cell + 1);
            else fputs("0.0f", to);
            fprintf(to, ", %a, %d, %a, %a, f + %zu)", c->fill, c->has_time, c->centre,
                    drove__year_centre(c), f);
            break;
        default: fprintf(to, "put_category(%sx[%zu], %zu, f + %zu)", as, cell, c->n_values, f);
        }
        fputs(";\n", to);
        cell += is_two_cells(c) ? 2 : 1;
    }
    fputs("}\n\n", to);
}
