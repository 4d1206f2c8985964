#ifndef FOREBAY_SERVER_DATASET_TOKENS_TOKEN_INDEX_H_
#define FOREBAY_SERVER_DATASET_TOKENS_TOKEN_INDEX_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/shm_layout.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/path_lookup.h"
#include "server/dataset/tokens/token_files.h"
#include "server/dataset/tokens/token_settings.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::tokens {

// The tokens of one file.
struct FileTokens {
  proto::DType dtype = proto::DType::kUint16;
  std::uint64_t data_offset = 0;  // bytes of the file before its first token
  std::uint64_t count = 0;        // number of tokens
  // The end of each document in tokens, ascending up to `count`. If `ends` is
  // empty, the whole file is one run of tokens.
  std::vector<std::uint64_t> ends;
};

// The windows of all files of a dataset, in the files' order. A run is a
// document or a whole file. A window is found in two steps: a binary search for
// its run, and arithmetic within the run.
//
// The index takes a few hundred bytes for each file. A document takes 8 bytes
// if every document is one window, and 16 otherwise. Thread-safe. Immutable,
// except for the files' ctimes. Owns its parts and a reservation for them.
// Never blocks. Only Create has errors.
class TokenIndex {
 public:
  // The tokens of one window.
  struct Extent {
    std::size_t file = 0;     // number of the file in the index
    std::uint64_t first = 0;  // number of the window's first token in the file
    std::uint64_t count = 0;  // number of the window's tokens
    // The offset of the first token in the file, in bytes.
    std::uint64_t offset = 0;
  };

  // Makes an index of `files`; `tokens` has an item for each file. `memory`
  // already counts the documents, and the index keeps its part of `memory`.
  // INVALID_ARGUMENT: a file's tokens have another type than the first file's,
  // or there are too many windows; the error names the file.
  // RESOURCE_EXHAUSTED: `memory` has no room.
  static absl::StatusOr<std::shared_ptr<const TokenIndex>> Create(
      std::vector<TokenFile> files, const TokenSettings& settings,
      std::vector<FileTokens> tokens, base::WorkingMemory& memory);

  // Number of windows.
  std::uint64_t size() const { return size_; }
  const TokenSettings& settings() const { return settings_; }
  proto::DType dtype() const { return dtype_; }
  // Number of tokens of the longest window.
  std::uint64_t longest() const { return longest_; }
  // A digest (XXH3) of the settings, and of the files with their sizes and
  // times.
  const Version& version() const { return version_; }

  // Returns where the tokens of a window lie. `window` is less than size().
  Extent ExtentOf(std::uint64_t window) const;
  const storage::ListedObject& FileAt(std::size_t file) const {
    return files_[file].file.data;
  }

  // Returns the file's version, with the ctime that Accept recorded last.
  storage::ObjectVersion VersionOf(std::size_t file) const;
  // Bytes of the file before its first token; 0 if the file has no header.
  std::uint64_t DataOffsetOf(std::size_t file) const {
    return files_[file].data_offset;
  }
  // Returns the number of the first file with the path `path`. The index must
  // have such a file.
  std::size_t FindFile(std::string_view path) const;
  // Records that the file has the indexed tokens in `revision`, too: VersionOf
  // returns the ctime of `revision` from then on. If the inode of `revision`
  // differs, records nothing and returns false.
  bool Accept(std::size_t file, const storage::Revision& revision) const;

  // Whether this is an index of exactly these files, in these versions.
  bool IsOf(absl::Span<const TokenFile> files) const;

 private:
  // A file of the index.
  struct File {
    TokenFile file;
    std::uint64_t data_offset = 0;   // bytes before the first token
    std::uint64_t count = 0;         // number of tokens
    std::uint64_t first_window = 0;  // number of the file's first window
    // The index in ends_ of the file's first document.
    std::size_t first_document = 0;
  };

  TokenIndex(const TokenSettings& settings, proto::DType dtype,
             std::size_t files)
      : settings_(settings),
        windows_(settings.windows()),
        dtype_(dtype),
        ctimes_(files) {}

  // Adds the windows of the next file.
  absl::Status Add(TokenFile file, const FileTokens& tokens);
  // Adds the windows of a run of `tokens` tokens in `file`.
  absl::Status AddRun(const std::string& file, std::uint64_t tokens);
  void Digest();
  // Returns a PathLookup::PathOf: a function from a file's number to its path.
  auto paths() const {
    return [this](std::size_t file) -> std::string_view {
      return files_[file].file.data.name;
    };
  }

  const TokenSettings settings_;
  const TokenWindows windows_;
  const proto::DType dtype_;
  std::uint64_t size_ = 0;     // number of windows
  std::uint64_t longest_ = 0;  // tokens of the longest window
  std::vector<File> files_;
  PathLookup by_path_;
  // For each document of all files: its end, in tokens of its file, and the
  // number of windows before the document. `first_windows_` is empty if
  // has_one_each_.
  std::vector<std::uint64_t> ends_;
  std::vector<std::uint64_t> first_windows_;
  // Whether each document has exactly one window.
  bool has_one_each_ = true;
  // For each file, the ctime of the last revision that was found to have the
  // indexed tokens.
  mutable std::vector<std::atomic<std::int64_t>> ctimes_;
  Version version_ = {};
  base::MemoryReservation reservation_;
};

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_INDEX_H_
