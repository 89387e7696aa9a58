/* The folder of --out auto: what it is called, and that it is never one that is there. */
#include "files/outname.h"
#include "support/test.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(the_data_give_the_name)
{
    static const struct {
        const char *data, *name;
    } c[] = {
        {"people.csv", "people"},
        {"a/b/people.train.csv.gz", "people"},
        {"people.csv?label=alive", "people"},
        {"table:/tmp/x/our people+2.tsv", "our_people_2"},
        {"csv:a.csv,b.csv", "a"},
        {"libsvm:a9a", "a9a"},
        {"idx:train-images.gz,labels.gz", "train-images"},
        {"npy:x.npy,y.npy", "x"},
        {"quant:a9a.quant", "a9a"},
        {"synth:digits?n=50", "digits"},
        {"mnist:.", "mnist"}, /* a folder names no data */
        {"-", "table"},
        {".hidden.csv", "table"},
        {"--.csv", "table"},
        {"-x.csv", "_x"}, /* no word that looks like a flag */
        {"m\xc3\xa4rz.csv", "m\xc3\xa4rz"},
    };
    for (size_t i = 0; i < DROVE_COUNT(c); i++) {
        char name[DROVE_OUTNAME_SIZE];
        assert_int_equal(drove__outname_base(c[i].data, name), DROVE_OK);
        assert_string_equal(name, c[i].name);
    }
}

TEST(a_long_name_is_cut_between_characters)
{
    char data[256] = "", name[DROVE_OUTNAME_SIZE];
    for (int i = 0; i < 50; i++) strcat(data, "\xc3\xa4");
    strcat(data, ".csv");
    assert_int_equal(drove__outname_base(data, name), DROVE_OK);
    assert_int_equal(strlen(name), 62); /* 31 characters of two bytes: 63 would halve the last */
    memmove(data + 1, data, strlen(data) + 1);
    data[0] = 'x';
    assert_int_equal(drove__outname_base(data, name), DROVE_OK);
    assert_int_equal(strlen(name), 63);
}

static drove_config a_config(const char *out, const char *resume, const char *defaults)
{
    drove_config config;
    drove_choice choice = {0};
    assert_int_equal(drove__config_init(NULL, &config), DROVE_OK);
    drove__choice_add(&choice, "data", DROVE_FROM_CALLER, "people.csv");
    drove__choice_add(&choice, "out", DROVE_FROM_CALLER, "%s", out);
    drove__choice_add(&choice, "resume", DROVE_FROM_CALLER, "%s", resume);
    drove__choice_add(&choice, "defaults", DROVE_FROM_CALLER, "%s", defaults);
    assert_int_equal(drove__config_choose(&config, &choice), DROVE_OK);
    return config;
}

TEST(what_out_becomes)
{
    static const struct {
        const char *out, *resume, *defaults, *folder;
        bool is_auto;
    } c[] = {
        {"auto", "none", "auto", "people-3", true}, /* 1 and 2 are there */
        {"auto", "none", "classic", NULL, false},   {"auto", "old", "auto", "old", false},
        {"none", "none", "auto", NULL, false},      {"mine", "none", "auto", "mine", false},
    };
    char folder[] = "outname.XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("people-1", 0777), 0);
    assert_int_equal(symlink("nowhere", "people-2"), 0);
    for (size_t i = 0; i < DROVE_COUNT(c); i++) {
        drove_choice choice = {0};
        drove_config config = a_config(c[i].out, c[i].resume, c[i].defaults);
        assert_int_equal(drove__outname_choose(&config, &choice), DROVE_OK);
        assert_int_equal(drove__config_choose(&config, &choice), DROVE_OK);
        if (c[i].folder == NULL) assert_null(config.files.out);
        else assert_string_equal(config.files.out, c[i].folder);
        assert_true(drove__config_is_own(&config, "out") == c[i].is_auto);
        drove__config_fini(&config);
    }
    assert_int_equal(access("people-3", F_OK), -1); /* chosen, not made */
    assert_int_equal(rmdir("people-1"), 0);
    assert_int_equal(unlink("people-2"), 0);
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(rmdir(folder), 0);
}
