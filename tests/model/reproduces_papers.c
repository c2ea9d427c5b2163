/* What docs/reproduction.md says of the papers' claims, claim by claim: those that Grove's numbers
 * confirm, and those that they do not. */
#include "check.h"
#include "model/loggp.h"
#include "model/strategies.h"

#include <math.h>
#include <string.h>

static grove_machine *lassen, *bluewaters, *niagara;

static double message(const grove_machine *m, grove_locality where, double ppn, double bytes)
{
  return grove_form_message(m, GROVE_CPU, where, GROVE_BY_SIZE, ppn, bytes);
}

/* Max-rate is the postal model as long as ppn R_b < R_N: on Lassen for one process, on Blue Waters
 * for two, by rendezvous. */
static void reduces_to_postal(void)
{
  const grove_machine *machines[] = {lassen, bluewaters};
  static const int most[] = {1, 2};
  for (int i = 0; i < 2; i++)
    for (int ppn = 1; ppn <= 16; ppn++) {
      grove_picked p = grove_form_pick(machines[i], GROVE_CPU, GROVE_OFF_NODE, GROVE_REND, 1 << 20);
      double rate = grove_form_max_rate(p.cost, p.injection, ppn, 1, 1 << 20);
      int reduced = rate == grove_form_postal(p.cost, 1 << 20);
      CHECK(reduced == (ppn <= most[i]), "%s, ppn %d", machines[i]->name, ppn);
      CHECK(reduced == (ppn / p.cost.beta < 1 / p.injection), "%s, ppn %d", machines[i]->name, ppn);
    }
}

/* Fig. 2.5: from 16 KiB on the network is faster than the way between sockets. */
static void network_beats_node(void)
{
  for (double bytes = 1; bytes <= 1 << 24; bytes *= 2) {
    double on_socket = message(lassen, GROVE_ON_SOCKET, 1, bytes);
    double on_node = message(lassen, GROVE_ON_NODE, 1, bytes);
    double off_node = message(lassen, GROVE_OFF_NODE, 1, bytes);
    CHECK((off_node < on_node) == (bytes >= 16384), "%g bytes", bytes);
    CHECK(on_socket < on_node && on_socket < off_node, "%g bytes", bytes);
  }
}

/* Fig. 2.6: splitting pays, but for megabytes two processes get all there is: 1.9 times less. */
static void two_processes_fill_the_network(void)
{
  const double total = 1 << 24;
  double alone = message(lassen, GROVE_OFF_NODE, 1, total);
  double two = message(lassen, GROVE_OFF_NODE, 2, total / 2);
  CHECK(alone / two > 1.8 && alone / two < 7.97 / 4.19, "%g times", alone / two);
  for (int n = 2; n <= 40; n++) {
    double some = message(lassen, GROVE_OFF_NODE, n, total / n);
    CHECK(fabs(some - two) < 1e-12, "%d processes", n);
  }
}

/* ---- Fig. 4.3 ---- */

static const int scenarios[4][2] = {{4, 32}, {4, 256}, {16, 32}, {16, 256}};

static grove_exchange scenario(int k, double size)
{
  const double nodes = scenarios[k][0], messages = scenarios[k][1];
  return (grove_exchange){.messages_per_proc = messages / 4,
                          .bytes_per_proc = messages / 4 * size,
                          .bytes_per_node = messages * size,
                          .bytes_node_to_node = messages * size / nodes,
                          .nodes_per_proc = nodes,
                          .messages_node_to_node = 1,
                          .protocol = GROVE_BY_SIZE};
}

enum { STANDARD, STANDARD_D, THREE, THREE_D, TWO, TWO_D, ONE, ONE_D, MD, DD };

static void priced(grove_exchange x, grove_strategy *list)
{
  CHECK_OK(grove_exchange_complete(lassen, &x));
  CHECK_OK(grove_strategies_price(lassen, &x, list));
}

static int fastest(int k, double size, int with_best_case)
{
  grove_strategy list[GROVE_STRATEGIES];
  priced(scenario(k, size), list);
  return grove_strategies_best(list, with_best_case);
}

