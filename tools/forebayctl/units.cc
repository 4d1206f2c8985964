#include "tools/forebayctl/units.h"

#include <cmath>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace forebay::ctl {
namespace {

// Returns a number with three digits, or with all digits before the point if
// there are more.
std::string ThreeDigits(double value) {
  if (value >= 99.95) return absl::StrFormat("%.0f", value);
  if (value >= 9.995) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.2f", value);
}

}  // namespace

std::string Bytes(double bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrFormat("%.0f B", bytes);
  std::size_t unit = 0;
  bytes /= 1024;
  // From 1023.5 on, three digits would round to 1024 of the smaller unit.
  while (bytes >= 1023.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrCat(ThreeDigits(bytes), " ", kUnits[unit]);
}

std::string Megabytes(double bytes_per_second) {
  return bytes_per_second == 0 ? "0" : ThreeDigits(bytes_per_second / 1e6);
}

std::string Rate(double bytes_per_second) {
  return bytes_per_second < 1e6
             ? absl::StrCat(ThreeDigits(bytes_per_second / 1e3), " KB/s")
             : absl::StrCat(Megabytes(bytes_per_second), " MB/s");
}

std::string Count(double count) {
  if (count < 99.95 && count != std::floor(count)) {
    return absl::StrFormat("%.1f", count);
  }
  std::string digits = absl::StrFormat("%.0f", count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string Duration(double seconds) {
  if (seconds < 60) return absl::StrFormat("%.1f s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) {
    return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  }
  if (whole < 86400) {
    return absl::StrFormat("%d h %02d min", whole / 3600, whole / 60 % 60);
  }
  return absl::StrFormat("%d d %02d h", whole / 86400, whole / 3600 % 24);
}

std::string Percent(double fraction) {
  return absl::StrFormat("%.0f%%", 100 * fraction);
}

}  // namespace forebay::ctl
