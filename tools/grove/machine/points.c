#include "grove/machine/points.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A profile that is not a regular file (a pipe, a terminal) is for others to read: no points. */
int points_append(const char *path, const grove_points *points)
{
  FILE *file = fopen(path, "a");
  if (!file) return 1;
  if (fseek(file, 0, SEEK_END) == 0) {
    fprintf(file, "# what the numbers were fitted to: x, seconds, series\n");
    for (int i = 0; i < points->count; i++) {
      const grove_point *p = &points->point[i];
      if (isnan(p->predicted))
        fprintf(file, "# point %.9g %.9g %s\n", p->x, p->y, p->series);
      else
        fprintf(file, "# exchange %.9g %.9g %.9g %s\n", p->x, p->y, p->predicted, p->series);
    }
  }
  int failed = ferror(file);
  return fclose(file) != 0 || failed;
}

static int add(kept_points *all, double x, double y, double predicted, const char *series)
{
  if (!grove_grow(&all->point, all->count, 1, sizeof *all->point)) return 1;
  if (!grove_grow(&all->series, all->count, 1, sizeof *all->series)) return 1;
  all->point[all->count] = (grove_point){.x = x, .y = y, .predicted = predicted};
  snprintf(all->series[all->count++], POINTS_SERIES_BYTES, "%s", series);
  return 0;
}

int points_read(const char *path, kept_points *out)
{
  char line[256], series[POINTS_SERIES_BYTES];
  int failed = 0;
  double x, y, predicted;
  FILE *file = fopen(path, "r");
  *out = (kept_points){0};
  if (!file) return 0;
  while (!failed && fgets(line, sizeof line, file))
    if (sscanf(line, "# point %lf %lf %63[^\n]", &x, &y, series) == 3)
      failed = add(out, x, y, NAN, series);
    else if (sscanf(line, "# exchange %lf %lf %lf %63[^\n]", &x, &y, &predicted, series) == 4)
      failed = add(out, x, y, predicted, series);
  fclose(file);
  for (int i = 0; i < out->count; i++) out->point[i].series = out->series[i];
  if (failed) points_free(out);
  return failed;
}

void points_free(kept_points *points)
{
  free(points->point);
  free(points->series);
  *points = (kept_points){0};
}
