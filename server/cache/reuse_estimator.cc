#include "server/cache/reuse_estimator.h"

namespace forebay::cache {
namespace {

// So many must have left before they are believed.
constexpr double kEnough = 64;
constexpr double kRemembered = 4 * kEnough;
constexpr std::uint32_t kDeclinedInARow = 31;
// Datasets come and go: when there are many, all are forgotten.
constexpr std::size_t kMaxDatasets = 4096;

}  // namespace

void ReuseEstimator::Left(std::uint64_t dataset, std::uint32_t uses) {
  base::MutexLock lock(&mutex_);
  if (datasets_.size() >= kMaxDatasets) datasets_.clear();
  Record& record = datasets_[dataset];
  record.left += 1;
  record.uses += uses;
  if (record.left < kRemembered) return;
  record.left /= 2;
  record.uses /= 2;
}

bool ReuseEstimator::Pays(std::uint64_t dataset, std::int64_t costs_nanos,
                          std::int64_t saves_nanos) {
  base::MutexLock lock(&mutex_);
  const auto known = datasets_.find(dataset);
  if (known == datasets_.end() || known->second.left < kEnough) return true;
  Record& record = known->second;
  const double saved =
      record.uses / record.left * static_cast<double>(saves_nanos);
  if (saved > static_cast<double>(costs_nanos)) return true;
  if (record.declined++ < kDeclinedInARow) return false;
  record.declined = 0;
  return true;
}

}  // namespace forebay::cache
