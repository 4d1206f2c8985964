#ifndef FOREBAY_SERVER_DATASET_TOKENS_TOKEN_SETTINGS_H_
#define FOREBAY_SERVER_DATASET_TOKENS_TOKEN_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/shm_layout.h"
#include "server/dataset/tokens/windows.h"

namespace forebay::dataset::tokens {

// The samples of files of tokens: an immutable value.
struct TokenSettings {
  // Tokens of a window, without the one more that targets need. Null: a window
  // is a whole document.
  std::optional<std::uint64_t> length;
  std::uint64_t stride = 1;
  // Of files without a header. Null: files say it themselves.
  std::optional<proto::DType> dtype;
  bool each_document = false;  // whether windows end where documents do
  bool keeps_tail = false;     // whether a shorter last window is one
  bool has_targets = false;

  Windows windows() const;
  // Whether samples may differ in length.
  bool is_ragged() const { return keeps_tail || !length.has_value(); }
  // Tells settings apart.
  std::string text() const;
};

// Reads settings by name (client/forebay.h). INVALID_ARGUMENT: one is not
// known, lacks, comes twice, or has no such value. Errors give the reason
// alone. Thread-safe; never blocks.
absl::StatusOr<TokenSettings> ReadTokenSettings(
    const std::vector<std::string>& names,
    const std::vector<std::string>& values);

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_SETTINGS_H_
