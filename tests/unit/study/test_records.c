/* tests/unit/study/test_records.c - which lines of a file of records are read. */
#include "study/records.h"
#include "support/test.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 100 };

typedef struct seen {
    long line[MOST];
    size_t n, n_messages;
} seen;

static drove_status note(void *to, const json_t *record)
{
    seen *s = to;
    assert_true(s->n < MOST);
    s->line[s->n++] = (long)json_integer_value(json_object_get(record, "line"));
    return DROVE_OK;
}

static void count_message(void *context, const char *line)
{
    (void)line;
    ((seen *)context)->n_messages++;
}

/* Lines 0 .. n - 1, and text behind the last line end. */
static void write_lines(size_t n, const char *behind)
{
    FILE *f = fopen("records.jsonl", "w");
    assert_non_null(f);
    for (size_t i = 0; i < n; i++) fprintf(f, "{\"line\": %zu}\n", i);
    fputs(behind, f);
    assert_int_equal(fclose(f), 0);
}

static void read_them(size_t most, size_t first, seen *s, drove_records_found *found)
{
    const drove_records in = {.path = "records.jsonl",
                              .most = most,
                              .first = first,
                              .message = count_message,
                              .context = s};
    *s = (seen){.n = 0};
    assert_int_equal(drove__records_each(&in, note, s, found), DROVE_OK);
}

TEST(a_long_file_is_thinned_evenly_and_keeps_its_ends)
{
    seen s;
    drove_records_found found;
    for (size_t n = 0; n <= 60; n++) {
        write_lines(n, "");
        for (size_t most = 2; most <= 20; most++) {
            read_them(most, 0, &s, &found);
            assert_int_equal(found.n_lines, n);
            assert_true(s.n <= most && s.n <= n && 2 * s.n + 1 >= (n < most ? n : most));
            if (n <= most) assert_int_equal(s.n, n);
            if (n > 0) assert_true(s.line[0] == 0 && s.line[s.n - 1] == (long)n - 1);
            for (size_t i = 2; i + 1 < s.n; i++)
                assert_int_equal(s.line[i] - s.line[i - 1], s.line[1] - s.line[0]);
        }
        read_them(0, 0, &s, &found);
        assert_int_equal(s.n, n);
    }
}

TEST(first_lines_are_passed_over)
{
    seen s;
    drove_records_found found;
    write_lines(10, "");
    read_them(0, 7, &s, &found);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.line[0], 7);
    assert_int_equal(found.n_lines, 10);
    read_them(0, 10, &s, &found);
    assert_int_equal(s.n, 0);
}

TEST(text_behind_the_last_line_end_is_no_record)
{
    seen s;
    drove_records_found found;
    write_lines(3, "{\"line\": 3}");
    read_them(0, 0, &s, &found);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.n_messages, 1);
    assert_true(found.has_half && found.n_lines == 3);
    write_lines(3, "\n\n[]\n{\n"); /* two that are empty, two that are no object */
    read_them(0, 0, &s, &found);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.n_messages, 2);
    assert_true(!found.has_half && found.n_lines == 7);
}

TEST(a_file_that_is_longer_than_a_piece_is_whole)
{
    static char pad[70000];
    seen s = {.n = 0};
    FILE *f = fopen("records.jsonl", "w");
    assert_non_null(f);
    memset(pad, ' ', sizeof pad - 1);
    for (int i = 0; i < 20; i++) fprintf(f, "{\"line\":%s %d}\n", pad, i);
    assert_int_equal(fclose(f), 0);
    drove_records_found found;
    read_them(0, 0, &s, &found);
    assert_int_equal(s.n, 20);
    assert_int_equal(found.n_lines, 20);
    for (size_t i = 0; i < s.n; i++) assert_int_equal(s.line[i], i);
}

TEST(what_is_not_a_regular_file_is_refused)
{
    const drove_records in = {.path = "pipe.jsonl"};
    json_t *out;
    unlink("pipe.jsonl");
    assert_int_equal(mkfifo("pipe.jsonl", 0600), 0);
    assert_int_equal(drove__records_read(&in, &out, NULL), DROVE_E_FILE);
    assert_null(out);
    assert_int_equal(drove__record_load("pipe.jsonl", &out), DROVE_E_FILE);
    unlink("pipe.jsonl");
}
