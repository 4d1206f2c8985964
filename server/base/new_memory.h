#ifndef FOREBAY_SERVER_BASE_NEW_MEMORY_H_
#define FOREBAY_SERVER_BASE_NEW_MEMORY_H_

#include <cstdint>

namespace forebay::base {

// Has the kernel put pages, huge ones where it can, under memory that is about
// to be filled for the first time. Some threads do so at once: a virtual
// machine may have to get the pages from its host, which takes longer than
// filling them. What is there stays as it is. Does nothing for less than some
// huge pages, or where the kernel cannot: then filling it puts them there.
// Thread-safe; may block while the kernel looks for free memory; has no errors.
void PutPagesUnder(void* start, std::uint64_t bytes);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_NEW_MEMORY_H_
