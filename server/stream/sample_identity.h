#ifndef FOREBAY_SERVER_STREAM_SAMPLE_IDENTITY_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_IDENTITY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/dataset/dataset.h"
#include "server/storage/byte_source.h"

namespace forebay::stream {

// The number that all who read the same dataset through the same root know it
// by; 0 if what is read through that root is not shared. Two datasets of one
// number would mislead the cache about when samples are wanted, and do no
// other harm. Of one that is made of others: of these together.
std::uint64_t DatasetNumber(const dataset::Dataset& dataset);

// What caches know the samples of a dataset by, and where they lie. Immutable
// and thread-safe; the dataset outlives it. Never blocks; no errors.
class SampleIdentity {
 public:
  explicit SampleIdentity(const dataset::Dataset* dataset);

  std::size_t sources() const { return numbers_.size(); }
  std::uint64_t number(std::size_t source) const { return numbers_[source]; }
  // Whether the dataset's samples are its own: then caches know them by their
  // numbers in it.
  bool is_own() const {
    return sources_.size() == 1 && sources_[0] == dataset_;
  }

  storage::SampleRef RefOf(std::uint64_t id) const {
    const dataset::SourceSample origin = dataset_->SourceSampleOf(id);
    return {numbers_[origin.source], origin.id};
  }
  const std::shared_ptr<const storage::Root>& RootOf(std::uint64_t id) const {
    return sources_[dataset_->SourceSampleOf(id).source]->root();
  }

 private:
  const dataset::Dataset* const dataset_;
  const std::vector<const dataset::Dataset*> sources_;
  std::vector<std::uint64_t> numbers_;  // of the sources
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_IDENTITY_H_
