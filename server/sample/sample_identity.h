#ifndef FOREBAY_SERVER_SAMPLE_SAMPLE_IDENTITY_H_
#define FOREBAY_SERVER_SAMPLE_SAMPLE_IDENTITY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/dataset/dataset.h"
#include "server/storage/byte_source.h"

namespace forebay::sample {

// Returns a number that identifies a dataset to all loaders and readers that
// read it through the same root. Returns 0 if caches share nothing that is read
// through the root. A composed dataset's number is computed from the numbers of
// its sources. If two datasets had the same number by chance, caches would only
// misjudge when samples are wanted. Thread-safe; never blocks.
std::uint64_t DatasetNumber(const dataset::Dataset& dataset);

// Tells how caches identify the samples of a dataset, and where each sample is
// read. Immutable and thread-safe. The dataset outlives this object. Never
// blocks; has no errors.
class SampleIdentity {
 public:
  explicit SampleIdentity(const dataset::Dataset* dataset);

  // sources() returns the number of datasets that the samples come from.
  // number() returns the number by which caches identify one of these datasets.
  std::size_t sources() const { return numbers_.size(); }
  std::uint64_t number(std::size_t source) const { return numbers_[source]; }
  // Whether the dataset is its own only source. If so, caches identify its
  // samples by their numbers in the dataset.
  bool is_own() const {
    return sources_.size() == 1 && sources_[0] == dataset_;
  }

  // Returns a request for all bytes of sample `id`. The caller sets the
  // purpose, `done` and whatever else it needs.
  storage::ReadRequest RequestFor(std::uint64_t id) const;

 private:
  const dataset::Dataset* const dataset_;
  const std::vector<const dataset::Dataset*> sources_;
  std::vector<std::uint64_t> numbers_;  // the number of each source
};

}  // namespace forebay::sample

#endif  // FOREBAY_SERVER_SAMPLE_SAMPLE_IDENTITY_H_
