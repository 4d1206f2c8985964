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

// Returns an ETag as versions are made of it: without its quotes. Returns "" if
// none can be of that form.
std::string_view PlainTag(std::string_view tag);

// The protocol of S3: GETs below S3Roots. A version's stamp is made from the
// object's ETag. An answer with another is an error. Where `tags`, which must
// outlive it, knows the ETag, requests name it, so that the server refuses
// another (412).
class S3Protocol final : public http::Protocol {
 public:
  explicit S3Protocol(http::EntityTags* tags) : tags_(tags) {}

  absl::StatusOr<http::Request> Ask(
      const ReadRequest& read, const http::ByteRange& range) const override;
  absl::Status Judge(const ReadRequest& read, const http::ByteRange& range,
                     const http::Answer& answer) const override;
  absl::Status Fault(const http::Answer& answer) const override;
  absl::Status Explain(const absl::Status& error) const override;
  // Of an object that was written with that checksum, where all of it came.
  std::optional<std::uint32_t> Crc32cOf(
      const http::Answer& answer) const override;

 private:
  http::EntityTags* const tags_;
};

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_S3_PROTOCOL_H_
