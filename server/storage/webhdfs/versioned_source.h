#ifndef FOREBAY_SERVER_STORAGE_WEBHDFS_VERSIONED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_WEBHDFS_VERSIONED_SOURCE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/client.h"
#include "server/storage/http/hedge_policy.h"
#include "server/storage/http/hedged_client.h"
#include "server/storage/http/message.h"
#include "server/storage/webhdfs/file_status.h"

namespace forebay::storage::webhdfs {

// Reads files of HdfsRoots through a source that cannot tell their versions.
// After each read, asks for the file's version, and once more if the answer is
// late.
//
// A file that still has the requested version afterwards had it during the
// read: the number and the time of modification never return to earlier values.
// If the server tells no number, the checksum is a part of the version
// (HdfsLister).
//
// Thread-safe; calls each `done` on the thread of the client's engine. `client`
// outlives it. `below` uses the same client. The owner destroys `below` first,
// which ends its reads. Destruction, on another thread than the engine's, fails
// the remaining reads with CANCELLED. Read does not block. Errors are as
// ByteSource says.
class VersionedSource final : public ByteSource {
 public:
  VersionedSource(http::Client* client, ByteSource* below,
                  const http::HedgeOptions& hedge = {})
      : client_(client),
        below_(below),
        calls_(std::make_unique<http::HedgedClient>(client, hedge)) {}
  ~VersionedSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Returns the number of reads whose bytes have come and whose version is
  // being asked for.
  std::size_t checking() const { return checking_; }

 private:
  // A read whose bytes have come.
  struct Checked {
    ReadRequest request;
    ReadResult result;
    // The error of the read, if it has no result.
    absl::Status error;
    // The file's status, once the server has told it.
    FileStatus status;
    http::HedgedClient::Id call = 0;
  };

  // Asks for the version of a file that was read.
  void Check(ReadRequest request, absl::StatusOr<ReadResult> result);
  // Sends a call for the check of read `number`, and passes the answer to
  // `then`. If the call fails, finishes the read with its error.
  void Ask(std::uint64_t number, http::Call call,
           void (VersionedSource::*then)(std::uint64_t,
                                         const http::HttpResponse&));
  // OnStatus, OnChecksum, Decide: the steps from the status to the verdict.
  void OnStatus(std::uint64_t number, const http::HttpResponse& answer);
  void OnChecksum(std::uint64_t number, const http::HttpResponse& answer);
  void Decide(std::uint64_t number, const ObjectVersion& version);
  // Gives the reader the bytes, or the error `verdict`.
  void Finish(std::uint64_t number, absl::Status verdict);

  http::Client* const client_;
  ByteSource* const below_;
  // Only the engine's thread uses the members from here to `last_number_`.
  std::unique_ptr<http::HedgedClient> calls_;
  std::unordered_map<std::uint64_t, Checked> checked_;
  std::uint64_t last_number_ = 0;
  // The size of checked_, for other threads.
  std::atomic<std::size_t> checking_ = 0;
};

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_SERVER_STORAGE_WEBHDFS_VERSIONED_SOURCE_H_
