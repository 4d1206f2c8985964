#ifndef FOREBAY_SERVER_SURVEY_READ_PLANNER_H_
#define FOREBAY_SERVER_SURVEY_READ_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/base/bytes.h"
#include "server/dataset/dataset.h"
#include "server/sample/sample_identity.h"
#include "server/storage/byte_source.h"

namespace forebay::survey {

// The part of a sample that is read to measure a value.
enum class Part : std::uint8_t {
  kSample,  // all of its extent
  kHead,    // the first bytes of a clip, which most formats' headers are in
  kTail,    // then the last ones, where others say how long they are
  kClip,    // all of a clip
};

// A value that is to be measured.
struct Wanted {
  std::uint64_t sample = 0;
  Part part = Part::kSample;
  std::uint64_t offset = 0;  // of the part in the object; bytes
  std::uint64_t length = 0;  // of the part
  // Of the clip, unless all of the sample is read.
  dataset::FieldRange clip = {};
  base::Bytes head = {};  // what was read before, of which there is a tail
};

// A read, and the values that are in it.
struct PlannedRead {
  storage::ReadRequest request;
  std::vector<Wanted> wanted;  // only one, if it is the head of a clip
  std::uint64_t held = 0;      // bytes of memory that `wanted` holds already
};

// Decides what is read of samples to measure a field of theirs. Of clips that
// are parts of their samples as they are, only what their headers need. Reads
// come in the order of the places in the files, and parts that lie close
// together are one read. Immutable and thread-safe; the dataset outlives it.
// Never blocks; no errors.
class ReadPlanner {
 public:
  ReadPlanner(const dataset::Dataset* dataset, std::size_t field);

  // Plans the reads of samples from `begin` up to `end`.
  std::vector<PlannedRead> Plan(std::uint64_t begin, std::uint64_t end) const;
  // Plans the read of more, where the part did not tell how long a clip is. It
  // was not all of one.
  PlannedRead PlanMore(Wanted wanted) const;

 private:
  Wanted WantedOf(const storage::ReadRequest& request, std::uint64_t id) const;

  const dataset::Dataset* const dataset_;
  const std::size_t field_;
  const sample::SampleIdentity identity_;
};

}  // namespace forebay::survey

#endif  // FOREBAY_SERVER_SURVEY_READ_PLANNER_H_
