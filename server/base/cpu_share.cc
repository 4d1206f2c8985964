#include "server/base/cpu_share.h"

#include <charconv>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace forebay::base {
namespace {

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
  // from_chars would take "inf" and "nan".
  const bool digits = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (error != std::errc() || !digits || (!unit.empty() && unit != "%"))
    return refuse(
        "is neither CPUs, such as \"6\" or \"1.5\", nor a part of "
        "all, such as \"75%\"");
  if (number <= 0) return refuse("is no CPU time at all");
  if (number > (unit.empty() ? kMaxCpus : kMaxPercent))
    return refuse("is more CPU time than there can be");
  return unit.empty() ? number : number / kMaxPercent * total;
}

}  // namespace forebay::base
