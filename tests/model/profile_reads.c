/* The profile reader: what comes with the library is read and comes back the same; what is wrong is
 * found, with line and column; a file that was cut off anywhere is never taken, one to which rows
 * were added is. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "check.h"
#include "model/machine.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static grove_status read_text(const char *text, grove_machine **out)
{
  return grove_profile_read(text, strlen(text), "test.machine", out);
}

static char *print(const grove_machine *m)
{
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  CHECK(file, "no stream in memory");
  CHECK_OK(grove_profile_print(m, file));
  fclose(file);
  return text;
}

static void check_same_rows(const grove_machine *a, const grove_machine *b)
{
  CHECK(strcmp(a->name, b->name) == 0, "'%s' became '%s'", a->name, b->name);
  CHECK(strcmp(a->about, b->about) == 0, "'%s' became '%s'", a->about, b->about);
  CHECK(a->standing == b->standing, "%s: the status has changed", a->name);
  CHECK(a->nrows == b->nrows, "%s: %d rows became %d", a->name, a->nrows, b->nrows);
  for (int i = 0; i < a->nrows; i++) {
    const grove_row *x = &a->rows[i], *y = &b->rows[i];
    CHECK(strcmp(x->term, y->term) == 0 && strcmp(x->memory, y->memory) == 0 &&
            strcmp(x->locality, y->locality) == 0 && strcmp(x->range, y->range) == 0 &&
            strcmp(x->unit, y->unit) == 0 && strcmp(x->source, y->source) == 0,
          "%s: row %d, %s, has changed", a->name, i, x->term);
    CHECK(memcmp(&x->value, &y->value, sizeof x->value) == 0, "%s: %.17g became %.17g", a->name,
          x->value, y->value);
    CHECK(x->known == y->known, "%s: row %d is known only once", a->name, i);
  }
}

/* What is derived from the rows; NaN equals NaN here. */
static void check_same_numbers(const grove_machine *a, const grove_machine *b)
{
  CHECK(memcmp(a->from, b->from, sizeof a->from) == 0, "%s: other limits", a->name);
  CHECK(memcmp(a->postal, b->postal, sizeof a->postal) == 0, "%s: other alpha, beta", a->name);
  CHECK(memcmp(a->injection, b->injection, sizeof a->injection) == 0, "%s: other rates", a->name);
  CHECK(a->nshared == b->nshared && a->ranks == b->ranks && a->cores == b->cores,
        "%s: another shape", a->name);
}

static void round_trip(const grove_machine *m)
{
  grove_machine *again = NULL, *copy = NULL;
  char *text = print(m);
  CHECK_OK(read_text(text, &again));
  check_same_rows(m, again);
  check_same_numbers(m, again);
  char *twice = print(again);
  CHECK(strcmp(text, twice) == 0, "%s is written in two ways", m->name);
  CHECK_OK(grove_machine_copy(m, &copy));
  check_same_rows(m, copy);
  check_same_numbers(m, copy);
  grove_machine_free(&copy);
  grove_machine_free(&again);
  free(text);
  free(twice);
}

static void reads_builtins(void)
{
  int n = 0;
  for (const grove_builtin *b = grove_builtins; b->name; b++, n++) {
    grove_machine *m = NULL;
    CHECK_OK(grove_machine_open(b->name, &m));
    CHECK(strcmp(m->name, b->name) == 0, "%s calls itself %s", b->name, m->name);
    CHECK(*m->about, "%s says nothing about itself", b->name);
    for (int i = 0; i < m->nrows; i++) {
      CHECK(m->rows[i].known, "%s, line %d: unknown", b->name, m->rows[i].line);
      int assumed = strncmp(m->rows[i].source, "assumed: ", 9) == 0;
      CHECK(assumed || m->standing != GROVE_ASSUMED, "%s, line %d: not an assumption?", b->name,
            m->rows[i].line);
    }
    round_trip(m);
    CHECK_OK(grove_machine_free(&m));
    CHECK(!m, "free does not clear");
    CHECK_OK(grove_machine_free(&m));
  }
  CHECK(n >= 10, "%d machines come with the library", n);
}

