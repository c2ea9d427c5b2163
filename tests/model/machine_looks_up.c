/* What formulas get from a machine: the published tables of Lassen and Blue Waters, where protocols
 * begin, which row a general one gives way to, and what lies between two rows. */
#include "check.h"
#include "model/loggp.h"
#include "model/machine.h"
#include "profile.h"

#include <math.h>
#include <string.h>

static grove_machine *opened(const char *name)
{
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_open(name, &m));
  return m;
}

/* Rows without `name` and `end`. */
static grove_machine *made(int nrows, const char *rows)
{
  char text[4000];
  grove_machine *m = NULL;
  snprintf(text, sizeof text, "name made\n%send %d\n", rows, nrows + 1);
  CHECK_OK(grove_profile_read(text, strlen(text), "made", &m));
  return m;
}

static int same(double a, double b)
{
  return a == b || (isnan(a) && isnan(b));
}

static void check_postal(const grove_machine *m, grove_memory_kind memory, int64_t bytes,
                         const double expected[GROVE_LOCALITIES][2])
{
  for (int l = 0; l < GROVE_LOCALITIES; l++) {
    grove_postal p = grove_machine_postal(m, memory, l, bytes);
    CHECK(same(p.alpha, expected[l][0]) && same(p.beta, expected[l][1]),
          "%s, %s, %s, %lld B: %g and %g, not %g and %g", m->name, grove_memory_names[memory],
          grove_locality_names[l], (long long)bytes, p.alpha, p.beta, expected[l][0],
          expected[l][1]);
  }
}

/* Lockhart et al., Tables 2 to 4. */
static void lassen(void)
{
  static const double cpu[3][3][2] = {
    {{3.67e-07, 1.32e-10}, {9.25e-07, 1.19e-09}, {1.89e-06, 6.88e-10}},
    {{4.61e-07, 7.12e-11}, {1.17e-06, 2.18e-10}, {2.44e-06, 3.79e-10}},
    {{3.15e-06, 3.40e-11}, {6.77e-06, 1.49e-10}, {7.76e-06, 7.97e-11}}};
  static const double gdr[2][3][2] = {
    {{1.87e-06, 5.79e-11}, {2.02e-05, 2.15e-10}, {8.95e-06, 1.72e-10}},
    {{1.82e-05, 1.46e-11}, {1.93e-05, 2.39e-11}, {1.10e-05, 1.72e-10}}};
  static const double no_gdr[2][3][2] = {
    {{4.15e-05, 6.08e-09}, {4.27e-05, 6.24e-09}, {4.56e-05, 6.03e-10}},
    {{5.54e-05, 8.96e-11}, {5.75e-05, 8.11e-11}, {8.72e-05, 7.96e-11}}};
  static const int64_t sizes[] = {0, 255, 256, 16383, 16384, INT64_MAX};
  grove_machine *m = opened("lassen");
  for (int i = 0; i < 6; i++) {
    check_postal(m, GROVE_CPU, sizes[i], cpu[i / 2]);
    check_postal(m, GROVE_GPU, sizes[i], gdr[i / 4]);
    check_postal(m, GROVE_GPU_NOGDR, sizes[i], no_gdr[i / 4]);
  }
  CHECK(grove_machine_protocol(m, GROVE_GPU, GROVE_ON_NODE, 0) == GROVE_EAGER, "not eager");
  CHECK(m->from[GROVE_GPU][GROVE_ON_NODE][GROVE_SHORT] == INT64_MAX, "GPUs have no short protocol");
  CHECK(m->sockets == 2 && m->ranks == 40 && m->cores == 40 && m->gpus == 4, "another shape");
  for (int p = 0; p < GROVE_PROTOCOLS; p++)
    CHECK(m->injection[GROVE_CPU][p] == 4.19e-11 && m->injection[GROVE_GPU][p] == 0,
          "another limit of injection");
  grove_postal one = grove_machine_copying(m, GROVE_D2H, 1);
  grove_postal four = grove_machine_copying(m, GROVE_H2D, 4);
  CHECK(one.alpha == 1.27e-05 && one.beta == 1.96e-11, "d2h, one process");
  CHECK(four.alpha == 1.52e-05 && four.beta == 5.52e-10, "h2d, four processes");
  CHECK(isnan(m->gamma) && isnan(m->delta) && isnan(m->flag_seconds[0]), "more than is published");
  CHECK(isnan(grove_machine_shared(m, 4)) && !grove_machine_loggp(m, GROVE_OFF_NODE, 1),
        "more than is published");
  grove_machine_free(&m);
}

