#ifndef FOREBAY_SERVER_STORAGE_READ_AHEAD_HINTS_H_
#define FOREBAY_SERVER_STORAGE_READ_AHEAD_HINTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/storage/byte_source.h"

namespace forebay::storage {

// A sample to read ahead, and where its bytes lie: below the root of the sample
// that it is a neighbour of.
struct ReadAheadHint {
  SampleRef sample;
  std::string object;
  ObjectVersion version;
  std::shared_ptr<const ObjectLayout> layout;  // as ReadRequest's
  std::uint64_t offset = 0;                    // bytes
  std::uint64_t length = 0;                    // bytes
  // How many samples later the reader wants it. 0 if it does not; another
  // reader may, such as another rank of the same job.
  std::uint64_t distance = 0;
};

// Names the samples that lie beside one that is wanted now, and are wanted
// soon, as a reader knows that goes through its dataset block by block.
// Thread-safe and immutable; the reader and its requests share it. Never
// blocks: a call takes about a microsecond a neighbour. No errors.
class ReadAheadHints {
 public:
  virtual ~ReadAheadHints() = default;

  // Samples with one number have the same neighbours, except those that are
  // wanted before them.
  virtual std::uint64_t NumberOf(std::uint64_t sample) const = 0;

  // Returns the samples to read with `sample`, in the order in which they lie.
  virtual std::vector<ReadAheadHint> NeighboursOf(
      std::uint64_t sample) const = 0;
  // Returns the samples to read by the time that `sample` is wanted, so that
  // they are cached when the reader comes to them; mostly none.
  virtual std::vector<ReadAheadHint> DueBy(std::uint64_t sample) const = 0;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_READ_AHEAD_HINTS_H_
