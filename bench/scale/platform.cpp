/* A simulated machine, from a profile of Grove (machines/NAME.machine): a plug-in for smpirun.
 *
 * A host of the simulator is a socket; so many of them are a node, with one network interface that
 * works both ways at once, takes one message after the other at the rate R_N of the profile, and
 * has a network behind it that is never full. A message of s bytes takes alpha + beta s from end to
 * end, by locality and protocol:
 *
 *     the sender is busy    o + (beta - 1/R_N) s      off node
 *                           o + beta s                on node, where nothing is shared
 *     the message travels   alpha - o, and s / R_N through both interfaces
 *
 * How much of alpha is the sender's overhead o decides what aggregation gains, and no table tells:
 * SCALE_OVERHEAD is "most" (all but 0.6 us between nodes, all of it inside) or "half".
 *
 *     SCALE_PROFILE   the profile        SCALE_NODES   how many nodes
 */
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <smpi/smpi.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

constexpr double WIRE_SECONDS = 6e-7; /* of alpha, with "most" */
constexpr double UNIT_SECONDS = 1e-6; /* latency of every path, before it is scaled */
constexpr double NO_LIMIT = 1e15;     /* bytes a second */

struct postal {
  double alpha, beta;
};

struct machine {
  int sockets = 1;
  double eager = 0, rend = 0; /* first size of the protocol */
  double interface = NO_LIMIT;
  bool half = false;
  std::map<std::string, std::map<std::string, postal>> messages; /* locality, protocol */
};

machine the_machine;

[[noreturn]] void give_up(const std::string &why)
{
  std::cerr << "platform: " << why << std::endl;
  std::exit(2);
}

std::string setting(const char *name)
{
  const char *value = std::getenv(name);
  if (!value) give_up(std::string(name) + " is not set");
  return value;
}

/* A duration a byte may be written as a rate. */
double per_byte(double value, const std::string &unit)
{
  return unit == "B/s" ? 1 / value : value;
}

void read_row(const std::string &line, machine &m)
{
  std::istringstream row(line);
  std::string term, memory, locality, range, text, unit;
  row >> term >> memory >> locality >> range >> text >> unit;
  double value = std::strtod(text.c_str(), nullptr);
  if (term == "sockets") m.sockets = static_cast<int>(value);
  if (memory != "cpu") return;
  if (term == "from" && range == "eager") m.eager = value;
  if (term == "from" && range == "rend") m.rend = value;
  if (term == "alpha") m.messages[locality][range].alpha = value;
  if (term == "beta") m.messages[locality][range].beta = per_byte(value, unit);
  /* Where short messages have no limit, it is that of the others. */
  if (term == "injection" && text != "inf") m.interface = 1 / per_byte(value, unit);
}

machine read_machine(const std::string &path)
{
  machine m;
  std::ifstream file(path);
  if (!file) give_up("cannot read " + path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') read_row(line, m);
  std::string overhead = setting("SCALE_OVERHEAD");
  if (overhead != "most" && overhead != "half") give_up("SCALE_OVERHEAD is neither most nor half");
  m.half = overhead == "half";
  if (m.messages["off-node"].size() != 3) give_up(path + " has no table of messages");
  return m;
}

/* ---- costs ---- */

int node_of(const sg4::Host *host)
{
  return std::atoi(host->get_cname()) / the_machine.sockets;
}

std::string locality(const sg4::Host *from, const sg4::Host *to)
{
  if (from == to) return "on-socket";
  return node_of(from) == node_of(to) ? "on-node" : "off-node";
}

postal postal_of(double bytes, const std::string &where)
{
  const machine &m = the_machine;
  const char *protocol = bytes < m.eager ? "short" : bytes < m.rend ? "eager" : "rend";
  return m.messages.at(where).at(protocol);
}

/* The part of alpha that is not the sender's. */
double travel_seconds(double alpha, const std::string &where)
{
  if (the_machine.half) return alpha / 2;
  return where == "off-node" ? WIRE_SECONDS : 0;
}

double sender_seconds(size_t size, const sg4::Host *from, const sg4::Host *to)
{
  double bytes = static_cast<double>(size);
  std::string where = locality(from, to);
  postal p = postal_of(bytes, where);
  double wire = where == "off-node" ? 1 / the_machine.interface : 0;
  return p.alpha - travel_seconds(p.alpha, where) + (p.beta - wire) * bytes;
}

/* ---- the network ---- */

/* When the interfaces of the nodes will be free again, to send and to receive. */
std::vector<double> out_free, in_free;

/* A message that starts now waits for those that the interfaces at both ends have still to do. */
double network_seconds(double bytes, const sg4::Host *from, const sg4::Host *to)
{
  std::string where = locality(from, to);
  double travel = travel_seconds(postal_of(bytes, where).alpha, where);
  if (where != "off-node") return travel;
  double now = sg4::Engine::get_clock(), wire = bytes / the_machine.interface;
  double &out = out_free[node_of(from)], &in = in_free[node_of(to)];
  out = std::max(now, out) + wire;
  in = std::max(now, in) + wire;
  return std::max(out, in) - now + travel;
}

/* Paths are all alike, and without a limit: what a message takes is said by network_seconds. */
void add_socket(sg4::NetZone *network, int socket)
{
  std::string name = std::to_string(socket);
  auto *here = network->create_host(name, 1e9)->seal()->get_netpoint();
  auto make = [&](const std::string &link, double seconds) {
    return network->create_link(link, NO_LIMIT)
      ->set_latency(seconds)
      ->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE)
      ->seal();
  };
  const sg4::LinkInRoute half(make(name + "-half", UNIT_SECONDS / 2));
  const sg4::LinkInRoute whole(make(name + "-whole", UNIT_SECONDS));
  network->add_route(here, nullptr, nullptr, nullptr, {half}, true);
  network->add_route(here, here, nullptr, nullptr, {whole}, false);
}

} // namespace

extern "C" void load_platform(const sg4::Engine &engine);

void load_platform(const sg4::Engine &)
{
  the_machine = read_machine(setting("SCALE_PROFILE"));
  sg4::NetZone *network = sg4::create_star_zone("network");
  int nodes = std::atoi(setting("SCALE_NODES").c_str());
  out_free.resize(nodes);
  in_free.resize(nodes);
  for (int i = 0; i < nodes * the_machine.sockets; i++) add_socket(network, i);
  network->seal();
  auto latency = [](double bytes, const sg4::Host *from, const sg4::Host *to, const auto &,
                    const auto &) { return network_seconds(bytes, from, to) / UNIT_SECONDS; };
  auto rate = [](double, const sg4::Host *, const sg4::Host *, const auto &, const auto &) {
    return 1.0;
  };
  network->get_network_model()->set_lat_factor_cb(latency);
  network->get_network_model()->set_bw_factor_cb(rate);
  auto no_time = [](size_t, sg4::Host *, sg4::Host *) { return 0.0; };
  smpi_register_op_cost_callback(SmpiOperation::ISEND, sender_seconds);
  smpi_register_op_cost_callback(SmpiOperation::SEND, sender_seconds);
  smpi_register_op_cost_callback(SmpiOperation::RECV, no_time);
}
