#include "model/links.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void grove_links_clear(grove_links *l)
{
  memset(l, 0, sizeof *l);
  for (int a = 0; a < GROVE_ENDS; a++)
    for (int b = 0; b < GROVE_ENDS; b++) l->link[a][b] = (grove_link_cost){NAN, NAN};
  for (int way = 0; way < GROVE_PORT_WAYS; way++)
    for (int kind = 0; kind < GROVE_PORT_KINDS; kind++)
      for (int d = 0; d < GROVE_DEVICES; d++) l->port[way][kind][d] = NAN;
}

const char *grove_end_name(int end, char room[8])
{
  snprintf(room, 8, end == GROVE_HOST ? "host" : "%d", end);
  return room;
}

/* One end, up to `stop`; -1: none. Numbers have no leading zeros, so that a link has one name. */
static int read_link_end(const char *at, const char *stop)
{
  size_t length = (size_t)(stop - at);
  if (length == 4 && memcmp(at, "host", 4) == 0) return GROVE_HOST;
  if (length == 3 && memcmp(at, "any", 3) == 0) return GROVE_ANY_END;
  if (length < 1 || length > 2 || !isdigit((unsigned char)at[0])) return -1;
  if (length == 2 && (at[0] == '0' || !isdigit((unsigned char)at[1]))) return -1;
  int number = length == 2 ? 10 * (at[0] - '0') + (at[1] - '0') : at[0] - '0';
  return number < GROVE_DEVICES ? number : -1;
}

int grove_ends_read(const char *word, int pair)
{
  const char *stop = word + strlen(word), *dash = pair ? strchr(word, '-') : stop;
  if (!dash) return -1;
  int from = read_link_end(word, dash), to = pair ? read_link_end(dash + 1, stop) : 0;
  if (from < 0 || to < 0 || (pair && from == to && from != GROVE_ANY_END)) return -1;
  int special = 2 * (from != GROVE_ANY_END) + (to != GROVE_ANY_END);
  return special << 16 | from << 8 | to;
}
