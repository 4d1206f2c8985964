#ifndef FOREBAY_SERVER_DATASET_OPENING_H_
#define FOREBAY_SERVER_DATASET_OPENING_H_

#include <stop_token>
#include <utility>

#include "server/storage/paid_source.h"

namespace forebay::dataset {

// Describes the opening of a dataset on behalf of a job.
struct Opening {
  Opening() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): some readers have no job.
  Opening(std::stop_token token, storage::PaidSource* source = nullptr)
      : stop(std::move(token)), reads(source) {}

  // Ends the opening early.
  std::stop_token stop;
  // The source of all reads of this opening. The jobs of other openings that
  // wait for these reads become payers of the source. Null if no job pays.
  storage::PaidSource* reads = nullptr;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_OPENING_H_
