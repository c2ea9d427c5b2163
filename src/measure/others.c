/* What other programs do while a machine is measured. They take cores and caches, and every time in
 * the profile then is partly theirs. Linux counts how long each processor was at work. What the
 * ranks of this job did not use themselves was used by others, or taken by the host of a virtual
 * machine.
 */
#define _GNU_SOURCE /* sched_getaffinity, CPU_ISSET */
#include "measure/probe.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* On a quiet machine it is a hundredth. */
static const double MOST_OF_OTHERS = 0.1;

/* Ranks of one system that may use the same processors are one group. Two groups with one number
 * count as one: then too much is taken for the job's own. */
enum { GROUPS = 1024 };

static unsigned mix_bytes(unsigned hash, const void *data, size_t n)
{
  for (const unsigned char *c = data; n > 0; n--, c++) hash = (hash ^ *c) * 16777619u;
  return hash;
}

static int number_of_group(const cpu_set_t *mine)
{
  char boot[64] = "";
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (file && !fgets(boot, sizeof boot, file)) boot[0] = '\0';
  if (file) fclose(file);
  return (int)(mix_bytes(mix_bytes(2166136261u, boot, strlen(boot)), mine, sizeof *mine) % GROUPS);
}

/* A line of /proc/stat: "cpu3 user nice system idle iowait irq softirq steal ...". Interrupts are
 * the job's own messages as likely as not, and count as neither. */
static void add_processor(const char *line, const cpu_set_t *mine, grove_usage *sum)
{
  int cpu = 0;
  double user, nice, system, idle, iowait, irq, softirq, steal = 0;
  if (sscanf(line, "cpu%d %lf %lf %lf %lf %lf %lf %lf %lf", &cpu, &user, &nice, &system, &idle,
             &iowait, &irq, &softirq, &steal) < 8)
    return;
  if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET((size_t)cpu, mine)) return;
  double tick = 1 / (double)sysconf(_SC_CLK_TCK);
  sum->busy += tick * (user + nice + system + steal);
  sum->all += tick * (user + nice + system + steal + idle + iowait + irq + softirq);
}

static double own_seconds(void)
{
  struct rusage used;
  if (getrusage(RUSAGE_SELF, &used)) return 0;
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Where there is no such file, or nobody can tell which processors are this rank's, all is 0. */
static grove_usage read_usage(void)
{
  grove_usage sum = {0};
  cpu_set_t mine;
  char line[512];
  if (sched_getaffinity(0, sizeof mine, &mine)) return sum;
  FILE *file = fopen("/proc/stat", "r");
  if (!file) return sum;
  while (fgets(line, sizeof line, file)) add_processor(line, &mine, &sum);
  fclose(file);
  sum.own = own_seconds();
  sum.group = number_of_group(&mine);
  return sum;
}

void grove_others_begin(grove_probe *p)
{
  p->before = read_usage();
}

/* The seconds that the ranks of each group used. */
static grove_status add_groups(grove_probe *p, const grove_usage *now, double *used)
{
  double mine[GROUPS] = {0};
  MPI_Request request;
  mine[now->group] = now->own - p->before.own;
  GROVE_PASS_MPI(MPI_Iallreduce(mine, used, GROUPS, MPI_DOUBLE, MPI_SUM, p->ctx->comm, &request));
  return grove_probe_doze(p, 1, &request);
}

grove_status grove_measure_others(grove_probe *p)
{
  double used[GROUPS], most = 0; /* the part of all that others used */
  grove_usage now = read_usage();
  GROVE_PASS(add_groups(p, &now, used));
  double all = now.all - p->before.all;
  if (all > 0 && now.group == p->before.group)
    most = fmax((now.busy - p->before.busy - used[now.group]) / all, 0);
  GROVE_PASS(grove_probe_meet(p, &most, 1));
  if (most > MOST_OF_OTHERS)
    grove_probe_doubt(p, "other programs used %.0f %% of the processors meanwhile", 100 * most);
  return GROVE_OK;
}
