#ifndef FOREBAY_SERVER_STORAGE_NEW_TICKET_H_
#define FOREBAY_SERVER_STORAGE_NEW_TICKET_H_

#include <atomic>
#include <cstdint>

namespace forebay::storage {

// Returns a ticket for ReadRequest::ticket that no other read of this process
// has. Thread-safe; never blocks.
inline std::uint64_t NewTicket() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_NEW_TICKET_H_