/* A special row of a link takes the place of a general one, wherever they stand. */
static void links(void)
{
  grove_machine *m = NULL;
  CHECK_OK(read_text("name test\n"
                     "link-beta gpu 0-1 - 4e9 B/s x\n"
                     "link-beta gpu any-1 - 2e9 B/s x\n"
                     "link-beta gpu 0-any - 3e9 B/s x\n"
                     "link-beta gpu any-any - 1e-9 s/B x\n"
                     "link-beta gpu any-host - 5e9 B/s x\n"
                     "link-alpha gpu any-host - 6e-6 s x\n"
                     "link-alpha gpu any-any - 7e-6 s x\n"
                     "link-epsilon gpu any - 8e-6 s x\n"
                     "link-epsilon gpu host - 9e-6 s x\n"
                     "port-out gpu 2 peers 1e10 B/s x\n"
                     "port-in gpu any all 2e10 B/s x\n"
                     "gpus - node - 3 1 x\n"
                     "link-share gpu any-host memory 3e10 B/s x\n"
                     "link-share gpu host-1 memory 3e10 B/s x\n"
                     "end 15\n",
                     &m));
  const grove_links *l = &m->links;
  CHECK(l->devices == 3 && l->link[0][1].rate == 4e9, "the link itself");
  CHECK(l->link[2][1].rate == 2e9 && l->link[0][2].rate == 3e9, "one end");
  CHECK(fabs(l->link[1][2].rate - 1e9) < 1 && l->link[1][2].alpha == 7e-6, "any");
  CHECK(l->link[2][GROVE_HOST].rate == 5e9 && l->link[2][GROVE_HOST].alpha == 6e-6, "the host");
  CHECK(!grove_link_is_there(l, GROVE_HOST, 2) && !grove_link_is_there(l, 1, 1), "no such link");
  CHECK(!grove_link_is_there(l, 0, 3), "no such GPU");
  CHECK(l->epsilon[1] == 8e-6 && l->epsilon[GROVE_HOST] == 9e-6, "epsilon");
  CHECK(l->port[GROVE_PORT_OUT][GROVE_PORT_PEERS][2] == 1e10, "a port");
  CHECK(isnan(l->port[GROVE_PORT_OUT][GROVE_PORT_PEERS][1]), "no port");
  CHECK(l->port[GROVE_PORT_IN][GROVE_PORT_ALL][0] == 2e10, "ports of all");
  CHECK(l->nshared == 1 && strcmp(l->shared[0].name, "memory") == 0 && l->shared[0].rate == 3e10,
        "what is shared");
  CHECK(l->shared[0].crossed[2] == 1U << GROVE_HOST && l->shared[0].crossed[GROVE_HOST] == 1U << 1,
        "by whom");
  grove_machine_free(&m);
  CHECK_OK(read_text("name test\ngpus - node - 4 1 x\nend 2\n", &m));
  CHECK(m->links.devices == 0, "GPUs without links");
  grove_machine_free(&m);
}

/* ---- errors ---- */

typedef struct bad {
  const char *rows; /* after `name test`, with `end` behind them if END is set */
  int line, column;
  const char *word; /* in the sentence */
} bad;

