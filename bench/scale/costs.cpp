#include "costs.hpp"

#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr double WIRE_SECONDS = 6e-7; /* of alpha, with "most" */
constexpr double NO_LIMIT = 1e15;     /* bytes per second */

enum locality { ON_SOCKET, ON_NODE, OFF_NODE, LOCALITIES };
enum protocol { SHORT, EAGER, REND, PROTOCOLS };

const std::map<std::string, locality> localities = {
  {"on-socket", ON_SOCKET}, {"on-node", ON_NODE}, {"off-node", OFF_NODE}};
const std::map<std::string, protocol> protocols = {
  {"short", SHORT}, {"eager", EAGER}, {"rend", REND}};

struct postal {
  double alpha = -1, beta = -1;
};

struct machine {
  int sockets = 1, ranks = 1;          /* of a node */
  double first[PROTOCOLS] = {0, 0, 0}; /* size of the protocol */
  double interface = NO_LIMIT;
  bool half = false;
  postal messages[LOCALITIES][PROTOCOLS];
  /* When the nodes' interfaces will be free again, to send and to receive. */
  std::vector<double> out_free, in_free;
};

[[noreturn]] void give_up(const std::string &why)
{
  std::cerr << "scale: " << why << std::endl;
  std::exit(2);
}

std::string setting(const char *name)
{
  const char *value = std::getenv(name);
  if (!value) give_up(std::string(name) + " is not set");
  return value;
}

/* A time per byte may be written as a rate. */
double per_byte(double value, const std::string &unit)
{
  return unit == "B/s" ? 1 / value : value;
}

void read_row(const std::string &line, machine &m)
{
  std::istringstream row(line);
  std::string term, memory, where, range, text, unit;
  row >> term >> memory >> where >> range >> text >> unit;
  double value = std::strtod(text.c_str(), nullptr);
  if (term == "sockets") m.sockets = static_cast<int>(value);
  if (term == "ranks") m.ranks = static_cast<int>(value);
  if (memory != "cpu") return;
  /* A limit of `inf`, as for short messages, is ignored: that of the others applies. */
  if (term == "injection" && text != "inf") m.interface = 1 / per_byte(value, unit);
  if (protocols.count(range) == 0) return;
  if (term == "from") m.first[protocols.at(range)] = value;
  if (localities.count(where) == 0) return;
  postal &p = m.messages[localities.at(where)][protocols.at(range)];
  if (term == "alpha") p.alpha = value;
  if (term == "beta") p.beta = per_byte(value, unit);
}

machine read_machine()
{
  machine m;
  std::string path = setting("SCALE_PROFILE"), overhead = setting("SCALE_OVERHEAD");
  std::ifstream file(path);
  if (!file) give_up("cannot read " + path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') read_row(line, m);
  if (overhead != "most" && overhead != "half") give_up("SCALE_OVERHEAD is neither most nor half");
  m.half = overhead == "half";
  for (auto &row : m.messages)
    for (const postal &p : row)
      if (p.alpha < 0 || p.beta < 0) give_up(path + " has no table of messages");
  int nodes = std::atoi(setting("SCALE_NODES").c_str());
  m.out_free.resize(nodes);
  m.in_free.resize(nodes);
  return m;
}

machine &the_machine()
{
  static machine m = read_machine();
  return m;
}

int node_of(int socket)
{
  return socket / the_machine().sockets;
}

locality locality_of(int from, int to)
{
  if (from == to) return ON_SOCKET;
  return node_of(from) == node_of(to) ? ON_NODE : OFF_NODE;
}

const postal &postal_of(double bytes, locality where)
{
  const machine &m = the_machine();
  return m.messages[where][bytes < m.first[EAGER] ? SHORT : bytes < m.first[REND] ? EAGER : REND];
}

/* The part of alpha that is not the sender's. */
double travel_seconds(double alpha, locality where)
{
  if (the_machine().half) return alpha / 2;
  return where == OFF_NODE ? WIRE_SECONDS : 0;
}

} // namespace

int scale::count_sockets()
{
  return static_cast<int>(the_machine().out_free.size()) * the_machine().sockets;
}

int scale::socket_of(int rank)
{
  const machine &m = the_machine();
  return rank / (m.ranks / m.sockets);
}

double scale::sender_seconds(size_t size, int from, int to)
{
  double bytes = static_cast<double>(size);
  locality where = locality_of(from, to);
  const postal &p = postal_of(bytes, where);
  double wire = where == OFF_NODE ? 1 / the_machine().interface : 0;
  return p.alpha - travel_seconds(p.alpha, where) + (p.beta - wire) * bytes;
}

double scale::network_seconds(size_t size, int from, int to)
{
  double bytes = static_cast<double>(size);
  locality where = locality_of(from, to);
  double travel = travel_seconds(postal_of(bytes, where).alpha, where);
  if (where != OFF_NODE) return travel;
  machine &m = the_machine();
  double now = simgrid::s4u::Engine::get_clock(), wire = bytes / m.interface;
  double &out = m.out_free[node_of(from)], &in = m.in_free[node_of(to)];
  out = std::max(now, out) + wire;
  in = std::max(now, in) + wire;
  return std::max(out, in) - now + travel;
}
