#ifndef FOREBAY_SERVER_STORAGE_READ_AHEAD_HINTS_H_
#define FOREBAY_SERVER_STORAGE_READ_AHEAD_HINTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/storage/byte_source.h"

namespace forebay::storage {

// A sample to read ahead together with a wanted sample, and the range of its
// bytes. Its object lies below the wanted sample's root.
struct ReadAheadHint {
  SampleRef sample;
  std::string object;
  ObjectVersion version;
  std::shared_ptr<const ObjectLayout> layout;  // as in ReadRequest
  std::uint64_t offset = 0;                    // bytes
  std::uint64_t length = 0;                    // bytes
  // How many samples later the reader wants this sample. 0 if only other
  // readers may want it, such as other ranks of the same job.
  std::uint64_t distance = 0;
};

// Names the samples that lie beside a wanted sample in the same object and are
// wanted soon as well. Readers that go through their dataset block by block
// know such neighbours.
//
// Thread-safe and immutable; the reader and its requests share it. Never
// blocks: a call takes about a microsecond for each neighbour. No errors.
class ReadAheadHints {
 public:
  virtual ~ReadAheadHints() = default;

  // Returns the number of the sample's neighbourhood. All samples of a
  // neighbourhood have the same neighbours, except that a sample's neighbours
  // leave out the samples that are wanted before it.
  virtual std::uint64_t NumberOf(std::uint64_t sample) const = 0;

  // Returns the samples to read together with `sample`, in the order of their
  // offsets.
  virtual std::vector<ReadAheadHint> NeighboursOf(
      std::uint64_t sample) const = 0;
  // Returns the samples to read by the time that `sample` is wanted, so that
  // they are cached when the reader comes to them. For most samples the result
  // is empty.
  virtual std::vector<ReadAheadHint> DueBy(std::uint64_t sample) const = 0;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_READ_AHEAD_HINTS_H_
