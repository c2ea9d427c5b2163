#include "grove/model/figures.h"

#include "grove/arguments.h"
#include "model/loggp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put(FILE *data, double value)
{
  if (isfinite(value))
    fprintf(data, " %.6g", value);
  else
    fputs(" -", data);
}

/* The index of the first minimum; values that differ only by rounding are equal. */
static int first_least(const double *value, int n)
{
  int out = 0;
  for (int i = 1; i < n; i++)
    if (value[i] < value[out] * (1 - 1e-9)) out = i;
  return out;
}

/* ---- Lockhart et al. 2023 ---- */

static const char no_messages[] = "alpha and beta of messages";
static const char no_off_node[] = "alpha and beta of messages between nodes";

/* A line of a figure: one message, by the places of its ends and the number of sending ranks per
 * node. */
typedef struct curve {
  const char *name;
  grove_locality where;
  int senders;
} curve;

/* Times over sizes, for the lines that the machine has numbers for. */
static const char *write_lines(const source *from, int n, const curve *lines, double most,
                               sheet *out)
{
  const grove_machine *m = from->m;
  const curve *kept[8];
  int lines_kept = 0;
  for (int i = 0; i < n; i++)
    if (grove_form_has_messages(m, GROVE_CPU, lines[i].where)) kept[lines_kept++] = &lines[i];
  if (lines_kept == 0) return no_messages;
  fputs("bytes", out->data);
  for (int i = 0; i < lines_kept; i++) fprintf(out->data, " %s", kept[i]->name);
  fputc('\n', out->data);
  for (double bytes = 1; bytes <= most; bytes *= 2) {
    fprintf(out->data, "%.0f", bytes);
    for (int i = 0; i < lines_kept; i++)
      put(out->data,
          grove_form_message(m, GROVE_CPU, kept[i]->where, GROVE_BY_SIZE, kept[i]->senders, bytes));
    fputc('\n', out->data);
  }
  out->last = 1 + lines_kept;
  return NULL;
}

static const char *write_ping_pong(const source *from, sheet *out)
{
  static const curve lines[] = {{"on-socket", GROVE_ON_SOCKET, 1},
                                {"on-node", GROVE_ON_NODE, 1},
                                {"off-node", GROVE_OFF_NODE, 1}};
  return write_lines(from, 3, lines, 1 << 24, out);
}

static const char ping_pong[] = "set logscale x 2\n"
                                "set format x '2^{%L}'\n"
                                "set logscale y\n"
                                "set format y '%.0e'\n"
                                "set title who . ': one message between two processes' noenhanced\n"
                                "set xlabel 'bytes'\n"
                                "set ylabel 'seconds'\n"
                                "plot for [i=2:last] data using 1:i with lines lw 2 \\\n"
                                "  title columnheader(i)\n";

/* Blocks by total size; the last column holds the minimum of its block, in its row. */
static const char *write_split_over_ppn(const source *from, sheet *out)
{
  const grove_machine *m = from->m;
  FILE *data = out->data;
  int ranks = m->ranks;
  if (!grove_form_has_messages(m, GROVE_CPU, GROVE_OFF_NODE)) return no_off_node;
  if (ranks < 1) return "the number of ranks a node has";
  for (double total = 1024; total <= 1 << 24; total *= 4) {
    double seconds[1024];
    if (ranks > 1024) ranks = 1024;
    for (int n = 1; n <= ranks; n++)
      seconds[n - 1] =
        grove_form_message(m, GROVE_CPU, GROVE_OFF_NODE, GROVE_BY_SIZE, n, total / n);
    fprintf(data, "%sppn \"%.0f KiB\" least\n", total > 1024 ? "\n\n" : "", total / 1024);
    for (int n = 1; n <= ranks; n++) {
      fprintf(data, "%d", n);
      put(data, seconds[n - 1]);
      put(data, n - 1 == first_least(seconds, ranks) ? seconds[n - 1] : NAN);
      fputc('\n', data);
    }
  }
  return NULL;
}

static const char split_over_ppn[] =
  "set logscale y\n"
  "set format y '%.0e'\n"
  "set title who . ': data between two nodes, split over some of their processes' noenhanced\n"
  "set xlabel 'processes per node that send'\n"
  "set ylabel 'seconds'\n"
  "set key outside right\n"
  "plot for [b=0:7] data index b using 1:2 with lines lw 2 lc b + 1 \\\n"
  "       title columnheader(2), \\\n"
  "  for [b=0:7] data index b using 1:3 with points pt 6 ps 2 lc b + 1 notitle\n";

