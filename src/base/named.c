/* base/named.c - see named.h. */
#include "base/named.h"

#include "base/fork.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects both */
static drove_named_object *first;
static uint64_t last_number;
static drove_fork_guard guard;

__attribute__((constructor)) static void guard_lock(void)
{
    drove__fork_guard_add(&guard, &lock, DROVE_FORK_INNER);
}

void drove__named_add(drove_named_object *object, const char *kind,
                      void (*destroy)(drove_named_object *object))
{
    object->kind = kind;
    object->destroy = destroy;
    atomic_init(&object->n_references, 1);
    pthread_mutex_lock(&lock);
    object->number = ++last_number;
    object->next = first;
    first = object;
    pthread_mutex_unlock(&lock);
}

void drove__named_print(const drove_named_object *object, char into[DROVE_NAMED_SIZE])
{
    snprintf(into, DROVE_NAMED_SIZE, DROVE_NAMED_WORD ":%llu", (unsigned long long)object->number);
}

drove_named_object *drove__named_find(const char *text, const char *kind)
{
    static const char word[] = DROVE_NAMED_WORD ":";
    const size_t n = sizeof word - 1;
    char *end;
    if (strncmp(text, word, n) == 0) text += n;
    if (!isdigit((unsigned char)*text)) return NULL;
    const uint64_t number = strtoull(text, &end, 10);
    if (number == 0 || (*end != '\0' && *end != '.')) return NULL;
    pthread_mutex_lock(&lock);
    drove_named_object *found = first;
    while (found != NULL && (found->number != number || found->kind != kind)) found = found->next;
    /* Under the lock, so that the last reference is not being released meanwhile. */
    if (found != NULL) drove__named_take(found);
    pthread_mutex_unlock(&lock);
    return found;
}

void drove__named_take(drove_named_object *object)
{
    atomic_fetch_add_explicit(&object->n_references, 1, memory_order_relaxed);
}

void drove__named_release(drove_named_object *object)
{
    if (object == NULL) return;
    pthread_mutex_lock(&lock);
    /* The lock orders this thread's accesses to the object before its destruction. */
    const bool is_last =
        atomic_fetch_sub_explicit(&object->n_references, 1, memory_order_relaxed) == 1;
    if (is_last) {
        drove_named_object **at = &first;
        while (*at != object) at = &(*at)->next;
        *at = object->next;
    }
    pthread_mutex_unlock(&lock);
    if (is_last) object->destroy(object);
}
