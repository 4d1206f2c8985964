#ifndef FOREBAY_CLIENT_WIRE_PACKET_SOCKET_H_
#define FOREBAY_CLIENT_WIRE_PACKET_SOCKET_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/base/status.h"
#include "proto/fd.h"

namespace forebay::client::wire {

// Sends and receives messages over a SOCK_SEQPACKET socket, which keeps their
// boundaries. Data that is too large for a message travels in memfds. The
// functions are thread-safe for different sockets.

// The largest message in either direction, in bytes.
inline constexpr size_t kMaxMessage = 64 * 1024;
// The most descriptors that the kernel sends with one message: SCM_MAX_FD of
// Linux (unix(7)).
inline constexpr size_t kMaxFds = 253;

// Sends one message and its descriptors. Blocks while the peer's queue is full.
// Errors: UNAVAILABLE if the peer is gone.
Status SendPacket(int socket, std::string_view bytes,
                  const std::vector<int>& fds);

// Receives one message and its descriptors (close-on-exec), waiting at most
// `timeout_nanos`. Errors: TIMEOUT; INTERRUPTED by a signal; UNAVAILABLE if the
// peer hung up; INTERNAL if the message was cut off.
Status ReceivePacket(int socket, std::int64_t timeout_nanos, std::string* bytes,
                     std::vector<proto::Fd>* fds);

// Whether the peer has hung up. Never blocks.
bool IsHungUp(int socket);

// Makes a sealed memfd that holds `bytes`. The daemon takes only sealed memory,
// because no client can shorten such memory while the daemon reads it.
Status SealedMemory(std::string_view bytes, proto::Fd* out);

// Reads all bytes of a memfd. INTERNAL if there are more than `limit`.
Status ReadMemory(int fd, std::uint64_t limit, std::string* bytes);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_PACKET_SOCKET_H_
