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

// The fewest bytes of a scratch buffer: it must hold the largest header,
// wherever in a page that header begins.
inline constexpr std::size_t kMinScratchBytes =
    RoundUp(kMaxRecordHeaderBytes, kPageBytes) + kPageBytes;

// Returns the data of the record `found`, in a buffer of the pool. First checks
// that the record is that of `key`, whole and undamaged. Overwrites `scratch`.
// Thread-safe if each thread has its own scratch buffer. Blocks for the disk.
//
// UNAVAILABLE: the disk failed, or memory is short. NOT_FOUND: the record has
// another revision. DATA_LOSS: another record lies there, or the record is
// damaged.
absl::StatusOr<base::Bytes> ReadRecord(Volume& volume,
                                       const Index::Match& found,
                                       const Key& key,
                                       const PageBuffer& scratch,
                                       storage::BufferPool& buffers);

// A record in the scratch buffer that it was read into; valid until the buffer
// is used again.
struct WholeRecord {
  Key key;
  absl::Span<const std::uint8_t> data;
};

// Returns the record at a location, whatever its key, so that it can be written
// again. Blocks for the disk. UNAVAILABLE: the disk failed. DATA_LOSS: another
// record lies there, or the record is damaged. OUT_OF_RANGE: `scratch` is too
// small for it.
absl::StatusOr<WholeRecord> ReadWholeRecord(Volume& volume,
                                            const Index::Match& found,
                                            const PageBuffer& scratch);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_RECORD_READER_H_
