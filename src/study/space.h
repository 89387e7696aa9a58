/* study/space.h - the settings that a search may give to a run.
 *
 * A setting is the name of an option and a value as typed.  A space has dimensions; each gives one
 * setting, or none where it draws "as it is".  Points of a space follow from (seed, number).
 */
#ifndef DROVE_STUDY_SPACE_H
#define DROVE_STUDY_SPACE_H

#include "base/status.h"

#include "base/options.h"
#include "base/yaml.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    DROVE_MOST_DIMENSIONS = 16,
    DROVE_MOST_CHOICES = 32,
    DROVE_CHOICE_SIZE = 96,
    DROVE_NAME_SIZE = 32
};

typedef struct drove_dimension {
    char     name[DROVE_NAME_SIZE];                         /* of the option                     */
    char     choice[DROVE_MOST_CHOICES][DROVE_CHOICE_SIZE]; /* "": as it is                      */
    unsigned n_choices;                                     /* 0: a number from least to most    */
    double   least, most;
    bool     is_log;   /* uniform in the logarithm */
    bool     is_whole; /* whole numbers alone      */
} drove_dimension;

typedef enum drove_space_rules {
    DROVE_SPACE_ANY_RULE,
    DROVE_SPACE_PLAIN,           /* the precision allows sgd alone */
    DROVE_SPACE_PLAIN_IF_LINEAR, /* ... where a linear model is drawn */
} drove_space_rules;

typedef struct drove_space {
    drove_dimension dimension[DROVE_MOST_DIMENSIONS];
    unsigned        n_dimensions;
    bool lr_is_given; /* else a rule that is drawn comes with a step size that suits it */
    drove_space_rules rules;
} drove_space;

typedef struct drove_setting {
    char name[DROVE_NAME_SIZE], value[DROVE_CHOICE_SIZE];
} drove_setting;

typedef struct drove_point { /* settings in the order of the space's dimensions */
    drove_setting setting[DROVE_MOST_DIMENSIONS];
    unsigned      n_settings;
} drove_point;

/* Whether the option is one of names[n]. */
bool drove__names_option(const char *name, const char *const *names, size_t n);
/* What drove tune searches by itself: model, rule with step size, decay, batch.  values: the data
 * have values, not classes; wide: sparse data of thousands of features, for which networks are not
 * tried.  fixed[n_fixed]: names of options that stay as they are. */
void drove__space_usual(bool values, bool wide, drove_space_rules rules, const char *const *fixed,
                        size_t n_fixed, drove_space *out);
/* Whether the model of this spec is a linear one. */
bool drove__space_is_linear(const char *model);
/* Reads a YAML mapping from options to what they may be: a list of values, or {log: [LEAST, MOST]},
 * or {uniform: [LEAST, MOST]}.  Every value is checked as the option's, and none may be of
 * fixed[n_fixed].  Errors: DROVE_E_IO, DROVE_E_ARG (file:line:column), DROVE_E_NOMEM. */
drove_status drove__space_load(const char *path, const char *const *fixed, size_t n_fixed,
                               drove_space *out);
/* Parts of such a reader.  Errors of all: DROVE_E_ARG (file:line:column), DROVE_E_NOMEM. */
/* Whether there is an option of this name; else the error has the nearest. */
drove_status drove__option_name_check(const drove_yaml *y, const drove_yaml_item *item);
/* Whether the option takes this value. */
drove_status drove__setting_check(const drove_yaml *y, const drove_yaml_item *item,
                                  const char *name);
/* What follows the name of an option: a list or a range, into the zeroed *d.  name: that of an
 * option, shorter than DROVE_NAME_SIZE; may be the text of the item before. */
drove_status drove__dimension_read(drove_yaml *y, const char *name, drove_dimension *d);
/* The point of this number. */
void drove__space_draw(const drove_space *space, uint64_t seed, uint64_t number, drove_point *out);
bool drove__point_equal(const drove_point *a, const drove_point *b);
/* "model=mlp:64 lr=0.01"; "the defaults" without settings. */
void drove__point_text(const drove_point *point, char *into, size_t size);

#endif
