#ifndef FOREBAY_SERVER_BASE_NEW_MEMORY_H_
#define FOREBAY_SERVER_BASE_NEW_MEMORY_H_

#include <cstdint>

namespace forebay::base {

// Makes the kernel allocate the pages of memory that is about to be filled for
// the first time. The pages are huge pages where possible. Several threads
// allocate in parallel, because allocating a page can take longer than filling
// it: a virtual machine may have to get the page from its host. The content of
// the memory stays as it is.
//
// Does nothing for less than 8 MiB, or where the kernel does not support it;
// the first write to each page then allocates it. Thread-safe. Blocks while the
// kernel looks for free memory. Has no errors.
void PutPagesUnder(void* start, std::uint64_t bytes);

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_NEW_MEMORY_H_
