/* tests/unit/data/test_images.c - folders of images and tar archives of them: classes, parts,
 * sizes, what is left out, and that both give the same data set.  Pixels: test_picture.c; broken
 * archives: test_broken.c.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PICTURES DROVE_SOURCE_DIR "/tests/fuzz/corpus/picture/"
#define ARCHIVES DROVE_SOURCE_DIR "/tests/fuzz/corpus/webdataset/"

/* Copies a picture of the corpus, and makes the folders on its way. */
static void place(const char *picture, const char *path)
{
    char from[4096], folder[256];
    size_t n;
    for (const char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        mkdir(folder, 0777);
    }
    snprintf(from, sizeof from, "%s%s", PICTURES, picture);
    char *bytes = read_bytes(from, &n);
    write_bytes(path, bytes, n);
    free(bytes);
}

static const char *file_of(const drove_data *d, size_t i)
{
    return d->storage->row_names + d->storage->row_name_at[i];
}

static bool can_read_images(void)
{
    drove_data *d, *none;
    place("good-rgb.png", "probe/a/x.png");
    place("good.jpg", "probe/a/y.jpg");
    if (drove_data_open("images:probe?size=4", NULL, 1, &d, &none) == DROVE_OK) {
        drove_data_destroy(d);
        return true;
    }
    print_message("skipped: %s\n", drove_error_text());
    return false;
}

TEST(test_classes)
{
    if (!can_read_images()) return;
    place("good-rgb.png", "one/10/b.png");
    place("good-alpha.png", "one/10/deep/a.PNG");
    place("good-grey.png", "one/2/x.png");
    place("good-palette.png", "one/1/p.png");
    write_text("one/1/notes.txt", "no image");
    write_text("one/1/.hidden.png", "no image");
    mkdir("one/empty", 0777);
    mkfifo("one/2/pipe.png", 0666);
    drove_data *d = open_data("images:one");
    const drove_storage *s = d->storage;
    assert_int_equal(s->n_rows, 4);
    assert_int_equal(s->n_classes, 3); /* by value: 1, 2, 10 */
    assert_string_equal(s->class_name[0], "1");
    assert_string_equal(s->class_name[2], "10");
    assert_string_equal(file_of(d, 1), "one/10/b.png");
    assert_string_equal(file_of(d, 2), "one/10/deep/a.PNG");
    assert_string_equal(class_of(d, 1), "10");
    assert_int_equal(s->channels, 3); /* grey ones become colour */
    assert_int_equal(s->height, 6);
    assert_int_equal(s->width, 8);
    assert_int_equal(d->scaling, DROVE_SCALE_UNIT);
    assert_true(value_at(d, 1, 7) == 70 && value_at(d, 1, 48 + 8) == 20);
    assert_true(value_at(d, 1, 96) == 100);
    assert_true(value_at(d, 3, 48 + 9) == 30); /* 10 + 20 of grey, in green */
    assert_non_null(strstr(s->notes, "2 files left out: not images of a class"));
    drove_data_destroy(d);
    d = open_data("one/?size=3x4&channels=1"); /* a path alone */
    assert_int_equal(d->storage->n_features, 12);
    drove_data_destroy(d);
    assert_true(drove_data_is_named("one") && drove_data_is_named("one/?size=4"));
}

TEST(test_parts)
{
    drove_data *train, *test;
    if (!can_read_images()) return;
    unlink("two/val/cow/3.png"); /* of an earlier run */
    place("good-rgb.png", "two/train/cat/1.png");
    place("good-alpha.png", "two/train/dog/1.png");
    place("good-rgb.png", "two/val/dog/2.png");
    open_both("images:two", "split", 1, &train, &test);
    assert_int_equal(train->n_rows, 2);
    assert_int_equal(test->n_rows, 1);
    assert_string_equal(class_of(test, 0), "dog"); /* the only class there, by its name */
    assert_int_equal(test->storage->y_class[0], 1);
    drove_data_destroy(train);
    drove_data_destroy(test);
    place("good-rgb.png", "two/val/cow/3.png");
    open_both("images:two", "split", 1, &train, &test);
    assert_int_equal(test->n_rows, 1); /* the cow is of no class of the training data */
    assert_true(test->storage->unseen.weight == 1.0);
    drove_data_destroy(train);
    drove_data_destroy(test);
    expect_refusal("images:one?part=test", NULL, DROVE_E_FILE, "train and test", NULL);
    open_both("images:two/train?split=0.5", "split", 1, &train, &test);
    assert_ptr_equal(train->storage, test->storage);
    drove_data_destroy(train);
    drove_data_destroy(test);
}

