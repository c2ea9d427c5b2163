/* Every equation against its value worked out by hand, as literal arithmetic; and its limits. The
 * numbers are Lassen's (Lockhart et al. 2023, Tables 2 to 4) and Blue Waters' (Bienz et al. 2018).
 */
#include "model/forms.h"
#include "check.h"

#include <math.h>

static const grove_postal rend = {7.76e-06, 7.97e-11};    /* Lassen, off-node, rendezvous */
static const grove_postal near_cpu = {3.15e-06, 3.4e-11}; /* on-socket, rendezvous */
static const grove_postal far_cpu = {6.77e-06, 1.49e-10}; /* on-node, rendezvous */
static const double R = 4.19e-11;                         /* 1 / R_N */

#define SAME(got, expected) same(got, expected, __LINE__)
static void same(double got, double expected, int line)
{
  CHECK(fabs(got - expected) <= 1e-12 * fabs(expected), "line %d: %.17g, not %.17g", line, got,
        expected);
}

static void messages(void)
{
  /* (2.1), (1): alpha + beta s */
  SAME(grove_form_postal(rend, 1e6), 7.76e-06 + 7.97e-11 * 1e6);
  SAME(grove_form_postal(rend, 0), 7.76e-06);
  /* (2.2): alpha m + max(ppn s / R_N, s / R_b). Four processes are held up by the node ... */
  SAME(grove_form_max_rate(rend, R, 4, 8, 1e6), 8 * 7.76e-06 + 4 * 1e6 * 4.19e-11);
  /* ... one is not: 4.19e-11 < 7.97e-11, the postal model. */
  SAME(grove_form_max_rate(rend, R, 1, 8, 1e6), 8 * 7.76e-06 + 1e6 * 7.97e-11);
  SAME(grove_form_max_rate(rend, R, 1, 1, 1e6), grove_form_postal(rend, 1e6));
  SAME(grove_form_max_rate(rend, 0, 1000, 1, 1e6), 7.76e-06 + 1e6 * 7.97e-11); /* R_N infinite */
  SAME(grove_form_max_rate(rend, NAN, 1000, 1, 1e6), 7.76e-06 + 1e6 * 7.97e-11);
  SAME(grove_form_max_rate(rend, R, 4, 0, 0), 0);
  SAME(grove_form_max_rate(rend, R, 4, 3, 0), 3 * 7.76e-06);
  /* (2): alpha + ppn s / min(R_N, ppn R_b), with Blue Waters' rendezvous: R_b 2.9e9, R_N 6.6e9. */
  grove_postal bw = {3.0e-06, 1 / 2.9e9};
  SAME(grove_form_max_rate_one(bw, 1 / 6.6e9, 16, 1e5), 3.0e-06 + 16 * 1e5 / 6.6e9);
  SAME(grove_form_max_rate_one(bw, 1 / 6.6e9, 2, 1e5), 3.0e-06 + 1e5 / 2.9e9);
  SAME(grove_form_max_rate_one(bw, 0, 16, 1e5), 3.0e-06 + 1e5 / 2.9e9);
  SAME(grove_form_max_rate_one(bw, 1 / 6.6e9, 16, 0), 3.0e-06);
  SAME(grove_form_max_rate_one(bw, 1 / 6.6e9, 0, 1e5), 3.0e-06 + 1e5 / 2.9e9);
  SAME(grove_form_max_rate_one((grove_postal){3.0e-06, 0}, 0, 16, 1e5), 3.0e-06);
  /* Fewer than one process is one; one and a half, on average, are not. R_N is 1e9 here. */
  SAME(grove_form_max_rate_one(bw, 1e-9, 0, 1e5), 3.0e-06 + 1e5 / 1e9);
  SAME(grove_form_max_rate_one(bw, 1e-9, 1, 1e5), 3.0e-06 + 1e5 / 1e9);
  SAME(grove_form_max_rate_one(bw, 1e-9, 1.5, 1e5), 3.0e-06 + 1.5 * 1e5 / 1e9);
}

/* The two papers' forms are one, for one message. */
static void forms_agree(void)
{
  for (double ppn = 1; ppn <= 64; ppn *= 2)
    for (double s = 1; s < 1e9; s *= 10)
      SAME(grove_form_max_rate_one(rend, R, ppn, s), grove_form_max_rate(rend, R, ppn, 1, s));
}

