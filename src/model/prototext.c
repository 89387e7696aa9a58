/* model/prototext.c - scans and parses protobuf's text format. */
#include "model/prototext.h"

#include "base/other_words.h"
#include "base/spec.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 16, MOST_FIELDS = 1 << 20 };

drove_status drove__prototext_fail(const drove_prototext *t, int line, const char *format, ...)
{
    char text[DROVE_ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return drove__fail(DROVE_E_DATA, "%s:%d: %s", t->file, line, text);
}

/* ---- tokens ---- */

typedef enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_SIGN } token_kind;

typedef struct scanner {
    const char *next, *end;
    int line;
    char *free; /* where the next word is copied to */
    drove_prototext *tree;
    /* the current token */
    token_kind kind;
    const char *text; /* of a word or string */
    char sign;
    int token_line;
} scanner;

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '+';
}

static void skip_blanks(scanner *s)
{
    for (; s->next < s->end; s->next++) {
        if (*s->next == '#') {
            while (s->next < s->end && *s->next != '\n') s->next++;
            if (s->next == s->end) return;
        }
        if (*s->next == '\n') s->line++;
        else if (*s->next != ' ' && *s->next != '\t' && *s->next != '\r') return;
    }
}

static drove_status scan_string(scanner *s)
{
    char quote = *s->next++;
    s->kind = TOKEN_STRING;
    s->text = s->free;
    for (; s->next < s->end && *s->next != quote && *s->next != '\n'; s->next++) {
        if (*s->next == '\\') {
            if (++s->next == s->end || strchr("\\\"'", *s->next) == NULL) {
                return drove__prototext_fail(s->tree, s->line,
                                             "expected \\\\, \\\" or \\' in a string, found "
                                             "another escape");
            }
        }
        if (*s->next == '\0')
            return drove__prototext_fail(s->tree, s->line, "expected text, found a NUL byte");
        *s->free++ = *s->next;
    }
    if (s->next == s->end || *s->next != quote)
        return drove__prototext_fail(s->tree, s->line, "expected %c at the end of a string", quote);
    s->next++;
    *s->free++ = '\0';
    return DROVE_OK;
}

static drove_status scan(scanner *s)
{
    skip_blanks(s);
    s->token_line = s->line;
    if (s->next == s->end) {
        s->kind = TOKEN_END;
        return DROVE_OK;
    }
    if (*s->next == '"' || *s->next == '\'') return scan_string(s);
    if (is_word(*s->next)) {
        s->kind = TOKEN_WORD;
        s->text = s->free;
        while (s->next < s->end && is_word(*s->next)) *s->free++ = *s->next++;
        *s->free++ = '\0';
        return DROVE_OK;
    }
    s->kind = TOKEN_SIGN;
    s->sign = *s->next;
    if (s->sign == '\0' || strchr("{}<>[]:;,", s->sign) == NULL) {
        bool shows = s->sign > ' ' && s->sign < 0x7f;
        return drove__prototext_fail(s->tree, s->line, "expected a field, found %s%c%s",
                                     shows ? "\"" : "byte ", shows ? s->sign : '?',
                                     shows ? "\"" : "");
    }
    s->next++;
    return DROVE_OK;
}

static bool at_sign(const scanner *s, char sign)
{
    return s->kind == TOKEN_SIGN && s->sign == sign;
}

static drove_status unexpected(const scanner *s, const char *expected)
{
    if (s->kind == TOKEN_END) {
        return drove__prototext_fail(s->tree, s->token_line, "expected %s, found the end",
                                     expected);
    }
    const char sign[] = {s->sign, '\0'};
    return drove__prototext_fail(s->tree, s->token_line, "expected %s, found \"%.60s\"", expected,
                                 s->kind == TOKEN_SIGN ? sign : s->text);
}

/* ---- the tree ---- */

static drove_status add_field(drove_prototext *t, uint32_t parent, const char *name, int line,
                              uint32_t *out)
{
    if (t->n == t->n_room) {
        size_t n_room = t->n_room > 0 ? 2 * t->n_room : 64;
        drove_prototext_field *field =
            n_room <= MOST_FIELDS ? realloc(t->field, n_room * sizeof *field) : NULL;
        if (field == NULL) return drove__fail_nomem(t->file, n_room * sizeof *field);
        t->field = field;
        t->n_room = n_room;
    }
    uint32_t index = (uint32_t)t->n++;
    t->field[index] = (drove_prototext_field){.name = name, .line = line};
    drove_prototext_field *m = &t->field[parent];
    if (index != 0 && m->first == 0) m->first = index;
    else if (index != 0) t->field[m->last].next = index;
    m->last = index;
    *out = index;
    return DROVE_OK;
}