/* Bienz et al., Table 1, eq. 4 and 6. */
static void blue_waters(void)
{
  static const double table[3][3][2] = {
    {{4.4e-07, 1 / 2.2e09}, {8.3e-07, 1 / 4.8e08}, {2.3e-06, 1 / 1.3e09}},
    {{5.3e-07, 1 / 3.2e09}, {1.2e-06, 1 / 9.6e08}, {7.0e-06, 1 / 7.5e08}},
    {{1.7e-06, 1 / 6.2e09}, {2.5e-06, 1 / 6.2e09}, {3.0e-06, 1 / 2.9e09}}};
  static const int64_t sizes[] = {0, 499, 500, 7999, 8000, 1 << 30};
  grove_machine *m = opened("bluewaters");
  for (int i = 0; i < 6; i++) check_postal(m, GROVE_CPU, sizes[i], table[i / 2]);
  CHECK(m->injection[GROVE_CPU][GROVE_SHORT] == 0 && m->injection[GROVE_CPU][GROVE_EAGER] == 0,
        "R_N is infinite");
  CHECK(m->injection[GROVE_CPU][GROVE_REND] == 1 / 6.6e09, "R_N is 6.6e9");
  CHECK(m->gamma == 8.4e-9 && m->delta == 1e-10, "gamma %g, delta %g", m->gamma, m->delta);
  CHECK(m->ranks == 16 && m->sockets == 2 && m->gpus == 0, "another shape");
  static const double none[3][2] = {{NAN, NAN}, {NAN, NAN}, {NAN, NAN}};
  check_postal(m, GROVE_GPU, 4096, none);
  grove_machine_free(&m);
}

/* With G as published, max(g, o_s, o_r) must lie between these: MACHINES, Table I. */
static void niagara(void)
{
  grove_machine *m = opened("niagara");
  const grove_loggp *p = grove_machine_loggp(m, GROVE_OFF_NODE, 1 << 20);
  CHECK(p, "no LogGP");
  double most = fmax(p->g, fmax(p->o_s, p->o_r));
  CHECK(p->G == 0.0833e-9 && most > 10.9e-6 && most < 21.8e-6 && !isnan(p->L), "other values");
  grove_machine_free(&m);
}

/* A specific row wins, wherever it stands: memory before locality before protocol. */
static void prefers_specific_rows(void)
{
  grove_machine *m = made(7, "alpha cpu off-node rend 6 s m\n"
                             "alpha any any any 1 s m\n"
                             "alpha cpu any any 2 s m\n"
                             "alpha any off-node rend 3 s m\n"
                             "alpha any off-node any 4 s m\n"
                             "beta any any any 4e9 B/s m\n"
                             "from any any rend 100 B m\n");
  const double alpha[3][3][3] = {{{2, 2, 2}, {2, 2, 2}, {2, 2, 6}},
                                 {{1, 1, 1}, {1, 1, 1}, {4, 4, 3}},
                                 {{1, 1, 1}, {1, 1, 1}, {4, 4, 3}}};
  for (int i = 0; i < GROVE_MEMORIES; i++)
    for (int l = 0; l < GROVE_LOCALITIES; l++)
      for (int p = 0; p < GROVE_PROTOCOLS; p++)
        CHECK(m->postal[i][l][p].alpha == alpha[i][l][p] && m->postal[i][l][p].beta == 0.25e-9,
              "%s, %s, %s: %g", grove_memory_names[i], grove_locality_names[l],
              grove_protocol_names[p], m->postal[i][l][p].alpha);
  /* Nobody says where eager begins: never. */
  CHECK(grove_machine_protocol(m, GROVE_CPU, GROVE_OFF_NODE, 99) == GROVE_SHORT, "not short");
  CHECK(grove_machine_protocol(m, GROVE_CPU, GROVE_OFF_NODE, 100) == GROVE_REND, "not rend");
  grove_machine_free(&m);
}

