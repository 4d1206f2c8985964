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

bool IsLinkLocal4(const std::uint8_t* bytes) {
  return bytes[0] == 169 && bytes[1] == 254;
}

bool IsLinkLocal6(const in6_addr& address) {
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return true;
  // Mapped, compatible, and as NAT64 translates them (RFC 6052).
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
  // Checks all forms that resolvers take: a proxy looks the name up itself.
  in_addr four;
  if (inet_aton(name.c_str(), &four) == 1)
    return IsLinkLocal4(reinterpret_cast<const std::uint8_t*>(&four));
  in6_addr six;
  if (inet_pton(AF_INET6, name.c_str(), &six) == 1) return IsLinkLocal6(six);
  return name == "metadata" || name == "metadata.google.internal";
}

}  // namespace forebay::storage::http
