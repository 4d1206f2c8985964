#ifndef FOREBAY_SERVER_STORAGE_INFLATED_INFLATED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_INFLATED_INFLATED_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "server/base/mutex.h"
#include "server/storage/buffer_pool.h"
#include "server/storage/byte_source.h"
#include "server/storage/inflated/access_point.h"
#include "server/storage/inflated/inflate_reader.h"
#include "server/storage/inflated/scratch_pool.h"
#include "server/storage/inflated/zstd_reader.h"
#include "server/storage/stoppable_source.h"

namespace forebay::storage::inflated {

// Reads compressed files as if they were not, below InflatedRoots: reads what
// lies between the last access point before a range and its end, a megabyte at
// a time, and inflates that. What lies before the range is thrown away at once.
// If a piece of the range is kept, it reads that instead, once the source below
// has said that the file is the same. Files that are not compressed pass as
// they are.
//
// Besides the bytes that it gives, a read takes kBytesOfRead, whatever its
// length, or kBytesOfZstdRead. The caller sees to it that no more are in flight
// than there is memory for.
//
// Thread-safe. The caller owns it; destruction waits for the reads in flight.
// The source below and what runs tasks outlive it, except as Stop says. Read
// does not block. Tasks inflate at most PackedReader::kMostAtOnce bytes, and
// may block for a window or a piece that lies on the disk. Errors as ByteSource
// says, and those of the source below; DATA_LOSS: the file is damaged, or its
// access points are; CANCELLED: stopped; INVALID_ARGUMENT: another kind of
// root.
class InflatedSource final : public ByteSource {
 public:
  // Bytes that are read at once, at most.
  static constexpr std::uint64_t kMostRead = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kBytesOfRead =
      HeldBytes(kMostRead) + InflateReader::kBytes + 2 * kWindowBytes;
  // A piece takes no more than a reader does, which is gone then.
  static constexpr std::uint64_t kBytesOfZstdRead =
      HeldBytes(kMostRead) + ZstdReader::kBytes;
  static_assert(ZstdReader::kBytes > 3 * kMostApart);

  // Runs a task that takes about that CPU time, for the jobs that pay for it.
  // Never blocks. May drop the task.
  using RunTask =
      std::function<void(const ReadPurpose& purpose, std::int64_t cpu_nanos,
                         std::function<void()> task)>;

  // Whether it reads below `root`.
  static bool Leads(const Root& root);
  // Whether it is a read of a file that is compressed by zstd.
  static bool IsOfZstd(const ReadRequest& request);

  // Keeps at most `spare_bytes` of buffers for later reads.
  InflatedSource(ByteSource* below, RunTask run, std::size_t spare_bytes);
  ~InflatedSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Cancels all later reads; the source below is not called again.
  void Stop() { below_.Stop(); }

 private:
  class Inflation;

  void Forget(std::uint64_t ticket);

  StoppableSource below_;
  const RunTask run_;
  const std::shared_ptr<BufferPool> buffers_;
  const std::shared_ptr<ZstdDecoders> decoders_ =
      std::make_shared<ZstdDecoders>();
  const std::shared_ptr<ScratchPool> scratches_ =
      std::make_shared<ScratchPool>();

  base::Mutex mutex_;
  base::CondVar quiet_;
  std::size_t inflations_ ABSL_GUARDED_BY(mutex_) = 0;
  // By ticket.
  std::unordered_map<std::uint64_t, std::weak_ptr<Inflation>> by_ticket_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::inflated

#endif  // FOREBAY_SERVER_STORAGE_INFLATED_INFLATED_SOURCE_H_