/* Only rendezvous is told: it is used for all sizes, whatever `from` says. */
static void begins_at_nothing(void)
{
  grove_machine *m = made(3, "alpha cpu off-node rend 6 s m\n"
                             "from cpu any eager 64 B m\n"
                             "from cpu any rend 128 B m\n");
  CHECK(m->from[GROVE_CPU][GROVE_OFF_NODE][GROVE_REND] == 0, "it begins later");
  CHECK(m->from[GROVE_CPU][GROVE_OFF_NODE][GROVE_EAGER] == INT64_MAX, "there is no eager");
  CHECK(grove_machine_protocol(m, GROVE_CPU, GROVE_OFF_NODE, 0) == GROVE_REND, "not rend");
  CHECK(grove_machine_postal(m, GROVE_CPU, GROVE_OFF_NODE, 1).alpha == 6, "another cost");
  CHECK(isnan(grove_machine_postal(m, GROVE_CPU, GROVE_ON_NODE, 1).alpha), "from nowhere");
  grove_machine_free(&m);

  /* What `any` fills does not keep eager from being used. */
  m = made(4, "alpha cpu any any 1 s m\n"
              "alpha cpu off-node eager 2 s m\n"
              "alpha cpu off-node rend 3 s m\n"
              "from cpu any rend 100 B m\n");
  CHECK(grove_machine_postal(m, GROVE_CPU, GROVE_OFF_NODE, 99).alpha == 2, "not eager");
  CHECK(grove_machine_postal(m, GROVE_CPU, GROVE_OFF_NODE, 100).alpha == 3, "not rend");
  CHECK(grove_machine_protocol(m, GROVE_CPU, GROVE_ON_NODE, 99) == GROVE_SHORT, "not short");
  grove_machine_free(&m);
}

static void looks_between_rows(void)
{
  grove_machine *m = made(9, "shared cpu on-node 8 4 s/B m\n"
                             "shared cpu on-node 2 1 s/B m\n"
                             "copy-alpha gpu d2h 4 4 s m\n"
                             "copy-alpha gpu d2h 2 2 s m\n"
                             "copy-beta gpu d2h 4 0.5 B/s m\n"
                             "g cpu any 1000.. 3 s m\n"
                             "L cpu any 0.. 1 s m\n"
                             "g cpu off-node 10..1000 2 s m\n"
                             "g cpu on-node 1000.. 4 s m\n");
  static const double shared[][2] = {{0, 1}, {1, 1}, {2, 1}, {4, 2}, {5, 2.5}, {8, 4}, {64, 4}};
  for (int i = 0; i < 7; i++)
    CHECK(grove_machine_shared(m, (int)shared[i][0]) == shared[i][1], "%g ranks: %g", shared[i][0],
          grove_machine_shared(m, (int)shared[i][0]));
  static const int processes[] = {1, 2, 3, 4, 40};
  for (int i = 0; i < 5; i++) {
    grove_postal p = grove_machine_copying(m, GROVE_D2H, processes[i]);
    CHECK(p.alpha == (i < 3 ? 2 : 4) && same(p.beta, i < 3 ? NAN : 2), "%d processes: %g and %g",
          processes[i], p.alpha, p.beta);
  }
  CHECK(isnan(grove_machine_copying(m, GROVE_H2D, 1).alpha), "there is no such row");
  const grove_loggp *small = grove_machine_loggp(m, GROVE_OFF_NODE, 9);
  const grove_loggp *middle = grove_machine_loggp(m, GROVE_OFF_NODE, 10);
  const grove_loggp *large = grove_machine_loggp(m, GROVE_OFF_NODE, 5000);
  CHECK(small->L == 1 && isnan(small->g), "below the first g");
  CHECK(middle->L == 1 && middle->g == 2 && middle->from_bytes == 10, "L holds on");
  CHECK(large->L == 1 && large->g == 3, "the next row");
  CHECK(grove_machine_loggp(m, GROVE_ON_NODE, 5000)->g == 4, "a specific row wins");
  CHECK(grove_machine_loggp(m, GROVE_ON_SOCKET, 5000)->g == 3, "a general row fills");
  CHECK(!grove_machine_has_fabric(m), "nothing is told of libfabric");
  grove_machine_free(&m);
}