/* Who is the fastest up to which size; the same as a person sees from grove model figure 4.3. */
static void winners(void)
{
  static const struct {
    int scenario, with_best_case;
    int until[4], who[4];
  } claims[] = {
    {0, 0, {1024, 8192, 1 << 20}, {THREE, STANDARD, STANDARD_D}},
    {0, 1, {1024, 8192, 32768, 1 << 20}, {ONE, STANDARD, ONE_D, STANDARD_D}},
    {1, 0, {128, 1024, 131072, 1 << 20}, {THREE, TWO, TWO_D, STANDARD_D}},
    {1, 1, {512, 131072, 1 << 20}, {ONE, ONE_D, STANDARD_D}},
    {2, 0, {4096, 8192, 32768, 1 << 20}, {THREE, STANDARD, STANDARD_D, THREE_D}},
    {2, 1, {4096, 8192, 32768, 1 << 20}, {THREE, STANDARD, STANDARD_D, THREE_D}},
    {3, 0, {2048, 1 << 20}, {THREE, THREE_D}},
    {3, 1, {2048, 1 << 20}, {THREE, THREE_D}},
  };
  for (size_t c = 0; c < sizeof claims / sizeof *claims; c++)
    for (int size = 1, i = 0; size <= 1 << 20; size *= 2) {
      if (size > claims[c].until[i]) i++;
      int who = fastest(claims[c].scenario, size, claims[c].with_best_case);
      CHECK(who == claims[c].who[i], "claim %zu at %d bytes: strategy %d", c, size, who);
    }
}

/* T_on-split where every process gets its share of the node's bytes instead of all of them. */
static double split_by_shares(const grove_strategy *s, const grove_exchange *x, double ppg)
{
  double share = x->bytes_per_node / 40;
  grove_postal near =
    grove_form_pick(lassen, GROVE_CPU, GROVE_ON_SOCKET, GROVE_BY_SIZE, share).cost;
  grove_postal far = grove_form_pick(lassen, GROVE_CPU, GROVE_ON_NODE, GROVE_BY_SIZE, share).cost;
  return s->off_node + 2 * grove_form_on_split(near, far, (grove_holders){2, 20}, ppg, share) +
         s->copy;
}

/* Not confirmed: Split + MD is nowhere the fastest, as Table 6 is printed or by shares, and as
 * it is printed split-dd beats it. By shares split-dd is the slower for large data to few nodes. */
static void split_does_not_win(void)
{
  int md_wins = 0;
  for (int k = 0; k < 4; k++)
    for (double size = 1; size <= 1 << 20; size *= 2) {
      grove_exchange x = scenario(k, size);
      grove_strategy list[GROVE_STRATEGIES];
      priced(x, list);
      double least = list[grove_strategies_best(list, 0)].seconds;
      CHECK(list[DD].seconds < list[MD].seconds, "scenario %d, %g bytes", k, size);
      CHECK(split_by_shares(&list[MD], &x, 1) > least, "scenario %d, %g bytes", k, size);
      md_wins += split_by_shares(&list[MD], &x, 1) < split_by_shares(&list[DD], &x, 4);
      CHECK(size < 1 << 20 || k > 1 ||
              split_by_shares(&list[MD], &x, 1) < split_by_shares(&list[DD], &x, 4),
            "scenario %d, %g bytes", k, size);
    }
  CHECK(md_wins > 0 && md_wins < 84, "by shares split-md is faster at %d of 84 points", md_wins);
}

/* Standard does not know how many nodes it sends to. */
static void standard_ignores_nodes(void)
{
  for (double size = 1; size <= 1 << 20; size *= 2) {
    grove_strategy few[GROVE_STRATEGIES], many[GROVE_STRATEGIES];
    priced(scenario(1, size), few);
    priced(scenario(3, size), many);
    CHECK(few[STANDARD].seconds == many[STANDARD].seconds &&
            few[STANDARD_D].seconds == many[STANDARD_D].seconds,
          "%g bytes", size);
  }
}

/* A quarter of the data less changes the winner at 7 of 84 points, and none at one byte. */
static void duplicates(void)
{
  int changes = 0;
  for (int k = 0; k < 4; k++)
    for (double size = 1; size <= 1 << 20; size *= 2) {
      grove_exchange x = scenario(k, size);
      grove_strategy all[GROVE_STRATEGIES], less[GROVE_STRATEGIES];
      priced(x, all);
      x.duplicates = 0.25;
      priced(x, less);
      int changed = grove_strategies_best(all, 0) != grove_strategies_best(less, 0);
      CHECK(size > 1 || !changed, "scenario %d: the winner changed at one byte", k);
      changes += changed;
    }
  CHECK(changes == 7, "%d changes", changes);
}

