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
#include <sys/xattr.h>
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

/* Where everybody may write, a link of somebody else is not followed. */
TEST(test_links_of_others)
{
    enum { OTHER_USER = 12345 };
    make("rights/elsewhere/target", 0600);
    assert_int_equal(mkdir("rights/open", 0777), 0);
    assert_int_equal(chmod("rights/open", 01777), 0);
    assert_int_equal(symlink("../elsewhere/target", "rights/open/link"), 0);
    assert_ok(write_file("rights/open/link", "ours"));
    expect("rights/elsewhere/target", "ours");
    if (geteuid() != 0) skip(); /* only root may give links away */
    assert_int_equal(lchown("rights/open/link", OTHER_USER, (gid_t)-1), 0);
    assert_fails(write_file("rights/open/link", "theirs"), DROVE_E_FILE, "Permission denied");
    expect("rights/elsewhere/target", "ours");
    assert_int_equal(chown("rights/open", OTHER_USER, (gid_t)-1), 0); /* their own folder */
    assert_ok(write_file("rights/open/link", "theirs"));
    expect("rights/elsewhere/target", "theirs");
}

/* An open file that is named by its number goes on where it stands. */
TEST(test_open_files_go_on)
{
    char path[64];
    const int fd = open("rights/open.txt", O_WRONLY | O_CREAT | O_APPEND, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "begin ", 6), 6);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    assert_ok(write_file(path, "more "));
    assert_int_equal(write(fd, "end", 3), 3);
    close(fd);
    expect("rights/open.txt", "begin more end");
}

/* With an access list the group's bits are a mask: without the list they would open the file. */
TEST(test_access_lists_are_kept)
{
    /* version 2; user 6, user 12345 6, group 0, mask 6, other 0 */
    static const unsigned char list[] = {2,   0,   0,   0,   1,   0,    6,    0,   255, 255, 255,
                                         255, 2,   0,   6,   0,   0x39, 0x30, 0,   0,   4,   0,
                                         0,   0,   255, 255, 255, 255,  16,   0,   6,   0,   255,
                                         255, 255, 255, 32,  0,   0,    0,    255, 255, 255, 255};
    unsigned char found[sizeof list];
    make("rights/file", 0600);
    if (setxattr("rights/file", "system.posix_acl_access", list, sizeof list, 0) != 0) skip();
    assert_ok(write_file("rights/file", "new"));
    assert_int_equal(getxattr("rights/file", "system.posix_acl_access", found, sizeof found),
                     sizeof list);
    assert_memory_equal(found, list, sizeof list);
}