TEST(test_sizes)
{
    drove_data *like, *d;
    if (!can_read_images()) return;
    place("good-rgb.png", "mixed/a/1.png");
    place("good.jpg", "mixed/a/2.jpg");
    expect_refusal("images:mixed", NULL, DROVE_E_SHAPE, "mixed/a/2.jpg", "6x8", "found 16x32",
                   "?size=", NULL);
    place("good-grey.png", "grey/a/1.png");
    place("good-rgb.png", "grey/a/2.png");
    expect_refusal("images:grey", NULL, DROVE_E_SHAPE, "grey/a/2.png", "?channels=", NULL);
    expect_refusal("images:grey?channels=2", NULL, DROVE_E_ARG, "channels", NULL);
    expect_refusal("images:grey?size=0", NULL, DROVE_E_ARG, "size", NULL);
    d = open_data("images:grey?channels=3");
    drove_data_destroy(d);
    like = open_data("images:grey?channels=1&size=5x4"); /* what a model was trained on */
    assert_int_equal(drove__data_open_like("images:mixed/a", like, true, &d), DROVE_E_DATA);
    assert_int_equal(drove__data_open_like("images:mixed/a", like, false, &d), DROVE_OK);
    assert_int_equal(d->n_rows, 2);
    assert_int_equal(d->storage->n_features, 20);
    assert_string_equal(file_of(d, 1), "mixed/a/2.jpg");
    drove_data_destroy(d);
    drove_data_destroy(like);
}

TEST(test_unreadable)
{
    if (!can_read_images()) return;
    place("truncated.png", "bad/a/0.png");
    place("good-rgb.png", "bad/a/1.png");
    place("text", "bad/b/2.jpg");
    place("good-alpha.png", "bad/b/3.png");
    expect_refusal("images:bad", NULL, DROVE_E_DATA, "bad/a/0.png", "damaged PNG", NULL);
    drove_data *d = open_data("images:bad?skip=1");
    assert_int_equal(d->n_rows, 2);
    assert_string_equal(file_of(d, 0), "bad/a/1.png");
    assert_string_equal(class_of(d, 1), "b");
    assert_true(value_at(d, 1, 7) == 70);
    assert_non_null(strstr(d->storage->notes, "skipped 2 of 4 images"));
    drove_data_destroy(d);
    place("text", "worse/a/1.png");
    expect_refusal("images:worse?skip=1", NULL, DROVE_E_DATA, "none of the 1 images", NULL);
    mkdir("nothing", 0777);
    expect_refusal("images:nothing", NULL, DROVE_E_DATA, "found no image", NULL);
    expect_refusal("images:missing", NULL, DROVE_E_FILE, "missing", NULL);
    place("good-rgb.png", "latin/caf\xe9/1.png");
    place("good-rgb.png", "utf/caf\xc3\xa9/1.png");
    expect_refusal("images:latin", NULL, DROVE_E_DATA, "UTF-8", NULL);
    d = open_data("images:utf");
    drove_data_destroy(d);
    expect_refusal("images:bad/a", NULL, DROVE_E_DATA, "?label=none", NULL);
}

/* ---- tar ---- */

TEST(test_archives)
{
    if (!can_read_images()) return;
    place("good-alpha.png", "same/cat/b.png");
    place("good-rgb.png", "same/dog/a.png");
    drove_data *folder = open_data("images:same"), *d;
    static const char *const specs[] = {"webdataset:" ARCHIVES "good-ustar",
                                        "webdataset:" ARCHIVES "good.gz", ARCHIVES "good-ustar"};
    for (size_t i = 0; i < 3; i++) {
        d = open_data(specs[i]);
        assert_int_equal(d->n_rows, 2);
        assert_string_equal(class_of(d, 0), "dog");
        assert_string_equal(class_of(d, 1), "cat");
        for (size_t f = 0; f < d->storage->n_features; f++) {
            assert_true(value_at(d, 0, f) == value_at(folder, 1, f));
            assert_true(value_at(d, 1, f) == value_at(folder, 0, f));
        }
        assert_non_null(strstr(file_of(d, 1), ":b.png"));
        drove_data_destroy(d);
    }
    drove_data_destroy(folder);
    d = open_data("webdataset:" ARCHIVES "good-pax"); /* long names; classes 3 and 10, by value */
    assert_string_equal(d->storage->class_name[0], "3");
    assert_string_equal(class_of(d, 1), "10");
    assert_int_equal(strlen(strrchr(file_of(d, 0), 'd')), strlen("d/1.png") + 150);
    drove_data_destroy(d);
    d = open_data("webdataset:" ARCHIVES "no-label?label=none");
    assert_int_equal(d->n_rows, 1);
    drove_data_destroy(d);
    expect_refusal("webdataset:" ARCHIVES "bad-image?skip=1", NULL, DROVE_E_DATA, "none of the 1",
                   NULL);
}

