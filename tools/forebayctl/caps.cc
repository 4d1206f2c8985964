#include "tools/forebayctl/caps.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/forebayctl/units.h"

namespace forebay::ctl {
namespace {

// The units of a rate, in bytes a second.
constexpr std::pair<std::string_view, double> kUnits[] = {
    {"B/s", 1},
    {"KB/s", 1e3},
    {"MB/s", 1e6},
    {"GB/s", 1e9},
    {"TB/s", 1e12},
    {"KiB/s", 1024},
    {"MiB/s", 1024.0 * 1024},
    {"GiB/s", 1024.0 * 1024 * 1024},
    {"TiB/s", 1024.0 * 1024 * 1024 * 1024}};
// The ranges that the daemon accepts (server/job/control.h). A text out of
// range is refused here, where its words can be quoted.
constexpr double kMinRead = 1000;
constexpr double kMinCpus = 0.01;
constexpr double kMaxCpus = 1024;

// Returns the number at the beginning of the text, and the text after it;
// nullopt if there is no number. Signs and exponents are not accepted.
std::optional<std::pair<double, std::string_view>> NumberAndUnit(
    const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] =
      std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const bool digits = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (error != std::errc() || !digits) return std::nullopt;
  return std::pair(number, std::string_view(stop, end - stop));
}

}  // namespace

absl::StatusOr<double> ParseReadCap(const std::string& text) {
  if (text == "none") return 0;
  const auto parsed = NumberAndUnit(text);
  for (const auto& [unit, bytes] : kUnits) {
    if (!parsed.has_value() || parsed->second != unit) continue;
    if (parsed->first * bytes >= kMinRead) return parsed->first * bytes;
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is less than 1KB/s"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is not a rate: write a number and B/s, KB/s, MB/s, "
                   "GB/s, TB/s, KiB/s, "
                   "MiB/s, GiB/s or TiB/s, such as 200MB/s, or none"));
}

absl::StatusOr<double> ParseCpuCap(const std::string& text) {
  if (text == "none") return 0;
  const auto parsed = NumberAndUnit(text);
  if (!parsed.has_value() || !parsed->second.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text,
        "\" is not a number of CPUs: write one such as 2 or 0.5, or "
        "none"));
  }
  if (parsed->first >= kMinCpus && parsed->first <= kMaxCpus)
    return parsed->first;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not from ", kMinCpus, " to ", kMaxCpus, " CPUs"));
}

std::string DescribeReadCap(double bytes_per_second) {
  return bytes_per_second == 0
             ? "as much as it can"
             : absl::StrCat("at most ", Rate(bytes_per_second));
}

std::string DescribeCpuCap(double cpus) {
  return cpus == 0
             ? "as many CPUs as it can"
             : absl::StrFormat("at most %g CPU%s", cpus, cpus == 1 ? "" : "s");
}

}  // namespace forebay::ctl