/* The bytes of one GPU, copied by some processes at once, each its share. A line for each number of
 * processes that the profile has, first to the host, then to the device. */
static const char *write_copies(const source *from, sheet *out)
{
  static const char *const ways[] = {[GROVE_D2H] = "D2H", [GROVE_H2D] = "H2D"};
  const grove_machine *m = from->m;
  if (m->ncopies[GROVE_D2H] + m->ncopies[GROVE_H2D] == 0) return "copies between host and GPU";
  fputs("bytes", out->data);
  out->last = 1;
  for (int way = 0; way < GROVE_DIRECTIONS; way++)
    for (int k = 0; k < m->ncopies[way]; k++, out->last++)
      fprintf(out->data, " \"%s, %d\"", ways[way], m->copies[way][k].processes);
  fputc('\n', out->data);
  for (double bytes = 1024; bytes <= 1 << 28; bytes *= 2) {
    fprintf(out->data, "%.0f", bytes);
    for (int way = 0; way < GROVE_DIRECTIONS; way++)
      for (int k = 0; k < m->ncopies[way]; k++) {
        const grove_copy_rate *row = &m->copies[way][k];
        put(out->data, row->cost.alpha + row->cost.beta * bytes / row->processes);
      }
    fputc('\n', out->data);
  }
  return NULL;
}

static const char copies[] =
  "set logscale x 2\n"
  "set format x '2^{%L}'\n"
  "set logscale y\n"
  "set format y '%.0e'\n"
  "set title who . ': the data of a GPU, copied by some processes, each a share' noenhanced\n"
  "set xlabel 'bytes'\n"
  "set ylabel 'seconds'\n"
  "set key outside right\n"
  "plot for [i=2:last] data using 1:i with lines lw 2 title columnheader(i)\n";

/* Begins a block: the strategies' names, then rows; the last column is the minimum without the best
 * cases. Each route has a colour; dashed is from device to device. Which strategies have a price
 * depends on the machine alone. */
static void write_strategy_names(const char *first, const grove_strategy *list, sheet *out)
{
  static const char *const colors[GROVE_STRATEGIES] = {"#7b3294", "#7b3294", "#0571b0", "#0571b0",
                                                       "#e66101", "#e66101", "#b2abd2", "#b2abd2",
                                                       "#008837", "#a6611a"};
  fputs(first, out->data);
  out->last = 1;
  out->colors[0] = out->dashes[0] = '\0';
  for (int i = 0; i < GROVE_STRATEGIES; i++) {
    if (list[i].left_out) continue;
    fprintf(out->data, " \"%s %s\"", list[i].route, list[i].path);
    strcat(strcat(out->colors, out->last > 1 ? " " : ""), colors[i]);
    strcat(strcat(out->dashes, out->last > 1 ? " " : ""), list[i].path[0] == 'd' ? "2" : "1");
    out->last++;
  }
  fputs(" least\n", out->data);
}

#define STRATEGY_STYLE                                                                             \
  "color(i) = word(colors, i - 1)\n"                                                               \
  "dash(i) = int(word(dashes, i - 1))\n"

static int price(const source *from, grove_exchange x, grove_strategy *list)
{
  x.protocol = GROVE_BY_SIZE;
  x.as_published = from->as_published;
  return grove_exchange_complete(from->m, &x) != GROVE_OK ||
         grove_strategies_price(from->m, &x, list) != GROVE_OK;
}

static const char *write_strategies(const source *from, grove_exchange x, const char *names,
                                    double at, sheet *out)
{
  grove_strategy list[GROVE_STRATEGIES];
  if (price(from, x, list)) return no_off_node;
  if (names) write_strategy_names(names, list, out);
  fprintf(out->data, "%.6g", at);
  for (int i = 0; i < GROVE_STRATEGIES; i++)
    if (!list[i].left_out) put(out->data, list[i].seconds);
  put(out->data, list[grove_strategies_best(list, 0)].seconds);
  fputc('\n', out->data);
  return NULL;
}

