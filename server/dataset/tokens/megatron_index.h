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
// (megatron/core/datasets/indexed_dataset.py) writes it:
//
// header     34 bytes: "MMIDIDX" and two zero bytes; version (1) u64; code of
//            the tokens' type u8; number of sequences u64; number of document
//            indices u64
// lengths    i32 each: the number of tokens of each sequence
// pointers   i64 each: the offset of each sequence in the ".bin", in bytes
// documents  i64 each: the first sequence of each document, then the number
//            of sequences
// modes      i8 for each sequence, in files of multimodal data only
//
// All numbers are little-endian. The file is untrusted. Functions are
// thread-safe and never block. Their errors give the reason alone.

namespace forebay::dataset::tokens {

inline constexpr std::uint64_t kMegatronHeaderBytes = 34;

// The header of an index file.
struct MegatronHeader {
  proto::DType dtype = proto::DType::kUint16;
  std::uint64_t sequences = 0;
  std::uint64_t documents = 0;  // document indices: one more than documents
};

// Parses the header of an index file. `start` has its first
// kMegatronHeaderBytes bytes; `file_bytes` is its size in bytes. DATA_LOSS: the
// file is truncated, or is not an index file. UNIMPLEMENTED: the file has
// another version, or its tokens are not integers.
absl::StatusOr<MegatronHeader> ParseMegatronHeader(
    absl::Span<const std::uint8_t> start, std::uint64_t file_bytes);

// Appends the end of each document, in tokens, to `ends`, and counts the ends
// in `memory`. `index` is the whole index file. Its ".bin" has `tokens` tokens.
// DATA_LOSS: the file is damaged, or belongs to another ".bin". UNIMPLEMENTED:
// the sequences do not follow each other in the ".bin" without gaps.
// RESOURCE_EXHAUSTED: `memory` has no room.
absl::Status ReadMegatronDocuments(const MegatronHeader& header,
                                   absl::Span<const std::uint8_t> index,
                                   std::uint64_t tokens,
                                   std::vector<std::uint64_t>* ends,
                                   base::WorkingMemory& memory);

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_MEGATRON_INDEX_H_
