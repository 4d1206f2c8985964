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

// The tokens of a file.
struct FileTokens {
  proto::DType dtype = proto::DType::kUint16;
  std::uint64_t data_offset = 0;  // bytes before the first token
  std::uint64_t count = 0;        // tokens
  // Where each document ends, in tokens, up to `count`. Empty: the file is one.
  std::vector<std::uint64_t> ends;
};

// The windows of all files of a dataset, one file after the other. It takes
// some hundred bytes a file. A document takes 8 more where it is a window, and
// 16 where it has any number of them. Holds a reservation for them.
// Thread-safe; immutable, but for the files' ctimes; never blocks.
class TokenIndex {
 public:
  // The tokens of a window.
  struct Extent {
    std::size_t file = 0;
    std::uint64_t first = 0;   // token, in the file
    std::uint64_t count = 0;   // tokens
    std::uint64_t offset = 0;  // of the first one; bytes
  };

  // `tokens` has an item for each of `files`. The index keeps its part of
  // `memory`, in which the documents are counted. INVALID_ARGUMENT, naming the
  // file: its tokens are of another type than the first one's, or there are too
  // many windows; RESOURCE_EXHAUSTED: that of `memory`.
  static absl::StatusOr<std::shared_ptr<const TokenIndex>> Create(
      std::vector<TokenFile> files, const TokenSettings& settings,
      std::vector<FileTokens> tokens, base::WorkingMemory& memory);

  std::uint64_t size() const { return size_; }  // windows
  const TokenSettings& settings() const { return settings_; }
  proto::DType dtype() const { return dtype_; }
  std::uint64_t longest() const { return longest_; }  // window; tokens
  // A digest (XXH3) of the settings, and of the files with their sizes and
  // times.
  const Version& version() const { return version_; }

  // `window` is less than size().
  Extent ExtentOf(std::uint64_t window) const;
  const storage::ListedObject& FileAt(std::size_t file) const {
    return files_[file].file.data;
  }

  // With the ctime that it was last found to have as indexed.
  storage::ObjectVersion VersionOf(std::size_t file) const;
  // Bytes before its first token.
  std::uint64_t DataOffsetOf(std::size_t file) const {
    return files_[file].data_offset;
  }
  // The first file of that path, which is one of the index's.
  std::size_t FindFile(std::string_view path) const;
  // Another look found the same tokens in that revision of the file. The index
  // knows it by that from then on. Returns false if it is another file.
  bool Accept(std::size_t file, const storage::Revision& revision) const;

  // Whether it is of these files, in these versions.
  bool IsOf(absl::Span<const TokenFile> files) const;

 private:
  struct File {
    TokenFile file;
    std::uint64_t data_offset = 0;
    std::uint64_t count = 0;  // tokens
    std::uint64_t first_window = 0;
    std::size_t first_document = 0;  // in ends_
  };

  TokenIndex(const TokenSettings& settings, proto::DType dtype,
             std::size_t files)
      : settings_(settings),
        windows_(settings.windows()),
        dtype_(dtype),
        ctimes_(files) {}

  absl::Status Add(TokenFile file, const FileTokens& tokens);
  absl::Status AddRun(const std::string& file, std::uint64_t tokens);
  void Digest();
  // As PathLookup wants them.
  auto paths() const {
    return [this](std::size_t file) -> std::string_view {
      return files_[file].file.data.name;
    };
  }

  const TokenSettings settings_;
  const Windows windows_;
  const proto::DType dtype_;
  std::uint64_t size_ = 0;
  std::uint64_t longest_ = 0;
  std::vector<File> files_;
  PathLookup by_path_;
  // By document of all files: where it ends, in tokens of its file; and the
  // windows before it. These are not kept if each has one.
  std::vector<std::uint64_t> ends_;
  std::vector<std::uint64_t> first_windows_;
  bool has_one_each_ = true;
  // By file: the ctime of the file that was last found to be as indexed.
  mutable std::vector<std::atomic<std::int64_t>> ctimes_;
  Version version_ = {};
  base::MemoryReservation reservation_;
};

}  // namespace forebay::dataset::tokens

#endif  // FOREBAY_SERVER_DATASET_TOKENS_TOKEN_INDEX_H_