static double processes(const grove_machine *m)
{
  return m->gpus > 0 ? m->gpus : m->ranks > 0 ? m->ranks : 1;
}

/* Every GPU needs a twentieth of the rows of every other GPU. */
static const char *write_validation(const source *from, sheet *out)
{
  const grove_machine *m = from->m;
  const double rows = 943695, part = 0.05, ppn = processes(m);
  const char *lacks = NULL;
  for (double nodes = 2; nodes <= 32 && !lacks; nodes *= 2) {
    double message = part * rows * 8 / (nodes * ppn), peers = (nodes - 1) * ppn;
    grove_exchange x = {.messages_per_proc = peers,
                        .bytes_per_proc = peers * message,
                        .bytes_per_node = ppn * peers * message,
                        .bytes_node_to_node = ppn * ppn * message,
                        .nodes_per_proc = nodes - 1,
                        .messages_node_to_node = 1,
                        .ppn = ppn};
    lacks = write_strategies(from, x, nodes == 2 ? "GPUs" : NULL, nodes * ppn, out);
  }
  return lacks;
}

static const char validation[] = STRATEGY_STYLE
  "set logscale x 2\n"
  "set format x '2^{%L}'\n"
  "set logscale y\n"
  "set format y '%.0e'\n"
  "set title who . ': 943 695 rows, each GPU needs 5 % of those of every other' noenhanced\n"
  "set xlabel 'GPUs'\n"
  "set ylabel 'seconds'\n"
  "set key outside right\n"
  "plot for [i=2:last] data using 1:i with linespoints lw 2 \\\n"
  "       dt dash(i) lc rgb color(i) \\\n"
  "       title columnheader(i), \\\n"
  "  data using 1:least with points pt 6 ps 2 lc 'black' title 'fastest but 2-step-1'\n";

/* A node sends 32 or 256 messages, spread over its GPUs, to 4 or 16 nodes. */
static const struct scenario {
  double nodes, messages;
} all_scenarios[] = {{4, 32}, {4, 256}, {16, 32}, {16, 256}};
enum { SCENARIOS = 4, LARGEST = 1 << 20 };

static grove_exchange exchange_of(const grove_machine *m, const struct scenario *k, double size)
{
  const double ppn = processes(m);
  return (grove_exchange){.messages_per_proc = k->messages / ppn,
                          .bytes_per_proc = k->messages / ppn * size,
                          .bytes_per_node = k->messages * size,
                          .bytes_node_to_node = k->messages * size / k->nodes,
                          .nodes_per_proc = k->nodes,
                          .messages_node_to_node = 1,
                          .ppn = ppn};
}

static const char *write_scenarios(const source *from, sheet *out)
{
  const char *lacks = NULL;
  for (int k = 0; k < SCENARIOS; k++) {
    if (k > 0) fputs("\n\n", out->data);
    for (double size = 1; size <= LARGEST && !lacks; size *= 2)
      lacks = write_strategies(from, exchange_of(from->m, &all_scenarios[k], size),
                               size == 1 ? "bytes" : NULL, size, out);
  }
  return lacks;
}

/* "3-step staged to 1 KiB, ...": the fastest strategy, and up to which size. */
static void say_fastest(const source *from, const struct scenario *k, int with_best_case)
{
  grove_strategy list[GROVE_STRATEGIES];
  char room[32];
  int last = -1;
  for (double size = 1; size <= LARGEST; size *= 2) {
    if (price(from, exchange_of(from->m, k, size), list)) return;
    int best = grove_strategies_best(list, with_best_case);
    if (last >= 0 && best != last)
      printf("%s %s to %s, ", list[last].route, list[last].path, show_bytes(size / 2, room));
    last = best;
  }
  printf("%s %s to %s\n", list[last].route, list[last].path, show_bytes(LARGEST, room));
}

static void say_scenarios(const source *from)
{
  for (int k = 0; k < SCENARIOS; k++) {
    printf("  %g nodes, %g messages: ", all_scenarios[k].nodes, all_scenarios[k].messages);
    say_fastest(from, &all_scenarios[k], 0);
    printf("    with 2-step-1: ");
    say_fastest(from, &all_scenarios[k], 1);
  }
}

