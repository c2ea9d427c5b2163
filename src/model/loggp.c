#include "model/loggp.h"

#include <math.h>

const char *const grove_delay_form_names[GROVE_DELAY_FORMS] = {"hidden", "drained"};

static double told(double seconds)
{
  return isnan(seconds) ? 0 : seconds;
}

/* What a message costs whatever its size. */
static double fixed(const grove_loggp *p)
{
  return told(p->o_s) + told(p->L) + told(p->o_r);
}

/* The time of the bytes behind the first. */
static double tail(const grove_loggp *p, double bytes)
{
  return p->G * fmax(bytes - 1, 0);
}

/* How far apart messages are that follow each other. */
static double spacing(const grove_loggp *p)
{
  return fmax(told(p->g), fmax(told(p->o_s), told(p->o_r)));
}

double grove_loggp_message(const grove_loggp *p, double bytes)
{
  return fixed(p) + tail(p, bytes);
}

double grove_loggp_messages(const grove_loggp *p, double n, double bytes)
{
  if (n < 1) return 0;
  return fixed(p) + n * tail(p, bytes) + (n - 1) * spacing(p);
}

double grove_loggp_parts(const grove_loggp *p, grove_delay_form form, double bytes, double n,
                         double delay)
{
  double part = tail(p, bytes / n);
  if (form == GROVE_HIDDEN) return delay + fixed(p) + (n - 1) * spacing(p) + part;
  double early = (n - 1) * (part + fmax(told(p->g), told(p->o_s)));
  return fmax(early, delay) + fixed(p) + part + (n - 1) * told(p->o_r);
}

grove_status grove_loggp_choose(const grove_machine *m, grove_delay_form form, int64_t bytes,
                                int64_t most, double delay, grove_part_choice *choices,
                                int *nchoices, int *best)
{
  grove_status status = GROVE_OK;
  int n = 0, least = 0;
  GROVE_CHECK(
    bytes >= 0 && most >= 1 && delay >= 0, GROVE_ERR_ARG,
    "%lld bytes in up to %lld parts, late by %g s: none may be negative, and 1 part is the "
    "least",
    (long long)bytes, (long long)most, delay);
  for (int64_t parts = 1; parts <= most && n < GROVE_PART_CHOICES; parts *= 2, n++) {
    const grove_loggp *row = grove_machine_loggp(m, GROVE_OFF_NODE, bytes / parts);
    GROVE_CHECK(row && !isnan(row->G), GROVE_ERR_ARG,
                "the profile %s has no LogGP parameters between nodes",
                m->name ? m->name : "given");
    choices[n] = (grove_part_choice){
      .parts = parts,
      .seconds = grove_loggp_parts(row, form, (double)bytes, (double)parts, delay),
      .row = row,
    };
    if (choices[n].seconds < choices[least].seconds) least = n;
  }
  *nchoices = n;
  *best = least;
fail:
  return status;
}
