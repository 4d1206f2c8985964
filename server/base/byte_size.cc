#include "server/base/byte_size.h"

#include <charconv>
#include <utility>

#include "absl/strings/str_cat.h"

namespace forebay::base {
namespace {

// The units of a size, and the power of two that each stands for.
constexpr std::pair<std::string_view, int> kUnits[] = {
    {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};

// Returns the error of a text that is refused for `reason`.
absl::Status Refuse(std::string_view text, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", absl::string_view(text.data(), text.size()), "\" ", reason));
}

// Returns `percent` of `total`, rounded down. `percent * total` could overflow.
// The quotient and the remainder of `total / 100` are therefore multiplied
// separately.
std::uint64_t Percentage(std::uint64_t percent, std::uint64_t total) {
  return total / 100 * percent + total % 100 * percent / 100;
}

}  // namespace

absl::StatusOr<std::uint64_t> ParseByteSize(std::string_view text,
                                            std::uint64_t total) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::result_out_of_range)
    return Refuse(text, "is more bytes than there can be");
  const std::string_view unit(stop, end - stop);
  if (error == std::errc() && unit == "%") {
    if (number > 100) return Refuse(text, "is more than all");
    return Percentage(number, total);
  }
  if (error == std::errc())
    for (const auto& [name, shift] : kUnits) {
      if (unit != name) continue;
      if (number > UINT64_MAX >> shift)
        return Refuse(text, "is more bytes than there can be");
      return number << shift;
    }
  return Refuse(text,
                "is not a size: write a whole number and B, KiB, MiB, GiB, TiB "
                "or %, such as \"8GiB\" or \"25%\"");
}

}  // namespace forebay::base
