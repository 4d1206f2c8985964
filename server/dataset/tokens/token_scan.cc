// There are three kinds of files. An .npy file has a header, which in most
// files fits in the first 4096 bytes. A ".bin" of Megatron-LM has an index
// beside it: the index's header tells the type of tokens, and its arrays tell
// the documents. Any other file has only tokens, of the type that the user
// named.
//
// An index of Megatron-LM is read as a whole only if documents matter. If not,
// only the header and the last sequence are read. These suffice to check that
// the index belongs to the ".bin".
#include "server/dataset/tokens/token_scan.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/array/npy_array.h"
#include "server/array/npy_header.h"
#include "server/base/mutex.h"
#include "server/base/status.h"
#include "server/base/worker_threads.h"
#include "server/dataset/npy/npy_rows.h"
#include "server/dataset/range_read.h"
#include "server/dataset/tokens/megatron_index.h"

namespace forebay::dataset::tokens {
namespace {

using proto::DType;
using storage::ListedObject;

// The bytes of the first read of an .npy file. Most headers fit in them.
constexpr std::uint64_t kFirstRead = 4096;

bool IsInteger(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kInt8:
    case DType::kUint16:
    case DType::kInt16:
    case DType::kUint32:
    case DType::kInt32:
    case DType::kUint64:
    case DType::kInt64:
      return true;
    default:
      return false;
  }
}

// Returns the number of tokens in a file that has only tokens.
absl::StatusOr<std::uint64_t> CountTokens(const ListedObject& file,
                                          DType dtype) {
  const std::uint64_t bytes = proto::SizeOf(dtype);
  if (file.version.size % bytes == 0) return file.version.size / bytes;
  return absl::DataLossError(
      absl::StrCat(file.name, ": has ", file.version.size,
                   " bytes, which are not whole tokens of ", bytes));
}

// The bytes of a read. While this object lives, `memory` counts `counted` bytes
// for them.
class CountedBytes {
 public:
  CountedBytes(std::uint64_t counted, base::WorkingMemory* memory)
      : counted_(counted), memory_(memory) {}
  CountedBytes(CountedBytes&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        counted_(std::exchange(other.counted_, 0)),
        memory_(other.memory_) {}
  CountedBytes& operator=(CountedBytes&&) = delete;
  ~CountedBytes() {
    bytes_ = {};
    memory_->Shrink(counted_);
  }

  void Set(base::Bytes bytes) { bytes_ = std::move(bytes); }
  absl::Span<const std::uint8_t> span() const { return bytes_.span(); }

 private:
  base::Bytes bytes_;
  std::uint64_t counted_;
  base::WorkingMemory* const memory_;
};

// Reads the files on several threads, each of which takes the next file in
// order. If several files fail, the error of the first of these files is
// returned. The error therefore does not depend on the threads' timing.
class Scan {
 public:
  Scan(const TokenScan& scan, absl::Span<const TokenFile> files,
       base::WorkingMemory& memory)
      : scan_(scan),
        files_(files),
        memory_(memory),
        tokens_(files.size()),
        end_(files.size()) {}

  absl::StatusOr<std::vector<FileTokens>> Run() {
    base::RunOnThreads(std::min(scan_.files_at_once, files_.size()),
                       [this] { Work(); });
    base::MutexLock lock(&mutex_);
    FOREBAY_RETURN_IF_ERROR(error_);
    return std::move(tokens_);
  }

 private:
  void Work() {
    for (;;) {
      std::size_t number = 0;
      {
        base::MutexLock lock(&mutex_);
        if (next_ >= end_) return;
        number = next_++;
      }
      auto found = ReadFile(files_[number]);
      if (found.ok()) {
        tokens_[number] = *std::move(found);
        continue;
      }
      // Files after the failed file need not be read. Files before it must be
      // read, since they may fail, too.
      base::MutexLock lock(&mutex_);
      if (number >= end_) continue;
      end_ = number;
      error_ = found.status();
    }
  }

  absl::StatusOr<FileTokens> ReadFile(const TokenFile& file) const {
    if (file.index.has_value()) return ReadMegatron(file.data, *file.index);
    if (!scan_.settings.dtype.has_value()) return ReadNpy(file.data);
    FileTokens found;
    found.dtype = *scan_.settings.dtype;
    FOREBAY_ASSIGN_OR_RETURN(found.count, CountTokens(file.data, found.dtype));
    return found;
  }