/* Short below 256 bytes on the host; devices have eager and rendezvous. */
static grove_machine *a_machine(void)
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_create("made up", &m));
  for (int where = 0; where < GROVE_LOCALITIES; where++) {
    for (int p = 0; p < GROVE_PROTOCOLS; p++) {
      m->postal[GROVE_CPU][where][p] = (grove_postal){1 + where + 10 * p, 0.5};
      m->injection[GROVE_CPU][p] = p == GROVE_REND ? 2 : 0;
      if (p > 0) m->postal[GROVE_GPU][where][p] = (grove_postal){100 + where + 10 * p, 0.25};
    }
    m->from[GROVE_CPU][where][GROVE_SHORT] = 0;
    m->from[GROVE_CPU][where][GROVE_EAGER] = 256;
    m->from[GROVE_CPU][where][GROVE_REND] = 1024;
    m->from[GROVE_GPU][where][GROVE_EAGER] = 0;
    m->from[GROVE_GPU][where][GROVE_REND] = 1024;
  }
  return m;
}

static void node_aware(void)
{
  grove_machine *m = a_machine();
  CHECK(grove_postal_is_known((grove_postal){0, 0}), "nothing is a price");
  CHECK(!grove_postal_is_known((grove_postal){1, NAN}) &&
          !grove_postal_is_known((grove_postal){NAN, 1}),
        "half of a pair is none");
  grove_picked p = grove_form_pick(m, GROVE_CPU, GROVE_ON_NODE, GROVE_BY_SIZE, 255.9);
  CHECK(p.protocol == GROVE_SHORT && !p.replaced, "255.9 bytes are not short");
  p = grove_form_pick(m, GROVE_CPU, GROVE_ON_NODE, GROVE_BY_SIZE, 256);
  CHECK(p.protocol == GROVE_EAGER && p.cost.alpha == 12, "256 bytes are not eager");
  p = grove_form_pick(m, GROVE_CPU, GROVE_OFF_NODE, GROVE_BY_SIZE, 1e30);
  CHECK(p.protocol == GROVE_REND && p.injection == 2, "much is not rendezvous");
  p = grove_form_pick(m, GROVE_CPU, GROVE_OFF_NODE, GROVE_SHORT, 1e30);
  CHECK(p.protocol == GROVE_SHORT && !p.replaced, "short was not forced");
  p = grove_form_pick(m, GROVE_GPU, GROVE_OFF_NODE, GROVE_SHORT, 8);
  CHECK(p.protocol == GROVE_EAGER && p.replaced, "devices have no short protocol");
  p = grove_form_pick(m, GROVE_GPU, GROVE_OFF_NODE, GROVE_BY_SIZE, 8);
  CHECK(p.protocol == GROVE_EAGER && !p.replaced, "small messages of devices are eager");
  p = grove_form_pick(m, GROVE_GPU_NOGDR, GROVE_OFF_NODE, GROVE_BY_SIZE, 8);
  CHECK(isnan(p.cost.alpha), "a cost out of nothing");
  /* Postal inside a node, max-rate between nodes. */
  SAME(grove_form_message(m, GROVE_CPU, GROVE_ON_SOCKET, GROVE_BY_SIZE, 16, 2048), 21 + 1024);
  SAME(grove_form_message(m, GROVE_CPU, GROVE_OFF_NODE, GROVE_BY_SIZE, 16, 2048),
       23 + 16 * 2048 * 2);
  SAME(grove_form_message(m, GROVE_CPU, GROVE_OFF_NODE, GROVE_BY_SIZE, 16, 100), 3 + 50);
  SAME(grove_form_message(m, GROVE_GPU, GROVE_OFF_NODE, GROVE_REND, 4, 100), 122 + 25);
  grove_machine_free(&m);
}

static void queue(void)
{
  /* (3), (4): gamma n^2 with gamma = 8.4e-9 */
  SAME(grove_form_queue(8.4e-9, 1000, GROVE_QUEUE_WORST), 8.4e-9 * 1000 * 1000);
  SAME(grove_form_queue(8.4e-9, 1000, GROVE_QUEUE_TYPICAL), 8.4e-9 * 1000 * 1000 / 3);
  SAME(grove_form_queue(8.4e-9, 1000, GROVE_QUEUE_BEST), 8.4e-9 * 1000);
  for (grove_queue_order o = GROVE_QUEUE_BEST; o <= GROVE_QUEUE_WORST; o++)
    SAME(grove_form_queue(8.4e-9, 0, o), 0);
}

