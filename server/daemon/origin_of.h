#ifndef FOREBAY_SERVER_DAEMON_ORIGIN_OF_H_
#define FOREBAY_SERVER_DAEMON_ORIGIN_OF_H_

#include <string>

#include "server/storage/byte_source.h"

namespace forebay::daemon {

// Returns the origin (scheme, host and port) of the server to which a request
// is sent, if its root is of type `Kind`. Returns "" for a root of another
// type. Hosts fail independently, so each origin is a failure domain.
// Thread-safe; never blocks.
template <typename Kind>
std::string OriginOf(const storage::ReadRequest& request) {
  const auto* const root = dynamic_cast<const Kind*>(request.root.get());
  return root == nullptr ? "" : root->origin();
}

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_ORIGIN_OF_H_
