/* Meshes: files read, refused with a sentence and its line, cut and damaged at every byte; the
 * generated cube, counted and measured; partitions, their balance and their cut; vertices that get
 * places on a rank. */
#include "mesh.h"
#include "check.h"
#include "mesh_run.h"
#include "random.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define NODES  "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n"
#define CELL   "$Elements\n1\n1 4 2 1 1 1 2 3 4\n$EndElements\n"

static int read_bytes(const char *bytes, size_t length, mesh *m, mesh_error *e)
{
  return mesh_read_gmsh_memory(bytes, length, "it", m, e);
}

/* ---- files by hand ---- */

/* The mesh as text: "v: x,y,z ... c: a,b,c,d ...". */
static void check_read(const char *bytes, const char *expected)
{
  mesh m;
  mesh_error e;
  char got[512];
  size_t used = 0;
  CHECK(!read_bytes(bytes, strlen(bytes), &m, &e), "%s\nof\n%s", e.sentence, bytes);
  used += (size_t)snprintf(got, sizeof got, "v:");
  for (int64_t v = 0; v < m.vertices; v++)
    used += (size_t)snprintf(got + used, sizeof got - used, " %g,%g,%g", m.at[3 * v],
                             m.at[3 * v + 1], m.at[3 * v + 2]);
  used += (size_t)snprintf(got + used, sizeof got - used, " c:");
  for (int64_t i = 0; i < 4 * m.cells; i++)
    used +=
      (size_t)snprintf(got + used, sizeof got - used, "%c%" PRId64, i % 4 ? ',' : ' ', m.corner[i]);
  CHECK(strcmp(got, expected) == 0, "'%s', and not '%s', of\n%s", got, expected, bytes);
  mesh_free(&m);
  CHECK(m.at == NULL && m.corner == NULL && m.cells == 0, "a freed mesh is not empty");
}

static void reads_by_hand(void)
{
  check_read(FORMAT NODES CELL, "v: 0,0,0 1,0,0 0,1,0 0,0,1 c: 0,1,2,3");
  /* Other sections, faces, tags of all kinds, blank lines, CRLF, and no end of the last line. */
  check_read("$MeshFormat\r\n2 0 8\r\n$EndMeshFormat\r\n$PhysicalNames\r\n1\r\n3 1 \"a $Nodes\"\r\n"
             "$EndPhysicalNames\r\n\n" NODES "$Elements\n5\n1 15 2 1 1 3\n2 1 2 1 1 1 2\n"
             "3 2 2 1 1 1 2 3\n\n4 4 3 1 -7 1 4 3 2 1\n5 4 0 1 2 4 3\n$EndElements",
             "v: 0,0,0 1,0,0 0,1,0 0,0,1 c: 3,2,1,0 0,1,3,2");
  /* Numbers of nodes in no order, with gaps. */
  check_read(FORMAT "$Nodes\n5\n70 0 0 0\n3 1 0 0\n900000000000 0 1 0\n1 0 0 1.5e0\n2 -1 -.5 0\n"
                    "$EndNodes\n$Elements\n2\n9 4 0 70 3 900000000000 1\n1 4 0 2 1 3 70\n"
                    "$EndElements\n",
             "v: 0,0,0 1,0,0 0,1,0 0,0,1.5 -1,-0.5,0 c: 0,1,2,3 4,3,1,0");
}

/* ---- what is refused ---- */

static void check_refused(const char *bytes, int64_t line, const char *words)
{
  mesh m = {.cells = 7};
  mesh_error e;
  char begin[40];
  CHECK(read_bytes(bytes, strlen(bytes), &m, &e), "this is taken:\n%s", bytes);
  CHECK(m.corner == NULL && m.cells == 0, "a failure leaves a mesh");
  CHECK(strstr(e.sentence, words), "'%s' does not say '%s'", e.sentence, words);
  CHECK(e.line == line, "line %" PRId64 ", and not %" PRId64 ": %s", e.line, line, e.sentence);
  snprintf(begin, sizeof begin, line > 0 ? "it:%" PRId64 ": " : "it: ", line);
  CHECK(strncmp(e.sentence, begin, strlen(begin)) == 0, "'%s' has no place", e.sentence);
  CHECK(!strchr(e.sentence, '\n'), "more than one line: %s", e.sentence);
}

