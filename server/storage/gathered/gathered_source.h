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

// Serves ranges that lie past a file's own bytes, below GatheredRoots, by
// reading the pieces that they are made of. Reads of a file's own bytes are
// forwarded. All pieces of a read come from one revision of the file.
//
// Besides the bytes that it gives, a read takes kBytesOfRead of memory,
// whatever its length. The caller limits the reads in flight to the memory that
// there is.
//
// Thread-safe. The caller owns it, and destruction waits for the reads in
// flight. The source below outlives it, except as Stop says. Read does not
// block; `done` of the reads below copies up to kMostAtOnce bytes.
//
// Errors are those of ByteSource, of the source below and of Pieces, and:
// - CANCELLED: Stop was called.
// - RESOURCE_EXHAUSTED: there is no memory.
// - UNAVAILABLE: the file's revision changes again and again.
class GatheredSource final : public ByteSource {
 public:
  // The most bytes, and the most pieces, that are read at once for one read.
  static constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 20;
  static constexpr std::size_t kMostPieces = 32;
  // The bytes of memory that a read takes besides its result: the pieces take
  // this memory until they are copied.
  static constexpr std::uint64_t kBytesOfRead =
      HeldBytes(kMostAtOnce) + kMostPieces * HeldBytes(0);

  // Whether this source reads below `root`.
  static bool Leads(const Root& root);

  // Makes a source that keeps at most `spare_bytes` bytes of buffers for later
  // reads.
  GatheredSource(ByteSource* below, std::size_t spare_bytes)
      : below_(below), buffers_(std::make_shared<BufferPool>(spare_bytes)) {}
  ~GatheredSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Cancels all later reads; the source below is not called again.
  void Stop() { below_.Stop(); }

 private:
  class Gathering;

  // Adds a request for a file's own bytes to `below`. Turns a request for
  // further bytes into a gathering of their pieces, which it adds to
  // `gatherings`. Completes the request with an error if there is no such
  // range.
  void Sort(ReadRequest request, std::vector<ReadRequest>* below,
            std::vector<std::shared_ptr<Gathering>>* gatherings);
  // Forgets the ticket of a gathering that has ended.
  void Forget(std::uint64_t ticket);

  StoppableSource below_;
  const std::shared_ptr<BufferPool> buffers_;

  base::Mutex mutex_;
  base::CondVar quiet_;
  // The gatherings that have not ended.
  std::size_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  // The gatherings that may be shared, by ticket.
  std::unordered_map<std::uint64_t, std::weak_ptr<Gathering>> by_ticket_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::gathered

#endif  // FOREBAY_SERVER_STORAGE_GATHERED_GATHERED_SOURCE_H_
