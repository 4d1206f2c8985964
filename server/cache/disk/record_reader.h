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

// What the scratch of a reader must hold at least.
inline constexpr std::size_t kMinScratchBytes =
    RoundUp(kMaxFrontBytes, kPageBytes) + kPageBytes;

// The data of the record of `key` where one was found, in a buffer from the
// pool: if it is that record, whole and undamaged. `scratch` is used meanwhile.
// Thread-safe, each thread with a scratch of its own. Blocks for the disk.
// Errors: UNAVAILABLE (the disk refused, or there is no memory), DATA_LOSS
// (what lies there is not that record).
absl::StatusOr<base::Bytes> ReadRecord(Volume& volume,
                                       const Index::Found& found,
                                       const Key& key,
                                       const PageBuffer& scratch,
                                       storage::BufferPool& buffers);

// A record as it lies in the scratch that it was read into.
struct WholeRecord {
  Key key;
  absl::Span<const std::uint8_t> data;
};

// Whatever record lies where one was found, for who would write it again.
// Blocks for the disk. Errors: as above, and OUT_OF_RANGE, it is more than
// `scratch` holds.
absl::StatusOr<WholeRecord> ReadWhole(Volume& volume, const Index::Found& found,
                                      const PageBuffer& scratch);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_RECORD_READER_H_