static const bad bads[] = {
  {"alpha cpu on-node short 1e-6 s\n", 2, 31, "6 columns"},
  {"alpha\n", 2, 6, "1 columns"},
  {"alpha cpu on-node short 1e-6 us measured\n", 2, 30, "'us'"},
  {"alpha cpu on-node short 1e-6 B/s measured\n", 2, 30, "must be s"},
  {"beta cpu on-node short 1e-6 s measured\n", 2, 29, "s/B or B/s"},
  {"alpha cpu on-node short 1,5 s measured\n", 2, 25, "not a number"},
  {"alpha cpu on-node short nan s measured\n", 2, 25, "'nan'"},
  {"alpha cpu on-node short 0x10 s measured\n", 2, 25, "not a number"},
  {"alpha cpu on-node short 1e s measured\n", 2, 25, "not a number"},
  {"alpha cpu on-node short . s measured\n", 2, 25, "not a number"},
  {"alpha cpu on-node short 1e999 s measured\n", 2, 25, "too large"},
  {"alpha cpu on-node short -1e-6 s measured\n", 2, 25, "negative"},
  {"alpha cpu on-node short inf s measured\n", 2, 25, "infinite"},
  {"beta cpu on-node short 0 B/s measured\n", 2, 24, "too small"},
  {"  alpha  disk on-node short 1 s measured\n", 2, 10, "'disk'"},
  {"alpha - on-node short 1 s measured\n", 2, 7, "memory"},
  {"alpha cpu nearby short 1 s measured\n", 2, 11, "on-socket, on-node, off-node or any"},
  {"alpha cpu node short 1 s measured\n", 2, 11, "'node'"},
  {"alpha cpu on-node tiny 1 s measured\n", 2, 19, "short, eager, rend or any"},
  {"alpha cpu on-node - 1 s measured\n", 2, 19, "protocol"},
  {"from cpu any short 0 B measured\n", 2, 14, "eager or rend"},
  {"from cpu any rend 1.5 B measured\n", 2, 19, "whole"},
  {"injection cpu on-node any 1 s/B measured\n", 2, 15, "off-node"},
  {"gamma cpu on-node - 1 s measured\n", 2, 11, "any"},
  {"gamma gpu any - 1 s measured\n", 2, 7, "cpu"},
  {"gamma cpu any short 1 s measured\n", 2, 15, "-"},
  {"flag cpu off-node - 1 s measured\n", 2, 10, "on-socket, on-node or any"},
  {"sockets - node - 1.5 1 measured\n", 2, 18, "whole"},
  {"ranks - node - 2e9 1 measured\n", 2, 16, "whole"},
  {"gpus - node - 1000001 1 measured\n", 2, 15, "whole number up to 1000000"},
  {"from cpu any rend 1000000000000001 B measured\n", 2, 19, "up to 1000000000000000"},
  {"sockets cpu node - 2 1 measured\n", 2, 9, "'cpu'"},
  {"link-alpha gpu 0-0 - 1e-6 s measured\n", 2, 16, "two ends of a link"},
  {"link-alpha gpu 0-16 - 1e-6 s measured\n", 2, 16, "'0-16'"},
  {"link-alpha gpu 0-01 - 1e-6 s measured\n", 2, 16, "'0-01'"},
  {"link-alpha gpu 01 - 1e-6 s measured\n", 2, 16, "'01'"},
  {"link-alpha gpu host-host - 1e-6 s measured\n", 2, 16, "'host-host'"},
  {"link-alpha cpu 0-1 - 1e-6 s measured\n", 2, 12, "gpu"},
  {"link-alpha gpu 0-1 any 1e-6 s measured\n", 2, 20, "-"},
  {"link-alpha gpu 0-1 - 1e-6 B/s measured\n", 2, 27, "must be s"},
  {"link-alpha gpu 0-1 - 1e-6 s measured\n", 2, 16, "0-1 has no link-beta"},
  {"link-beta gpu 0-1 - 1e9 B/s measured\n", 2, 15, "0-1 has no link-alpha"},
  {"link-beta gpu 0-1 - inf B/s measured\n", 2, 21, "finite"},
  {"link-beta gpu 0-1 - 0 B/s measured\n", 2, 21, "too small"},
  {"link-beta gpu any-any - 1e9 B/s measured\n", 2, 15, "gpus"},
  {"gpus - node - 2 1 x\nlink-beta gpu 0-2 - 1e9 B/s measured\n", 3, 15, "no GPU 2"},
  {"gpus - node - 17 1 x\nlink-beta gpu 0-2 - 1e9 B/s measured\n", 3, 1, "up to 16"},
  {"link-epsilon gpu 0-1 - 1e-6 s measured\n", 2, 18, "a GPU from 0 to 15"},
  {"port-out gpu host peers 1e9 B/s measured\n", 2, 14, "ports are of GPUs"},
  {"port-in gpu 0 - 1e9 B/s measured\n", 2, 15, "peers or all"},
  {"port-in gpu 0 all 1e-6 s measured\n", 2, 24, "s/B or B/s"},
  {"link-share gpu 0-1 a 1e9 B/s x\nlink-share gpu 0-2 a 2e9 B/s x\n", 3, 22, "another row"},
  {"link-share gpu 0-1 a 1e9 B/s x\nlink-share gpu 0-1 a 1e9 B/s x\n", 3, 1, "line 2"},
  {"link-share gpu 0-1 a-name-of-more-than-31-characters 1e9 B/s x\n", 2, 20, "31 bytes"},
  {"copy-alpha gpu d2h 0 1 s measured\n", 2, 20, "processes"},
  {"copy-alpha gpu d2h many 1 s measured\n", 2, 20, "'many'"},
  {"copy-beta cpu d2h 1 1 s/B measured\n", 2, 11, "gpu"},
  {"copy-beta gpu on-node 1 1 s/B measured\n", 2, 15, "d2h or h2d"},
  {"shared cpu on-node 99999999999 1 s/B measured\n", 2, 20, "processes"},
  {"G cpu off-node 64 1 s/B measured\n", 2, 16, "A.. or A..B"},
  {"G cpu off-node 64..64 1 s/B measured\n", 2, 16, "A.. or A..B"},
  {"G cpu off-node ..64 1 s/B measured\n", 2, 16, "A.. or A..B"},
  {"G cpu off-node 0..99999999999999999999 1 s/B measured\n", 2, 16, "A.. or A..B"},
  {"gamma cpu any - 1 s one\n# between\ngamma cpu any - 2 s two\n", 4, 1, "line 2"},
  {"G cpu off-node 0..64 1 s/B one\nG cpu off-node 0.. 2 s/B two\n", 3, 1, "line 2"},
  {"shared cpu on-node 4 1 s/B one\nshared cpu on-node 04 2 s/B two\n", 3, 1, "line 2"},
  {"name again\n", 2, 1, "name"},
  {"about this\nabout that\n", 3, 1, "about"},
  {"about\n", 2, 6, "missing"},
  {"status fine\n", 2, 8, "complete, assumed or incomplete"},
  {"status\n", 2, 7, "complete, assumed or incomplete"},
  {"status complete\nstatus complete\n", 3, 1, "twice"},
  {"alpha cpu any any 1 s m\nfrom cpu any eager 9 B m\nfrom cpu any rend 9 B m\n", 4, 19, "rend"},
  {"alpha cpu any any 1 s m\nfrom cpu any eager 0 B m\n", 3, 20, "eager begins at 0"},
  {"\x01\n", 2, 1, "byte 1"},
  {"gamma cpu any - 1 s a\rb\n", 2, 22, "byte 13"},
};
enum { BADS = sizeof bads / sizeof *bads };

