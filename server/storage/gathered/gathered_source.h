#ifndef FOREBAY_SERVER_STORAGE_GATHERED_GATHERED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_GATHERED_GATHERED_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "server/base/mutex.h"
#include "server/storage/buffer_pool.h"
#include "server/storage/byte_source.h"
#include "server/storage/gathered/pieces.h"
#include "server/storage/stoppable_source.h"

namespace forebay::storage::gathered {

// Reads below GatheredRoots: what lies behind a file's own bytes, by reads of
// the pieces that it is made of, many at a time. All pieces of a read are of
// one revision of the file. Ranges of own bytes pass as they are.
//
// Besides the bytes that it gives, a read takes kBytesOfRead, whatever its
// length. The caller sees to it that no more are in flight than there is memory
// for.
//
// Thread-safe. The caller owns it; destruction waits for the reads in flight.
// The source below outlives it, except as Stop says. Read does not block;
// `done` of the reads below copies up to kMostAtOnce bytes. Errors as
// ByteSource says, and those of the source below and of Pieces; CANCELLED:
// stopped; RESOURCE_EXHAUSTED: there is no memory; UNAVAILABLE: the file's
// revision changes again and again.
class GatheredSource final : public ByteSource {
 public:
  // Bytes, and pieces, that are read at once for one read, at most.
  static constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 20;
  static constexpr std::size_t kMostPieces = 32;
  static constexpr std::uint64_t kBytesOfRead =
      HeldBytes(kMostAtOnce) + kMostPieces * HeldBytes(0);

  // Whether it reads below `root`.
  static bool Leads(const Root& root);

  // Keeps at most `spare_bytes` of buffers for later reads.
  GatheredSource(ByteSource* below, std::size_t spare_bytes)
      : below_(below), buffers_(std::make_shared<BufferPool>(spare_bytes)) {}
  ~GatheredSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Cancels all later reads; the source below is not called again.
  void Stop() { below_.Stop(); }

 private:
  class Gathering;

  // Makes a read of own bytes one of the root below, or a gathering of it.
  // Completes it if there is no such range.
  void Sort(ReadRequest request, std::vector<ReadRequest>* below,
            std::vector<std::shared_ptr<Gathering>>* gatherings);
  void Forget(std::uint64_t ticket);

  StoppableSource below_;
  const std::shared_ptr<BufferPool> buffers_;

  base::Mutex mutex_;
  base::CondVar quiet_;
  std::size_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;  // gatherings
  // By ticket.
  std::unordered_map<std::uint64_t, std::weak_ptr<Gathering>> by_ticket_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::gathered

#endif  // FOREBAY_SERVER_STORAGE_GATHERED_GATHERED_SOURCE_H_
