#ifndef FOREBAY_SERVER_SURVEY_SURVEY_CATALOG_H_
#define FOREBAY_SERVER_SURVEY_SURVEY_CATALOG_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/dataset.h"
#include "server/dataset/index_store.h"
#include "server/dataset/single_flight.h"
#include "server/survey/value_sizes.h"
#include "server/survey/value_survey.h"

namespace forebay::survey {

// The sizes of values that no index has. Loaders share those of a dataset's
// field; they are measured once, and kept on disk beside the index. They are
// used again while the dataset has its version, and its files are the same
// ones.
//
// Thread-safe; owns nothing that it hands out. `deps` outlive it.
class SurveyCatalog {
 public:
  // `index_directory`: where indexes are saved; empty: sizes are in memory
  // only.
  SurveyCatalog(const std::string& index_directory, SurveyDeps deps);

  // Adds to `warnings`, a sentence each, what failed without harm. Blocks while
  // the samples are measured, perhaps for as long as reading all of them takes;
  // a caller that requests `stop` leaves that to others that wait for the same.
  // Errors: those of SurveyValues.
  absl::StatusOr<std::shared_ptr<const ValueSizes>> Find(
      const Subject& subject, std::vector<std::string>* warnings,
      const std::stop_token& stop);

 private:
  using SizesPtr = std::shared_ptr<const ValueSizes>;
  // The name on disk, and the index of the dataset.
  using Key = std::pair<std::string, const void*>;

  absl::StatusOr<SizesPtr> Search(const Subject& subject,
                                  const std::string& name,
                                  std::vector<std::string>* warnings,
                                  const std::stop_token& stop) const;

  const SurveyDeps deps_;
  const std::optional<dataset::IndexStore> store_;
  dataset::SingleFlight<Key, ValueSizes> search_;
};

}  // namespace forebay::survey

#endif  // FOREBAY_SERVER_SURVEY_SURVEY_CATALOG_H_
