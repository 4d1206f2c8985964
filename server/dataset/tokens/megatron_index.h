#ifndef FOREBAY_SERVER_DATASET_TOKENS_MEGATRON_INDEX_H_
#define FOREBAY_SERVER_DATASET_TOKENS_MEGATRON_INDEX_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/base/working_memory.h"

// The ".idx" file beside a ".bin" of tokens, as Megatron-LM's IndexedDataset
// writes it:
//
//   header     34 bytes: "MMIDIDX" and two zero bytes; version (1) u64; code of
//              the tokens' type u8; number of sequences u64; number of document
//              indices u64
//   lengths    i32 each: the tokens of each sequence
//   pointers   i64 each: where each sequence begins in the ".bin", in bytes
//   documents  i64 each: the first sequence of each document, and at last the
//              number of sequences
//   modes      i8 a sequence, of multimodal data; may lack
//
// All is little-endian, and a stranger's. Functions are thread-safe and never
// block; their errors give the reason alone.

namespace forebay::dataset::tokens {

inline constexpr std::uint64_t kMegatronHeaderBytes = 34;

struct MegatronHeader {
  proto::DType dtype = proto::DType::kUint16;
  std::uint64_t sequences = 0;
  std::uint64_t documents = 0;  // document indices: one more than documents
};

// Reads the first kMegatronHeaderBytes bytes of a file of `file_bytes`.
// DATA_LOSS: it is no such file, or truncated; UNIMPLEMENTED: it is of another
// version, or its tokens are no integers.
absl::StatusOr<MegatronHeader> ParseMegatronHeader(
    absl::Span<const std::uint8_t> start, std::uint64_t file_bytes);

// Appends where each document ends, in tokens, to `ends`, which it counts in
// `memory`. `index` is the whole file, and `tokens` are as many as its ".bin"
// has. DATA_LOSS: the file is damaged, or of another ".bin"; UNIMPLEMENTED:
// sequences do not lie one behind the other; RESOURCE_EXHAUSTED: that of
// `memory`.
absl::Status ReadMegatronDocuments(const MegatronHeader& header,
                                   absl::Span<const std::uint8_t> index,
                                   std::uint64_t tokens,
                                   std::vector<std::uint64_t>* ends,
                                   base::WorkingMemory& memory);

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_MEGATRON_INDEX_H_
