/* table/json_lines.c - JSON Lines (RFC 8259 objects, one after the other) and arrays of objects, as
 * tables.
 *
 * Two passes: the first finds all keys, the second writes the rows.  Each parses one object at a
 * time.
 */
#include "table/rewrite.h"

#include "base/mem.h"
#include "table/rewriting.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MOST = 1 << 20, DEPTH_MOST = 16, NAME_MOST = 1 << 12 };

typedef struct json_text { /* being read */
    const char *path;
    const char *at, *end;
    bool is_array;
    uint64_t line;     /* of `at` */
    json_t *columns;   /* name -> its number, in the order in which they were met */
    const char **name; /* [n] borrowed from columns */
    size_t n, capacity;
} json_text;

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

bool drove__is_json(const drove_content *content)
{
    const char *at = skip_blanks(content->text, content->end), *end = content->end;
    if (at < end && *at == '[') {
        at = skip_blanks(at + 1, end);
        return at < end && *at == '{';
    }
    if (at == end || *at != '{') return false;
    at = skip_blanks(at + 1, end);
    return at < end && (*at == '"' || *at == '}');
}

/* Moves to `at`, counting lines. */
static void move_to(json_text *j, const char *at)
{
    for (; j->at < at; j->at++) j->line += *j->at == '\n';
}

static drove_status fail_here(const json_text *j, const char *expected)
{
    return drove__fail(DROVE_E_DATA, "%s:%llu: expected %s", j->path, (unsigned long long)j->line,
                       expected);
}

/* The next object, which the caller releases; NULL at the end. */
static drove_status next_object(json_text *j, bool is_first, json_t **out)
{
    json_error_t error;
    *out = NULL;
    move_to(j, skip_blanks(j->at, j->end));
    if (j->is_array) {
        if (j->at == j->end) return fail_here(j, "\"]\" behind the last object");
        if (*j->at == ']') {
            move_to(j, j->at + 1);
            move_to(j, skip_blanks(j->at, j->end));
            return j->at == j->end ? DROVE_OK : fail_here(j, "nothing behind the array of objects");
        }
        if (!is_first && *j->at != ',') return fail_here(j, "\",\" between two objects");
        if (!is_first) move_to(j, j->at + 1);
        move_to(j, skip_blanks(j->at, j->end));
    } else if (j->at == j->end) {
        return DROVE_OK;
    }
    json_t *object = json_loadb(j->at, (size_t)(j->end - j->at),
                                JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);
    if (object == NULL && error.position >= 0 &&
        json_error_code(&error) == json_error_out_of_memory)
        return drove__fail_nomem(j->path, (size_t)error.position);
    if (object == NULL && error.position >= 0 &&
        json_error_code(&error) == json_error_numeric_overflow)
        return drove__fail(DROVE_E_DATA,
                           "%s:%llu: expected integers of up to 64 bits, found a larger one (sed "
                           "-E 's/: *(-?[0-9]{19,})( *[],}])/:\"\\1\"\\2/g' '%s' > '%s.texts.json' "
                           "puts such ones in quotes, in which they are read)",
                           j->path,
                           (unsigned long long)j->line + (unsigned long long)error.line - 1,
                           j->path, j->path);
    if (object == NULL)
        return drove__fail(DROVE_E_DATA, "%s:%llu: expected JSON: %s", j->path,
                           (unsigned long long)j->line + (unsigned long long)error.line - 1,
                           error.text);
    if (!json_is_object(object)) {
        json_decref(object);
        return fail_here(j, "an object of JSON, {\"column\": value ...}, on each line");
    }
    move_to(j, j->at + error.position);
    *out = object;
    return DROVE_OK;
}

/* ---- columns ---- */

/* Calls each(context, name, value) for all that is not an object itself. */
typedef drove_status each_value(void *context, const char *name, const json_t *value);

static drove_status walk(json_text *j, json_t *object, const char *outer, unsigned depth,
                         each_value *each, void *context)
{
    const char *key;
    json_t *value;
    char name[NAME_MOST];
    if (depth == DEPTH_MOST) return fail_here(j, "objects that are not nested so deeply");
    json_object_foreach(object, key, value)
    {
        const int n = snprintf(name, sizeof name, "%s%s%s", outer, *outer != '\0' ? "." : "", key);
        if (n < 0 || (size_t)n >= sizeof name) return fail_here(j, "shorter names of columns");
        DROVE_TRY(json_is_object(value) ? walk(j, value, name, depth + 1, each, context)
                                        : each(context, name, value));
    }
    return DROVE_OK;
}

