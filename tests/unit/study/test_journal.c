/* tests/unit/study/test_journal.c - a folder belongs to one study; what a journal gives back. */
#include "study/journal.h"
#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static drove_status claim(const char *part, double lr, const char *data)
{
    json_t *study = json_pack("{s:{s:f}, s:s}", "options", "lr", lr, "data", data);
    const drove_status status =
        drove__study_claim("study", study, part, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(study);
    return status;
}

TEST(a_folder_belongs_to_one_study)
{
    assert_int_equal(drove__study_folder_make("study", "a search"), DROVE_OK);
    assert_int_equal(claim(NULL, 1.0 / 3.0, "x"), DROVE_OK); /* the file has fewer digits */
    assert_int_equal(drove__study_folder_make("study", "a search"), DROVE_OK);
    assert_int_equal(claim(NULL, 1.0 / 3.0, "x"), DROVE_OK);
    assert_int_equal(claim(NULL, 0.5, "x"), DROVE_E_EXISTS);
    assert_non_null(strstr(drove_error_text(), "found study of another: options.lr: expected 0.5"));
    assert_int_equal(claim("options", 1.0 / 3.0, "y"), DROVE_OK); /* another part may differ */
    assert_int_equal(claim("options", 0.5, "x"), DROVE_E_EXISTS);
    assert_non_null(strstr(drove_error_text(), "another: lr: expected 0.5"));
    assert_int_equal(claim("sweep", 1.0 / 3.0, "x"), DROVE_E_EXISTS);
    assert_non_null(strstr(drove_error_text(), "it is not of a sweep"));
}

TEST(no_study_begins_among_other_files)
{
    assert_true(mkdir("strange", 0777) == 0 || errno == EEXIST);
    FILE *file = fopen("strange/file", "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(drove__study_folder_make("strange", "a search"), DROVE_E_EXISTS);
    assert_non_null(strstr(drove_error_text(), "that of a search, found strange with file in it"));
}

/* A study.json that a process was writing as it was killed: there is no study yet. */
TEST(half_written_files_are_no_study)
{
    static const struct {
        const char *name;
        bool is_temporary;
    } cases[] = {{"study.json.tmp.12.3", true},  {"study.json.tmp.1.45", true},
                 {"study.json.tmp.12.x", false}, {"study.json.tmp.12.3x", false},
                 {"study.json.tmp.12.", false},  {"study.json.tmp..3", false},
                 {"study.json.tmp.x.3", false},  {"study.json.tmp", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[64];
        assert_true(mkdir("half", 0777) == 0 || errno == EEXIST);
        snprintf(path, sizeof path, "half/%s", cases[i].name);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fclose(file);
        const drove_status status = drove__study_folder_make("half", "a search");
        assert_int_equal(remove(path), 0);
        assert_int_equal(status, cases[i].is_temporary ? DROVE_OK : DROVE_E_EXISTS);
    }
}

TEST(differences_are_named)
{
    char text[128];
    json_t *a = json_pack("{s:{s:i, s:[s]}, s:i}", "grid", "lr", 1, "batch", "2", "limit", 0);
    json_t *b = json_pack("{s:i, s:{s:[s], s:i}}", "limit", 0, "grid", "batch", "3", "lr", 1);
    drove__study_difference(a, b, text, sizeof text);
    assert_string_equal(text, "grid.batch: expected [\"2\"], found [\"3\"]");
    json_object_del(b, "grid");
    drove__study_difference(b, a, text, sizeof text);
    assert_string_equal(text, "grid: expected nothing, found {\"lr\":1,\"batch\":[\"2\"]}");
    json_decref(a);
    json_decref(b);
}

typedef struct seen {
    long number[8];
    size_t n;
} seen;

static drove_status note(void *to, const json_t *record)
{
    seen *s = to;
    const json_t *number = json_object_get(record, "n");
    if (number == NULL) return drove__fail(DROVE_E_DATA, "expected n");
    s->number[s->n++] = (long)json_integer_value(number);
    return DROVE_OK;
}

static void write_text(const char *text)
{
    FILE *file = fopen("journal.jsonl", "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

TEST(half_a_line_is_dropped_and_said)
{
    bool had_half;
    drove_jsonl *journal;
    seen s = {.n = 0};
    write_text("{\"n\":1}\n{\"n\":2}\n{\"n\"");
    assert_int_equal(drove__journal_open("journal.jsonl", note, &s, NULL, NULL), DROVE_OK);
    assert_int_equal(s.n, 2);
    assert_int_equal(drove__journal_open("journal.jsonl", note, &s, &journal, &had_half), DROVE_OK);
    assert_true(had_half);
    assert_int_equal(s.n, 4);
    json_t *record = json_pack("{s:i}", "n", 3);
    assert_int_equal(drove__journal_add(journal, record), DROVE_OK);
    assert_int_equal(drove__journal_add(journal, NULL), DROVE_E_NOMEM);
    json_decref(record);
    drove__jsonl_close(journal);

    s.n = 0;
    assert_int_equal(drove__journal_open("journal.jsonl", note, &s, &journal, &had_half), DROVE_OK);
    drove__jsonl_close(journal);
    assert_false(had_half);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.number[2], 3);
}

TEST(a_line_that_cannot_be_used_is_named)
{
    bool had_half;
    drove_jsonl *journal;
    seen s = {.n = 0};
    write_text("{\"n\":1}\n{\"m\":2}\n");
    assert_int_equal(drove__journal_open("journal.jsonl", note, &s, &journal, &had_half),
                     DROVE_E_DATA);
    assert_null(journal);
    assert_string_equal(drove_error_text(),
                        "journal.jsonl:2: expected n; without this line the same "
                        "command goes on, and runs again what it told of");
    assert_int_equal(drove__journal_open("nowhere.jsonl", note, &s, NULL, NULL), DROVE_OK);
}