  // Reads the header of an .npy file. If the header is longer than the first
  // read, reads it again.
  absl::StatusOr<FileTokens> ReadNpy(const ListedObject& file) const {
    const std::uint64_t size = file.version.size;
    std::uint64_t length = std::min(size, kFirstRead);
    for (;;) {
      FOREBAY_ASSIGN_OR_RETURN(const CountedBytes start, Read(file, 0, length));
      const auto header = array::NpyHeaderBytes(start.span());
      if (header.ok() && *header > length && length < size) {
        length = std::min(size, *header);
        continue;
      }
      const auto rows = npy::ReadNpyRows(start.span(), size);
      if (!rows.ok()) return base::Annotate(rows.status(), file.name);
      if (!rows->type.shape.empty() || !IsInteger(rows->type.dtype)) {
        return absl::UnimplementedError(absl::StrCat(
            file.name, ": has rows of ",
            array::DescribeArray(rows->type.dtype, rows->type.shape),
            ", but tokens are integers along one axis"));
      }
      FileTokens found;
      found.dtype = rows->type.dtype;
      found.data_offset = rows->data_offset;
      found.count = rows->count;
      return found;
    }
  }

  // Reads Megatron-LM's index: all of it if documents matter, otherwise the
  // header and the last sequence.
  absl::StatusOr<FileTokens> ReadMegatron(const ListedObject& data,
                                          const ListedObject& index) const {
    const std::uint64_t size = index.version.size;
    const bool all = scan_.settings.each_document;
    FOREBAY_ASSIGN_OR_RETURN(
        const CountedBytes start,
        Read(index, 0, all ? size : std::min(size, kMegatronHeaderBytes)));
    const auto header = ParseMegatronHeader(
        start.span().subspan(0, kMegatronHeaderBytes), size);
    if (!header.ok()) return base::Annotate(header.status(), index.name);
    FileTokens found;
    found.dtype = header->dtype;
    FOREBAY_ASSIGN_OR_RETURN(found.count, CountTokens(data, found.dtype));
    if (!all) {
      FOREBAY_RETURN_IF_ERROR(CheckLast(*header, index, found.count));
      return found;
    }
    absl::Status read = ReadMegatronDocuments(
        *header, start.span(), found.count, &found.ends, memory_);
    if (read.ok()) return found;
    if (absl::IsResourceExhausted(read)) return read;
    return base::Annotate(read, index.name);
  }

  // Checks that the last sequence ends where the tokens end. Two small reads
  // therefore detect the index of another file.
  absl::Status CheckLast(const MegatronHeader& header,
                         const ListedObject& index,
                         std::uint64_t tokens) const {
    std::uint64_t end = 0;  // tokens
    if (header.sequences > 0) {
      const std::uint64_t lengths_end =
          kMegatronHeaderBytes + header.sequences * sizeof(std::int32_t);
      const std::uint64_t pointers_end =
          lengths_end + header.sequences * sizeof(std::int64_t);
      std::int32_t length = 0;
      std::int64_t pointer = 0;
      FOREBAY_RETURN_IF_ERROR(ReadNumberBefore(index, lengths_end, &length));
      FOREBAY_RETURN_IF_ERROR(ReadNumberBefore(index, pointers_end, &pointer));
      // A negative pointer becomes a number too large to match `tokens`.
      end = static_cast<std::uint64_t>(pointer) / proto::SizeOf(header.dtype) +
            static_cast<std::uint64_t>(std::max(length, 0));
    }
    if (end == tokens) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(index.name, ": is of ", end,
                                            " tokens, but there are ", tokens));
  }

  // Reads the number that ends at offset `end`.
  template <typename Number>
  absl::Status ReadNumberBefore(const ListedObject& file, std::uint64_t end,
                                Number* number) const {
    FOREBAY_ASSIGN_OR_RETURN(
        const CountedBytes bytes,
        Read(file, end - sizeof(*number), sizeof(*number)));
    std::memcpy(number, bytes.span().data(), sizeof(*number));
    return absl::OkStatus();
  }

  absl::StatusOr<CountedBytes> Read(const ListedObject& file,
                                    std::uint64_t offset,
                                    std::uint64_t length) const {
    const std::uint64_t counted = storage::HeldBytes(length);
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(counted));
    CountedBytes bytes(counted, &memory_);
    if (length == 0) return bytes;
    FOREBAY_ASSIGN_OR_RETURN(
        base::Bytes read,
        ReadRange({*scan_.source, scan_.root, file, {offset, length}}, nullptr,
                  scan_.stop));
    bytes.Set(std::move(read));
    return bytes;
  }

  const TokenScan& scan_;
  const absl::Span<const TokenFile> files_;
  base::WorkingMemory& memory_;
  // The result of each file. The thread that reads the file writes it, without
  // the mutex.
  std::vector<FileTokens> tokens_;
  base::Mutex mutex_;
  // The number of the next file to read.
  std::size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  // The number of the first file that failed, or the number of files if none
  // has failed. error_ is that file's error.
  std::size_t end_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::shared_ptr<const TokenIndex>> ScanTokens(
    const TokenScan& scan, std::vector<TokenFile> files,
    base::WorkingMemory& memory) {
  if (files.empty()) return absl::NotFoundError("no file was named");
  FOREBAY_ASSIGN_OR_RETURN(std::vector<FileTokens> tokens,
                           Scan(scan, files, memory).Run());
  return TokenIndex::Create(std::move(files), scan.settings, std::move(tokens),
                            memory);
}

}  // namespace forebay::dataset::tokens
