#ifndef FOREBAY_SERVER_STORAGE_S3_S3_PROTOCOL_H_
#define FOREBAY_SERVER_STORAGE_S3_S3_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/entity_tags.h"
#include "server/storage/http/message.h"
#include "server/storage/http/protocol.h"

namespace forebay::storage::s3 {

// Returns the part of an ETag that versions are made of: the tag without its
// quotes. Returns "" if no ETag can have that form.
std::string_view PlainTag(std::string_view tag);

// The protocol of S3: GETs below S3Roots. A version's stamp is made from the
// object's ETag, and an answer with another ETag is an error. If `tags` knows
// the ETag, requests name it, and the server refuses an object with another
// ETag (412).
//
// `tags` outlives it. Threads, ownership, blocking and errors are as Protocol
// says.
class S3Protocol final : public http::Protocol {
 public:
  explicit S3Protocol(http::EntityTags* tags) : tags_(tags) {}

  absl::StatusOr<http::HttpRequest> Ask(
      const ReadRequest& read, const http::HttpRange& range) const override;
  absl::Status Judge(const ReadRequest& read, const http::HttpRange& range,
                     const http::HttpResponse& answer) const override;
  absl::Status Fault(const http::HttpResponse& answer) const override;
  absl::Status Explain(const absl::Status& error) const override;
  // Returns the checksum of an object that was written with one, if the whole
  // object came.
  std::optional<std::uint32_t> Crc32cOf(
      const http::HttpResponse& answer) const override;

 private:
  http::EntityTags* const tags_;
};

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_S3_PROTOCOL_H_
