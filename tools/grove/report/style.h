/* The contents of the <style> element of a report's page. */
#ifndef GROVE_TOOLS_REPORT_STYLE_H
#define GROVE_TOOLS_REPORT_STYLE_H

#ifdef __cplusplus
extern "C" {
#endif

extern const char report_style[];

#ifdef __cplusplus
}
#endif

#endif