static int rows_in(const char *text)
{
  int n = 0;
  for (; *text; text = strchr(text, '\n') + 1) n += *text != '#';
  return n;
}

static void check_place(const char *text, size_t length, int line, int column, const char *word)
{
  grove_machine *m = NULL;
  char place[64];
  snprintf(place, sizeof place, "test.machine, line %d, column %d: ", line, column);
  grove_status status = grove_profile_read(text, length, "test.machine", &m);
  CHECK(status == GROVE_ERR_ARG && !m, "taken: %s", text);
  const char *sentence = grove_last_error();
  CHECK(strncmp(sentence, place, strlen(place)) == 0, "not at %d, %d: '%s' of '%s'", line, column,
        sentence, text);
  CHECK(strstr(sentence, word), "no '%s' in '%s'", word, sentence);
}

static void names_the_place(void)
{
  char text[10000];
  for (int i = 0; i < BADS; i++) {
    test_case(i);
    snprintf(text, sizeof text, "name test\n%send %d\n", bads[i].rows, 1 + rows_in(bads[i].rows));
    check_place(text, strlen(text), bads[i].line, bads[i].column, bads[i].word);
  }
  check_place("", 0, 1, 1, "'end 0'");
  check_place("name test\n", 10, 2, 1, "'end 1'");
  check_place("name test\nend 2\n", 16, 2, 5, "1 row is missing: there are 1 of 2");
  check_place("name test\nend 4\n# more\nstatus assumed\n", 38, 2, 5, "2 rows are missing");
  check_place("name test\nend\n", 14, 2, 4, "1 before it");
  check_place("name test\nend 1 2\n", 18, 2, 5, "number of rows");
  check_place("name test\nend -1\n", 17, 2, 5, "number of rows");
  check_place("name test\nend 1e9\n", 18, 2, 5, "number of rows");
  check_place("name test\nend 1\nend 1\n", 22, 3, 1, "the same row twice: end");
  check_place("name test\nend 1\nwhat\n", 21, 3, 5, "1 columns");
  check_place("name test\nend 1\nfuture cpu", 26, 3, 11, "does not end");
  check_place("name test\nend 1", 15, 2, 6, "does not end");
  check_place("end 0\n", 6, 1, 1, "'name'");
  check_place("name t\0st\nend 1\n", 16, 1, 7, "byte 0");
  memset(text, 'x', 5000);
  snprintf(text + 5000, 20, "\nend 1\n");
  check_place(text, strlen(text), 1, 4001, "bytes");
  memcpy(text, "name ", 5);
  text[3500] = '\n';
  check_place(text, strlen(text), 1, 6, "bytes");
  memcpy(text, "a b ", 4);
  check_place(text, strlen(text), 1, 3501, "3 columns");
}