/* Over libfabric: numbers of its own, or, where there are none, those of MPI between nodes. */
static void looks_up_fabric(void)
{
  grove_machine *m = made(6, "L cpu off-node 0.. 1 s m\n"
                             "G cpu off-node 0.. 2 s/B m\n"
                             "fabric-L cpu off-node 0.. 3 s m\n"
                             "fabric-g cpu off-node 10.. 4 s m\n"
                             "fabric-G cpu off-node 0.. 5 s/B m\n"
                             "fabric-G cpu off-node 10.. 0.5 B/s m\n");
  grove_loggp mpi = grove_loggp_row(m, GROVE_OFF_NODE, 10);
  grove_loggp small = grove_loggp_row(m, GROVE_OVER_FABRIC, 9);
  grove_loggp large = grove_loggp_row(m, GROVE_OVER_FABRIC, 10);
  CHECK(grove_machine_has_fabric(m), "libfabric is told of");
  CHECK(mpi.L == 1 && mpi.G == 2 && isnan(mpi.g), "MPI's numbers stay");
  CHECK(small.L == 3 && isnan(small.g) && small.G == 5, "a small one");
  CHECK(large.L == 3 && large.g == 4 && large.G == 2, "a large one");
  CHECK(isnan(large.o_s) && isnan(large.o_r), "overheads are in L");
  grove_machine_free(&m);
  m = made(2, "L cpu off-node 0.. 1 s m\nG cpu off-node 0.. 2 s/B m\n");
  CHECK(grove_loggp_row(m, GROVE_OVER_FABRIC, 10).G == 2, "without its own, MPI's");
  grove_machine_free(&m);
  CHECK(isnan(grove_loggp_row(NULL, GROVE_OVER_FABRIC, 10).G), "without a machine, none");
}

/* Packing by size; where nobody says what it takes it takes nothing. */
static void looks_up_packing(void)
{
  static const double want[][2] = {{0, 3}, {99, 3}, {100, 5}, {999, 5}, {1000, 7}, {5000, 7}};
  grove_machine *m = made(3, "pack cpu any 1000.. 7 s/B m\n"
                             "pack cpu any 0..99 3 s/B m\n"
                             "pack cpu any 100..999 5 s/B m\n");
  for (int i = 0; i < 6; i++)
    CHECK(grove_machine_packing(m, (int64_t)want[i][0]) == want[i][1], "%g bytes: %g", want[i][0],
          grove_machine_packing(m, (int64_t)want[i][0]));
  grove_machine_free(&m);
  m = made(1, "pack cpu any 100.. 5 s/B m\n"); /* the first row holds for less too */
  CHECK(grove_machine_packing(m, 1) == 5, "%g", grove_machine_packing(m, 1));
  grove_machine_free(&m);
  m = made(0, "");
  CHECK(grove_machine_packing(m, 100) == 0, "%g", grove_machine_packing(m, 100));
  grove_machine_free(&m);
}

