#include "server/dataset/npy/npy_scan.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/array/npy_array.h"
#include "server/array/npy_header.h"
#include "server/base/check.h"
#include "server/base/mutex.h"
#include "server/base/status.h"
#include "server/base/worker_threads.h"
#include "server/dataset/npy/npy_rows.h"
#include "server/dataset/range_read.h"

namespace forebay::dataset::npy {
namespace {

using storage::ListedObject;

// Bytes of the first read of each file. Most headers that NumPy writes have 128
// bytes; a header longer than this read costs a second read.
constexpr std::uint64_t kFirstRead = 4096;

// Reads the headers of all files on several threads. The calling thread reads
// the first file, because all other files must have its type. The threads then
// take the other files in their order.
//
// After an error in one file, the threads go on only with the files before it.
// Therefore the first bad file in order is reported, whichever thread is
// faster.
class Scan {
 public:
  Scan(storage::ByteSource& source,
       const std::shared_ptr<const storage::Root>& root,
       absl::Span<const ListedObject> files, const NpyScanOptions& options,
       base::WorkingMemory& memory)
      : source_(source),
        root_(root),
        files_(files),
        stop_(options.stop),
        threads_(options.files_at_once),
        memory_(memory),
        end_(files.size()) {
    FOREBAY_CHECK(threads_ >= 1);
  }

  absl::StatusOr<std::shared_ptr<const NpyIndex>> Run() {
    if (files_.empty()) return absl::NotFoundError("no file was named");
    const std::uint64_t read_bytes =
        std::min(threads_, files_.size()) *
        storage::HeldBytes(array::kLongestNpyHeader);
    FOREBAY_RETURN_IF_ERROR(memory_.Grow(read_bytes));
    FOREBAY_RETURN_IF_ERROR(memory_.MakeRoom(rows_, files_.size()));
    rows_.resize(files_.size());
    // The first file decides which type the rows of all others must have.
    FOREBAY_ASSIGN_OR_RETURN(first_, ReadRows(files_[0]));
    rows_[0] = {first_.count, first_.data_offset};
    if (files_.size() > 1) {
      base::RunOnThreads(std::min(threads_, files_.size() - 1),
                         [this] { Work(); });
    }
    FOREBAY_RETURN_IF_ERROR(error());
    memory_.Shrink(read_bytes);
    return NpyIndex::Create(files_, first_.type, first_.row_bytes, rows_,
                            memory_);
  }

 private:
  // Runs on each thread, until no file is left.
  void Work() {
    for (;;) {
      const std::size_t number = NextFile();
      if (number == 0) return;
      const auto rows = ReadRows(files_[number]);
      const absl::Status status =
          rows.ok() ? CheckType(number, *rows) : rows.status();
      if (status.ok()) {
        rows_[number] = {rows->count, rows->data_offset};
      } else {
        Report(number, status);
      }
    }
  }

  // Returns the number of the next file, or 0 if no file is left. No thread
  // gets file 0, because it was read before the threads began.
  std::size_t NextFile() {
    base::MutexLock lock(&mutex_);
    return next_ < end_ ? next_++ : 0;
  }

  // Records the error of a file. Files after that file need not be read any
  // more. The error of an earlier file replaces the error of a later file.
  void Report(std::size_t number, const absl::Status& status) {
    base::MutexLock lock(&mutex_);
    if (number >= end_) return;
    end_ = number;
    error_ = status;
  }

  absl::Status error() {
    base::MutexLock lock(&mutex_);
    return error_;
  }

  absl::Status CheckType(std::size_t number, const NpyRows& rows) const {
    if (rows.type == first_.type) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        files_[number].name, ": has rows of ", Describe(rows),
        ", but those of ", files_[0].name, " are ", Describe(first_)));
  }

  static std::string Describe(const NpyRows& rows) {
    return array::DescribeArray(rows.type.dtype, rows.type.shape);
  }

  // Reads the rows of one file. Needs a second read if the header is longer
  // than the first read. Errors name the file.
  absl::StatusOr<NpyRows> ReadRows(const ListedObject& file) const {
    const std::uint64_t size = file.version.size;
    FOREBAY_ASSIGN_OR_RETURN(base::Bytes start,
                             ReadStart(file, std::min(size, kFirstRead)));
    const auto header = array::NpyHeaderBytes(start.span());
    if (header.ok() && *header > start.size() && start.size() < size) {
      start = {};
      FOREBAY_ASSIGN_OR_RETURN(start, ReadStart(file, std::min(size, *header)));
    }
    auto rows = ReadNpyRows(start.span(), size);
    if (!rows.ok()) return base::Annotate(rows.status(), file.name);
    return rows;
  }

  // Returns the first `length` bytes of the file.
  absl::StatusOr<base::Bytes> ReadStart(const ListedObject& file,
                                        std::uint64_t length) const {
    if (length == 0) return base::Bytes();
    return ReadRange({source_, root_, file, {0, length}}, nullptr, stop_);
  }

  storage::ByteSource& source_;
  const std::shared_ptr<const storage::Root>& root_;
  const absl::Span<const ListedObject> files_;
  const std::stop_token stop_;
  const std::size_t threads_;
  base::WorkingMemory& memory_;
  // The rows of the first file.
  NpyRows first_;
  // The rows of each file. Each item is written by one thread and read after
  // all threads have ended.
  std::vector<FileRows> rows_;
  base::Mutex mutex_;
  // Number of the file that is read next.
  std::size_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  // Number of the first file that failed, or the number of files.
  std::size_t end_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::shared_ptr<const NpyIndex>> ScanNpyFiles(
    storage::ByteSource& source,
    const std::shared_ptr<const storage::Root>& root,
    absl::Span<const ListedObject> files, const NpyScanOptions& options,
    base::WorkingMemory& memory) {
  return Scan(source, root, files, options, memory).Run();
}

}  // namespace forebay::dataset::npy
