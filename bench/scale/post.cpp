#include "post.h"

#include "costs.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <vector>

/* All ranks are one thread, so nothing here needs a lock. */

struct post_request {
  int rank; /* owner */
  int from = 0, tag = 0;
  void *data = nullptr;
  bool done = false, watched = false, forgotten = false;
  int bytes = 0; /* received */
};

namespace {

using simgrid::kernel::timer::Timer;

constexpr double IN_ORDER = 1e-12; /* minimum seconds between two messages of the same ranks */

struct letter {
  int from, to, tag;
  post_request *send;
  std::vector<char> data;
};

struct desk {
  std::deque<letter *> outgoing; /* the first is being sent */
  std::vector<post_request *> receives;
  std::deque<letter *> inbox;
  std::unordered_map<int, double> latest; /* when the last message of a rank arrives */
  int under_way = 0;                      /* sent, but not yet arrived */
  bool asleep = false, wants_mail = false, drains = false;
  simgrid::s4u::SemaphorePtr bell = simgrid::s4u::Semaphore::create(0);
};

std::vector<desk> desks;

double now()
{
  return simgrid::s4u::Engine::get_clock();
}

bool matches(int wanted, int value)
{
  return wanted == POST_ANY || wanted == value;
}

void wake(desk &d)
{
  if (!d.asleep) return;
  d.asleep = false;
  d.bell->release();
}

void finish(post_request *r)
{
  r->done = true;
  if (r->watched) wake(desks[r->rank]);
  if (r->forgotten) delete r;
}

/* ---- a letter's way ---- */

void receive(post_request *r, letter *l)
{
  if (!l->data.empty()) std::memcpy(r->data, l->data.data(), l->data.size());
  r->from = l->from;
  r->bytes = static_cast<int>(l->data.size());
  delete l;
  finish(r);
}

void arrive(letter *l)
{
  desk &sender = desks[l->from], &d = desks[l->to];
  if (--sender.under_way == 0 && sender.drains) wake(sender);
  auto is_wanted = [&](post_request *r) { return matches(r->from, l->from) && r->tag == l->tag; };
  auto r = std::find_if(d.receives.begin(), d.receives.end(), is_wanted);
  if (r == d.receives.end()) {
    d.inbox.push_back(l);
    if (d.wants_mail) wake(d);
    return;
  }
  post_request *request = *r;
  d.receives.erase(r);
  receive(request, l);
}

void begin_sending(int rank);

void depart(int rank)
{
  desk &d = desks[rank];
  letter *l = d.outgoing.front();
  d.outgoing.pop_front();
  double travel =
    scale::network_seconds(l->data.size(), scale::socket_of(l->from), scale::socket_of(l->to));
  double &latest = desks[l->to].latest[l->from];
  latest = std::max(now() + travel, latest + IN_ORDER);
  Timer::set(latest, [l] { arrive(l); });
  finish(l->send);
  if (!d.outgoing.empty()) begin_sending(rank);
}

void begin_sending(int rank)
{
  const letter *l = desks[rank].outgoing.front();
  double busy =
    scale::sender_seconds(l->data.size(), scale::socket_of(l->from), scale::socket_of(l->to));
  Timer::set(now() + busy, [rank] { depart(rank); });
}

std::deque<letter *>::iterator find_letter(desk &d, int from, int tag)
{
  return std::find_if(d.inbox.begin(), d.inbox.end(), [&](const letter *l) {
    return matches(from, l->from) && matches(tag, l->tag);
  });
}

} // namespace

/* ---- requests ---- */

void post_open(int ranks)
{
  desks.resize(ranks);
}

post_request *post_send(int rank, int to, int tag, const void *data, int bytes)
{
  desk &d = desks[rank];
  auto *r = new post_request{rank};
  auto *first = static_cast<const char *>(data);
  auto *l = new letter{rank, to, tag, r, std::vector<char>(first, first + bytes)};
  d.outgoing.push_back(l);
  d.under_way++;
  if (d.outgoing.size() == 1) begin_sending(rank);
  return r;
}

post_request *post_receive(int rank, int from, int tag, void *data)
{
  desk &d = desks[rank];
  auto *r = new post_request{rank, from, tag, data};
  auto found = find_letter(d, from, tag);
  if (found == d.inbox.end()) {
    d.receives.push_back(r);
    return r;
  }
  letter *l = *found;
  d.inbox.erase(found);
  receive(r, l);
  return r;
}

int post_done(post_request *request, int *source, int *bytes)
{
  if (!request->done) return 0;
  *source = request->from;
  *bytes = request->bytes;
  delete request;
  return 1;
}

void post_forget(post_request *send)
{
  int source = 0, bytes = 0;
  if (!post_done(send, &source, &bytes)) send->forgotten = true;
}

/* ---- unexpected messages ---- */

int post_look(int rank, int from, int tag, int *source, int *bytes)
{
  desk &d = desks[rank];
  auto found = find_letter(d, from, tag);
  if (found == d.inbox.end()) return 0;
  *source = (*found)->from;
  *bytes = static_cast<int>((*found)->data.size());
  return 1;
}

int post_take(int rank, int from, int tag, void *data)
{
  desk &d = desks[rank];
  auto found = find_letter(d, from, tag);
  if (found == d.inbox.end()) return 0;
  letter *l = *found;
  d.inbox.erase(found);
  if (!l->data.empty()) std::memcpy(data, l->data.data(), l->data.size());
  delete l;
  return 1;
}

/* ---- sleep ---- */

void post_sleep(int rank, post_request **requests, int n, int wants_mail)
{
  desk &d = desks[rank];
  for (int i = 0; i < n; i++) requests[i]->watched = true;
  d.asleep = true;
  d.wants_mail = wants_mail != 0;
  d.bell->acquire();
  d.wants_mail = false;
  for (int i = 0; i < n; i++) requests[i]->watched = false;
}

void post_drain(int rank)
{
  desk &d = desks[rank];
  if (d.under_way == 0) return;
  d.asleep = d.drains = true;
  d.bell->acquire();
  d.drains = false;
}