static void refuses_formats(void)
{
  mesh m;
  mesh_error e;
  check_refused("", 0, "empty");
  check_refused("solid cube\n", 1, "does not begin with $MeshFormat");
  check_refused("$Nodes\n", 1, "does not begin with $MeshFormat");
  check_refused("$MeshFormat\n", 1, "ends in the middle of $MeshFormat");
  check_refused("$MeshFormat\nx 0 8\n", 2, "version of the format is expected, and not 'x'");
  check_refused("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n", 2, "version 4.1");
  check_refused("$MeshFormat\n2.2 1 8\n", 2, "binary");
  check_refused("$MeshFormat\n2.2\n", 2, "and the line ends");
  check_refused("$MeshFormat\n2.2 0 8\n$Nodes\n", 3,
                "$EndMeshFormat is expected, and not '$Nodes'");
  check_refused(FORMAT "hello\n", 4, "a section, such as $Nodes, is expected, and not 'hello'");
  check_refused(FORMAT "$Comments\nof\n", 5, "ends in the middle of $Comments");
  check_refused(FORMAT, 3, "there were no $Nodes");
  check_refused(FORMAT NODES, 10, "no tetrahedron");
  CHECK(mesh_read_gmsh("there/is/no.msh", &m, &e) && strstr(e.sentence, "there/is/no.msh: cannot"),
        "%s", e.sentence);
}

static void refuses_nodes(void)
{
  check_refused(FORMAT "$Nodes\nmany\n", 5, "number of lines that follow is expected");
  check_refused(FORMAT "$Nodes\n-4\n", 5, "not '-4'");
  check_refused(FORMAT "$Nodes\n0\n$EndNodes\n", 5, "none");
  check_refused(FORMAT "$Nodes\n2\n1 0 0 0\n", 6, "ends in the middle of $Nodes");
  check_refused(FORMAT "$Nodes\n2\n1 0 0 0\n$EndNodes\n", 7,
                "the number of node 2 of 2 is expected, and not '$EndNodes'");
  check_refused(FORMAT "$Nodes\n1\n1 0 0 0\n2 1 0 0\n$EndNodes\n", 7,
                "$EndNodes is expected, and not '2'");
  check_refused(FORMAT "$Nodes\n9223372036854775807\n1 0 0 0\n$EndNodes\n", 7, "node 2 of 9223");
  check_refused(FORMAT "$Nodes\n1\n1 0 0\n", 6, "a coordinate is expected, and the line ends");
  check_refused(FORMAT "$Nodes\n1\n1 0 0 zero\n", 6, "not 'zero'");
  check_refused(FORMAT "$Nodes\n1\n1 0 nan 0\n", 6, "not 'nan'");
  check_refused(FORMAT "$Nodes\n1\n1 0 0 0 0\n", 6, "the end of the line is expected");
  check_refused(FORMAT "$Nodes\n2\n5 0 0 0\n5 1 0 0\n$EndNodes\n", 8, "two nodes have number 5");
  check_refused(FORMAT NODES NODES CELL, 11, "second time");
}

static void refuses_elements(void)
{
  check_refused(FORMAT CELL NODES, 4, "$Elements come before $Nodes");
  check_refused(FORMAT NODES CELL CELL, 15, "second time");
  check_refused(FORMAT NODES "$Elements\n2\n1 4 2 1 1 1 2 3 4\n", 13, "the middle of $Elements");
  check_refused(FORMAT NODES "$Elements\n2\n1 4 2 1 1 1 2 3 4\n$EndElements\n", 14,
                "the number of element 2 of 2 is expected, and not '$EndElements'");
  check_refused(FORMAT NODES "$Elements\n0\n1 4 2 1 1 1 2 3 4\n$EndElements\n", 13,
                "$EndElements is expected, and not '1'");
  check_refused(FORMAT NODES "$Elements\n1\n1 4 2 1 1 1 2 3 5\n", 13, "there is no node 5");
  check_refused(FORMAT NODES "$Elements\n1\n1 4 2 1 1 0 2 3 4\n", 13, "there is no node 0");
  check_refused(FORMAT NODES "$Elements\n1\n1 4 2 1 1 -1 2 3 4\n", 13, "not '-1'");
  check_refused(FORMAT NODES "$Elements\n1\n1 4 2 1 1 1 2 3\n", 13, "and the line ends");
  check_refused(FORMAT NODES "$Elements\n1\n1 4 2 1 1 1 2 3 4 4\n", 13, "the end of the line");
  check_refused(FORMAT NODES "$Elements\n1\n1 4 2 1 1 1 2 3 1\n", 13, "one node twice");
  check_refused(FORMAT NODES "$Elements\n1\n1 5 2 1 1 1 2 3 4 1 2 3 4\n", 13, "type 5");
  check_refused(FORMAT NODES "$Elements\n1\n1 4 99999999999 1 1\n", 13, "a tag is expected");
  check_refused(FORMAT NODES "$Elements\n1\n1 2 2 1 1 1 2 3\n$EndElements\n", 14, "no tetrahedron");
}

