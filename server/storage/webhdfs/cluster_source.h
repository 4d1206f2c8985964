#ifndef FOREBAY_SERVER_STORAGE_WEBHDFS_CLUSTER_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_WEBHDFS_CLUSTER_SOURCE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/client.h"
#include "server/storage/http/protocol.h"
#include "server/storage/http/ranged_source.h"
#include "server/storage/shared_out_source.h"
#include "server/storage/source_state.h"
#include "server/storage/webhdfs/versioned_source.h"

namespace forebay::storage::webhdfs {

// Reads files of one cluster, and checks their versions: a VersionedSource in
// front of a RangedSource. Threads, ownership, blocking and errors are those of
// these two sources.
class ClusterSource final : public SharedOutSource {
 public:
  ClusterSource(http::Client* client, const http::Protocol* protocol,
                const http::RangedSourceOptions& options = {})
      : versioned_(client, &ranged_),
        ranged_(client, protocol, nullptr, options) {}

  void Read(absl::Span<ReadRequest> requests) override {
    versioned_.Read(requests);
  }
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override {
    versioned_.Share(ticket, purpose);
  }
  void SetWeight(std::uint64_t job, double weight) override {
    ranged_.SetWeight(job, weight);
  }
  void SetCap(std::uint64_t job, double bytes_per_second) override {
    ranged_.SetCap(job, bytes_per_second);
  }
  void Forget(std::uint64_t job) override { ranged_.Forget(job); }
  // Returns the state of the RangedSource. Reads whose versions are asked for
  // count as stalled: they have no place among those in flight.
  SourceState State() const override {
    SourceState state = ranged_.State();
    state.stalled += versioned_.checking();
    return state;
  }

 private:
  // `ranged_` is destroyed first, which ends its reads. `versioned_` still
  // exists to take their results.
  VersionedSource versioned_;
  http::RangedSource ranged_;
};

}  // namespace forebay::storage::webhdfs

#endif  // FOREBAY_SERVER_STORAGE_WEBHDFS_CLUSTER_SOURCE_H_
