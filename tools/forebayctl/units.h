#ifndef FOREBAY_TOOLS_FOREBAYCTL_UNITS_H_
#define FOREBAY_TOOLS_FOREBAYCTL_UNITS_H_

#include <cstdint>
#include <string>

namespace forebay::ctl {

// Numbers as people read them. Thread-safe; nothing blocks or fails.

// "512 B", "1.5 MiB", "23 GiB": powers of 1024, three digits.
std::string Bytes(double bytes);
// Megabytes (10^6 bytes) a second: "0.25", "12.3", "1234".
std::string Megabytes(double bytes_per_second);
// "1.00 KB/s", "12.3 MB/s", "2500 MB/s": powers of 1000.
std::string Rate(double bytes_per_second);
// "0", "9.5", "1,234,567": tenths below 100.
std::string Count(double count);
// "8.2 s", "5 min 03 s", "2 h 05 min", "3 d 04 h".
std::string Duration(double seconds);
// "0%", "12%", "100%".
std::string Percent(double fraction);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_UNITS_H_
