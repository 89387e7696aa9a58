/* The writer keeps what it replaces: links, mode, owner; also where a nameless file cannot get a
 * name.
 *
 * ctest: wraps=linkat */
#include "support.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_linkat = true;

/* The linker puts these in the place of the system's. */
int __real_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);

int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    if (has_linkat) return __real_linkat(from_folder, from, to_folder, to, flags);
    errno = EPERM;
    return -1;
}

FIXTURE(begin_empty)
{
    has_linkat = true;
    return system("rm -rf rights && mkdir -p rights/elsewhere");
}

GROUP(begin_empty, NULL);

static drove_status write_file(const char *path, const char *text)
{
    drove_writer *w;
    DROVE_TRY(drove__writer_create(path, &w));
    assert_ok(drove__writer_write(w, text, strlen(text)));
    return drove__writer_commit(w);
}

static void expect(const char *path, const char *text)
{
    size_t n;
    char *found = read_bytes(path, &n);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(found, text, n);
    free(found);
}

static void make(const char *path, mode_t mode)
{
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    fputs("old", stream);
    fclose(stream);
    assert_int_equal(chmod(path, mode), 0);
}

TEST(test_the_mode_is_kept)
{
    static const mode_t modes[] = {0600, 0640, 0644, 0666, 0755, 0400};
    struct stat about;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
            make("rights/file", modes[i]);
            has_linkat = round == 0;
            assert_ok(write_file("rights/file", "new"));
            expect("rights/file", "new");
            assert_int_equal(stat("rights/file", &about), 0);
            assert_int_equal(about.st_mode & 07777, modes[i]);
            unlink("rights/file");
        }
    }
}

/* A private file is not open to others on the way either. */
TEST(test_the_temporary_is_private)
{
    struct stat about;
    drove_writer *w;
    const char *now;
    make("rights/file", 0600);
    assert_ok(drove__writer_create("rights/file", &w));
    assert_ok(drove__writer_flush(w, &now));
    assert_int_equal(stat(now, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    drove__writer_abort(w);
}

TEST(test_the_owner_is_kept)
{
    enum { OTHER_USER = 12345, OTHER_GROUP = 23456 };
    struct stat about;
    if (geteuid() != 0) skip(); /* only root may give files away */
    make("rights/file", 0640);
    assert_int_equal(chown("rights/file", OTHER_USER, OTHER_GROUP), 0);
    assert_ok(write_file("rights/file", "new"));
    assert_int_equal(stat("rights/file", &about), 0);
    assert_int_equal(about.st_uid, OTHER_USER);
    assert_int_equal(about.st_gid, OTHER_GROUP);
    assert_int_equal(about.st_mode & 07777, 0640);
}

TEST(test_links_are_followed)
{
    struct stat about;
    make("rights/elsewhere/target", 0600);
    assert_int_equal(symlink("elsewhere/target", "rights/relative"), 0);
    assert_int_equal(symlink("relative", "rights/twice"), 0);
    assert_ok(write_file("rights/twice", "new"));
    expect("rights/elsewhere/target", "new");
    expect("rights/twice", "new");
    assert_int_equal(lstat("rights/twice", &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(lstat("rights/relative", &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_not_equal(system("ls rights/elsewhere/target.tmp.* >/dev/null 2>&1"), 0);
}

TEST(test_a_link_to_nothing_makes_its_target)
{
    assert_int_equal(symlink("elsewhere/absent", "rights/dangling"), 0);
    assert_ok(write_file("rights/dangling", "new"));
    expect("rights/elsewhere/absent", "new");
    assert_int_equal(symlink("circle", "rights/circle"), 0);
    assert_fails(write_file("rights/circle", "new"), DROVE_E_FILE,
                 "rights/circle: cannot be created");
}

TEST(test_without_names_for_nameless_files)
{
    has_linkat = false;
    enum { LARGE = 300000 };
    char *text = malloc(LARGE + 1);
    assert_non_null(text);
    for (int i = 0; i < LARGE; i++) text[i] = (char)('a' + i % 23);
    text[LARGE] = '\0';
    assert_ok(write_file("rights/file", text));
    expect("rights/file", text);
    assert_ok(write_file("rights/file", "short"));
    expect("rights/file", "short");
    assert_int_not_equal(system("ls rights/file.tmp.* >/dev/null 2>&1"), 0);
    free(text);
}
