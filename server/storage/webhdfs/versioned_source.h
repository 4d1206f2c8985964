#ifndef FOREBAY_SERVER_STORAGE_WEBHDFS_VERSIONED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_WEBHDFS_VERSIONED_SOURCE_H_

#include <cstdint>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/client.h"
#include "server/storage/http/message.h"

namespace forebay::storage::webhdfs {

// Reads files of HdfsRoots through a source that cannot tell their versions,
// and then asks for these. A file that has the version now had it when it was
// read: its number and time of modification never come back.
//
// Thread-safe; calls each `done` on the engine's thread. `client` must outlive
// it. `below`, which is of the same client, goes first, and so ends its reads.
// Destruction, on another thread than the engine's, fails those that are left
// with CANCELLED. Read does not block. Errors as ByteSource says.
class VersionedSource final : public ByteSource {
 public:
  VersionedSource(http::Client* client, ByteSource* below)
      : client_(client), below_(below) {}
  ~VersionedSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

 private:
  // A read whose bytes are there.
  struct Checked {
    ReadRequest request;
    ReadResult result;
    http::Client::Id call = 0;
  };

  void Check(ReadRequest request, absl::StatusOr<ReadResult> result);
  void Finish(std::uint64_t number, const absl::Status& verdict);

  http::Client* const client_;
  ByteSource* const below_;
  // Only the engine's thread uses these.
  std::unordered_map<std::uint64_t, Checked> checked_;
  std::uint64_t last_number_ = 0;
};

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_SERVER_STORAGE_WEBHDFS_VERSIONED_SOURCE_H_
