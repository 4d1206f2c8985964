#ifndef FOREBAY_SERVER_STORAGE_ROUTED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_ROUTED_SOURCE_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "server/base/mutex.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// Sends each read to the source that serves the kind of its root.
//
// Thread-safe. The caller owns the sources, and may destroy a source once that
// source gets no more reads. Calls do not block. Errors are those of the
// sources, and INVALID_ARGUMENT if no route leads to the root.
class RoutedSource final : public ByteSource {
 public:
  // Returns whether a route leads to a root.
  using Leads = bool (*)(const Root&);

  // Makes `source` read below the roots for which `leads` is true, in place of
  // any source that was added earlier for them.
  void Add(Leads leads, ByteSource* source);

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

 private:
  // A source, and the function that tells below which roots it reads.
  struct Route {
    Leads leads = nullptr;
    ByteSource* source = nullptr;
  };

  // Returns a copy of the routes, so that no source is called under the mutex.
  std::vector<Route> Routes() const;

  mutable base::Mutex mutex_;
  // The newest route comes first.
  std::vector<Route> routes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_ROUTED_SOURCE_H_
