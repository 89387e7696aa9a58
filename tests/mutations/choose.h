/* choose.h - lets the environment choose one of the mutations of a file; schemata.py includes it in
 * the text that it makes, after it has defined DROVE_MUTATIONS, their number.
 *
 * DROVE_MUTATION is the number of the one that stands.  DROVE_MUTATIONS_REACHED names a file of
 * DROVE_MUTATIONS + 1 bytes: byte k becomes 1 when the program comes to mutation k.  The file is
 * shared memory, as a process may end by a signal, and a child's calls count too.
 *
 * It calls the kernel by syscall() alone: tests replace functions such as open() and getenv().  It
 * includes nothing that reads feature macros, which the file defines after it.
 */
#include <sys/syscall.h>

extern char **environ;
long          syscall(long number, ...);

static volatile int            drove_mutation_chosen;
static volatile unsigned char *drove_mutations_reached;

static const char *drove_mutation_variable(const char *name)
{
    for (char **v = environ; v != 0 && *v != 0; v++) {
        unsigned n = 0;
        while (name[n] != 0 && (*v)[n] == name[n]) n++;
        if (name[n] == 0 && (*v)[n] == '=') return *v + n + 1;
    }
    return 0;
}

__attribute__((constructor(101))) static void drove_mutation_choose(void)
{
    enum { CURRENT_FOLDER = -100, READ_AND_WRITE = 2, PROTECTION = 3, SHARED = 1 };
    const char *chosen = drove_mutation_variable("DROVE_MUTATION");
    const char *path = drove_mutation_variable("DROVE_MUTATIONS_REACHED");
    for (; chosen != 0 && *chosen != 0; chosen++)
        drove_mutation_chosen = 10 * drove_mutation_chosen + (*chosen - '0');
    if (path == 0) return;
    long file = syscall(SYS_openat, (long)CURRENT_FOLDER, path, (long)READ_AND_WRITE, 0L);
    if (file < 0) return;
    long map =
        syscall(SYS_mmap, 0L, DROVE_MUTATIONS + 1L, (long)PROTECTION, (long)SHARED, file, 0L);
    syscall(SYS_close, file);
    if (map != -1) drove_mutations_reached = (volatile unsigned char *)map;
}

/* Does mutation k stand? */
static inline int drove_mutated(int k)
{
    if (__builtin_expect(drove_mutations_reached != 0, 0)) drove_mutations_reached[k] = 1;
    return __builtin_expect(drove_mutation_chosen == k, 0);
}