static grove_contended route(grove_torus t, int64_t n, const grove_traffic *traffic)
{
  grove_contended out = {0};
  CHECK_OK(grove_form_torus(&t, n, traffic, &out));
  return out;
}

static void contention(void)
{
  /* (5), (6): delta ell; (7): 2 h^3 b ppn */
  SAME(grove_form_contention(1.0e-10, 5e6), 1.0e-10 * 5e6);
  SAME(grove_form_cube_bytes(2, 1000, 16), 2 * 2 * 2 * 2 * 1000. * 16);
  SAME(grove_form_cube_bytes(0, 1000, 16), 0);
  SAME(grove_form_cube_bytes(2, 0, 16), 0);
  /* Bienz et al., Fig. 6: four Geminis of two nodes in a line; 0 sends to 2 and 1 to 3. Everything
   * crosses the link in the middle, two hops each. */
  grove_torus line = {1, {4}, 0, 2};
  grove_traffic both[] = {{0, 4, 100}, {1, 5, 100}, {2, 6, 100}, {3, 7, 100}};
  grove_contended c = route(line, 4, both);
  SAME(c.link_bytes, 400);
  SAME(c.hops, 2);
  /* The answers go over the other direction of the links. */
  grove_traffic there_and_back[] = {{0, 4, 100}, {4, 0, 70}, {2, 6, 100}, {6, 2, 70}};
  c = route(line, 4, there_and_back);
  SAME(c.link_bytes, 200);
  /* On a ring of five, 0 to 3 goes down by way of 4; on a line up, with three hops. */
  grove_traffic around[] = {{0, 3, 10}, {4, 3, 5}};
  c = route((grove_torus){1, {5}, 1, 1}, 2, around);
  SAME(c.link_bytes, 15);
  SAME(c.hops, (2 * 10 + 1 * 5) / 15.);
  c = route((grove_torus){1, {5}, 0, 1}, 2, around);
  SAME(c.link_bytes, 10);
  SAME(c.hops, (3 * 10 + 1 * 5) / 15.);
  /* Half-way round it goes up: from 0 to 2 on a ring of four by way of 1. */
  grove_traffic half[] = {{0, 2, 10}, {0, 1, 5}, {3, 0, 2}};
  c = route((grove_torus){1, {4}, 1, 1}, 3, half);
  SAME(c.link_bytes, 15);
  SAME(c.hops, (2 * 10 + 1 * 5 + 1 * 2) / 17.);
  /* 5 x 2: from (3, 0) round to (0, 0), and then up with what begins there. */
  grove_traffic bend[] = {{3, 5, 10}, {0, 5, 7}};
  c = route((grove_torus){2, {5, 2}, 1, 1}, 2, bend);
  SAME(c.link_bytes, 17);
  SAME(c.hops, (3 * 10 + 1 * 7) / 17.);
  /* Two nodes on each router: 2 and 3 are on the second. */
  grove_traffic pairs[] = {{0, 2, 10}, {1, 3, 5}, {2, 3, 100}};
  c = route((grove_torus){1, {4}, 1, 2}, 3, pairs);
  SAME(c.link_bytes, 15);
  SAME(c.hops, 15 / 115.);
  /* 3 x 3 x 2: node 0 is (0,0,0), node 13 is (1,1,1): x, then y, then z. Node 1 is (1,0,0): from
   * there to (1,1,0) it shares the second link. */
  grove_traffic corner[] = {{0, 13, 8}, {1, 4, 3}};
  c = route((grove_torus){3, {3, 3, 2}, 1, 1}, 2, corner);
  SAME(c.link_bytes, 11);
  SAME(c.hops, (3 * 8 + 1 * 3) / 11.);
}

