#ifndef FOREBAY_SERVER_BASE_BYTES_H_
#define FOREBAY_SERVER_BASE_BYTES_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/span.h"

namespace forebay::base {

// Immutable bytes, and the object that keeps them alive. Cheap to copy; copies
// share them.
class Bytes {
 public:
  Bytes() = default;
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