static drove_status parse_fields(scanner *s, uint32_t parent, char close, int depth);

/* Parses a word, strings (joined) or a message. */
static drove_status parse_value(scanner *s, uint32_t parent, const char *name, int depth)
{
    uint32_t field;
    if (at_sign(s, '{') || at_sign(s, '<')) {
        const char close = s->sign == '{' ? '}' : '>';
        if (depth == MOST_DEPTH)
            return drove__prototext_fail(s->tree, s->token_line,
                                         "expected messages in at most %d levels, found more",
                                         MOST_DEPTH);
        DROVE_TRY(add_field(s->tree, parent, name, s->token_line, &field));
        DROVE_TRY(scan(s));
        return parse_fields(s, field, close, depth + 1);
    }
    if (s->kind != TOKEN_WORD && s->kind != TOKEN_STRING) return unexpected(s, "a value");
    DROVE_TRY(add_field(s->tree, parent, name, s->token_line, &field));
    s->tree->field[field].value = s->text;
    bool is_string = s->kind == TOKEN_STRING;
    DROVE_TRY(scan(s));
    while (is_string && s->kind == TOKEN_STRING) {
        /* s->text is right after the previous string and its NUL */
        size_t n = strlen(s->text);
        memmove((char *)(uintptr_t)s->text - 1, s->text, n + 1);
        s->free--;
        DROVE_TRY(scan(s));
    }
    return DROVE_OK;
}

/* Parses fields up to close (0: the end of the text) and skips it. */
static drove_status parse_fields(scanner *s, uint32_t parent, char close, int depth)
{
    while (close != 0 ? !at_sign(s, close) : s->kind != TOKEN_END) {
        if (s->kind != TOKEN_WORD) return unexpected(s, "a field");
        const char *name = s->text;
        DROVE_TRY(scan(s));
        bool has_colon = at_sign(s, ':');
        if (has_colon) DROVE_TRY(scan(s));
        else if (!at_sign(s, '{') && !at_sign(s, '<')) return unexpected(s, ": or {");
        if (at_sign(s, '[')) {
            DROVE_TRY(scan(s));
            while (!at_sign(s, ']')) {
                DROVE_TRY(parse_value(s, parent, name, depth));
                if (at_sign(s, ',')) DROVE_TRY(scan(s));
                else if (!at_sign(s, ']')) return unexpected(s, ", or ]");
            }
            DROVE_TRY(scan(s));
        } else {
            DROVE_TRY(parse_value(s, parent, name, depth));
        }
        if (at_sign(s, ';') || at_sign(s, ',')) DROVE_TRY(scan(s));
    }
    return close != 0 ? scan(s) : DROVE_OK;
}

drove_status drove__prototext_parse(const char *text, size_t size_bytes, const char *file,
                                    drove_prototext *out)
{
    uint32_t root;
    *out = (drove_prototext){.file = file};
    out->chars = malloc(2 * size_bytes + 2); /* each word with its NUL */
    if (out->chars == NULL) return drove__fail_nomem(file, 2 * size_bytes + 2);
    DROVE_TRY(add_field(out, 0, "", 1, &root));
    out->field[root].last = 0;
    scanner s = {
        .next = text, .end = text + size_bytes, .line = 1, .free = out->chars, .tree = out};
    DROVE_TRY(scan(&s));
    return parse_fields(&s, root, 0, 0);
}

void drove__prototext_fini(drove_prototext *t)
{
    free(t->field);
    free(t->chars);
    *t = (drove_prototext){0};
}

/* ---- walking ---- */

drove_prototext_field *drove__prototext_next(const drove_prototext *t, const drove_message *m,
                                             const char *name, const drove_prototext_field *after)
{
    for (uint32_t i = after != NULL ? after->next : m->first; i != 0; i = t->field[i].next) {
        if (strcmp(t->field[i].name, name) != 0) continue;
        t->field[i].is_used = true;
        return &t->field[i];
    }
    return NULL;
}

drove_status drove__prototext_one(const drove_prototext *t, const drove_message *m,
                                  const char *name, drove_prototext_field **out)
{
    drove_prototext_field *first = drove__prototext_next(t, m, name, NULL);
    drove_prototext_field *again = first != NULL ? drove__prototext_next(t, m, name, first) : NULL;
    if (again != NULL) {
        return drove__prototext_fail(t, again->line,
                                     "expected %s once, found it again (first on line %d)", name,
                                     first->line);
    }
    *out = first;
    return DROVE_OK;
}

