#ifndef FOREBAY_SERVER_ADMIN_SLOT_READER_H_
#define FOREBAY_SERVER_ADMIN_SLOT_READER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/admin.pb.h"

namespace forebay::admin {

// Describes the batch in `slot`, a copy of a slot (proto/shm_layout.h). Fills
// `chunk->fields`, whose offsets count from the end of the slot's header. Fills
// `chunk->total_bytes`, the length of the data up to the end of the last field.
//
// The copy may be torn, because a slot can be reused while it is copied. Every
// number is therefore checked. Thread-safe; does not block. INTERNAL: the
// header is inconsistent.
absl::Status DescribeSlot(absl::Span<const std::uint8_t> slot,
                          proto::PeekChunk* chunk);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_SLOT_READER_H_
