#ifndef FOREBAY_SERVER_STORAGE_HTTP_HTTP_PROTOCOL_H_
#define FOREBAY_SERVER_STORAGE_HTTP_HTTP_PROTOCOL_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/client.h"
#include "server/storage/http/http_root.h"
#include "server/storage/http/protocol.h"

namespace forebay::storage::http {

// The protocol of plain web servers: ranged GETs below HttpRoots. A version's
// stamp is made from the entity tag, or from Last-Modified if there is no tag.
// The stamp is 0 if a server gives neither; then only the size shows a change.
//
// Threads, ownership, blocking and errors are as Protocol says.
class HttpProtocol final : public Protocol {
 public:
  absl::StatusOr<HttpRequest> Ask(const ReadRequest& read,
                                  const HttpRange& range) const override;
  absl::Status Judge(const ReadRequest& read, const HttpRange& range,
                     const HttpResponse& answer) const override;
  std::optional<std::uint32_t> Crc32cOf(
      const HttpResponse& answer) const override;
};

// Returns the current version of an object, by a HEAD request. Blocks, but not
// for long once `stop` is requested; must not be called on the engine's thread.
// Errors are those of ByteSource; INVALID_ARGUMENT also if the server does not
// tell the size; CANCELLED if `stop` was requested.
absl::StatusOr<ObjectVersion> StatObject(Client* client, const HttpRoot& root,
                                         std::string_view object,
                                         const std::stop_token& stop = {});

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_HTTP_PROTOCOL_H_
