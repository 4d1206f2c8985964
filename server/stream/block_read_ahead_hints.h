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

// The blocks of one epoch that is shuffled in blocks: the samples of a block
// are wanted in the same stretch of the epoch, and lie side by side. Blocks of
// very many samples count as several.
//
// As ReadAheadHints says. Shared with the requests; keeps the dataset alive.
class BlockReadAheadHints final : public storage::ReadAheadHints {
 public:
  // The most samples that one answer lists.
  static constexpr std::uint64_t kMax = 4096;

  // `order` is one of blocks. `dataset_number` is what the dataset's samples
  // are known by.
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
  // The part of its block that is listed with the sample.
  sampler::Block PartOf(std::uint64_t sample) const;
  // But for those that this rank has passed at `position`.
  std::vector<storage::ReadAheadHint> List(const sampler::Block& part,
                                           std::uint64_t position) const;

  const std::shared_ptr<const dataset::Dataset> dataset_;
  const std::uint64_t dataset_number_;
  const sampler::EpochOrder order_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_BLOCK_READ_AHEAD_HINTS_H_
