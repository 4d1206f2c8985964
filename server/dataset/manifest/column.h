#ifndef FOREBAY_SERVER_DATASET_MANIFEST_COLUMN_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_COLUMN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/manifest/row_reader.h"

namespace forebay::dataset::manifest {

// One column of a manifest, packed: integers if all cells are integers, else
// texts. IntegerOf says whether a text of CSV is an integer. Takes 8 bytes a
// cell, and the texts.
//
// Not thread-safe while cells are added; immutable and thread-safe after that.
// Never blocks.
class Column {
 public:
  // The texts of CSV may be integers.
  explicit Column(bool texts_may_be_integers)
      : texts_may_be_integers_(texts_may_be_integers) {}

  // Makes room for one more cell, counted in `memory`. Errors: those of
  // `memory`.
  absl::Status CountOneMore(const Cell& cell, base::WorkingMemory& memory);
  // INVALID_ARGUMENT: integers and texts are mixed; does not say where.
  absl::Status Add(const Cell& cell);
  // To be called after the last cell. If some cells are empty and all others
  // integers, the column cannot be used: returns the row of the first empty
  // one.
  std::optional<std::uint64_t> Finish();

  // True, too, if there are no cells.
  bool has_integers() const { return ends_.empty(); }
  // For integers; `row` counts cells.
  std::int64_t IntegerAt(std::uint64_t row) const { return numbers_[row]; }
  // For texts.
  std::string_view TextAt(std::uint64_t row) const;
  // Bytes of the longest text; 0 for integers.
  std::uint64_t longest() const { return longest_; }

  // Replaces each text by its index among all distinct texts, sorted by their
  // bytes, and returns these. Counts what it makes in `memory`. Errors: those
  // of `memory`.
  absl::StatusOr<std::vector<std::string>> TakeClasses(
      base::WorkingMemory& memory);

  // Bytes of memory.
  std::uint64_t memory() const;

 private:
  bool texts_may_be_integers_;
  std::vector<std::int64_t> numbers_;  // cells, if they are integers
  std::string texts_;                  // cells, if they are texts
  std::vector<std::uint64_t> ends_;    // of each in them
  std::uint64_t longest_ = 0;
};

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_COLUMN_H_
