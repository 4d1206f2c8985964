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

// The source of the files, and the settings of the scan, for ScanTokens.
struct TokenScan {
  storage::ByteSource* source = nullptr;
  std::shared_ptr<const storage::Root> root;
  TokenSettings settings = {};
  // Number of threads, not 0. Each has one read in flight.
  std::size_t files_at_once = 8;
  std::stop_token stop;  // ends the scan early
};

// Makes the index of files of tokens from their headers and from Megatron-LM's
// indexes. Files that have neither a header nor an index are not read. The
// index keeps its part of `memory`.
//
// Blocks for the reads, but returns soon after `scan.stop` is requested; reads
// may then still be in flight. Errors of ReadNpyRows, megatron_index.h,
// TokenIndex::Create and the source name the first file that cannot be used.
// Further errors that name this file: UNIMPLEMENTED: an array does not have
// integers along one axis; DATA_LOSS: a file ends within a token. Errors
// without a file: NOT_FOUND: there are no files. CANCELLED: the scan was
// stopped. RESOURCE_EXHAUSTED: `memory` has no room.
absl::StatusOr<std::shared_ptr<const TokenIndex>> ScanTokens(
    const TokenScan& scan, std::vector<TokenFile> files,
    base::WorkingMemory& memory);

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_SCAN_H_
