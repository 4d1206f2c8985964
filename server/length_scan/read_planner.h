#ifndef FOREBAY_SERVER_LENGTH_SCAN_READ_PLANNER_H_
#define FOREBAY_SERVER_LENGTH_SCAN_READ_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/base/bytes.h"
#include "server/dataset/dataset.h"
#include "server/sample/sample_identity.h"
#include "server/storage/byte_source.h"

namespace forebay::length_scan {

// The part of a sample that is read to measure a value. A clip is read in up to
// three steps: its head, then its tail, then all of it. The reads end as soon
// as its length is known.
enum class MeasuredPart : std::uint8_t {
  kSample,  // all of the sample's extent
  kHead,    // the first bytes of a clip, where most formats tell its length
  kTail,    // the last bytes of a clip, where other formats tell its length
  kClip,    // all bytes of a clip
};

// A value to measure, and the part to read for it.
struct Wanted {
  std::uint64_t sample = 0;
  MeasuredPart part = MeasuredPart::kSample;
  std::uint64_t offset = 0;  // offset of the part in the object, in bytes
  std::uint64_t length = 0;  // bytes of the part
  // Range of the clip in the object; unused if `part` is kSample.
  dataset::FieldRange clip = {};
  // The bytes of the clip's head, which was read before; empty unless `part` is
  // kTail.
  base::Bytes head = {};
};

// A read, and the values to measure in it.
struct PlannedRead {
  storage::ReadRequest request;
  std::vector<Wanted> wanted;  // only one, if its part is kHead
  std::uint64_t held = 0;  // bytes of memory that the heads in `wanted` take
};

// Decides which bytes are read to measure a field of samples. A clip that is
// not compressed in its sample is read only until its length is known. Reads
// are ordered by file, and within a file by offset. Parts that lie close
// together become one read.
//
// Immutable and thread-safe. The dataset outlives the planner. Never blocks;
// has no errors.
class ReadPlanner {
 public:
  // Plans for the field with the index `field`.
  ReadPlanner(const dataset::Dataset* dataset, std::size_t field);

  // Plans the reads for the samples `begin` to `end` - 1.
  std::vector<PlannedRead> Plan(std::uint64_t begin, std::uint64_t end) const;
  // Plans the next read for a clip, after the part that `wanted` describes did
  // not tell its length. `wanted.part` is kHead or kTail.
  PlannedRead PlanMore(Wanted wanted) const;

 private:
  // Returns the first part to read for sample `id`. `request` asks for the
  // sample's extent.
  Wanted WantedOf(const storage::ReadRequest& request, std::uint64_t id) const;

  const dataset::Dataset* const dataset_;
  const std::size_t field_;
  const sample::SampleIdentity identity_;
};

}  // namespace forebay::length_scan

#endif  // FOREBAY_SERVER_LENGTH_SCAN_READ_PLANNER_H_