/* Launches by processes, packing by a kernel, and whether copies are known both ways. */
static void looks_up_devices(void)
{
  static const int processes[] = {1, 2, 3, 4, 40};
  grove_machine *m = made(8, "launch gpu any 4 9 s m\n"
                             "launch gpu any 2 3 s m\n"
                             "pack gpu any 0..99 2 s/B m\n"
                             "pack gpu any 100.. 1 s/B m\n"
                             "pack cpu any 0.. 7 s/B m\n"
                             "copy-alpha gpu d2h 1 1 s m\n"
                             "copy-beta gpu d2h 1 1 s/B m\n"
                             "copy-alpha gpu h2d 1 1 s m\n");
  for (int i = 0; i < 5; i++)
    CHECK(grove_machine_launching(m, processes[i]) == (i < 3 ? 3 : 9), "%d processes: %g",
          processes[i], grove_machine_launching(m, processes[i]));
  CHECK(grove_machine_device_packing(m, 99) == 2 && grove_machine_device_packing(m, 100) == 1,
        "%g and %g", grove_machine_device_packing(m, 99), grove_machine_device_packing(m, 100));
  CHECK(grove_machine_packing(m, 1) == 7, "%g", grove_machine_packing(m, 1));
  CHECK(!grove_machine_has_copies(m), "copies without a rate");
  CHECK_OK(grove_machine_add(m, "copy-beta", "gpu", "h2d", "1", 1, "s/B", "m"));
  CHECK_OK(grove_machine_digest(m));
  CHECK(grove_machine_has_copies(m), "copies both ways");
  grove_machine_free(&m);
  m = made(0, "");
  CHECK(grove_machine_launching(m, 1) == 0 && grove_machine_device_packing(m, 1) == 0 &&
          !grove_machine_has_copies(m),
        "more than is told");
  grove_machine_free(&m);
}

/* Shared memory is known by a flag of some place and a rate. */
static void looks_up_memory(void)
{
  static const struct {
    const char *rows;
    int n, known;
  } row[] = {
    {"flag cpu on-socket - 1 s m\nshared cpu on-node 2 1 s/B m\n", 2, 1},
    {"flag cpu on-node - 1 s m\nshared cpu on-node 2 1 s/B m\n", 2, 1},
    {"flag cpu any - 1 s m\n", 1, 0},
    {"shared cpu on-node 2 1 s/B m\n", 1, 0},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    grove_machine *m = made(row[i].n, row[i].rows);
    CHECK(grove_machine_has_shared(m) == row[i].known, "case %zu", i);
    grove_machine_free(&m);
  }
}

/* Where each number goes. */
static void fills_every_place(void)
{
  grove_machine *m = made(13, "sockets - node - 3 1 m\n"
                              "ranks - node - 12 1 m\n"
                              "cores - node - 2.5 1 m\n"
                              "gpus - node - 6 1 m\n"
                              "gamma cpu any - 1e-7 s m\n"
                              "delta cpu off-node - 2e-10 s/B m\n"
                              "flag cpu on-socket - 3e-7 s m\n"
                              "flag cpu on-node - 4e-7 s m\n"
                              "crowd-turn cpu on-node - 5e-6 s m\n"
                              "crowd-message cpu on-node - 6e-6 s m\n"
                              "crowd-byte cpu off-node - 7e-9 s/B m\n"
                              "injection cpu off-node eager 4e9 B/s m\n"
                              "injection gpu off-node rend inf B/s m\n");
  CHECK(m->sockets == 3 && m->ranks == 12 && m->cores == 2.5 && m->gpus == 6, "another shape");
  CHECK(m->gamma == 1e-7 && m->delta == 2e-10, "gamma %g, delta %g", m->gamma, m->delta);
  CHECK(m->flag_seconds[0] == 3e-7 && m->flag_seconds[1] == 4e-7, "other flags");
  CHECK(m->crowd[0].turn == 5e-6 && m->crowd[0].message == 6e-6 && isnan(m->crowd[0].byte),
        "another crowd");
  CHECK(isnan(m->crowd[1].turn) && isnan(m->crowd[1].message) && m->crowd[1].byte == 7e-9,
        "another crowd");
  CHECK(m->injection[GROVE_CPU][GROVE_EAGER] == 0.25e-9 &&
          isnan(m->injection[GROVE_CPU][GROVE_REND]) && m->injection[GROVE_GPU][GROVE_REND] == 0,
        "another limit");
  grove_machine_free(&m);
}

