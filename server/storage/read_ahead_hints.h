#ifndef FOREBAY_SERVER_STORAGE_READ_AHEAD_HINTS_H_
#define FOREBAY_SERVER_STORAGE_READ_AHEAD_HINTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/storage/byte_source.h"

namespace forebay::storage {

// A sample and where its bytes lie, below the root of whom it is a neighbour.
struct ReadAheadHint {
  SampleRef sample;
  std::string object;
  ObjectVersion version;
  std::shared_ptr<const ObjectLayout> layout;  // as ReadRequest's
  std::uint64_t offset = 0;                    // bytes
  std::uint64_t length = 0;                    // bytes
  // How many samples later the reader wants it itself; 0: it does not. Then
  // another one may, such as another rank of the same job.
  std::uint64_t distance = 0;
};

// Says which samples lie beside one that is wanted now, and are wanted soon: a
// reader that goes through its dataset block by block knows. Immutable and
// thread-safe; shared by the reader and its requests. Never blocks; no errors.
// An answer takes about a microsecond a neighbour.
class ReadAheadHints {
 public:
  virtual ~ReadAheadHints() = default;

  // Samples of one number have the same neighbours, but for those that are
  // wanted before they are.
  virtual std::uint64_t NumberOf(std::uint64_t sample) const = 0;

  // Whom else to read while `sample` is read, in the order in which they lie.
  virtual std::vector<ReadAheadHint> NeighboursOf(
      std::uint64_t sample) const = 0;
  // Whom to read by the time that `sample` is wanted, so that they are there
  // when the reader comes to them; mostly nobody.
  virtual std::vector<ReadAheadHint> DueBy(std::uint64_t sample) const = 0;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_READ_AHEAD_HINTS_H_