static drove_status note_column(void *context, const char *name, const json_t *value)
{
    json_text *j = context;
    (void)value;
    if (json_object_get(j->columns, name) != NULL) return DROVE_OK;
    if (j->n == COLUMNS_MOST)
        return drove__fail(DROVE_E_DATA, "%s: expected at most %d columns, found more", j->path,
                           COLUMNS_MOST);
    if (j->n == j->capacity) {
        const size_t wanted = 2 * j->capacity + 16;
        const char **grown = drove__grow(j->name, wanted, sizeof *grown);
        if (grown == NULL) return drove__fail_nomem("names of columns", wanted * sizeof *grown);
        j->name = grown;
        j->capacity = wanted;
    }
    if (json_object_set_new(j->columns, name, json_integer((json_int_t)j->n)) != 0)
        return drove__fail_nomem("names of columns", j->n);
    j->name[j->n++] = json_object_iter_key(json_object_iter_at(j->columns, name));
    return DROVE_OK;
}

/* One object whose values are objects or arrays is a table written in another way: by columns, or
 * with its rows under a key. */
static drove_status check_shape(json_text *j, json_t *object)
{
    const char *key, *rows = NULL;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (!json_is_object(value) && !json_is_array(value)) return DROVE_OK;
        if (json_is_array(value) && json_is_object(json_array_get(value, 0))) rows = key;
    }
    if (json_object_size(object) == 0) return DROVE_OK;
    if (rows != NULL && strpbrk(rows, "'\"\\$`") == NULL)
        return drove__fail(DROVE_E_DATA,
                           "%s: expected an object of JSON for each row, found one with rows in "
                           "\"%.40s\" (python3 -c \"import json; "
                           "print(json.dumps(json.load(open('%s'))['%.40s']))\" > '%s.rows.json' "
                           "takes them out)",
                           j->path, rows, j->path, rows, j->path);
    const bool is_split =
        json_object_get(object, "columns") != NULL && json_object_get(object, "data") != NULL;
    return drove__fail(DROVE_E_DATA,
                       "%s: expected an object of JSON for each row, found one of columns (python3 "
                       "-c \"import pandas; pandas.read_json('%s'%s).to_csv('%s.csv', "
                       "index=False)\" writes %s.csv)",
                       j->path, j->path, is_split ? ", orient='split'" : "", j->path, j->path);
}

static drove_status find_columns(json_text *j)
{
    json_t *object = NULL;
    for (bool is_first = true;; is_first = false) {
        DROVE_TRY(next_object(j, is_first, &object));
        if (object == NULL) break;
        drove_status status = DROVE_OK;
        if (is_first && !j->is_array && skip_blanks(j->at, j->end) == j->end)
            status = check_shape(j, object);
        if (status == DROVE_OK) status = walk(j, object, "", 0, note_column, j);
        json_decref(object);
        DROVE_TRY(status);
    }
    if (j->n == 0) return fail_here(j, "objects of JSON with values, found none");
    return DROVE_OK;
}

/* ---- rows ---- */

typedef struct json_row {
    json_text *from;
    const json_t **value; /* [n columns] of one object; NULL: it has none */
} json_row;

static drove_status place_value(void *context, const char *name, const json_t *value)
{
    json_row *row = context;
    const size_t i = (size_t)json_integer_value(json_object_get(row->from->columns, name));
    /* {"a.b": 1, "a": {"b": 2}} */
    if (row->value[i] != NULL) return fail_here(row->from, "each column once in an object");
    row->value[i] = value;
    return DROVE_OK;
}

/* The shortest of the usual numbers of digits that gives the same double; "2.0" of a whole one. */
static size_t print_real(double value, char into[32])
{
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(into, 32, "%.*g", digits, value);
        if (strtod(into, NULL) == value) break;
    }
    if (strpbrk(into, ".e") == NULL) n += snprintf(into + n, 32 - (size_t)n, ".0");
    return (size_t)n;
}

