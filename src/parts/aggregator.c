#include "parts/aggregator.h"

#include <stddef.h>

const grove_aggregator *const grove_aggregators[] = {
  &grove_aggregator_none,  &grove_aggregator_table,    &grove_aggregator_ploggp,
  &grove_aggregator_timer, &grove_aggregator_adaptive, NULL,
};

const grove_aggregator *grove_aggregator_of(int option)
{
  switch (option) {
  case GROVE_AGGREGATOR_NONE: return &grove_aggregator_none;
  case GROVE_AGGREGATOR_TABLE: return &grove_aggregator_table;
  case GROVE_AGGREGATOR_TIMER: return &grove_aggregator_timer;
  case GROVE_AGGREGATOR_ADAPTIVE: return &grove_aggregator_adaptive;
  default: return &grove_aggregator_ploggp; /* and auto */
  }
}
