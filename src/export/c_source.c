#include "export/export.h"
drove_status drove_export_c(const drove_export_options *opt)
{
    (void)opt;
    return DROVE_OK;
}