/* ---- a mesh, written and read back ---- */

static char *write_mesh(const mesh *m, size_t *length)
{
  size_t room = 200 + 120 * (size_t)(m->vertices + m->cells);
  char *bytes = need(room);
  size_t used = (size_t)snprintf(bytes, room, FORMAT "$Nodes\n%" PRId64 "\n", m->vertices);
  for (int64_t v = 0; v < m->vertices; v++)
    used += (size_t)snprintf(bytes + used, room - used, "%" PRId64 " %.17g %.17g %.17g\n", v + 1,
                             m->at[3 * v], m->at[3 * v + 1], m->at[3 * v + 2]);
  used +=
    (size_t)snprintf(bytes + used, room - used, "$EndNodes\n$Elements\n%" PRId64 "\n", m->cells);
  for (int64_t c = 0; c < m->cells; c++) {
    const int64_t *k = m->corner + 4 * c;
    used +=
      (size_t)snprintf(bytes + used, room - used,
                       "%" PRId64 " 4 2 1 1 %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                       c + 1, k[0] + 1, k[1] + 1, k[2] + 1, k[3] + 1);
  }
  *length = used + (size_t)snprintf(bytes + used, room - used, "$EndElements\n");
  return bytes;
}

static mesh generate(int64_t n)
{
  mesh m;
  mesh_error e;
  CHECK(!mesh_generate(n, &m, &e), "%s", e.sentence);
  return m;
}

static void written_and_read(void)
{
  mesh m = generate(4), again;
  mesh_error e;
  size_t length;
  char *bytes = write_mesh(&m, &length);
  CHECK(!read_bytes(bytes, length, &again, &e), "%s", e.sentence);
  CHECK(again.vertices == m.vertices && again.cells == m.cells, "other sizes");
  CHECK(memcmp(again.at, m.at, 3 * (size_t)m.vertices * sizeof *m.at) == 0, "other coordinates");
  CHECK(memcmp(again.corner, m.corner, 4 * (size_t)m.cells * sizeof *m.corner) == 0,
        "other corners");
  mesh_free(&m);
  mesh_free(&again);
  free(bytes);
}

/* Refused with a sentence, or read, and then all corners are vertices. */
static int check_survives(const char *bytes, size_t length)
{
  mesh m;
  mesh_error e;
  if (read_bytes(bytes, length, &m, &e)) {
    CHECK(strncmp(e.sentence, "it:", 3) == 0 && strlen(e.sentence) > 10, "'%s'", e.sentence);
    CHECK(m.corner == NULL && !strchr(e.sentence, '\n'), "'%s'", e.sentence);
    return 0;
  }
  for (int64_t i = 0; i < 4 * m.cells; i++)
    CHECK(m.corner[i] >= 0 && m.corner[i] < m.vertices, "corner %" PRId64, m.corner[i]);
  mesh_free(&m);
  return 1;
}

static void cut_and_damaged(void)
{
  mesh m = generate(1);
  size_t length;
  char *bytes = write_mesh(&m, &length);
  rng r = rng_from(test_seed(), 1);
  for (size_t cut = 0; cut < length; cut++) {
    int whole = cut == length - 1; /* without the end of the last line */
    CHECK(check_survives(bytes, cut) == whole, "cut after %zu bytes", cut);
  }
  for (size_t at = 0; at < length; at++) {
    char before = bytes[at];
    bytes[at] =
      (char)(rng_one_in(&r, 2) ? rng_below(&r, 256) : "0123456789 \n$.-"[rng_below(&r, 15)]);
    check_survives(bytes, length);
    bytes[at] = before;
  }
  mesh_free(&m);
  free(bytes);
}

/* ---- the generated cube ---- */

static int by_value(const void *a, const void *b)
{
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Each pair of corners once, as a number. */
static int64_t count_edges(const mesh *m)
{
  int64_t n = 0, edges = 0, *edge = need(6 * (size_t)m->cells * sizeof *edge);
  for (int64_t c = 0; c < m->cells; c++)
    for (int i = 0; i < 4; i++)
      for (int k = 0; k < i; k++) {
        int64_t a = m->corner[4 * c + i], b = m->corner[4 * c + k];
        edge[n++] = a < b ? a * m->vertices + b : b * m->vertices + a;
      }
  qsort(edge, (size_t)n, sizeof *edge, by_value);
  for (int64_t i = 0; i < n; i++) edges += i == 0 || edge[i] != edge[i - 1];
  free(edge);
  return edges;
}

/* With a part of its own for every cell, all faces inside are cut. */
static int64_t count_faces_inside(const mesh *m)
{
  mesh_error e;
  int64_t faces;
  int *part = need((size_t)m->cells * sizeof *part);
  for (int64_t c = 0; c < m->cells; c++) part[c] = (int)c;
  CHECK(!mesh_cut(m, part, &faces, &e), "%s", e.sentence);
  free(part);
  return faces;
}

static void generates(void)
{
  for (int64_t n = 1; n <= 6; n++) {
    mesh m = generate(n);
    double volume = 0, loads = 0, *load = need((size_t)m.vertices * sizeof *load);
    CHECK(m.vertices == (n + 1) * (n + 1) * (n + 1) && m.cells == 6 * n * n * n, "sizes");
    for (int64_t c = 0; c < m.cells; c++) {
      CHECK(mesh_cell_volume(&m, c) > 0.01 / (double)(n * n * n), "cell %" PRId64 " is flat", c);
      volume += mesh_cell_volume(&m, c);
    }
    CHECK(fabs(volume - 1) < 1e-12, "n = %" PRId64 ": the volume is %.17g", n, volume);
    int64_t inside = count_faces_inside(&m), faces = 4 * m.cells - inside, edges = count_edges(&m);
    CHECK(inside == 12 * n * n * n - 6 * n * n, "%" PRId64 " faces inside", inside);
    CHECK(edges == 7 * n * n * n + 9 * n * n + 3 * n, "%" PRId64 " edges", edges);
    CHECK(m.vertices - edges + faces - m.cells == 1, "this is no ball");
    mesh_loads(&m, load);
    for (int64_t v = 0; v < m.vertices; v++) loads += load[v];
    CHECK(fabs(loads - volume) < 1e-12, "loads of %.17g", loads);
    free(load);
    mesh_free(&m);
  }
}

static void refuses_sides(void)
{
  static const int64_t sides[] = {0, -1, MESH_MOST_CUBES + 1, INT64_MAX};
  for (int i = 0; i < 4; i++) {
    mesh m = {.cells = 7};
    mesh_error e;
    CHECK(mesh_generate(sides[i], &m, &e) && m.cells == 0, "a side of %" PRId64, sides[i]);
    CHECK(strstr(e.sentence, "is not from 1 to"), "%s", e.sentence);
  }
}

/* ---- partitions ---- */

/* Every pair of cells, looked at. */
static int64_t cut_slowly(const mesh *m, const int *part)
{
  int64_t faces = 0;
  for (int64_t a = 0; a < m->cells; a++)
    for (int64_t b = 0; b < a; b++) {
      int common = 0;
      for (int i = 0; i < 16; i++) common += m->corner[4 * a + i / 4] == m->corner[4 * b + i % 4];
      faces += common == 3 && part[a] != part[b];
    }
  return faces;
}

static void counts_the_cut(void)
{
  mesh m = generate(3);
  mesh_error e;
  rng r = rng_from(test_seed(), 2);
  int *part = need((size_t)m.cells * sizeof *part);
  for (int nparts = 1; nparts < 6; nparts++) {
    int64_t faces;
    for (int64_t c = 0; c < m.cells; c++) part[c] = (int)rng_below(&r, nparts);
    CHECK(!mesh_cut(&m, part, &faces, &e), "%s", e.sentence);
    CHECK(faces == cut_slowly(&m, part), "%" PRId64 " faces in %d parts", faces, nparts);
  }
  free(part);
  mesh_free(&m);
}

static void sizes_of(const mesh *m, const int *part, int nparts, int64_t *least, int64_t *most)
{
  int64_t *size = need((size_t)nparts * sizeof *size);
  memset(size, 0, (size_t)nparts * sizeof *size);
  for (int64_t c = 0; c < m->cells; c++) {
    CHECK(part[c] >= 0 && part[c] < nparts, "part %d of %d", part[c], nparts);
    size[part[c]]++;
  }
  *least = *most = size[0];
  for (int i = 1; i < nparts; i++) {
    if (size[i] < *least) *least = size[i];
    if (size[i] > *most) *most = size[i];
  }
  free(size);
}

/* The surface of `nparts` equal cubes is about what a good partition cuts; thrice that is allowed,
 * where parts that are anywhere cut many times as much. */
static void check_cut(const mesh *m, const int *part, int nparts, int64_t n)
{
  mesh_error e;
  int64_t faces;
  CHECK(!mesh_cut(m, part, &faces, &e), "%s", e.sentence);
  double good = 2 * (double)(n * n) * 3 * (cbrt(nparts) - 1);
  CHECK(nparts == 1 ? faces == 0 : (double)faces < 3 * good + 2 * (double)(n * n),
        "%" PRId64 " faces are cut by %d parts", faces, nparts);
}

static void partitions(void)
{
  enum { N = 8 };
  static const int counts[] = {1, 2, 3, 4, 5, 7, 8, 16, 27};
  mesh m = generate(N);
  mesh_error e;
  int *part = need((size_t)m.cells * sizeof *part);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    int64_t least, most;
    CHECK(!mesh_partition_by_coordinates(&m, counts[i], part, &e), "%s", e.sentence);
    sizes_of(&m, part, counts[i], &least, &most);
    CHECK(most - least <= 1, "%d parts of %" PRId64 " to %" PRId64, counts[i], least, most);
    check_cut(&m, part, counts[i], N);
    CHECK(!mesh_partition(&m, counts[i], part, &e), "%s", e.sentence);
    sizes_of(&m, part, counts[i], &least, &most);
    CHECK((double)most <= 1.1 * (double)m.cells / counts[i] + 1, "%s: %d parts, one of %" PRId64,
          mesh_partitioner(), counts[i], most);
    check_cut(&m, part, counts[i], N);
  }
  free(part);
  mesh_free(&m);
}

/* More parts than cells: some are empty. */
static void many_parts(void)
{
  mesh m = generate(1);
  mesh_error e;
  int part[6];
  for (int nparts = 1; nparts < 40; nparts++) {
    int64_t least, most;
    CHECK(!mesh_partition(&m, nparts, part, &e), "%s", e.sentence);
    sizes_of(&m, part, nparts, &least, &most);
    CHECK(nparts < 6 || most == 1, "%d parts, one of %" PRId64, nparts, most);
  }
  mesh_free(&m);
}

/* ---- places of vertices ---- */

/* Names keep their corners, and no name has two places. */
static void check_numbering(rng *r, int64_t cells, int64_t names)
{
  mesh_piece p = {.cells = cells};
  mesh_error e;
  CHECK(!mesh_piece_cells(&p, &e), "%s", e.sentence);
  int64_t *before = need((4 * (size_t)cells + 1) * sizeof *before);
  for (int64_t i = 0; i < 4 * cells; i++) p.corner[i] = before[i] = rng_below(r, names);
  CHECK(!mesh_piece_number(&p, &e), "%s", e.sentence);
  for (int64_t i = 0; i < 4 * cells; i++) {
    CHECK(p.corner[i] >= 0 && p.corner[i] < p.vertices, "place %" PRId64, p.corner[i]);
    CHECK(p.name[p.corner[i]] == before[i], "another name than %" PRId64, before[i]);
    CHECK(p.ghost[p.corner[i]] == 1, "not marked");
  }
  int64_t distinct = 0;
  qsort(before, 4 * (size_t)cells, sizeof *before, by_value);
  for (int64_t i = 0; i < 4 * cells; i++) distinct += i == 0 || before[i] != before[i - 1];
  CHECK(p.vertices == distinct, "%" PRId64 " places for %" PRId64 " names", p.vertices, distinct);
  free(before);
  mesh_piece_free(&p);
}

static void numbers_vertices(void)
{
  rng r = rng_from(test_seed(), 3);
  check_numbering(&r, 0, 1);
  check_numbering(&r, 1, 1);
  for (int64_t i = 0; i < 20; i++)
    check_numbering(&r, rng_below(&r, 3000), rng_between(&r, 1, i % 2 ? 500 : INT64_MAX));
}

int main(int argc, char **argv)
{
  test_begin(&argc, &argv, "tools/mesh");
  reads_by_hand();
  refuses_formats();
  refuses_nodes();
  refuses_elements();
  written_and_read();
  cut_and_damaged();
  generates();
  refuses_sides();
  counts_the_cut();
  partitions();
  many_parts();
  numbers_vertices();
  return test_end();
}
