#include "server/base/cpu_share.h"

#include <charconv>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace forebay::base {
namespace {

// The most CPUs that are accepted. No host has more, so a larger number is a
// mistake, such as a percentage without its sign.
constexpr double kMaxCpus = 1024;
constexpr double kMaxPercent = 100;

}  // namespace

absl::StatusOr<double> ParseCpuShare(std::string_view text, double total) {
  const auto refuse = [text](absl::string_view reason) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", absl::string_view(text.data(), text.size()), "\" ", reason));
  };
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] =
      std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const std::string_view unit(stop, end - stop);
  // from_chars also takes "-1", "inf" and "nan": text must begin with a digit.
  const bool digits = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (error != std::errc() || !digits || (!unit.empty() && unit != "%"))
    return refuse(
        "is neither CPUs, such as \"6\" or \"1.5\", nor a part of "
        "all, such as \"75%\"");
  if (number <= 0) return refuse("is not more than 0");
  if (number > (unit.empty() ? kMaxCpus : kMaxPercent))
    return refuse("is more CPU time than there can be");
  return unit.empty() ? number : number / kMaxPercent * total;
}

}  // namespace forebay::base