static const char scenarios[] = STRATEGY_STYLE
  "set logscale x 2\n"
  "set format x '2^{%L}'\n"
  "set logscale y\n"
  "set format y '%.0e'\n"
  "set xlabel 'bytes of a message of standard'\n"
  "set key font ',8' samplen 2 spacing 0.9\n"
  "array panels[4] = ['4 nodes, 32 messages', '4 nodes, 256 messages', \\\n"
  "  '16 nodes, 32 messages', '16 nodes, 256 messages']\n"
  "set multiplot layout 2,2 title who . ': seconds to send a node''s data, modelled; circles: the "
  "fastest but 2-step-1' noenhanced\n"
  "do for [b=0:3] {\n"
  "  set title panels[b + 1]\n"
  "  plot for [i=2:last] data index b using 1:i with lines lw 1.5 \\\n"
  "         dt dash(i) lc rgb color(i) title columnheader(i), \\\n"
  "    data index b using 1:least with points pt 6 lc 'black' notitle\n"
  "}\n"
  "unset multiplot\n";

/* ---- Bienz et al. 2018 ---- */

static const char *write_node_aware(const source *from, sheet *out)
{
  static const curve lines[] = {{"on-socket", GROVE_ON_SOCKET, 1},
                                {"on-node", GROVE_ON_NODE, 1},
                                {"\"off-node, ppn 1\"", GROVE_OFF_NODE, 1},
                                {"\"off-node, ppn 4\"", GROVE_OFF_NODE, 4},
                                {"\"off-node, ppn 16\"", GROVE_OFF_NODE, 16}};
  return write_lines(from, 5, lines, 1 << 20, out);
}

static const char node_aware[] =
  "set logscale x 2\n"
  "set format x '2^{%L}'\n"
  "set logscale y\n"
  "set format y '%.0e'\n"
  "set title who . ': max-rate, by where the two ends are' noenhanced\n"
  "set xlabel 'bytes'\n"
  "set ylabel 'seconds'\n"
  "plot for [i=2:last] data using 1:i with lines lw 2 \\\n"
  "  title columnheader(i)\n";

/* n messages of one process, `total` bytes in all; the caller adds queues and links. */
static double messages_seconds(const grove_machine *m, grove_locality where, double ppn, double n,
                               double total)
{
  grove_picked p = grove_form_pick(m, GROVE_CPU, where, GROVE_BY_SIZE, total / n);
  double injection = where == GROVE_OFF_NODE ? p.injection : 0;
  return grove_form_max_rate(p.cost, injection, ppn, n, total);
}

static const double totals[] = {1 << 14, 1 << 17, 1 << 20, 1 << 23};

/* 1, 2, 5, 10, ... */
static double next_count(double n)
{
  double decade = pow(10, floor(log10(n) + 1e-9));
  return n < 1.5 * decade ? 2 * decade : n < 3 * decade ? 5 * decade : 10 * decade;
}

static const char *write_queue(const source *from, sheet *out)
{
  const grove_machine *m = from->m;
  FILE *data = out->data;
  if (isnan(m->gamma)) return "gamma, the step along a queue";
  if (!grove_form_has_messages(m, GROVE_CPU, GROVE_ON_NODE))
    return "alpha and beta of messages on a node";
  for (int k = 0; k < 4; k++) {
    fprintf(data, "%smessages \"%.0f KiB in all\" \"typical queue\" \"worst queue\"\n",
            k > 0 ? "\n\n" : "", totals[k] / 1024);
    for (double n = 1; n <= 10000; n = next_count(n)) {
      double seconds = messages_seconds(m, GROVE_ON_NODE, 1, n, totals[k]);
      fprintf(data, "%.0f", n);
      put(data, seconds);
      put(data, seconds + grove_form_queue(m->gamma, n, GROVE_QUEUE_TYPICAL));
      put(data, seconds + grove_form_queue(m->gamma, n, GROVE_QUEUE_WORST));
      fputc('\n', data);
    }
  }
  return NULL;
}

static const char queue_without[] =
  "set logscale xy\n"
  "set format y '%.0e'\n"
  "set title who . ': messages inside a node, without the queue' noenhanced\n"
  "set xlabel 'messages'\n"
  "set ylabel 'seconds'\n"
  "plot for [b=0:3] data index b using 1:2 with lines lw 2 lc b + 1 title columnheader(2)\n";

