#include "server/cache/reuse_estimator.h"

namespace forebay::cache {
namespace {

// How many evictions a dataset must have before its estimate counts.
constexpr double kMinEvicted = 64;
// The number of counted evictions at which the totals are halved.
constexpr double kMaxEvicted = 4 * kMinEvicted;
// How many variants are declined before one is made in spite of the estimate.
constexpr std::uint32_t kDeclinedInARow = 31;
// The most datasets that are remembered. Datasets come and go: beyond this
// number, all are forgotten, and their estimates begin anew.
constexpr std::size_t kMaxDatasets = 4096;

}  // namespace

void ReuseEstimator::RecordEviction(std::uint64_t dataset, std::uint32_t uses) {
  base::MutexLock lock(&mutex_);
  if (datasets_.size() >= kMaxDatasets) datasets_.clear();
  Record& record = datasets_[dataset];
  record.evicted += 1;
  record.uses += uses;
  if (record.evicted < kMaxEvicted) return;
  record.evicted /= 2;
  record.uses /= 2;
}

bool ReuseEstimator::IsWorthMaking(std::uint64_t dataset,
                                   std::int64_t costs_nanos,
                                   std::int64_t saves_nanos) {
  base::MutexLock lock(&mutex_);
  const auto known = datasets_.find(dataset);
  if (known == datasets_.end() || known->second.evicted < kMinEvicted)
    return true;
  Record& record = known->second;
  const double saved =
      record.uses / record.evicted * static_cast<double>(saves_nanos);
  if (saved > static_cast<double>(costs_nanos)) return true;
  if (record.declined++ < kDeclinedInARow) return false;
  record.declined = 0;
  return true;
}

}  // namespace forebay::cache
