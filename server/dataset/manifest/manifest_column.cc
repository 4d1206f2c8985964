// Cells of CSV are texts at first: only after the last cell is it known whether
// all cells of a column are integers. Finish tries to convert all of them to
// integers. JSON tells the type of each cell, so columns of JSON are never
// converted.
#include "server/dataset/manifest/manifest_column.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/base/status.h"
#include "server/dataset/manifest/number.h"

namespace forebay::dataset::manifest {

// MakeRoom counts the memory and grows the vectors. So Add never allocates
// memory that is not counted.
absl::Status ManifestColumn::CountOneMore(const Cell& cell,
                                          base::WorkingMemory& memory) {
  const auto* const text = std::get_if<std::string>(&cell);
  if (text == nullptr) return memory.MakeRoom(numbers_, 1);
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(ends_, 1));
  return memory.MakeRoom(texts_, text->size());
}

absl::Status ManifestColumn::Add(const Cell& cell) {
  const auto* const text = std::get_if<std::string>(&cell);
  if (text == nullptr ? !ends_.empty() : !numbers_.empty()) {
    return absl::InvalidArgumentError(
        text == nullptr ? "is an integer, but a text in rows before"
                        : "is a text, but an integer in rows before");
  }
  if (text == nullptr) {
    numbers_.push_back(std::get<std::int64_t>(cell));
    return absl::OkStatus();
  }
  texts_ += *text;
  ends_.push_back(texts_.size());
  longest_ = std::max<std::uint64_t>(longest_, text->size());
  return absl::OkStatus();
}

std::optional<std::uint64_t> ManifestColumn::Finish() {
  if (texts_may_be_integers_) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(ends_.size());
    std::optional<std::uint64_t> empty;
    std::uint64_t row = 0;
    for (; row < ends_.size(); ++row) {
      const std::string_view text = TextAt(row);
      const auto number = IntegerOf(text);
      if (number.has_value()) {
        numbers.push_back(*number);
      } else if (!text.empty()) {
        break;
      } else if (!empty.has_value()) {
        empty = row;
      }
    }
    // The loop ends early at a text that is not an integer. A column with only
    // empty cells stays a column of texts.
    if (row == ends_.size() && !numbers.empty()) {
      if (empty.has_value()) return empty;
      *this = ManifestColumn(false);
      numbers_ = std::move(numbers);
    }
  }
  numbers_.shrink_to_fit();
  texts_.shrink_to_fit();
  ends_.shrink_to_fit();
  return std::nullopt;
}

std::string_view ManifestColumn::TextAt(std::uint64_t row) const {
  const std::uint64_t begin = row == 0 ? 0 : ends_[row - 1];
  return std::string_view(texts_).substr(begin, ends_[row] - begin);
}

absl::StatusOr<std::vector<std::string>> ManifestColumn::TakeClasses(
    base::WorkingMemory& memory) {
  FOREBAY_RETURN_IF_ERROR(memory.Grow(
      ends_.size() * (sizeof(std::string_view) + sizeof(std::int64_t))));
  std::vector<std::string_view> names;
  names.reserve(ends_.size());
  for (std::uint64_t row = 0; row < ends_.size(); ++row) {
    names.push_back(TextAt(row));
  }
  // Sorting takes n log n comparisons of texts. Finding the labels takes as
  // many.
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::int64_t> labels;
  labels.reserve(ends_.size());
  for (std::uint64_t row = 0; row < ends_.size(); ++row) {
    labels.push_back(std::lower_bound(names.begin(), names.end(), TextAt(row)) -
                     names.begin());
  }
  std::uint64_t bytes = 0;
  for (const std::string_view name : names)
    bytes += sizeof(std::string) + base::HeapBytes(name.size());
  FOREBAY_RETURN_IF_ERROR(memory.Grow(bytes));
  std::vector<std::string> classes(names.begin(), names.end());
  *this = ManifestColumn(false);
  numbers_ = std::move(labels);
  return classes;
}

std::uint64_t ManifestColumn::memory() const {
  return numbers_.capacity() * sizeof(std::int64_t) + texts_.capacity() +
         ends_.capacity() * sizeof(std::uint64_t);
}

}  // namespace forebay::dataset::manifest
