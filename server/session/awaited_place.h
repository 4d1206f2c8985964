#ifndef FOREBAY_SERVER_SESSION_AWAITED_PLACE_H_
#define FOREBAY_SERVER_SESSION_AWAITED_PLACE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "server/base/fd.h"

namespace forebay::session {

// A place from which a request reads, and for which it may have to wait. The
// length of each text is bounded, because clients write these texts.
struct AwaitedPlace {
  std::string uri;  // as the client names it
  // The server, such as "http://10.0.0.7:8080"; empty for a mount of this host.
  std::string host;
  // A name that is the same for all requests that wait for one host or one
  // mount.
  std::string group;
};

// All functions are thread-safe and make no call that a file system or a host
// can delay. They have no errors: a malformed URI gives a place for which no
// other request waits.

// Returns the place of `uri`. `directory` is the descriptor that came with the
// URI, or -1.
AwaitedPlace PlaceOf(std::string_view uri, int directory);

// Returns the first place from which a dataset is read. `fds` are the dataset's
// descriptors. Returns nullopt if the dataset is in memory or made by the
// client's processes.
std::optional<AwaitedPlace> PlaceOf(const proto::DatasetSpec& spec,
                                    absl::Span<const base::Fd> fds);

// Returns the scheme, host and port of a URL, in lower case and without user
// information (RFC 3986 3.2.1). For "https://me:pw@Example.org:8443/a?b" that
// is "https://example.org:8443".
std::string HostOf(std::string_view url);

}  // namespace forebay::session

#endif  // FOREBAY_SERVER_SESSION_AWAITED_PLACE_H_
