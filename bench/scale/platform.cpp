/* The hosts of a simulated machine (costs.hpp), which are sockets, for SMPI: a plug-in for smpirun.
 * SMPI's own messages, in its collective calls, cost the same as others here. */
#include "costs.hpp"

#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <smpi/smpi.h>

#include <cstdlib>
#include <string>

namespace sg4 = simgrid::s4u;

namespace {

constexpr double UNIT_SECONDS = 1e-6; /* latency of every path, before it is scaled */
constexpr double NO_LIMIT = 1e15;     /* bytes per second */

int socket_of(const sg4::Host *host)
{
  return std::atoi(host->get_cname());
}

/* All paths are alike and unlimited: network_seconds gives the time of a message. */
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
  sg4::NetZone *network = sg4::create_star_zone("network");
  for (int i = 0; i < scale::count_sockets(); i++) add_socket(network, i);
  network->seal();
  auto latency = [](double bytes, const sg4::Host *from, const sg4::Host *to, const auto &,
                    const auto &) {
    auto size = static_cast<size_t>(bytes);
    return scale::network_seconds(size, socket_of(from), socket_of(to)) / UNIT_SECONDS;
  };
  auto rate = [](double, const sg4::Host *, const sg4::Host *, const auto &, const auto &) {
    return 1.0;
  };
  network->get_network_model()->set_lat_factor_cb(latency);
  network->get_network_model()->set_bw_factor_cb(rate);
  auto sender = [](size_t bytes, const sg4::Host *from, const sg4::Host *to) {
    return scale::sender_seconds(bytes, socket_of(from), socket_of(to));
  };
  auto no_time = [](size_t, sg4::Host *, sg4::Host *) { return 0.0; };
  smpi_register_op_cost_callback(SmpiOperation::ISEND, sender);
  smpi_register_op_cost_callback(SmpiOperation::SEND, sender);
  smpi_register_op_cost_callback(SmpiOperation::RECV, no_time);
}
