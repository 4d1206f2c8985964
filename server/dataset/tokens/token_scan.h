#ifndef FOREBAY_SERVER_DATASET_TOKENS_TOKEN_SCAN_H_
#define FOREBAY_SERVER_DATASET_TOKENS_TOKEN_SCAN_H_

#include <cstddef>
#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/tokens/token_files.h"
#include "server/dataset/tokens/token_index.h"
#include "server/dataset/tokens/token_settings.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::tokens {

// How files of tokens are read.
struct TokenScan {
  storage::ByteSource* source = nullptr;
  std::shared_ptr<const storage::Root> root;
  TokenSettings settings = {};
  std::size_t files_at_once = 8;  // at least 1; each has one read in flight
  std::stop_token stop;           // ends the scan early
};

// Indexes files by their headers and by Megatron-LM's indexes. Files without
// either need no read. The index keeps its part of `memory`.
//
// Blocks for the reads, but returns soon after its stop is requested. Reads may
// still be in flight then. Errors name the first file that cannot be used:
// those of ReadNpyRows, megatron_index.h, TokenIndex::Create and of the source;
// UNIMPLEMENTED: it is an array of other than integers along one axis;
// DATA_LOSS: it has a part of a token. Errors without one: NOT_FOUND: there are
// no files; CANCELLED: stopped; RESOURCE_EXHAUSTED: that of `memory`.
absl::StatusOr<std::shared_ptr<const TokenIndex>> ScanTokens(
    const TokenScan& scan, std::vector<TokenFile> files,
    base::WorkingMemory& memory);

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_SCAN_H_
