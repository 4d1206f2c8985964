#ifndef FOREBAY_SERVER_DATASET_HDF5_FORMAT_CHOICE_H_
#define FOREBAY_SERVER_DATASET_HDF5_FORMAT_CHOICE_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/hdf5/column.h"
#include "server/dataset/hdf5/first_file.h"
#include "server/dataset/hdf5/tree.h"
#include "server/dataset/records/record_catalog.h"
#include "server/dataset/records/value_type.h"

namespace forebay::dataset::hdf5 {

// The datasets that are wanted of HDF5 files, or that all are. Immutable and
// thread-safe.
class FormatChoice {
 public:
  // Names are those of datasets, from the root on, or of members of their
  // compounds. Without names, all datasets of one length are wanted. A type
  // that is empty is that of the first file. No types are all empty. The budget
  // is for the formats; it outlives them. Never blocks. The error gives the
  // reason alone: INVALID_ARGUMENT: there are no such fields.
  static absl::StatusOr<FormatChoice> Create(std::vector<std::string> names,
                                             std::vector<std::string> types,
                                             base::MemoryBudget* budget);

  // Completes a request for HDF5 files with its source, root and name. Adds to
  // `warnings`, a sentence each, which datasets are left out. The request uses
  // both as long as it lives.
  void Complete(records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  using Types = std::vector<std::optional<records::ValueType>>;

  // A column, with its dataset in the first file.
  struct Wanted {
    Column column;
    std::shared_ptr<const ArrayLayout> array;
    bool has_type = false;     // that the user chose
    std::uint64_t weight = 0;  // bytes of a row; large if they may be any
  };

  FormatChoice(std::vector<std::string> names, Types types,
               base::MemoryBudget* budget)
      : names_(std::move(names)), types_(std::move(types)), budget_(budget) {}

  std::string text() const;
  absl::StatusOr<records::RecordRequest::FormatPtr> FindFormat(
      const records::RecordRequest& request,
      const records::RecordRequest::Files& files, base::WorkingMemory& memory,
      const std::stop_token& stop, std::vector<std::string>* warnings) const;
  absl::StatusOr<std::vector<Wanted>> FindNamed(FirstFile& file) const;
  static absl::StatusOr<std::vector<Wanted>> FindAll(
      const std::vector<ListedArray>& arrays,
      std::vector<std::string>* left_out);
  absl::StatusOr<std::vector<Wanted>> FindWanted(
      FirstFile& file, base::WorkingMemory& memory,
      std::vector<std::string>* left_out) const;
  static absl::Status GuessTypes(FirstFile& file, std::vector<Wanted>* wanted);
  static void ChooseKept(std::vector<Wanted>* wanted);

  const std::vector<std::string> names_;
  const Types types_;  // one for each name
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_FORMAT_CHOICE_H_
