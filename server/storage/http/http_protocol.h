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
// stamp is made from the entity tag, else from the date of the last change. It
// is 0 if a server gives neither; then the size alone shows a change.
class HttpProtocol final : public Protocol {
 public:
  absl::StatusOr<Request> Ask(const ReadRequest& read,
                              const ByteRange& range) const override;
  absl::Status Judge(const ReadRequest& read, const ByteRange& range,
                     const Answer& answer) const override;
  std::optional<std::uint32_t> Crc32cOf(const Answer& answer) const override;
};

// Returns the current version of an object. Blocks, but not for long once
// `stop` is requested; not to be called on the engine's thread. Errors as
// ByteSource says; INVALID_ARGUMENT also if the server does not tell the size;
// CANCELLED.
absl::StatusOr<ObjectVersion> StatObject(Client* client, const HttpRoot& root,
                                         std::string_view object,
                                         const std::stop_token& stop = {});

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_HTTP_PROTOCOL_H_
