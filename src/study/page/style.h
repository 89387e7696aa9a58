/* study/page/style.h - the style of a page, and the script of a live one. */
#ifndef DROVE_STUDY_PAGE_STYLE_H
#define DROVE_STUDY_PAGE_STYLE_H

extern const char *const drove__page_style;
extern const char *const drove__page_script; /* fetches the page anew, and keeps the place in it */

#endif
