/* The table of other programs' words: no word twice, none that is ours, every flag that an answer
 * names exists; values in answers; ends and beginnings of words. */
#include "base/mem.h"
#include "base/other_words.h"
#include "support/test.h"

#include <drove/options.h>

#include <ctype.h>
#include <string.h>

/* As the table has words: without '-' and '_'. */
static bool is_option(const char *word, size_t n_word)
{
    size_t n;
    const drove_option_info *info = drove_options_table(&n);
    for (size_t i = 0; i < n; i++) {
        char plain[64];
        size_t used = 0;
        for (const char *c = info[i].name; *c != '\0'; c++)
            if (*c != '_' && *c != '-') plain[used++] = *c;
        if (used == n_word && memcmp(plain, word, used) == 0) return true;
    }
    return n_word == strlen("workers") && memcmp(word, "workers", n_word) == 0;
}

TEST(each_word_stands_once_and_is_none_of_ours)
{
    enum { MOST = 4000 };
    static struct {
        const char *what, *word;
        size_t n;
    } seen[MOST];
    size_t n_seen = 0;
    const char *what, *words, *answer;
    for (size_t i = 0; drove__other_word_at(i, &what, &words, &answer); i++) {
        assert_true(strlen(answer) < DROVE_OTHER_SIZE - 80); /* room for a value */
        assert_null(strchr(answer, '\n'));
        for (const char *at = words; *at != '\0';) {
            const size_t n = strcspn(at, " ");
            for (size_t k = 0; k < n; k++)
                if (isupper((unsigned char)at[k]) || at[k] == '-' || at[k] == '_')
                    fail_msg("%s: \"%.*s\" is not in the form of the table", what, (int)n, at);
            if (strcmp(what, "option") == 0 && is_option(at, n))
                fail_msg("\"%.*s\" is an option of drove", (int)n, at);
            for (size_t k = 0; k < n_seen; k++)
                if (seen[k].what == what && seen[k].n == n && memcmp(seen[k].word, at, n) == 0)
                    fail_msg("%s: \"%.*s\" stands twice", what, (int)n, at);
            assert_true(n_seen < MOST);
            seen[n_seen].what = what;
            seen[n_seen].word = at;
            seen[n_seen++].n = n;
            at += n + strspn(at + n, " ");
        }
    }
    assert_true(n_seen > 700);
}

TEST(flags_in_answers_exist)
{
    static const char *const others[] = {"onnx",   "c",     "pytorch", "budget", "folds", "jobs",
                                         "metric", "space", "proba",   "model",  "norm"};
    const char *what, *words, *answer;
    for (size_t i = 0; drove__other_word_at(i, &what, &words, &answer); i++) {
        for (const char *at = strstr(answer, "--"); at != NULL; at = strstr(at + 2, "--")) {
            char plain[64];
            size_t used = 0;
            bool is_known = false;
            for (const char *c = at + 2; islower((unsigned char)*c) || *c == '-'; c++)
                if (*c != '-') plain[used++] = *c;
            plain[used] = '\0';
            for (size_t k = 0; k < DROVE_COUNT(others); k++)
                is_known = is_known || strcmp(others[k], plain) == 0;
            if (!is_known && !is_option(plain, used) && strcmp(plain, "quiet") != 0)
                fail_msg("--%s, in \"%s\", is no option", plain, answer);
        }
    }
}

static void expect(const char *what, const char *word, const char *value, const char *answer)
{
    char found[DROVE_OTHER_SIZE];
    const bool is_there = drove__other_word(what, word, value, found, sizeof found);
    if (is_there != (answer != NULL) ||
        (answer != NULL && strncmp(found, answer, strlen(answer)) != 0))
        fail_msg("%s \"%s\": expected \"%s\", found \"%s\"", what, word,
                 answer != NULL ? answer : "nothing", found);
}

TEST(answers_have_the_value)
{
    expect("option", "max_epochs", "5", "write --until epochs=5");
    expect("option", "Max-Epochs", "five", "write --until epochs=N");
    expect("option", "epochs", NULL, "write --until epochs=N");
    expect("option", "validation-split", "0.25", "write --until validation=25%");
    expect("option", "validation-split", "200", "write --until validation=200");
    expect("option", "optimizer", "sgd", "write --rule sgd");
    expect("option", "optimizer", "SGDM", "write --rule momentum:0.9");
    expect("option", "optimizer", "AdamW", "write --rule adamw");
    expect("option", "optimizer", "Lion", "write --rule NAME; drove has");
    expect("option", "qqqq", NULL, NULL);
    expect("option", "", NULL, NULL);
    expect("model", "resnet101", NULL, "drove has no network of that name");
    expect("model", "nets/best.PT", NULL, "a PyTorch file");
    expect("model", "pt", NULL, NULL);
    expect("model", ".pt", NULL, "a PyTorch file");
    expect("rule", "resnet50", NULL, NULL);
    expect("nothing", "epochs", NULL, NULL);
    char small[8];
    assert_true(drove__other_word("option", "max_epochs", "5", small, sizeof small));
    assert_string_equal(small, "write -"); /* cut, not written past */
}
