#include "server/stream/block_read_ahead_hints.h"

#include <algorithm>
#include <optional>

#include "server/base/check.h"

namespace forebay::stream {

sampler::Block BlockReadAheadHints::PartOf(std::uint64_t sample) const {
  const std::optional<sampler::Block> block = order_.BlockOf(sample);
  FOREBAY_CHECK(block.has_value());
  const std::uint64_t begin = sample - (sample - block->begin) % kMax;
  return {begin, std::min(begin + kMax, block->end)};
}

std::uint64_t BlockReadAheadHints::NumberOf(std::uint64_t sample) const {
  return PartOf(sample).begin;
}

std::vector<storage::ReadAheadHint> BlockReadAheadHints::NeighboursOf(
    std::uint64_t sample) const {
  const auto position = order_.PositionOf(sample);
  if (!position.has_value()) return {};
  return List(PartOf(sample), *position);
}

std::vector<storage::ReadAheadHint> BlockReadAheadHints::DueBy(
    std::uint64_t sample) const {
  const auto position = order_.PositionOf(sample);
  if (!position.has_value()) return {};
  const std::optional<sampler::Block> due = order_.DueAt(*position);
  if (!due.has_value()) return {};
  return List(PartOf(due->begin), *position);
}

std::vector<storage::ReadAheadHint> BlockReadAheadHints::List(
    const sampler::Block& part, std::uint64_t position) const {
  std::vector<storage::ReadAheadHint> list;
  list.reserve(part.end - part.begin);
  for (std::uint64_t id = part.begin; id < part.end; ++id) {
    const auto seen_at = order_.PositionOf(id);
    if (seen_at.has_value() && *seen_at <= position) continue;
    dataset::Sample sample = dataset_->At(id);
    if (sample.length == 0) continue;
    list.push_back({.sample = {dataset_number_, id},
                    .object = std::move(sample.object),
                    .version = sample.version,
                    .layout = std::move(sample.layout),
                    .offset = sample.offset,
                    .length = sample.length,
                    .distance = seen_at.value_or(position) - position});
  }
  return list;
}

}  // namespace forebay::stream
