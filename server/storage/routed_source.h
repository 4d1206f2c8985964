#ifndef FOREBAY_SERVER_STORAGE_ROUTED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_ROUTED_SOURCE_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "server/base/mutex.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// Sends each read to the source for roots of its kind.
//
// Thread-safe. Owns nothing: a source may go once it gets no more reads; its
// reads in flight end as it says. Does not block. Errors: those of the sources;
// INVALID_ARGUMENT (no route leads to the root).
class RoutedSource final : public ByteSource {
 public:
  // Whether a route leads to a root.
  using Leads = bool (*)(const Root&);

  // Makes `source` read below the roots for which `leads` is true, instead of
  // any source that did before.
  void Add(Leads leads, ByteSource* source);

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

 private:
  struct Route {
    Leads leads = nullptr;
    ByteSource* source = nullptr;
  };

  std::vector<Route> Routes() const;

  mutable base::Mutex mutex_;
  std::vector<Route> routes_ ABSL_GUARDED_BY(mutex_);  // the newest first
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_ROUTED_SOURCE_H_
