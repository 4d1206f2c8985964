#ifndef FOREBAY_SERVER_CACHE_DISK_RECORD_READER_H_
#define FOREBAY_SERVER_CACHE_DISK_RECORD_READER_H_

#include "absl/status/statusor.h"
#include "server/base/bytes.h"
#include "server/cache/disk/index.h"
#include "server/cache/disk/record.h"
#include "server/cache/disk/segment_file.h"
#include "server/cache/disk/volume.h"
#include "server/storage/buffer_pool.h"

namespace forebay::cache::disk {

// The least size of a scratch buffer.
inline constexpr std::size_t kMinScratchBytes =
    RoundUp(kMaxRecordHeaderBytes, kPageBytes) + kPageBytes;

// Returns the data of the record of `key` in a buffer of the pool, if `found`
// is that record, whole and undamaged. Overwrites `scratch`. Thread-safe if
// each thread has its own scratch buffer. Blocks for the disk. Errors:
// UNAVAILABLE (the disk failed, or there is no memory), NOT_FOUND (the record
// has another revision), DATA_LOSS (there is no such record, or it is damaged).
absl::StatusOr<base::Bytes> ReadRecord(Volume& volume,
                                       const Index::Found& found,
                                       const Key& key,
                                       const PageBuffer& scratch,
                                       storage::BufferPool& buffers);

// A record in the scratch buffer that it was read into.
struct WholeRecord {
  Key key;
  absl::Span<const std::uint8_t> data;
};

// Returns the record at a location, whatever its key, for writing it again.
// Blocks for the disk. Errors: UNAVAILABLE and DATA_LOSS as above, and
// OUT_OF_RANGE if `scratch` is too small.
absl::StatusOr<WholeRecord> ReadWholeRecord(Volume& volume,
                                            const Index::Found& found,
                                            const PageBuffer& scratch);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_RECORD_READER_H_
