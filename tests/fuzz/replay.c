/* tests/fuzz/replay.c - feeds stored inputs to fuzz targets without libFuzzer.
 *
 * usage: fuzz_replay NAME [FILE or FOLDER]...
 * NAME: the target of tests/fuzz/fuzz_NAME.c, whose LLVMFuzzerTestOneInput is drove_fuzz_NAME here.
 * Every file, every file of a folder (not deeper), and always the empty input.  A file that cannot
 * be read is a failure; a folder that does not exist counts as empty.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef int fuzz_target(const uint8_t *data, size_t size_bytes);

#define X(name) fuzz_target drove_fuzz_##name;
#include "fuzz_targets.inc"
#undef X

static const struct {
    const char *name;
    fuzz_target *target;
} targets[] = {
#define X(name) {#name, drove_fuzz_##name},
#include "fuzz_targets.inc"
#undef X
};

static fuzz_target *target;
static unsigned n_inputs;

static fuzz_target *find_target(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof targets / sizeof targets[0]; i++)
        if (strcmp(targets[i].name, name) == 0) return targets[i].target;
    fprintf(stderr, "usage: fuzz_replay NAME [FILE or FOLDER]...: no target '%s'\n",
            name != NULL ? name : "");
    exit(2);
}

static void give_up(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
}

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) give_up(path);
    uint8_t *data = NULL;
    size_t size_bytes = 0, room_bytes = 0, got;
    do {
        if (size_bytes == room_bytes) {
            room_bytes = room_bytes == 0 ? 65536 : 2 * room_bytes;
            uint8_t *bigger = realloc(data, room_bytes);
            if (bigger == NULL) give_up(path);
            data = bigger;
        }
        got = fread(data + size_bytes, 1, room_bytes - size_bytes, file);
        size_bytes += got;
    } while (got > 0);
    if (ferror(file)) give_up(path);
    fclose(file);
    /* An exact copy, so that AddressSanitizer sees a read past the end. */
    uint8_t *exact = malloc(size_bytes > 0 ? size_bytes : 1);
    if (exact == NULL) give_up(path);
    memcpy(exact, data, size_bytes);
    free(data);
    printf("%s: %zu bytes\n", path, size_bytes);
    fflush(stdout);
    target(exact, size_bytes);
    free(exact);
    n_inputs++;
}

static void replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) give_up(path);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char file[4096];
        struct stat about;
        int n = snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (n < 0 || (size_t)n >= sizeof file) continue;
        if (stat(file, &about) == 0 && S_ISREG(about.st_mode)) replay_file(file);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    target = find_target(argc > 1 ? argv[1] : NULL);
    for (int i = 2; i < argc; i++) {
        struct stat about;
        if (stat(argv[i], &about) != 0) {
            if (errno == ENOENT) continue;
            give_up(argv[i]);
        }
        if (S_ISDIR(about.st_mode)) replay_folder(argv[i]);
        else replay_file(argv[i]);
    }
    uint8_t nothing = 0;
    target(&nothing, 0);
    printf("%u inputs replayed\n", n_inputs);
    return 0;
}
