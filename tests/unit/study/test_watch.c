/* tests/unit/study/test_watch.c - the time left that a run's budget gives, and none without one. */
#include "support/test.h"

#include <drove/watch.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* A run that goes on: two of some epochs in four seconds.  The caller frees the text. */
static char *watch(const char *until)
{
    char run[256], *text;
    size_t n_bytes;
    const drove_watch_style style = {.columns = 80, .is_ascii = 1};
    drove_watch_state state = {.n_seen = 0};
    assert_true(mkdir("run", 0777) == 0 || errno == EEXIST);
    snprintf(run, sizeof run, "{\"options\": {\"model\": \"linear\", \"until\": \"%s\"}}", until);
    write_file("run/run.json", run);
    write_file("run/log.jsonl", "{\"epochs\": 1, \"train_s\": 2, \"loss\": 0.5}\n"
                                "{\"epochs\": 2, \"train_s\": 4, \"loss\": 0.25}\n");
    FILE *stream = open_memstream(&text, &n_bytes);
    assert_non_null(stream);
    assert_int_equal(drove_watch_print("run", &style, &state, stream), DROVE_OK);
    assert_int_equal(fclose(stream), 0);
    assert_false(state.is_over);
    return text;
}

TEST(the_time_left_is_that_of_the_budget)
{
    static const char *const cases[][2] = {{"seconds=10", "training 4 s, about 6 s left\n"},
                                           {"loss=0.1,epochs=5", "training 4 s, about 6 s left\n"},
                                           {"epochs=5,seconds=7", "training 4 s, about 3 s left\n"},
                                           {"epochs=2", "training 4 s, about 0 s left\n"},
                                           {"loss=0.1", "training 4 s\n"},
                                           {"auto", "training 4 s\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = watch(cases[i][0]);
        if (strstr(text, cases[i][1]) == NULL)
            fail_msg("%s: expected \"%s\", found \"%s\"", cases[i][0], cases[i][1], text);
        free(text);
    }
}