static const char queue_with[] =
  "set logscale xy\n"
  "set format y '%.0e'\n"
  "set title who . ': messages inside a node; dashed: a typical queue, solid: the worst' "
  "noenhanced\n"
  "set xlabel 'messages'\n"
  "set ylabel 'seconds'\n"
  "plot for [b=0:3] data index b using 1:4 with lines lw 2 lc b + 1 \\\n"
  "       title word('16 128 1024 8192', b + 1) . ' KiB in all', \\\n"
  "  for [b=0:3] data index b using 1:3 with lines lw 2 dt 2 lc b + 1 notitle\n";

/* Four routers of two nodes in a line. Every process of the first sends to the third, of the second
 * to the fourth, so everything crosses the link in the middle (Fig. 6). */
static double line_bytes(double per_node)
{
  const grove_torus line = {1, {4}, 0, 2};
  const grove_traffic traffic[] = {
    {0, 4, per_node}, {1, 5, per_node}, {2, 6, per_node}, {3, 7, per_node}};
  grove_contended out = {0};
  return grove_form_torus(&line, 4, traffic, &out) == GROVE_OK ? out.link_bytes : NAN;
}

static const char *write_contention(const source *from, sheet *out)
{
  const grove_machine *m = from->m;
  FILE *data = out->data;
  if (isnan(m->gamma) || isnan(m->delta)) return "gamma or delta, the price of a contended link";
  if (!grove_form_has_messages(m, GROVE_CPU, GROVE_OFF_NODE)) return no_off_node;
  if (m->ranks < 1) return "the number of ranks a node has";
  for (int k = 0; k < 4; k++) {
    fprintf(data, "%smessages \"%.0f KiB per process\" \"with the link\"\n", k > 0 ? "\n\n" : "",
            totals[k] / 1024);
    for (double n = 1; n <= 10000; n = next_count(n)) {
      double seconds = messages_seconds(m, GROVE_OFF_NODE, m->ranks, n, totals[k]) +
                       grove_form_queue(m->gamma, n, GROVE_QUEUE_WORST);
      fprintf(data, "%.0f", n);
      put(data, seconds);
      put(data, seconds + grove_form_contention(m->delta, line_bytes(m->ranks * totals[k])));
      fputc('\n', data);
    }
  }
  return NULL;
}

static const char contention_without[] =
  "set logscale xy\n"
  "set format y '%.0e'\n"
  "set title who . ': a line of four routers, max-rate and queue' noenhanced\n"
  "set xlabel 'messages'\n"
  "set ylabel 'seconds'\n"
  "plot for [b=0:3] data index b using 1:2 with lines lw 2 lc b + 1 title columnheader(2)\n";

static const char contention_with[] =
  "set logscale xy\n"
  "set format y '%.0e'\n"
  "set title who . ': a line of four routers; solid: with contention, dashed: without' noenhanced\n"
  "set xlabel 'messages'\n"
  "set ylabel 'seconds'\n"
  "plot for [b=0:3] data index b using 1:3 with lines lw 2 lc b + 1 \\\n"
  "       title word('16 128 1024 8192', b + 1) . ' KiB per process', \\\n"
  "  for [b=0:3] data index b using 1:2 with lines lw 2 dt 2 lc b + 1 notitle\n";

/* ---- Temucin et al. 2023 ---- */

enum { MOST_PARTS = 32 };
static const double smallest_whole = 1 << 16, largest_whole = 1 << 28;

/* 32 parts, one of them 4 ms late, in the given number of messages. */
static grove_part_choice cut_into(const source *from, double bytes, int64_t n)
{
  const grove_part_cut cut = {.where = GROVE_OFF_NODE,
                              .form = GROVE_HIDDEN,
                              .bytes = (int64_t)bytes,
                              .parts = MOST_PARTS,
                              .most = MOST_PARTS,
                              .delay = 0.004};
  return n > 0 ? grove_loggp_price(from->m, &cut, n) : grove_loggp_best(from->m, &cut);
}

