/* The links of a node, for grove machine show. */
#ifndef GROVE_TOOLS_MACHINE_LINKS_H
#define GROVE_TOOLS_MACHINE_LINKS_H

#include "model/links.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who reaches whom, from the left to the top: rates, latencies, ports, what is shared. */
void print_links(const grove_links *l);

/* , "links": [...], "stops": [...], "ports": [...], "link_shares": [...] */
void print_links_json(const grove_links *l);

#ifdef __cplusplus
}
#endif

#endif
