#ifndef FOREBAY_SERVER_BASE_BYTES_H_
#define FOREBAY_SERVER_BASE_BYTES_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/span.h"

namespace forebay::base {

// Immutable bytes together with the object that keeps them alive.
//
// Thread-safe as a shared_ptr is: each thread uses a copy of its own. Copies
// share the bytes and their owner. To copy Bytes costs as much as to copy a
// shared_ptr. Never blocks. There are no errors.
class Bytes {
 public:
  Bytes() = default;
  // Wraps `span`, which stays valid and unchanged as long as `owner` lives.
  Bytes(std::shared_ptr<const void> owner, absl::Span<const std::uint8_t> span)
      : owner_(std::move(owner)), span_(span) {}

  absl::Span<const std::uint8_t> span() const { return span_; }
  const std::uint8_t* data() const { return span_.data(); }
  std::size_t size() const { return span_.size(); }

 private:
  std::shared_ptr<const void> owner_;
  absl::Span<const std::uint8_t> span_;
};

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_BYTES_H_
