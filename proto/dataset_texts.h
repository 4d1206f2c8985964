#ifndef FOREBAY_PROTO_DATASET_TEXTS_H_
#define FOREBAY_PROTO_DATASET_TEXTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Settings of datasets that users of client/forebay.h and clients of protocol 3
// give as lists of texts. DatasetSpec.kind (dataset.proto) has a message for
// each format instead. All functions are thread-safe and never block.

namespace forebay::proto {

using Texts = std::vector<std::string>;

// How the files of a folder become samples. The values are those of
// NpyFolder.Layout.
enum class FolderLayout { kAny = 0, kFlat = 1, kClasses = 2 };

// Returns the layout that `fields` ask for: kFlat for `content` alone, kClasses
// for `content` and "label", kAny for no fields. Returns nullopt for all other
// fields.
std::optional<FolderLayout> LayoutOf(const Texts& fields,
                                     std::string_view content);

// Returns the value of Npz.Samples that `columns`, the columns of `fields`, ask
// for: all columns are "rows", all are "files", or all are "classes". Returns
// nullopt for all other columns.
std::optional<int> NpzSamplesOf(const Texts& fields, const Texts& columns);

// The refusals of fields and columns for which these functions return nullopt.
inline constexpr char kNotAudioFields[] =
    "samples of folders of audio files have the fields \"audio\" and "
    "\"label\", or \"audio\" alone";
inline constexpr char kNotNpyFields[] =
    "samples of folders of .npy files have the fields \"array\" and "
    "\"label\", or \"array\" alone";
inline constexpr char kNotZipFields[] =
    "samples of zip archives have the fields \"image\" or \"audio\", and "
    "\"label\"";
inline constexpr char kNotNpzColumns[] =
    "arrays of .npz files are read as \"rows\", as \"files\", or as files in "
    "\"classes\"";

// The settings of the message Tokens (dataset.proto). Each setting has the name
// and the meaning of a field of that message.
struct TokenTexts {
  std::uint64_t length = 0;
  std::uint64_t stride = 0;
  std::uint32_t dtype = 0;
  bool each_document = false;
  bool keeps_tail = false;
  bool has_targets = false;
};

// Reads the values of the settings `names`. Returns an empty text on success.
// Returns a sentence with the reason if a name is unknown, missing or repeated,
// or if a value is invalid.
std::string ReadTokenTexts(const Texts& names, const Texts& values,
                           TokenTexts* settings);

// The refusal of a stride without a length.
inline constexpr char kStrideOfDocuments[] =
    "whole documents have no stride, which is of windows";

// Returns the sentence that refuses a value of a setting of Tokens.
std::string RefusedTokenValue(std::string_view name, std::string_view value);

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_DATASET_TEXTS_H_
