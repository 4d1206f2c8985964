#ifndef FOREBAY_SERVER_DATASET_TOKENS_TOKEN_SETTINGS_H_
#define FOREBAY_SERVER_DATASET_TOKENS_TOKEN_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "proto/dataset.pb.h"
#include "proto/shm_layout.h"
#include "server/dataset/tokens/token_windows.h"

namespace forebay::dataset::tokens {

// The settings that tell how files of tokens become samples. A plain value.
struct TokenSettings {
  // Number of tokens of a window, without the additional token for targets. If
  // unset, each document is a window.
  std::optional<std::uint64_t> length;
  // Number of tokens from the start of a window to the start of the next
  // window.
  std::uint64_t stride = 1;
  // Type of the tokens in files without a header. If unset, headers or
  // Megatron-LM's indexes tell the type.
  std::optional<proto::DType> dtype;
  // Whether each document is cut into windows by itself. If false, windows may
  // cross the ends of documents.
  bool each_document = false;
  bool keeps_tail = false;   // whether a shorter last window is a sample
  bool has_targets = false;  // whether samples have the field "targets"

  // Returns how a run of tokens is cut into windows. Each window includes the
  // additional token for targets, if there are targets.
  TokenWindows windows() const;
  // Whether samples may differ in length.
  bool is_ragged() const { return keeps_tail || !length.has_value(); }
  // Returns a text; different settings have different texts.
  std::string text() const;
};

// Returns the settings of a spec. INVALID_ARGUMENT: a value is too large, the
// type is not an integer type, or there is a stride without a length. Errors
// give the reason alone. Thread-safe; never blocks.
absl::StatusOr<TokenSettings> SettingsOf(const proto::Tokens& spec);

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_SETTINGS_H_
