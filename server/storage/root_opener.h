#ifndef FOREBAY_SERVER_STORAGE_ROOT_OPENER_H_
#define FOREBAY_SERVER_STORAGE_ROOT_OPENER_H_

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// Opens roots by their URIs: places that the daemon can reach itself, and that
// it reads with its own credentials. Local folders are opened in another way: a
// client opens the folder, and sends the descriptor.
//
// Thread-safe. The caller owns the opener, which outlives its calls. Roots may
// outlive the opener. Open may block for some seconds, but not for long once
// its stop is requested.
//
// Errors name the URI or the credentials:
// - INVALID_ARGUMENT: an unknown kind, a malformed URI, or a place that clients
//   may not name.
// - NOT_FOUND, PERMISSION_DENIED: the configured credentials cannot be read.
// - CANCELLED: `stop` was requested.
class RootOpener {
 public:
  virtual ~RootOpener() = default;

  virtual absl::StatusOr<std::shared_ptr<const Root>> Open(
      const std::string& uri, const std::stop_token& stop) = 0;
};

// Whether `uri` names a place beyond this host, such as "gs://bucket".
inline bool IsRemoteUri(std::string_view uri) {
  const std::size_t scheme = uri.find("://");
  return scheme != uri.npos && uri.substr(0, scheme) != "file" &&
         uri.substr(0, scheme).find('/') == uri.npos;
}

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_ROOT_OPENER_H_
