#ifndef FOREBAY_SERVER_BASE_HUGE_PAGES_H_
#define FOREBAY_SERVER_BASE_HUGE_PAGES_H_

#include <cstdint>

namespace forebay::base {

// Asks for huge pages under memory that is about to be filled for the first
// time: faults of 4 KiB pages take longer than filling them. Does nothing for
// less than some of them, or where the kernel has none. Thread-safe; never
// blocks; has no errors.
void PreferHugePages(void* start, std::uint64_t bytes);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_HUGE_PAGES_H_
