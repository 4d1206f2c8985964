#ifndef FOREBAY_SERVER_DAEMON_ORIGIN_OF_H_
#define FOREBAY_SERVER_DAEMON_ORIGIN_OF_H_

#include <string>

#include "server/storage/byte_source.h"

namespace forebay::daemon {

// Returns the origin of the server that a read below a root of this kind asks,
// or "" for a root of another kind. Hosts fail by themselves, so that each
// origin is a failure domain.
template <typename Kind>
std::string OriginOf(const storage::ReadRequest& request) {
  const auto* const root = dynamic_cast<const Kind*>(request.root.get());
  return root == nullptr ? "" : root->origin();
}

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_ORIGIN_OF_H_
