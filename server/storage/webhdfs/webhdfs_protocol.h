#ifndef FOREBAY_SERVER_STORAGE_WEBHDFS_WEBHDFS_PROTOCOL_H_
#define FOREBAY_SERVER_STORAGE_WEBHDFS_WEBHDFS_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/message.h"
#include "server/storage/http/protocol.h"

namespace forebay::storage::webhdfs {

// The protocol of WebHDFS: the operation OPEN below HdfsRoots. A name node
// redirects to the data node that has the bytes. No answer tells the version: a
// VersionedSource asks for that.
//
// Threads, ownership, blocking and errors are as Protocol says.
class WebHdfsProtocol final : public http::Protocol {
 public:
  absl::StatusOr<http::HttpRequest> Ask(
      const ReadRequest& read, const http::HttpRange& range) const override;
  absl::Status Judge(const ReadRequest& read, const http::HttpRange& range,
                     const http::HttpResponse& answer) const override;
  absl::StatusOr<std::string> Follow(
      const http::HttpResponse& answer) const override;
  absl::Status Fault(const http::HttpResponse& answer) const override;
  absl::Status Explain(const absl::Status& error) const override;
  std::optional<std::uint32_t> Crc32cOf(
      const http::HttpResponse&) const override {
    return std::nullopt;
  }
};

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_SERVER_STORAGE_WEBHDFS_WEBHDFS_PROTOCOL_H_
