#include "server/storage/http/link_local.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/strings/ascii.h"

namespace forebay::storage::http {
namespace {

// Whether the address lies in 169.254.0.0/16 (RFC 3927), where the metadata
// servers of clouds are, too.
bool IsLinkLocal4(const std::uint8_t* bytes) {
  return bytes[0] == 169 && bytes[1] == 254;
}

// Whether the address is link-local (RFC 4291, 2.5.6), embeds a link-local IPv4
// address, or belongs to a metadata server.
bool IsLinkLocal6(const in6_addr& address) {
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return true;
  // IPv4 addresses are embedded as mapped, as compatible (RFC 4291, 2.5.5), or
  // after the well-known prefix of NAT64 (RFC 6052, 2.1).
  static constexpr std::uint8_t kNat64[12] = {0, 0x64, 0xff, 0x9b};
  if (IN6_IS_ADDR_V4MAPPED(&address) || IN6_IS_ADDR_V4COMPAT(&address) ||
      std::memcmp(kNat64, &address, sizeof(kNat64)) == 0)
    return IsLinkLocal4(&address.s6_addr[12]);
  // The metadata servers of Google and Amazon.
  for (const char* const text : {"fd20:ce::254", "fd00:ec2::254"}) {
    in6_addr server;
    if (inet_pton(AF_INET6, text, &server) == 1 &&
        std::memcmp(&server, &address, sizeof(server)) == 0)
      return true;
  }
  return false;
}

}  // namespace

bool IsLinkLocal(const std::string& host) {
  std::string name = absl::AsciiStrToLower(host);
  if (name.starts_with('[') && name.ends_with(']'))
    name = name.substr(1, name.size() - 2);
  name.erase(std::find(name.begin(), name.end(), '%'), name.end());  // zone
  if (name.ends_with('.')) name.pop_back();
  // inet_aton takes all forms of IPv4 addresses that resolvers take, such as
  // 0xa9fe0101. A proxy would look such a name up itself.
  in_addr four;
  if (inet_aton(name.c_str(), &four) == 1)
    return IsLinkLocal4(reinterpret_cast<const std::uint8_t*>(&four));
  in6_addr six;
  if (inet_pton(AF_INET6, name.c_str(), &six) == 1) return IsLinkLocal6(six);
  return name == "metadata" || name == "metadata.google.internal";
}

}  // namespace forebay::storage::http
