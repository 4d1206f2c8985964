#ifndef FOREBAY_CLIENT_PACKET_SOCKET_H_
#define FOREBAY_CLIENT_PACKET_SOCKET_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/fd.h"
#include "client/status.h"

namespace forebay::client {

// Largest message either way, in bytes.
inline constexpr size_t kMaxMessage = 64 * 1024;
// Most descriptors that the kernel takes with one message.
inline constexpr size_t kMaxFds = 253;

// Sends one message and its descriptors. Blocks while the peer's queue is full.
// Errors: UNAVAILABLE if the peer is gone.
Status SendPacket(int socket, std::string_view bytes,
                  const std::vector<int>& fds);

// Receives one message and its descriptors (close-on-exec), waiting at most
// `timeout_nanos`. Errors: TIMEOUT; INTERRUPTED by a signal; UNAVAILABLE if the
// peer hung up; INTERNAL if the message was cut off.
Status ReceivePacket(int socket, std::int64_t timeout_nanos, std::string* bytes,
                     std::vector<Fd>* fds);

// Whether the peer has hung up. Never blocks.
bool IsHungUp(int socket);

// A sealed memfd that holds `bytes`.
Status SealedMemory(std::string_view bytes, Fd* out);

// All of a memfd's bytes, at most `limit`.
Status ReadMemory(int fd, std::uint64_t limit, std::string* bytes);

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_PACKET_SOCKET_H_
