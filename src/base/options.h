/* base/options.h - a program's own loss and layers, which its options hold; and the value of an
 * option by its row in the table.  config/options.h has the fields.
 */
#ifndef DROVE_BASE_OPTIONS_H
#define DROVE_BASE_OPTIONS_H

#include <drove/custom.h>
#include <drove/options.h>

/* The program's own loss and kinds of layers.  Copied with the options: the names lie here, and the
 * pointers to names in the given structs are not used. */
typedef struct drove_custom {
    bool               has_loss;
    char               loss_name[DROVE_CUSTOM_NAME_SIZE];
    drove_custom_loss  loss;
    unsigned           n_layers;
    char               layer_name[DROVE_CUSTOM_LAYERS][DROVE_CUSTOM_NAME_SIZE];
    drove_custom_layer layer[DROVE_CUSTOM_LAYERS];
} drove_custom;

/* Where an option's value lies, by its row in the table: char[DROVE_TEXT_SIZE], double or
 * uint64_t. */
static inline const void *drove__options_field(const drove_options     *options,
                                               const drove_option_info *info)
{
    return (const char *)options + info->own;
}

#endif