static const char *write_parts(const source *from, sheet *out)
{
  if (isnan(grove_loggp_row(from->m, GROVE_OFF_NODE, 1).G))
    return "LogGP, or alpha and beta, of messages between nodes";
  fputs("bytes", out->data);
  out->last = 1;
  for (int n = 1; n <= MOST_PARTS; n *= 2, out->last++)
    fprintf(out->data, " \"%d message%s\"", n, n > 1 ? "s" : "");
  fputs(" least\n", out->data);
  for (double bytes = smallest_whole; bytes <= largest_whole; bytes *= 2) {
    fprintf(out->data, "%.0f", bytes);
    for (int n = 1; n <= MOST_PARTS; n *= 2) put(out->data, cut_into(from, bytes, n).seconds);
    put(out->data, cut_into(from, bytes, 0).seconds);
    fputc('\n', out->data);
  }
  return NULL;
}

/* "1 to 256 KiB, 2 to 1 MiB, ...": Table I. */
static void say_parts(const source *from)
{
  char room[32];
  printf("  messages: ");
  for (double bytes = smallest_whole; bytes <= largest_whole; bytes *= 2) {
    int64_t n = cut_into(from, bytes, 0).messages;
    int last = bytes == largest_whole;
    if (!last && cut_into(from, 2 * bytes, 0).messages == n) continue;
    printf("%lld to %s%s", (long long)n, show_bytes(bytes, room), last ? "\n" : ", ");
  }
}

static const char parts[] =
  "set logscale x 2\n"
  "set format x '2^{%L}'\n"
  "set logscale y\n"
  "set yrange [3.8:*]\n"
  "set format y '%g'\n"
  "set ytics (4, 5, 6, 8, 10, 15, 20, 30, 50, 100)\n"
  "set title who . ': 32 parts of a buffer, one 4 ms late, in so many messages' noenhanced\n"
  "set xlabel 'bytes of the buffer'\n"
  "set ylabel 'milliseconds'\n"
  "set key left top\n"
  "plot for [i=2:last] data using 1:(column(i) * 1e3) with lines lw 2 title columnheader(i), \\\n"
  "  data using 1:(column(least) * 1e3) with points pt 6 ps 2 lc 'black' \\\n"
  "    title 'the best of all numbers'\n";

/* ---- all of them ---- */

const figure figures[] = {
  {"2.5", "lassen", "Lockhart et al.: one message, by where the two ends are", write_ping_pong,
   ping_pong, NULL},
  {"2.6", "lassen", "Lockhart et al.: data between two nodes, split over 1 to all processes",
   write_split_over_ppn, split_over_ppn, NULL},
  {"3.1", "lassen", "Lockhart et al.: data of a GPU, copied by 1 to 10 processes", write_copies,
   copies, NULL},
  {"4.2", "lassen",
   "Lockhart et al.: the strategies as GPUs are added, each needing 5 % of the others' rows",
   write_validation, validation, NULL},
  {"4.3", "lassen", "Lockhart et al.: the strategies, 32 and 256 messages to 4 and 16 nodes",
   write_scenarios, scenarios, say_scenarios},
  {"3", "bluewaters", "Bienz et al.: max-rate by where the two ends are", write_node_aware,
   node_aware, NULL},
  {"4", "bluewaters", "Bienz et al.: many messages inside a node, without queue search",
   write_queue, queue_without, NULL},
  {"5", "bluewaters", "Bienz et al.: the same with queue search, typical and worst", write_queue,
   queue_with, NULL},
  {"7", "bluewaters", "Bienz et al.: a line of four Geminis, max-rate and queue", write_contention,
   contention_without, NULL},
  {"9", "bluewaters", "Bienz et al.: the same with contention", write_contention, contention_with,
   NULL},
  {"parts-3", "niagara", "Temucin et al.: 1 to 32 messages for a buffer of 32 parts, one late",
   write_parts, parts, say_parts},
  {"multipath-4", "beluga", "Sojoodi et al.: shares of 2, 3 and 4 paths between two GPUs, by size",
   write_multipath_shares, multipath_shares, NULL},
  {"multipath-5", "beluga", "Sojoodi et al.: the gain of 2, 3 and 4 paths, one way",
   write_multipath_one_way, multipath_one_way, say_multipath_one_way},
  {"multipath-6", "beluga", "Sojoodi et al.: the same, both ways at once",
   write_multipath_both_ways, multipath_both_ways, say_multipath_both_ways},
  {"multipath-7", "beluga", "Sojoodi et al.: the gain of 2 and 3 paths in two collectives",
   write_multipath_collectives, multipath_collectives, say_multipath_collectives},
};
const int nfigures = sizeof figures / sizeof *figures;
