#ifndef FOREBAY_SERVER_DATASET_HDF5_HDF5_FORMAT_CHOICE_H_
#define FOREBAY_SERVER_DATASET_HDF5_HDF5_FORMAT_CHOICE_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/hdf5/first_file.h"
#include "server/dataset/hdf5/hdf5_column.h"
#include "server/dataset/hdf5/tree.h"
#include "server/dataset/records/record_catalog.h"
#include "server/dataset/records/value_type.h"

namespace forebay::dataset::hdf5 {

// The HDF5 datasets that become fields of samples: those that a user chose, or
// all of them. The first file decides which types these fields have, and
// whether the index stores their values.
//
// Immutable and thread-safe. Owns its names and types. Its own calls never
// block, but opening a completed request reads the first file. Only Create has
// errors.
class Hdf5FormatChoice {
 public:
  // Makes a choice. `names` are paths of datasets from the root on, or of
  // members of their compounds; if there are no names, the datasets with the
  // most frequent number of rows are chosen. `types` has a type for each name,
  // or is empty. An empty type is guessed from the first file. The formats
  // cache chunks within `budget`, which outlives them. INVALID_ARGUMENT: a name
  // or type is not valid. The error gives the reason alone.
  static absl::StatusOr<Hdf5FormatChoice> Create(std::vector<std::string> names,
                                                 std::vector<std::string> types,
                                                 base::MemoryBudget* budget);

  // Completes `request`, which asks for HDF5 files and already has its source,
  // root and name. Adds a sentence to `warnings` for each dataset that is left
  // out. Both pointers must stay valid until the request has been opened.
  void Complete(records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  using Types = std::vector<std::optional<records::ValueType>>;

  // A column, with its dataset in the first file.
  struct Wanted {
    Hdf5Column column;
    std::shared_ptr<const ArrayLayout> array;
    // Whether the user chose the type.
    bool has_type = false;
    // Bytes of a row; if values vary in length, an estimate from the first
    // values.
    std::uint64_t weight = 0;
  };

  Hdf5FormatChoice(std::vector<std::string> names, Types types,
                   base::MemoryBudget* budget)
      : names_(std::move(names)), types_(std::move(types)), budget_(budget) {}

  // Returns a text that tells this choice apart from others.
  std::string text() const;
  // Makes the format from the datasets of the first file.
  absl::StatusOr<records::RecordRequest::FormatPtr> FindFormat(
      const records::RecordRequest& request,
      const records::RecordRequest::Files& files, base::WorkingMemory& memory,
      const std::stop_token& stop, std::vector<std::string>* warnings) const;
  // Finds the named datasets in the first file.
  absl::StatusOr<std::vector<Wanted>> FindNamed(FirstFile& file) const;
  // Chooses the datasets that have the most frequent number of rows. Adds the
  // others to `left_out`, with the reasons, and the groups that were not
  // listed.
  static absl::StatusOr<std::vector<Wanted>> FindAll(
      const ArrayLister& lister, std::vector<std::string>* left_out);
  // Finds the named datasets, or all if none is named.
  absl::StatusOr<std::vector<Wanted>> FindWanted(
      FirstFile& file, base::WorkingMemory& memory,
      std::vector<std::string>* left_out) const;
  // Reads the first values to guess the types that the user left open. Sets the
  // weights, too.
  static absl::Status GuessTypes(FirstFile& file, std::vector<Wanted>* wanted);
  // Chooses the columns whose values the index stores.
  static void ChooseKept(std::vector<Wanted>* wanted);

  const std::vector<std::string> names_;
  // Type of each name; nothing if the type is to be guessed.
  const Types types_;
  base::MemoryBudget* const budget_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_HDF5_FORMAT_CHOICE_H_