/* Seventeen ranges, copies and numbers of ranks. */
static void refuses_long_lists(void)
{
  static const char *const rows[] = {"g cpu off-node %d.. 1 s m\n",
                                     "shared cpu on-node %d 1 s/B m\n",
                                     "copy-beta gpu h2d %d 1 s/B m\n"};
  for (int k = 0; k < 3; k++) {
    char text[2000] = "name test\n";
    for (int i = 1; i <= GROVE_LISTED + 1; i++) {
      grove_machine *m = NULL;
      char end[32];
      snprintf(text + strlen(text), 64, rows[k], i);
      size_t length = strlen(text);
      snprintf(end, sizeof end, "end %d\n", i + 1);
      strcat(text, end);
      CHECK_STATUS(read_text(text, &m), i <= GROVE_LISTED ? GROVE_OK : GROVE_ERR_ARG);
      CHECK(i <= GROVE_LISTED || strstr(grove_last_error(), "more than 16"), "'%s'",
            grove_last_error());
      grove_machine_free(&m);
      text[length] = '\0';
    }
  }
}

/* ---- what is right, but looks strange ---- */

static void takes_odd_layouts(void)
{
  grove_machine *m = NULL;
  const char *text = "\n   # a comment\n#another\nname  Our Machine \t\r\n\tabout x # y\n"
                     "gamma\tcpu any   -\t.5 s  a source # that goes on  \n"
                     "future cpu on-moon 7 inf parsec a row of later versions\n"
                     "future cpu on-moon 7 12 parsec once more\n"
                     "alpha cpu any any 1E-6 s m\n  end   6  \n";
  CHECK_OK(read_text(text, &m));
  CHECK(strcmp(m->name, "Our Machine") == 0, "the name is '%s'", m->name);
  CHECK(strcmp(m->about, "x # y") == 0, "about '%s'", m->about);
  CHECK(m->nrows == 4 && m->gamma == 0.5 && m->rows[0].line == 6, "rows have gone");
  CHECK(strcmp(m->rows[0].source, "a source # that goes on") == 0, "source '%s'",
        m->rows[0].source);
  CHECK(m->rows[0].known && !m->rows[1].known && !m->rows[2].known && m->rows[3].known,
        "not the right rows are known");
  CHECK(strcmp(m->rows[1].locality, "on-moon") == 0 && isinf(m->rows[1].value), "lost words");
  CHECK(m->standing == GROVE_INCOMPLETE, "nobody said that it is complete");
  round_trip(m);
  grove_machine_free(&m);
}

/* The largest numbers that are taken. */
static void takes_large_numbers(void)
{
  grove_machine *m = NULL;
  CHECK_OK(read_text("name test\nsockets - node - 1000000 1 m\ngpus - node - 1e6 1 m\n"
                     "alpha cpu any any 1 s m\nfrom cpu any rend 1e15 B m\nend 5\n",
                     &m));
  CHECK(m->sockets == 1000000 && m->gpus == 1000000, "%d sockets, %d GPUs", m->sockets, m->gpus);
  CHECK(m->from[GROVE_CPU][GROVE_ON_NODE][GROVE_REND] == 1000000000000000, "another limit");
  grove_machine_free(&m);
}

/* What a person adds, behind the end or in the middle, known or not, is kept. */
static void takes_added_rows(void)
{
  static const char future[] = "future cpu on-moon 7 1.5 parsec a later version\n";
  static const char crowd[] = "alpha gpu-nogdr on-socket short 1 s added\n";
  for (const grove_builtin *b = grove_builtins; b->name; b++) {
    size_t length = strlen(b->text), room = length + sizeof future + sizeof crowd;
    grove_machine *before = NULL, *m = NULL;
    char *text = need(room);
    CHECK_OK(grove_machine_open(b->name, &before));
    snprintf(text, room, "%s%s%s", b->text, future, crowd);
    CHECK_OK(read_text(text, &m));
    CHECK(m->nrows == before->nrows + 2, "%s: %d rows", b->name, m->nrows);
    CHECK(!m->rows[before->nrows].known && m->rows[before->nrows + 1].known, "%s", b->name);
    CHECK(m->postal[GROVE_GPU_NOGDR][GROVE_ON_SOCKET][GROVE_SHORT].alpha == 1, "%s: it is not used",
          b->name);
    round_trip(m);
    grove_machine_free(&m);
    const char *middle = strchr(b->text + length / 2, '\n') + 1;
    snprintf(text, room, "%.*s%s%s", (int)(middle - b->text), b->text, future, middle);
    CHECK_OK(read_text(text, &m));
    CHECK(m->nrows == before->nrows + 1, "%s: %d rows", b->name, m->nrows);
    round_trip(m);
    grove_machine_free(&m);
    grove_machine_free(&before);
    free(text);
  }
}