void drove__prototext_skip(const drove_prototext *t, drove_message *m)
{
    m->is_used = true;
    for (uint32_t i = m->first; i != 0; i = t->field[i].next)
        drove__prototext_skip(t, &t->field[i]);
}

drove_status drove__prototext_check_used(const drove_prototext *t, const drove_message *m)
{
    for (uint32_t i = m->first; i != 0; i = t->field[i].next) {
        const drove_prototext_field *f = &t->field[i];
        char other[DROVE_OTHER_SIZE];
        if (!f->is_used && m->name[0] == '\0' &&
            drove__other_word("field of a network file", f->name, NULL, other, sizeof other))
            return drove__prototext_fail(t, f->line, "unknown field \"%.60s\"; %s", f->name, other);
        if (!f->is_used) {
            return drove__prototext_fail(t, f->line, "unknown field \"%.60s\"%s%s%s", f->name,
                                         m->name[0] != '\0' ? " in \"" : "", m->name,
                                         m->name[0] != '\0' ? "\"" : "");
        }
        DROVE_TRY(drove__prototext_check_used(t, f));
    }
    return DROVE_OK;
}

/* ---- values ---- */

drove_status drove__prototext_message(const drove_prototext *t, const drove_message *m,
                                      const char *name, drove_message **out)
{
    drove_prototext_field *f;
    DROVE_TRY(drove__prototext_one(t, m, name, &f));
    if (f == NULL) return DROVE_OK;
    if (f->value != NULL)
        return drove__prototext_fail(t, f->line, "%s: expected a message, found a value", name);
    *out = f;
    return DROVE_OK;
}

static drove_status check_value(const drove_prototext *t, const drove_prototext_field *f)
{
    if (f->value != NULL) return DROVE_OK;
    return drove__prototext_fail(t, f->line, "%s: expected a value, found a message", f->name);
}

drove_status drove__prototext_text(const drove_prototext *t, const drove_message *m,
                                   const char *name, const char **out)
{
    drove_prototext_field *f;
    DROVE_TRY(drove__prototext_one(t, m, name, &f));
    if (f == NULL) return DROVE_OK;
    DROVE_TRY(check_value(t, f));
    *out = f->value;
    return DROVE_OK;
}

/* The current text with the position of f before it. */
static drove_status at(const drove_prototext *t, const drove_prototext_field *f,
                       drove_status status)
{
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(DROVE_E_DATA, "%s:%d", t->file, f->line);
}

drove_status drove__prototext_take_count(const drove_prototext *t, const drove_prototext_field *f,
                                         size_t least, size_t most, size_t *out)
{
    uint64_t n = 0;
    DROVE_TRY(check_value(t, f));
    DROVE_TRY(at(t, f, drove__parse_u64(f->name, f->value, least, most, &n)));
    *out = (size_t)n;
    return DROVE_OK;
}

drove_status drove__prototext_take_real(const drove_prototext *t, const drove_prototext_field *f,
                                        double least, double most, float *out)
{
    double x = 0;
    DROVE_TRY(check_value(t, f));
    DROVE_TRY(at(t, f, drove__parse_real(f->name, f->value, least, most, &x)));
    *out = (float)x;
    return DROVE_OK;
}

drove_status drove__prototext_count(const drove_prototext *t, const drove_message *m,
                                    const char *name, size_t least, size_t most, size_t *out)
{
    drove_prototext_field *f;
    DROVE_TRY(drove__prototext_one(t, m, name, &f));
    return f == NULL ? DROVE_OK : drove__prototext_take_count(t, f, least, most, out);
}

drove_status drove__prototext_real(const drove_prototext *t, const drove_message *m,
                                   const char *name, double least, double most, float *out)
{
    drove_prototext_field *f;
    DROVE_TRY(drove__prototext_one(t, m, name, &f));
    return f == NULL ? DROVE_OK : drove__prototext_take_real(t, f, least, most, out);
}

drove_status drove__prototext_flag(const drove_prototext *t, const drove_message *m,
                                   const char *name, bool *out)
{
    drove_prototext_field *f;
    DROVE_TRY(drove__prototext_one(t, m, name, &f));
    if (f == NULL) return DROVE_OK;
    DROVE_TRY(check_value(t, f));
    bool yes = strcmp(f->value, "true") == 0 || strcmp(f->value, "1") == 0;
    if (!yes && strcmp(f->value, "false") != 0 && strcmp(f->value, "0") != 0) {
        return drove__prototext_fail(t, f->line, "%s: expected true or false, found \"%.60s\"",
                                     name, f->value);
    }
    *out = yes;
    return DROVE_OK;
}
