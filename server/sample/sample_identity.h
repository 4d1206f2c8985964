#ifndef FOREBAY_SERVER_SAMPLE_SAMPLE_IDENTITY_H_
#define FOREBAY_SERVER_SAMPLE_SAMPLE_IDENTITY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/dataset/dataset.h"
#include "server/storage/byte_source.h"

namespace forebay::sample {

// Identifies the dataset to all that read it through the same root. Returns 0
// if what is read through that root is not shared. If two datasets had one
// number, the cache would be wrong about when samples are wanted, and no more.
// A dataset that is made of others has a number made of theirs.
std::uint64_t DatasetNumber(const dataset::Dataset& dataset);

// Says how caches identify the samples of a dataset, and where each is read.
// Immutable and thread-safe; the dataset outlives it. Never blocks; no errors.
class SampleIdentity {
 public:
  explicit SampleIdentity(const dataset::Dataset* dataset);

  std::size_t sources() const { return numbers_.size(); }
  std::uint64_t number(std::size_t source) const { return numbers_[source]; }
  // Whether the dataset's samples are its own: then caches identify them by
  // their numbers in it.
  bool is_own() const {
    return sources_.size() == 1 && sources_[0] == dataset_;
  }

  // The request for all bytes of sample `id`. The caller adds the purpose,
  // `done` and what else it wants.
  storage::ReadRequest RequestFor(std::uint64_t id) const;

 private:
  const dataset::Dataset* const dataset_;
  const std::vector<const dataset::Dataset*> sources_;
  std::vector<std::uint64_t> numbers_;  // of the sources
};

}  // namespace forebay::sample

#endif  // FOREBAY_SERVER_SAMPLE_SAMPLE_IDENTITY_H_
