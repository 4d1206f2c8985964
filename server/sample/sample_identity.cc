#include "server/sample/sample_identity.h"

#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::sample {
namespace {

// Returns the number of a dataset that is its own source. The number is 0 only
// if the root is not shared.
std::uint64_t OwnNumber(const dataset::Dataset& dataset) {
  const auto root = dataset.root()->identity();
  if (root == nullptr) return 0;
  const dataset::Version& version = dataset.version();
  const std::uint64_t number = XXH3_64bits_withSeed(
      root->data(), root->size(), XXH3_64bits(version.data(), version.size()));
  return number == 0 ? 1 : number;
}

}  // namespace

std::uint64_t DatasetNumber(const dataset::Dataset& dataset) {
  const std::vector<const dataset::Dataset*> sources = dataset.sources();
  if (sources.size() == 1 && sources[0] == &dataset) return OwnNumber(dataset);
  std::uint64_t number =
      XXH3_64bits(dataset.version().data(), dataset.version().size());
  for (const dataset::Dataset* const source : sources) {
    const std::uint64_t own = OwnNumber(*source);
    if (own == 0) return 0;
    number = XXH3_64bits_withSeed(&own, sizeof(own), number);
  }
  return number == 0 ? 1 : number;
}

SampleIdentity::SampleIdentity(const dataset::Dataset* dataset)
    : dataset_(dataset), sources_(dataset->sources()) {
  for (const dataset::Dataset* const source : sources_) {
    numbers_.push_back(OwnNumber(*source));
  }
}

storage::ReadRequest SampleIdentity::RequestFor(std::uint64_t id) const {
  dataset::Sample sample = dataset_->At(id);
  const dataset::SourceSample source = dataset_->SourceSampleOf(id);
  storage::ReadRequest request;
  request.root = sources_[source.source]->root();
  request.object = std::move(sample.object);
  request.version = sample.version;
  request.layout = std::move(sample.layout);
  request.offset = sample.offset;
  request.length = sample.length;
  request.sample = {numbers_[source.source], source.id};
  return request;
}

}  // namespace forebay::sample