/* Copies an archive of the corpus. */
static void copy_archive(const char *name, const char *path)
{
    char from[4096];
    size_t n;
    snprintf(from, sizeof from, "%s%s", ARCHIVES, name);
    char *bytes = read_bytes(from, &n);
    write_bytes(path, bytes, n);
    free(bytes);
}

TEST(test_ranges)
{
    if (!can_read_images()) return;
    copy_archive("good-ustar", "s-08.tar");
    copy_archive("good-ustar", "s-09.tar");
    copy_archive("good-others", "s-10.tar");
    drove_data *d = open_data("s-{08..10}.tar");
    assert_int_equal(d->n_rows, 6);
    assert_string_equal(file_of(d, 2), "s-09.tar:a.png");
    drove_data_destroy(d);
    d = open_data("webdataset:s-{08..09}.tar,s-10.tar");
    assert_int_equal(d->n_rows, 6);
    drove_data_destroy(d);
    expect_refusal("s-{8..10}.tar", NULL, DROVE_E_FILE, "s-8.tar", NULL);
    expect_refusal("s-{10..08}.tar", NULL, DROVE_E_ARG, "ascends", NULL);
    expect_refusal("s-{0..999999999}.tar", NULL, DROVE_E_ARG, "at most 100000", NULL);
    assert_true(drove_data_is_named("s-{08..10}.tar"));
}

/* Parts may have either word, in capitals or not; numbers as names have another order as texts. */
TEST(test_words_of_parts_and_order)
{
    static const char *const words[][2] = {{"Training", "Testing"},   {"TRAIN", "Test"},
                                           {"train", "Val"},          {"training", "VALIDATION"},
                                           {"seg_train", "seg_test"}, {"training_set", "test-set"}};
    if (!can_read_images()) return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char path[128];
        drove_data *train, *test;
        for (size_t k = 0; k < 4; k++) {
            snprintf(path, sizeof path, "parts%zu/%s/%s/1.png", i, words[i][k / 2],
                     k % 2 == 0 ? "cat" : "dog");
            place("good-rgb.png", path);
        }
        snprintf(path, sizeof path, "images:parts%zu", i);
        open_both(path, "split", 1, &train, &test);
        assert_int_equal(train->n_rows, 2);
        assert_int_equal(test->n_rows, 2);
        assert_string_equal(class_of(test, 1), "dog");
        drove_data_destroy(train);
        drove_data_destroy(test);
    }
    place("good-rgb.png", "classes/train_station/a.png"); /* images of their own: classes */
    place("good-rgb.png", "classes/test_tube/a.png");
    drove_data *classes = open_data("images:classes");
    assert_string_equal(classes->storage->class_name[0], "test_tube");
    drove_data_destroy(classes);
    place("good-rgb.png", "numbered/2/a.png");
    place("good-rgb.png", "numbered/10/a.png");
    drove_data *d = open_data("images:numbered");
    assert_string_equal(d->storage->class_name[0], "2");
    drove_data_destroy(d);
    d = open_data("images:numbered?order=text");
    assert_string_equal(d->storage->class_name[0], "10");
    assert_string_equal(class_of(d, 0), "10");
    drove_data_destroy(d);
}

/* Images of other kinds are named, and images to predict may be named one by one. */
TEST(test_other_kinds_and_single_images)
{
    if (!can_read_images()) return;
    (void)unlink("kinds/b.png"); /* of a run before */
    place("good-rgb.png", "kinds/a/1.png");
    write_text("kinds/a/2.webp", "");
    write_text("kinds/a/3.WEBP", "");
    write_text("kinds/a/4.tif", "");
    drove_data *d = open_data("images:kinds");
    assert_string_equal(d->storage->notes,
                        "2 .webp files, 1 .tif file left out: drove reads PNG and JPEG images");
    drove_data_destroy(d);
    mkdir("only", 0777);
    mkdir("only/a", 0777);
    write_text("only/a/2.bmp", "");
    expect_refusal("images:only", NULL, DROVE_E_DATA, "found 1 .bmp file", NULL);
    d = open_data("images:kinds/a/1.png?label=none");
    assert_int_equal(d->n_rows, 1);
    drove_data_destroy(d);
    place("good-alpha.png", "kinds/b.png");
    d = open_data("images:kinds/b.png,kinds/a/1.png?label=none");
    assert_int_equal(d->n_rows, 2);
    assert_string_equal(file_of(d, 0), "kinds/b.png");
    drove_data_destroy(d);
    expect_refusal("images:kinds/b.png", NULL, DROVE_E_ARG, "which has no class", NULL);
    expect_refusal("kinds/a/2.webp?label=none", NULL, DROVE_E_DATA,
                   "kinds/a/2.webp: expected a PNG or JPEG image", NULL);
}