static drove_status add_cell(drove_rewriting *to, const json_t *value)
{
    char text[32];
    switch (json_typeof(value)) {
    case JSON_NULL: return DROVE_OK;
    case JSON_TRUE: drove__rewrite_add(to, "true", 4); return DROVE_OK;
    case JSON_FALSE: drove__rewrite_add(to, "false", 5); return DROVE_OK;
    case JSON_INTEGER:
        drove__rewrite_add(to, text,
                           (size_t)snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT,
                                            json_integer_value(value)));
        return DROVE_OK;
    case JSON_REAL:
        drove__rewrite_add(to, text, print_real(json_real_value(value), text));
        return DROVE_OK;
    case JSON_STRING:
        drove__rewrite_add_quoted(to, json_string_value(value), json_string_length(value));
        return DROVE_OK;
    default: break;
    }
    char *array = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (array == NULL) return drove__fail_nomem("a cell of JSON", 1);
    drove__rewrite_add_quoted(to, array, strlen(array));
    free(array);
    return DROVE_OK;
}

/* A record for each object, on the line on which it ends. */
static drove_status write_rows(json_text *j, drove_rewriting *to)
{
    json_t *object = NULL;
    uint64_t line = 0; /* lines written below the header */
    json_row row = {.from = j, .value = calloc(j->n, sizeof *row.value)};
    if (row.value == NULL) return drove__fail_nomem("a row", j->n * sizeof *row.value);
    drove_status status = DROVE_OK;
    for (bool is_first = true; status == DROVE_OK && to->failure == DROVE_OK; is_first = false) {
        status = next_object(j, is_first, &object);
        if (status != DROVE_OK || object == NULL) break;
        memset(row.value, 0, j->n * sizeof *row.value);
        status = walk(j, object, "", 0, place_value, &row);
        for (; line + 1 < j->line; line++) drove__rewrite_add(to, "\n", 1);
        for (size_t i = 0; i < j->n && status == DROVE_OK; i++) {
            if (i > 0) drove__rewrite_add(to, ",", 1);
            /* a single missing cell is no blank line */
            if (row.value[i] != NULL) status = add_cell(to, row.value[i]);
            if (j->n == 1 && (row.value[i] == NULL || json_is_null(row.value[i])))
                drove__rewrite_add(to, "\"\"", 2);
        }
        drove__rewrite_add(to, "\n", 1);
        line++;
        json_decref(object);
    }
    free(row.value);
    return status;
}

static void begin(json_text *j, const drove_content *content)
{
    j->at = content->text;
    j->end = content->end;
    j->line = 1;
    move_to(j, skip_blanks(j->at, j->end));
    j->is_array = *j->at == '[';
    if (j->is_array) move_to(j, j->at + 1);
}

drove_status drove__rewrite_json(const char *path, drove_content *content)
{
    json_text j = {.path = path, .columns = json_object()};
    drove_rewriting to;
    if (j.columns == NULL) return drove__fail_nomem(path, 1);
    drove__rewrite_init(&to, path, content);
    /* NaN and Infinity, which Python writes though they are no JSON, become empty texts: as many
     * bytes, so that lines and places stay. */
    static const char *const words[] = {"NaN", "-Infinity", "Infinity"};
    char *c = content->memory + (content->text - content->memory);
    char *const end = content->memory + (content->end - content->memory);
    bool is_text = false;
    for (; c < end; c++) {
        if (is_text && *c == '\\') c++;
        else if (*c == '"') is_text = !is_text;
        for (size_t i = 0; !is_text && c < end && i < DROVE_COUNT(words); i++) {
            const size_t n = strlen(words[i]);
            if ((size_t)(end - c) < n || memcmp(c, words[i], n) != 0) continue;
            memset(c, ' ', n);
            memcpy(c, "\"\"", 2);
            c += n - 1;
            break;
        }
    }
    begin(&j, content);
    drove_status status = find_columns(&j);
    for (size_t i = 0; i < j.n && status == DROVE_OK; i++) {
        if (i > 0) drove__rewrite_add(&to, ",", 1);
        drove__rewrite_add_quoted(&to, j.name[i], strlen(j.name[i]));
    }
    drove__rewrite_add(&to, "\n", 1);
    if (status == DROVE_OK) {
        begin(&j, content);
        status = write_rows(&j, &to);
    }
    json_decref(j.columns);
    free(j.name);
    DROVE_TRY(drove__rewrite_finish(&to, status, content));
    content->has_names = true;
    content->n_lines_above--; /* the header */
    return DROVE_OK;
}