/* Sources say where a number is from; a machine is measured where all of messages between nodes
 * are. */
static void knows_origins(void)
{
  static const struct {
    const char *source;
    grove_origin origin;
  } row[] = {
    {"measured 2026-11-15, 3 samples", GROVE_ORIGIN_MEASURED},
    {"assumed: as elsewhere", GROVE_ORIGIN_ASSUMED},
    {"Lockhart et al. 2023, Table 2", GROVE_ORIGIN_CITED},
    {"it was measured by others", GROVE_ORIGIN_CITED},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    grove_row r = {.source = (char *)row[i].source};
    CHECK(grove_row_origin(&r) == row[i].origin, "'%s' is %d", row[i].source, grove_row_origin(&r));
  }
  static const struct {
    const char *rows;
    int n, measured;
  } machine[] = {
    {"alpha cpu off-node any 1 s measured\nbeta cpu off-node any 1 s/B measured\n", 2, 1},
    {"beta cpu off-node any 1 s/B measured\nL cpu off-node 0.. 1 s a paper\n", 2, 1},
    {"alpha cpu off-node any 1 s measured\nalpha cpu on-node any 1 s a paper\n", 2, 1},
    {"alpha cpu off-node short 1 s measured\nalpha cpu off-node rend 1 s a paper\n", 2, 0},
    {"alpha cpu off-node any 1 s a paper\nbeta cpu off-node any 1 s/B measured\n", 2, 0},
    {"alpha cpu on-node any 1 s measured\n", 1, 0},
    {"delta cpu off-node - 1 s/B measured\n", 1, 0},
  };
  for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
    grove_machine *m = made(machine[i].n, machine[i].rows);
    CHECK(grove_machine_is_measured(m) == machine[i].measured, "case %zu", i);
    grove_machine_free(&m);
  }
}

/* A machine that lacks nothing, row by row: without each of them it says what is missing. */
static void misses_each_row(void)
{
  static const struct {
    const char *row, *missing;
  } rows[] = {
    {"sockets - node - 2 1 m\n", "sockets"},
    {"ranks - node - 4 1 m\n", "ranks"},
    {"cores - node - 4 1 m\n", "cores"},
    {"alpha cpu any any 1 s m\n", "alpha and beta on-socket, on-node, off-node"},
    {"beta cpu any any 1 s/B m\n", "alpha and beta on-socket, on-node, off-node"},
    {"injection cpu off-node any 1 s/B m\n", "injection"},
    {"gamma cpu any - 1 s m\n", "gamma"},
    {"delta cpu off-node - 1 s/B m\n", "delta"},
    {"flag cpu on-socket - 1 s m\n", "flag"},
    {"flag cpu on-node - 1 s m\n", "flag"},
    {"shared cpu on-node 2 1 s/B m\n", "shared"},
    {"G cpu off-node 0.. 1 s/B m\n", "LogGP"},
    {"alpha gpu off-node any 1 s m\n", "alpha and beta of gpu off-node"},
    {"beta gpu any any 1 s/B m\n", "alpha and beta of gpu on-socket, on-node, off-node"},
    {"copy-beta gpu d2h 1 1 s/B m\n", "copies d2h"},
    {"copy-beta gpu h2d 1 1 s/B m\n", "copies h2d"},
    {"alpha gpu on-socket any 1 s m\nalpha gpu on-node any 1 s m\ngpus - node - 4 1 m\n", NULL},
  };
  enum { ROWS = sizeof rows / sizeof *rows };
  for (int without = 0; without < ROWS; without++) {
    char text[2000] = "", missing[400];
    for (int i = 0; i < ROWS; i++)
      if (i != without || !rows[i].missing) strcat(text, rows[i].row);
    grove_machine *m = machine_of(text);
    grove_machine_missing(m, missing, sizeof missing);
    CHECK(strcmp(missing, rows[without].missing ? rows[without].missing : "") == 0,
          "without %s'%s' is missing", rows[without].row, missing);
    m->sockets = 1; /* then there is no other socket to be far from */
    grove_machine_missing(m, missing, sizeof missing);
    int on_node = strstr(rows[without].row, "flag cpu on-node") != NULL;
    CHECK(!on_node || !*missing, "with one socket '%s' is missing", missing);
    CHECK(!strstr(missing, "on-node"), "with one socket '%s' is missing", missing);
    grove_machine_free(&m);
  }
}

