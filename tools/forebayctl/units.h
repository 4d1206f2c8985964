#ifndef FOREBAY_TOOLS_FOREBAYCTL_UNITS_H_
#define FOREBAY_TOOLS_FOREBAYCTL_UNITS_H_

#include <cstdint>
#include <string>

namespace forebay::ctl {

// These functions format numbers for people. All of them are thread-safe, never
// block and have no errors.

// Returns a size with three digits, in powers of 1024: "512 B", "1.50 MiB",
// "23.0 GiB".
std::string Bytes(double bytes);
// Returns a rate in megabytes (10^6 bytes) a second: "0.25", "12.3", "1234".
std::string Megabytes(double bytes_per_second);
// Returns a rate with its unit, in powers of 1000: "1.00 KB/s", "12.3 MB/s",
// "2500 MB/s".
std::string Rate(double bytes_per_second);
// Returns a number with commas, and with tenths below 100: "0", "9.5",
// "1,234,567".
std::string Count(double count);
// Returns a time in its two largest units: "8.2 s", "5 min 03 s", "2 h 05 min",
// "3 d 04 h".
std::string Duration(double seconds);
// Returns a fraction, 0 to 1, as a percentage: "0%", "12%", "100%".
std::string Percent(double fraction);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_UNITS_H_
