/* log.jsonl: whole lines only, whatever was in the file and whatever the disk says. */
#include "support.h"

#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_content(const char *path, const char *expected)
{
    size_t size_bytes;
    char *text = read_bytes(path, &size_bytes);
    assert_string_equal(text, expected);
    free(text);
}

TEST(test_lines_are_in_the_file_at_once)
{
    drove_jsonl *log;
    remove("a.jsonl");
    assert_ok(drove__jsonl_open("a.jsonl", &log));
    assert_ok(drove__jsonl_append(log, "{\"loss\": 1}"));
    assert_content("a.jsonl", "{\"loss\": 1}\n");
    assert_ok(drove__jsonl_append(log, "{}"));
    assert_content("a.jsonl", "{\"loss\": 1}\n{}\n");
    drove__jsonl_close(log);
    assert_ok(drove__jsonl_open("a.jsonl", &log));
    assert_ok(drove__jsonl_append(log, "{\"resumed\": true}"));
    drove__jsonl_close(log);
    assert_content("a.jsonl", "{\"loss\": 1}\n{}\n{\"resumed\": true}\n");
    drove__jsonl_close(NULL);
}

TEST(test_half_line_of_a_killed_run_goes)
{
    static const char *const left[] = {"", "{\"a\": 1}\n", "{\"a\": 1}\n{\"b\"", "{\"b\"", "\n"};
    static const char *const kept[] = {"", "{\"a\": 1}\n", "{\"a\": 1}\n", "", "\n"};
    for (unsigned i = 0; i < sizeof left / sizeof *left; i++) {
        drove_jsonl *log;
        write_text("b.jsonl", left[i]);
        assert_ok(drove__jsonl_open("b.jsonl", &log));
        assert_content("b.jsonl", kept[i]);
        drove__jsonl_close(log);
    }
}

/* Half a line longer than the block that the end is searched in. */
TEST(test_long_half_line)
{
    static const size_t lengths[] = {4095, 4096, 4097, 20000};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char *text = malloc(lengths[i] + 5);
        memset(text, 'x', lengths[i] + 4);
        memcpy(text, "{}\n", 3);
        text[lengths[i] + 4] = '\0';
        write_text("c.jsonl", text);
        drove_jsonl *log;
        assert_ok(drove__jsonl_open("c.jsonl", &log));
        assert_content("c.jsonl", "{}\n");
        drove__jsonl_close(log);
        free(text);
    }
}

TEST(test_full_disk_leaves_whole_lines)
{
    drove_jsonl *log;
    remove("d.jsonl");
    assert_ok(drove__jsonl_open("d.jsonl", &log));
    assert_ok(drove__jsonl_append(log, "{\"first\": 1}"));
    limit_files(20); /* room for 7 bytes more */
    assert_int_equal(drove__jsonl_append(log, "{\"second\": 2}"), DROVE_E_IO);
    assert_non_null(strstr(drove_error_text(), "d.jsonl"));
    assert_content("d.jsonl", "{\"first\": 1}\n");
    limit_files(0);
    assert_ok(drove__jsonl_append(log, "{\"third\": 3}"));
    assert_content("d.jsonl", "{\"first\": 1}\n{\"third\": 3}\n");
    drove__jsonl_close(log);
}

TEST(test_refusals)
{
    drove_jsonl *log = (drove_jsonl *)state;
    assert_int_equal(drove__jsonl_open("no/such/folder/log.jsonl", &log), DROVE_E_FILE);
    assert_null(log);
    assert_non_null(strstr(drove_error_text(), "no/such/folder/log.jsonl"));
    remove("e.jsonl");
    assert_ok(drove__jsonl_open("e.jsonl", &log));
    assert_int_equal(drove__jsonl_append(log, "{\n}"), DROVE_E_ARG);
    assert_content("e.jsonl", "");
    drove__jsonl_close(log);
}