static void tells_what_is_missing(void)
{
  char missing[400];
  grove_machine *m = NULL;
  static const char *const whole[] = {"tcp-10g", "infiniband", "slingshot"};
  for (int i = 0; i < 3; i++) {
    m = opened(whole[i]);
    grove_machine_missing(m, missing, sizeof missing);
    CHECK(!*missing, "%s lacks %s", whole[i], missing);
    CHECK(m->standing == GROVE_ASSUMED, "%s is an assumption", whole[i]);
    grove_machine_free(&m);
  }
  m = opened("lassen");
  grove_machine_missing(m, missing, sizeof missing);
  CHECK(strcmp(missing, "gamma; delta; flag; shared; LogGP") == 0, "'%s'", missing);
  grove_machine_missing(m, missing, 9);
  CHECK(strcmp(missing, "gamma; d") == 0, "'%s'", missing);
  grove_machine_free(&m);
  m = opened("frontier");
  grove_machine_missing(m, missing, sizeof missing);
  CHECK(strstr(missing, "alpha and beta on-socket, off-node;"), "'%s'", missing);
  CHECK(m->standing == GROVE_INCOMPLETE, "it is incomplete");
  grove_machine_free(&m);
  m = made(2, "alpha cpu any short 1 s m\nalpha cpu any rend 2 s m\n");
  grove_machine_missing(m, missing, sizeof missing);
  CHECK(strstr(missing, "size from which messages off-node go by rend"), "'%s'", missing);
  grove_machine_free(&m);
  CHECK_OK(grove_machine_create("empty", &m));
  CHECK(isnan(m->gamma) && isnan(grove_machine_postal(m, GROVE_CPU, GROVE_ON_NODE, 5).beta),
        "an empty machine knows something");
  CHECK(isnan(m->injection[GROVE_CPU][GROVE_REND]), "an empty machine knows something");
  grove_machine_free(&m);
}

/* A copy is the same machine, and one of its own. */
static void copies(void)
{
  grove_machine *m = opened("tcp-10g"), *copy = NULL;
  CHECK_OK(grove_machine_copy(m, &copy));
  int rows = m->nrows;
  double gamma = m->gamma;
  CHECK_OK(grove_machine_add(copy, "future", "cpu", "any", "-", 1, "s", "made up"));
  grove_machine_free(&m);
  CHECK(copy->nrows == rows + 1 && copy->gamma == gamma, "another machine");
  CHECK_OK(grove_machine_digest(copy));
  CHECK(copy->gamma == gamma && !copy->rows[rows].known, "another machine");
  CHECK(strcmp(copy->rows[0].term, "sockets") == 0, "the rows have gone");
  grove_machine_free(&copy);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/machine_looks_up");
  lassen();
  blue_waters();
  niagara();
  prefers_specific_rows();
  begins_at_nothing();
  looks_between_rows();
  looks_up_fabric();
  looks_up_packing();
  looks_up_devices();
  looks_up_memory();
  fills_every_place();
  knows_origins();
  misses_each_row();
  tells_what_is_missing();
  copies();
  return test_end();
}
