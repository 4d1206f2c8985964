#ifndef FOREBAY_SERVER_CACHE_DISK_ENTRY_WRITER_H_
#define FOREBAY_SERVER_CACHE_DISK_ENTRY_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "server/base/clock.h"
#include "server/cache/disk/record.h"
#include "server/cache/disk/recovery.h"
#include "server/cache/disk/segment_file.h"
#include "server/cache/disk/segment_writer.h"
#include "server/cache/disk/store_entry.h"
#include "server/cache/disk/store_state.h"
#include "server/cache/disk/volume.h"
#include "server/cache/next_use.h"

namespace forebay::cache::disk {

// Writes entries to the segments of a volume. Seals the open segment when it is
// full, opens the next, and evicts a segment when the tier is full.
//
// Not thread-safe: the store's writing thread alone uses it, after Continue.
// Owns its buffers and the writer of the open segment. The volume, NextUse, the
// clock and the state outlive it. Write and Publish block for the disk. A
// failure of the disk is counted in the state, and loses the entries that were
// not published.
class EntryWriter {
 public:
  // The bytes of the buffer in which the open segment is written.
  static constexpr std::size_t kBufferBytes = std::size_t{2} << 20;
  // The bytes of the buffer for carrying over; larger records are not carried.
  static constexpr std::size_t kCarryBytes = std::size_t{1} << 20;

  EntryWriter(Volume* volume, const NextUse* next_use, const base::Clock* clock,
              StoreState* state);

  // Continues after the last segment of an earlier store: in that segment, if
  // it is not sealed, otherwise in a new one. Called at most once, before
  // Write.
  void Continue(Recovered last);
  // Appends an entry to the open segment, unless there is no space for it, or
  // it is not worth storing.
  void Write(const StoreEntry& entry);
  // Flushes the open segment. The entries that were written can then be found.
  void Publish();

 private:
  using EvictedSegment = StoreState::EvictedSegment;

  // Makes space for an entry in the open segment, sealing, evicting and opening
  // segments as needed. Returns false if the entry is not to be written.
  bool MakeSpace(const StoreEntry& entry);
  // Evicts segments until there is space for the entry. Stores the last evicted
  // segment in `evicted`. Returns false if the entry is not to be written.
  bool EvictFor(const StoreEntry& entry,
                std::optional<EvictedSegment>* evicted);
  // Creates the file of the next segment, and opens the segment for writing. If
  // the disk has no space for the file, resets `evicted`, because the space of
  // a removed file becomes free only when the file is closed.
  bool OpenSegment(std::optional<EvictedSegment>* evicted);
  // Evicts a segment and removes its file from the directory. Returns nullopt
  // if there is no segment to evict.
  std::optional<EvictedSegment> Evict();
  // Carries over records of an evicted segment into the segment that replaces
  // it: at most half of the records, and at most half a segment of bytes.
  // Leaves space for a record of `reserved` bytes. Carried records are misses
  // until they are published.
  void CarryOver(const EvictedSegment& evicted, std::uint64_t reserved);
  // Publishes and seals the open segment.
  void SealOpen();
  // Gives up the open segment after a failed write. Its published records can
  // still be read, so they remain valid. A segment without published records is
  // removed.
  void Abandon(const absl::Status& status);
  void RemoveFile(const SegmentFile& file);

  Volume* const volume_;
  const NextUse* const next_use_;
  const base::Clock* const clock_;
  StoreState* const state_;

  const PageBuffer buffer_{kBufferBytes};    // of the open segment's writer
  const PageBuffer carried_{kCarryBytes};    // one record
  std::unique_ptr<SegmentWriter> writer_;    // null if no segment is open
  std::vector<storage::SampleRef> samples_;  // appended but not published
  std::uint64_t next_serial_ = 1;
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_ENTRY_WRITER_H_