static void contention_limits(void)
{
  grove_contended c = route((grove_torus){1, {1}, 1, 1}, 0, NULL);
  CHECK(c.link_bytes == 0 && c.hops == 0, "something crosses nothing");
  grove_traffic self[] = {{1, 1, 100}, {0, 1, 50}};
  c = route((grove_torus){1, {1}, 1, 2}, 2, self); /* one router */
  CHECK(c.link_bytes == 0 && c.hops == 0, "%g bytes, %g hops", c.link_bytes, c.hops);
  grove_torus bad = {0, {1}, 1, 1};
  CHECK_STATUS(grove_form_torus(&bad, 0, NULL, &c), GROVE_ERR_ARG);
  bad = (grove_torus){2, {4, 0}, 1, 1};
  CHECK_STATUS(grove_form_torus(&bad, 0, NULL, &c), GROVE_ERR_ARG);
  bad = (grove_torus){3, {100000, 100000, 100000}, 1, 1};
  CHECK_STATUS(grove_form_torus(&bad, 0, NULL, &c), GROVE_ERR_ARG);
  grove_torus ring = {1, {4}, 1, 1};
  grove_traffic outside[] = {{0, 4, 1}}, negative[] = {{0, 1, -1}};
  CHECK_STATUS(grove_form_torus(&ring, 1, outside, &c), GROVE_ERR_ARG);
  CHECK_STATUS(grove_form_torus(&ring, 1, negative, &c), GROVE_ERR_ARG);
}

static void node_aware_parts(void)
{
  const grove_holders gpus = {2, 2}, processes = {2, 20};
  const double s = 1e6;
  /* (4.1): (gps - 1) (alpha_on-socket + beta_on-socket s) + gps (alpha_on-node + beta_on-node s) */
  SAME(grove_form_on(near_cpu, far_cpu, gpus, s),
       1 * (3.15e-06 + 3.4e-11 * 1e6) + 2 * (6.77e-06 + 1.49e-10 * 1e6));
  /* (4.2), ppg = 1: 19 on-socket and 20 on-node messages */
  SAME(grove_form_on_split(near_cpu, far_cpu, processes, 1, s),
       19 * (3.15e-06 + 3.4e-11 * 1e6) + 20 * (6.77e-06 + 1.49e-10 * 1e6));
  /* (4.2), ppg = 4: 4 and 5 */
  SAME(grove_form_on_split(near_cpu, far_cpu, processes, 4, s),
       4 * (3.15e-06 + 3.4e-11 * 1e6) + 5 * (6.77e-06 + 1.49e-10 * 1e6));
  /* (4.3): alpha m + max(s_node / R_N, s beta) */
  SAME(grove_form_off(rend, R, 3, 1e6, 4e6), 3 * 7.76e-06 + 4e6 * 4.19e-11);
  SAME(grove_form_off(rend, R, 3, 1e6, 1e6), 3 * 7.76e-06 + 1e6 * 7.97e-11);
  SAME(grove_form_off(rend, 0, 3, 1e6, 4e9), 3 * 7.76e-06 + 1e6 * 7.97e-11);
  SAME(grove_form_off(rend, R, 0, 0, 0), 0);
  /* (4.4): alpha m + beta s */
  SAME(grove_form_off_device(rend, 3, 1e6), 3 * 7.76e-06 + 1e6 * 7.97e-11);
  /* (4.5): D2H of what is sent, H2D of what is received; the other way round as published. */
  grove_postal d2h = {1.27e-05, 1.96e-11}, h2d = {1.30e-05, 1.85e-11};
  SAME(grove_form_copy(d2h, h2d, 1e6, 2e6, 0),
       1.27e-05 + 1.96e-11 * 1e6 + 1.30e-05 + 1.85e-11 * 2e6);
  SAME(grove_form_copy(d2h, h2d, 1e6, 2e6, 1),
       1.30e-05 + 1.85e-11 * 1e6 + 1.27e-05 + 1.96e-11 * 2e6);
  SAME(grove_form_copy(d2h, h2d, 0, 0, 0), 1.27e-05 + 1.30e-05);
}

/* Nobody to send to, and the sockets that the paper does not have. */
static void node_aware_limits(void)
{
  grove_postal none = {NAN, NAN};
  SAME(grove_form_on(none, none, (grove_holders){1, 1}, 1e6), 0);
  SAME(grove_form_on(near_cpu, none, (grove_holders){1, 4}, 1e6), 3 * (3.15e-06 + 3.4e-11 * 1e6));
  SAME(grove_form_on(none, far_cpu, (grove_holders){2, 1}, 0), 6.77e-06);
  SAME(grove_form_on(near_cpu, far_cpu, (grove_holders){4, 2}, 0), 3.15e-06 + 6 * 6.77e-06);
  SAME(grove_form_on_split(none, far_cpu, (grove_holders){2, 2}, 4, 0), 0.5 * 6.77e-06);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/forms");
  messages();
  forms_agree();
  node_aware();
  queue();
  contention();
  contention_limits();
  node_aware_parts();
  node_aware_limits();
  return test_end();
}
