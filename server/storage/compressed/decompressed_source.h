#ifndef FOREBAY_SERVER_STORAGE_COMPRESSED_DECOMPRESSED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_COMPRESSED_DECOMPRESSED_SOURCE_H_

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
#include "server/storage/compressed/access_point.h"
#include "server/storage/compressed/inflate_reader.h"
#include "server/storage/compressed/scratch_pool.h"
#include "server/storage/compressed/zstd_reader.h"
#include "server/storage/stoppable_source.h"

namespace forebay::storage::compressed {

// Reads compressed files below DecompressedRoots as if they were not
// compressed. Reads of files that are not compressed are forwarded unchanged.
//
// For a range, the source reads the compressed bytes between the last access
// point before the range and the range's end. Each of its reads is a megabyte
// at most. The bytes before the range are decompressed and thrown away. Where a
// piece of the range is kept, the piece is copied after the source below has
// said that the file is the same.
//
// Besides the bytes that it gives, a read takes kBytesOfRead or
// kBytesOfZstdRead of memory, whatever its length. The caller limits the reads
// in flight to the memory that there is.
//
// Thread-safe. The caller owns it, and destruction waits for the reads in
// flight. The source below and the object that runs the tasks outlive it. After
// Stop, the source below may be destroyed first. Read does not block. Tasks
// decompress at most CompressedReader::kMostAtOnce bytes, and may block for a
// window or a piece that lies on the disk.
//
// Errors are those of ByteSource and of the source below, and:
// - DATA_LOSS: the file or its access points are damaged.
// - CANCELLED: Stop was called.
// - INVALID_ARGUMENT: the root is not a DecompressedRoot.
class DecompressedSource final : public ByteSource {
 public:
  // The most compressed bytes that one read of the source below gives.
  static constexpr std::uint64_t kMostRead = std::uint64_t{1} << 20;
  // The bytes of memory of a read: the compressed bytes, zlib's state, and a
  // window in its kept and in its decompressed form.
  static constexpr std::uint64_t kBytesOfRead =
      HeldBytes(kMostRead) + InflateReader::kBytes + 2 * kWindowBytes;
  // The bytes of memory of a read of a zstd file. A piece takes no more than a
  // reader does, and there is no reader while a piece is copied.
  static constexpr std::uint64_t kBytesOfZstdRead =
      HeldBytes(kMostRead) + ZstdReader::kBytes;
  static_assert(ZstdReader::kBytes > 3 * kMostApart);

  // Runs a task that takes about `cpu_nanos` nanoseconds of CPU time, for the
  // jobs that pay for the purpose. Never blocks. May drop the task.
  using RunTask =
      std::function<void(const ReadPurpose& purpose, std::int64_t cpu_nanos,
                         std::function<void()> task)>;

  // Whether this source reads below `root`.
  static bool Leads(const Root& root);
  // Whether the request is for a file that zstd has compressed.
  static bool IsOfZstd(const ReadRequest& request);

  // Makes a source that keeps at most `spare_bytes` bytes of buffers for later
  // reads.
  DecompressedSource(ByteSource* below, RunTask run, std::size_t spare_bytes);
  ~DecompressedSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Cancels all later reads; the source below is not called again.
  void Stop() { below_.Stop(); }

 private:
  class Decompression;

  // Forgets the ticket of a decompression that has ended.
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
  // The decompressions that have not ended.
  std::size_t decompressions_ ABSL_GUARDED_BY(mutex_) = 0;
  // The decompressions that may be shared, by ticket.
  std::unordered_map<std::uint64_t, std::weak_ptr<Decompression>> by_ticket_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::compressed

#endif  // FOREBAY_SERVER_STORAGE_COMPRESSED_DECOMPRESSED_SOURCE_H_
