#ifndef FOREBAY_SERVER_STREAM_BLOCK_READ_AHEAD_HINTS_H_
#define FOREBAY_SERVER_STREAM_BLOCK_READ_AHEAD_HINTS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "server/dataset/dataset.h"
#include "server/sampler/sampler.h"
#include "server/storage/read_ahead_hints.h"

namespace forebay::stream {

// The read-ahead hints of one epoch that is shuffled in blocks. The samples of
// a block are wanted in the same stretch of the epoch, and lie side by side in
// their files. A block of more than kMax samples counts as several.
//
// Immutable and thread-safe. Shared with the requests; keeps the dataset alive.
// Never blocks. No errors.
class BlockReadAheadHints final : public storage::ReadAheadHints {
 public:
  // The most samples that one call lists.
  static constexpr std::uint64_t kMax = 4096;

  // `order` is an order of blocks. `dataset_number` identifies the dataset in
  // hints.
  BlockReadAheadHints(std::shared_ptr<const dataset::Dataset> dataset,
                      std::uint64_t dataset_number,
                      const sampler::EpochOrder& order)
      : dataset_(std::move(dataset)),
        dataset_number_(dataset_number),
        order_(order) {}

  std::uint64_t epoch() const { return order_.epoch(); }

  std::uint64_t NumberOf(std::uint64_t sample) const override;
  std::vector<storage::ReadAheadHint> NeighboursOf(
      std::uint64_t sample) const override;
  std::vector<storage::ReadAheadHint> DueBy(
      std::uint64_t sample) const override;

 private:
  // Returns the part of the sample's block, up to kMax samples, that is listed
  // together with the sample.
  sampler::Block PartOf(std::uint64_t sample) const;
  // Returns hints of the samples in `part`, without those that this rank has
  // passed when it is at `position`.
  std::vector<storage::ReadAheadHint> List(const sampler::Block& part,
                                           std::uint64_t position) const;

  const std::shared_ptr<const dataset::Dataset> dataset_;
  const std::uint64_t dataset_number_;
  const sampler::EpochOrder order_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BLOCK_READ_AHEAD_HINTS_H_