/* ---- Bienz et al. ---- */

/* 128 KiB inside a node, in messages that meet their receives in the worst order: the queue is a
 * quarter of the time of 100 messages, nine tenths of that of 1000; a typical order takes a third
 * of it. */
static void queue_grows(void)
{
  static const struct {
    double n, least, most;
  } claims[] = {{1, 0, 0.001}, {100, 0.2, 0.3}, {1000, 0.85, 0.95}, {10000, 0.98, 1}};
  for (int i = 0; i < 4; i++) {
    double n = claims[i].n, total = 131072;
    grove_picked p =
      grove_form_pick(bluewaters, GROVE_CPU, GROVE_ON_NODE, GROVE_BY_SIZE, total / n);
    double wire = grove_form_max_rate(p.cost, 0, 1, n, total);
    double queue = grove_form_queue(bluewaters->gamma, n, GROVE_QUEUE_WORST);
    double share = queue / (queue + wire);
    CHECK(share >= claims[i].least && share <= claims[i].most, "%g messages: %g", n, share);
    CHECK(fabs(3 * grove_form_queue(bluewaters->gamma, n, GROVE_QUEUE_TYPICAL) - queue) <
            1e-12 * queue,
          "%g messages", n);
  }
}

/* The line of Fig. 6: 64 times what a process sends crosses the middle, two hops each; the cube
 * estimate for two hops says 256. */
static void line_of_geminis(void)
{
  const grove_torus line = {1, {4}, 0, 2};
  const grove_traffic traffic[] = {{0, 4, 16}, {1, 5, 16}, {2, 6, 16}, {3, 7, 16}};
  grove_contended c;
  CHECK_OK(grove_form_torus(&line, 4, traffic, &c));
  CHECK(c.link_bytes == 64 && c.hops == 2, "%g bytes, %g hops", c.link_bytes, c.hops);
  CHECK(grove_form_cube_bytes(c.hops, 1, 16) == 256, "%g", grove_form_cube_bytes(c.hops, 1, 16));
}

/* ---- Temucin et al. ---- */

static int64_t parts(grove_delay_form form, int64_t kib)
{
  const grove_part_cut cut = {.where = GROVE_OFF_NODE,
                              .form = form,
                              .bytes = kib * 1024,
                              .parts = 32,
                              .most = 32,
                              .delay = 0.004};
  return grove_loggp_best(niagara, &cut).messages;
}

/* Table I, all rows, though here any number of messages is allowed; the other two forms up to 32
 * MiB: beyond that the early parts do not get away during the delay, and they want fewer. */
static void table_1(void)
{
  for (int64_t kib = 1; kib <= 1 << 20; kib *= 2) {
    int64_t expected = kib <= 256     ? 1
                       : kib <= 1024  ? 2
                       : kib <= 4096  ? 4
                       : kib <= 16384 ? 8
                       : kib <= 65536 ? 16
                                      : 32;
    CHECK(parts(GROVE_HIDDEN, kib) == expected, "%lld KiB: %lld parts", (long long)kib,
          (long long)parts(GROVE_HIDDEN, kib));
    for (grove_delay_form form = GROVE_DRAINED; form <= GROVE_COVERED; form++)
      CHECK((parts(form, kib) == expected) == (kib <= 32768), "%lld KiB, %s: %lld parts",
            (long long)kib, grove_delay_form_names[form], (long long)parts(form, kib));
  }
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/reproduces_papers");
  CHECK_OK(grove_machine_open("lassen", &lassen));
  CHECK_OK(grove_machine_open("bluewaters", &bluewaters));
  CHECK_OK(grove_machine_open("niagara", &niagara));
  reduces_to_postal();
  network_beats_node();
  two_processes_fill_the_network();
  winners();
  split_does_not_win();
  standard_ignores_nodes();
  duplicates();
  queue_grows();
  line_of_geminis();
  table_1();
  grove_machine_free(&lassen);
  grove_machine_free(&bluewaters);
  grove_machine_free(&niagara);
  return test_end();
}