/* A row taken away is missed. */
static void misses_rows(void)
{
  grove_machine *m = NULL;
  const char *text = "name test\nabout it\ngamma cpu any - 1 s x\nend 3\n";
  CHECK_OK(read_text(text, &m));
  grove_machine_free(&m);
  check_place("name test\ngamma cpu any - 1 s x\nend 3\n", 38, 3, 5, "'end 2'");
}

/* Cut anywhere, it is refused; a byte changed, nothing breaks. */
static void finds_cuts(void)
{
  for (const grove_builtin *b = grove_builtins; b->name; b++) {
    size_t length = strlen(b->text);
    for (size_t i = 0; i < length; i++) {
      grove_machine *m = NULL;
      char *part = need(i + 1); /* of its own: a checker sees every step too far */
      memcpy(part, b->text, i);
      grove_status status = grove_profile_read(part, i, b->name, &m);
      CHECK(status == GROVE_ERR_ARG && !m, "the first %zu bytes of %s were taken", i, b->name);
      free(part);
    }
  }
}

static void numbers_survive(void)
{
  static const double values[] = {0,       1e-300, 5e-324,           0.1, 1.0 / 3,   3.67e-07,
                                  1.5e300, 123456, 9007199254740993, 1e7, 12345678.9};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    grove_machine *m = NULL;
    CHECK_OK(grove_machine_create("numbers", &m));
    CHECK_OK(grove_machine_add(m, "gamma", "cpu", "any", "-", values[i], "s", "made up"));
    CHECK_OK(grove_machine_digest(m));
    round_trip(m);
    char *text = print(m);
    CHECK(values[i] != 3.67e-07 || strstr(text, " 3.67e-07 s"), "%s", text);
    free(text);
    grove_machine_free(&m);
  }
}

/* A program may use a locale in which 1.5 is written 1,5. */
static void ignores_the_locale(void)
{
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8",
                                      "de_DE",       "es_ES.utf8", "it_IT.utf8",  "pt_BR.utf8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!setlocale(LC_ALL, names[i])) continue;
    CHECK(strtod("1,5", NULL) == 1.5, "%s has no comma", names[i]);
    reads_builtins();
    numbers_survive();
    CHECK(strtod("1,5", NULL) == 1.5, "the program has lost its locale");
    setlocale(LC_ALL, "C");
    return;
  }
  printf("model/profile_reads: no locale with a decimal comma here, so not tried\n");
}

static void refuses_what_cannot_be_read_back(void)
{
  static const char *const terms[] = {"",    "name", "about",     "status",
                                      "end", "#x",   "two words", "a\n"};
  static const char *const sources[] = {"", " ", "x ", " x", "two\nlines", NULL};
  grove_machine *m = NULL;
  CHECK_OK(grove_machine_create("made", &m));
  for (int i = 0; i < 8; i++)
    CHECK_STATUS(grove_machine_add(m, terms[i], "cpu", "any", "-", 1, "s", "x"), GROVE_ERR_ARG);
  for (int i = 0; i < 6; i++)
    CHECK_STATUS(grove_machine_add(m, "gamma", "cpu", "any", "-", 1, "s", sources[i]),
                 GROVE_ERR_ARG);
  CHECK_STATUS(grove_machine_add(m, "gamma", "", "any", "-", 1, "s", "x"), GROVE_ERR_ARG);
  CHECK_STATUS(grove_machine_add(m, "gamma", "cpu", "any", "-", 1, NULL, "x"), GROVE_ERR_ARG);
  CHECK(m->nrows == 0, "a bad row was added");
  CHECK_OK(grove_machine_add(m, "gamma", "cpu", "any", "-", NAN, "s", "x"));
  CHECK_STATUS(grove_machine_digest(m), GROVE_ERR_ARG);
  CHECK(strstr(grove_last_error(), "gamma") && strstr(grove_last_error(), "number"), "'%s'",
        grove_last_error());
  grove_machine_free(&m);
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "model/profile_reads");
  reads_builtins();
  names_the_place();
  refuses_long_lists();
  takes_odd_layouts();
  takes_large_numbers();
  takes_added_rows();
  misses_rows();
  finds_cuts();
  numbers_survive();
  ignores_the_locale();
  refuses_what_cannot_be_read_back();
  links();
  return test_end();
}
