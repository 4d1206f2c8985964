#include "server/dataset/manifest/column.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace forebay::dataset::manifest {
namespace {

std::optional<std::int64_t> IntegerOf(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  // "-0" and "007" would not come back as they were.
  if (digits.empty() || (digits[0] == '0' && text.size() > 1)) {
    return std::nullopt;
  }
  std::int64_t number = 0;
  const auto parsed =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

absl::Status Column::Add(const Cell& cell) {
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

void Column::Finish() {
  if (texts_may_be_integers_) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(ends_.size());
    for (std::uint64_t row = 0; row < ends_.size(); ++row) {
      const auto number = IntegerOf(TextAt(row));
      if (!number.has_value()) break;
      numbers.push_back(*number);
    }
    if (!ends_.empty() && numbers.size() == ends_.size()) {
      *this = Column(false);
      numbers_ = std::move(numbers);
    }
  }
  numbers_.shrink_to_fit();
  texts_.shrink_to_fit();
  ends_.shrink_to_fit();
}

std::string_view Column::TextAt(std::uint64_t row) const {
  const std::uint64_t begin = row == 0 ? 0 : ends_[row - 1];
  return std::string_view(texts_).substr(begin, ends_[row] - begin);
}

std::vector<std::string> Column::TakeClasses() {
  std::vector<std::string_view> names;
  for (std::uint64_t row = 0; row < ends_.size(); ++row) {
    names.push_back(TextAt(row));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::int64_t> labels;
  labels.reserve(ends_.size());
  for (std::uint64_t row = 0; row < ends_.size(); ++row) {
    labels.push_back(std::lower_bound(names.begin(), names.end(), TextAt(row)) -
                     names.begin());
  }
  std::vector<std::string> classes(names.begin(), names.end());
  *this = Column(false);
  numbers_ = std::move(labels);
  return classes;
}

}  // namespace forebay::dataset::manifest
