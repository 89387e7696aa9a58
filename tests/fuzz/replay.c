/* tests/fuzz/replay.c - feeds stored inputs to a fuzz target without libFuzzer.
 *
 * usage: fuzz_NAME [FILE or FOLDER]...
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static unsigned n_inputs;

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
    LLVMFuzzerTestOneInput(exact, size_bytes);
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
    for (int i = 1; i < argc; i++) {
        struct stat about;
        if (stat(argv[i], &about) != 0) {
            if (errno == ENOENT) continue;
            give_up(argv[i]);
        }
        if (S_ISDIR(about.st_mode)) replay_folder(argv[i]);
        else replay_file(argv[i]);
    }
    uint8_t nothing = 0;
    LLVMFuzzerTestOneInput(&nothing, 0);
    printf("%u inputs replayed\n", n_inputs);
    return 0;
}
