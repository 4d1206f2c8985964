#ifndef FOREBAY_SERVER_ADMIN_SLOT_READER_H_
#define FOREBAY_SERVER_ADMIN_SLOT_READER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/admin.pb.h"

namespace forebay::admin {

// Describes the batch in `slot`, a copy of a slot. Fills `chunk->fields`, whose
// offsets count from the end of the slot's header. Fills `chunk->total_bytes`,
// the length of the data up to the end of the last field. Thread-safe; does not
// block. INTERNAL: the header makes no sense; the copy may be torn, so every
// number is checked.
absl::Status DescribeSlot(absl::Span<const std::uint8_t> slot,
                          proto::PeekChunk* chunk);

}  // namespace forebay::admin

#endif  // FOREBAY_SERVER_ADMIN_SLOT_READER_H_
