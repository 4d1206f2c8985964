#ifndef FOREBAY_SERVER_STORAGE_GCS_GCS_PROTOCOL_H_
#define FOREBAY_SERVER_STORAGE_GCS_GCS_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/message.h"
#include "server/storage/http/protocol.h"

namespace forebay::storage::gcs {

// The protocol of Google Cloud Storage's JSON API: media reads below GcsRoots.
// A version's stamp is the object's generation. Every request names the
// generation, so that the server refuses any other generation (412). An answer
// with another generation is an error, too.
//
// Threads, ownership, blocking and errors are as Protocol says.
class GcsProtocol final : public http::Protocol {
 public:
  absl::StatusOr<http::HttpRequest> Ask(
      const ReadRequest& read, const http::HttpRange& range) const override;
  absl::Status Judge(const ReadRequest& read, const http::HttpRange& range,
                     const http::HttpResponse& answer) const override;
  absl::Status Explain(const absl::Status& error) const override;
  std::optional<std::uint32_t> Crc32cOf(
      const http::HttpResponse& answer) const override;
};

// Returns the CRC-32C in a header "x-goog-hash: crc32c=AAAAAA==,md5=...", or
// nullopt if there is none or it is malformed. Thread-safe; never blocks.
std::optional<std::uint32_t> ParseHashHeader(std::string_view value);

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_SERVER_STORAGE_GCS_GCS_PROTOCOL_H_
